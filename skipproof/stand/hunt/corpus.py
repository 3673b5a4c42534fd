"""A corpus: the worlds of a hunt whose questions showed something new, in a directory.

A later hunt of the engine, of this release or another, asks them first, and goes on where the last one with
its seed ended. Of each world only the new questions are kept.
"""

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

from skipproof.stand.hunt.examining import QuestionResult
from skipproof.stand.hunt.novelty import Novelty
from skipproof.stand.hunt.rounds import ROWS_PER_QUESTION, row_count
from strategies.engines.capabilities import Capabilities
from strategies.engines.engine_tables import PYARROW
from strategies.engines.world_json import world_from_text, world_text
from strategies.engines.worlds import World

_WORLDS, _ROUNDS = "worlds", "rounds.json"
_DIGITS = 16


class UnreadableCorpus(ValueError):
    """A file of a corpus is not what a hunt wrote; the message names it."""


class Corpus:
    """The kept worlds of one engine; several hunts may share a directory.

    Args:
        directory: It is made if it is missing.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._novelty = Novelty()
        (directory / _WORLDS).mkdir(parents=True, exist_ok=True)

    def worlds(self, able: Capabilities) -> Iterator[World]:
        """Yield the worlds that were kept before, as far as the engine has what they need.

        Those with the most questions for their rows come first, because writing the files takes as long for
        one question.

        Raises:
            UnreadableCorpus: a file is no world.
        """
        paths = sorted((self._directory / _WORLDS).glob("*.json"))
        for world in sorted(map(_read_world, paths), key=questions_per_work, reverse=True):
            questions = tuple(question for question in world.questions if question.area in able.areas)
            if questions and _is_possible(world, able):
                yield replace(world, questions=questions)

    def know(self, world: World, outcomes: Sequence[QuestionResult]) -> None:
        """Take the features of a world's questions for those of the corpus, without keeping it again."""
        for outcome in outcomes:
            self._novelty.is_new(outcome)

    def add(self, world: World, outcomes: Sequence[QuestionResult]) -> None:
        """Keep a world with those of its questions that show something new."""
        new = [self._novelty.is_new(outcome) for outcome in outcomes]
        questions = tuple(question for question, is_new in zip(world.questions, new, strict=True) if is_new)
        if questions:
            text = world_text(replace(world, questions=questions))
            _write(self._directory / _WORLDS / f"{sha256(text.encode()).hexdigest()[:_DIGITS]}.json", text)

    def rounds_before(self, hunt_seed: int) -> int:
        """Return how many rounds of a seed the hunts of this corpus have had."""
        return self._rounds().get(str(hunt_seed), 0)

    def save_rounds(self, hunt_seed: int, count: int) -> None:
        """Write how many rounds of a seed there have been, so that the next hunt draws others."""
        rounds = self._rounds() | {str(hunt_seed): count}
        _write(self._directory / _ROUNDS, json.dumps(rounds, sort_keys=True) + "\n")

    def _rounds(self) -> dict[str, int]:
        """Return the number of rounds by seed."""
        path = self._directory / _ROUNDS
        if not path.exists():
            return {}
        try:
            rounds = json.loads(path.read_text(encoding="utf-8"))
        except ValueError as error:
            raise UnreadableCorpus(f"{path}: {error}") from error
        if not isinstance(rounds, dict) or not all(isinstance(count, int) for count in rounds.values()):
            raise UnreadableCorpus(f"{path}: it has no numbers of rounds")
        return rounds


def questions_per_work(world: World) -> float:
    """Return the number of a world's questions, divided by how much longer one takes than of no rows."""
    return len(world.questions) / (1 + row_count(world) / ROWS_PER_QUESTION)


def _read_world(path: Path) -> World:
    """Return the world in a file."""
    try:
        return world_from_text(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UnreadableCorpus(f"{path}: {error}") from error


def _is_possible(world: World, able: Capabilities) -> bool:
    """Tell whether an engine has the switches, and the writers of the files, of a world."""
    switches = all(value in able.settings.get(name, ()) for name, value in world.settings.items())
    writers = {table.layout.writer for table in world.tables.values()}
    return switches and writers <= {PYARROW, *able.writers}


def _write(path: Path, text: str) -> None:
    """Write a file at once, so that another hunt never reads a part of it."""
    beside = path.with_suffix(".new")
    beside.write_text(text, encoding="utf-8")
    beside.replace(path)
