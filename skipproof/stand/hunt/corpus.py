"""A corpus: the worlds of a hunt with questions that showed something new, in a directory.

A later hunt of the engine, of this release or another, asks them first, and goes on where the last one with
its seed ended.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from skipproof.stand.hunt.examining import QuestionResult
from skipproof.stand.hunt.novelty import Feature, Novelty, effects_of, features
from skipproof.stand.hunt.rounds import work_of_questions
from strategies.engines.capabilities import Capabilities
from strategies.engines.engine_tables import PYARROW
from strategies.engines.world_json import world_from_json, world_json
from strategies.engines.worlds import World

_WORLDS, _INDEX = "worlds", "index.json"
_DIGITS = 16
# Writing the files of a world takes about as long as so many questions.
_WORK_OF_WRITING = 12

_Document = TypeVar("_Document")


class UnreadableCorpus(ValueError):
    """A file of a corpus is not what a hunt wrote; the message names it."""


class _WorldFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A world as JSON, and what became of each of its questions."""

    world: dict[str, Any]
    effects: tuple[tuple[str, ...], ...]


class _Index(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The numbers of rounds that were drawn, by seed, and the names of the worlds' files in their order."""

    rounds: dict[str, int] = msgspec.field(default_factory=dict)
    order: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class KeptWorld:
    """A world of a corpus, and what became of each of its questions."""

    world: World
    effects: tuple[tuple[str, ...], ...]

    @property
    def features(self) -> set[Feature]:
        """The features of all questions."""
        pairs = zip(self.world.questions, self.effects, strict=True)
        return set().union(*(features(*pair) for pair in pairs))


class Corpus:
    """The kept worlds of one engine; several hunts may share a directory.

    Args:
        directory: It is made if it is missing.
        asked: True if the engine has been asked what is kept; then a hunt only knows it.
    """

    def __init__(self, directory: Path, *, asked: bool = False) -> None:
        self._directory, self._asked = directory, asked
        self._novelty = Novelty()
        (directory / _WORLDS).mkdir(parents=True, exist_ok=True)

    def worlds(self, able: Capabilities) -> Iterator[World]:
        """Yield the worlds that were kept before, as far as the engine has what they need.

        They come in the order of the index; those that no hunt has ordered yet come last.

        Raises:
            UnreadableCorpus: a file is not what a hunt wrote.
        """
        for path in self._paths():
            kept = self._read_world(path)
            world = kept.world
            questions = tuple(question for question in world.questions if question.area in able.areas)
            if questions and not self._asked and _is_possible(world, able):
                yield replace(world, questions=questions)

    def add(self, world: World, outcomes: Sequence[QuestionResult]) -> None:
        """Keep a world if one of its questions shows something new."""
        effects = tuple(map(effects_of, outcomes))
        is_new = [self._novelty.add(*pair) for pair in zip(world.questions, effects, strict=True)]
        if any(is_new):
            text = _text(_WorldFile(world_json(world), effects))
            _write(self._directory / _WORLDS / f"{sha256(text.encode()).hexdigest()[:_DIGITS]}.json", text)

    def rounds_before(self, hunt_seed: int) -> int:
        """Return how many rounds of a seed the hunts of this corpus have had."""
        return self._index().rounds.get(str(hunt_seed), 0)

    def finish(self, hunt_seed: int, count: int) -> None:
        """Write how many rounds of a seed there have been, so that the next hunt draws others, and the order.

        Raises:
            UnreadableCorpus: a file is not what a hunt wrote.
        """
        paths = sorted((self._directory / _WORLDS).glob("*.json"))
        order = most_features_first([self._read_world(path) for path in paths])
        rounds = self._index().rounds | {str(hunt_seed): count}
        index = _Index(rounds, tuple(paths[ordinal].name for ordinal in order))
        _write(self._directory / _INDEX, _text(index))

    def _paths(self) -> list[Path]:
        """Return the files of all worlds, in the order of the index."""
        places = {name: place for place, name in enumerate(self._index().order)}
        paths = (self._directory / _WORLDS).glob("*.json")
        return sorted(paths, key=lambda path: (places.get(path.name, len(places)), path.name))

    def _index(self) -> _Index:
        """Return the index, which is empty before the first hunt ends."""
        path = self._directory / _INDEX
        return _read(path, _Index) if path.exists() else _Index()

    def _read_world(self, path: Path) -> KeptWorld:
        """Return the world in a file, and add its features to those that are known."""
        document = _read(path, _WorldFile)
        try:
            kept = KeptWorld(world_from_json(document.world), document.effects)
            for pair in zip(kept.world.questions, kept.effects, strict=True):
                self._novelty.add(*pair)
        except ValueError as error:
            raise UnreadableCorpus(f"{path}: {error}") from error
        return kept


def most_features_first(kept: Sequence[KeptWorld]) -> list[int]:
    """Return the ordinals of worlds, each with the most features for its work that none before it has.

    It is the greedy algorithm for covering sets, where a gain is computed again only when it comes up
    (Minoux, "Accelerated greedy algorithms for maximizing submodular set functions", 1978).
    """
    all_features = [world.features for world in kept]
    works = [work(world.world) for world in kept]
    # Gains only fall, so one that is still the greatest after it was computed again is the greatest.
    heap = [(-len(all_features[ordinal]) / works[ordinal], ordinal) for ordinal in range(len(kept))]
    heapq.heapify(heap)
    covered: set[Feature] = set()
    order = []
    while heap:
        _, ordinal = heap[0]
        gain = len(all_features[ordinal] - covered) / works[ordinal]
        heapq.heapreplace(heap, (-gain, ordinal))
        if heap[0] == (-gain, ordinal):
            heapq.heappop(heap)
            covered |= all_features[ordinal]
            order.append(ordinal)
    return order


def work(world: World) -> float:
    """Return the work of asking all questions of a world, in questions of tables with few rows."""
    return _WORK_OF_WRITING + work_of_questions(world)


def _is_possible(world: World, able: Capabilities) -> bool:
    """Tell whether an engine has the switches, and the writers of the files, of a world."""
    switches = all(value in able.settings.get(name, ()) for name, value in world.settings.items())
    writers = {table.layout.writer for table in world.tables.values()}
    return switches and writers <= {PYARROW, *able.writers}


def _read(path: Path, type_: type[_Document]) -> _Document:
    """Return what a file of a corpus holds."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=type_)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise UnreadableCorpus(f"{path}: {error}") from error


def _text(document: msgspec.Struct) -> str:
    """Return a file of a corpus as a line of JSON."""
    return msgspec.json.encode(document, order="sorted").decode() + "\n"


def _write(path: Path, text: str) -> None:
    """Write a file at once, so that another hunt never reads a part of it."""
    beside = path.with_suffix(".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
