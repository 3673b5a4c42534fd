"""Searches for questions that convict mutants of the source.

The rounds of the uniform hunt do not depend on the engine's answers. So `search_together` draws them once for
many mutants, and asks a mutant only where the correct engine executes the changed statement; its results are
those of hunting each mutant alone, which `search_each` does with any hunt.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Protocol, TypeAlias

from mutants.source.copies import EngineCopy
from mutants.source.source_mutants import SourceMutant
from oracles.answers.contradictions import without_limit
from skipproof.stand.hunt.examining import examine, plain_form, pruned_form
from skipproof.stand.hunt.hunting import Hunt, Limits, capabilities, hunt
from skipproof.stand.hunt.rounds import Rounds
from skipproof.stand.workers.workers import EngineClient, Hello
from strategies.engines.capabilities import Capabilities
from strategies.engines.files import write_stored
from strategies.engines.worlds import World

Reply: TypeAlias = dict[str, Any]

# A mutant that fails in both forms refuses questions, which are no examples; the search ends all the same.
_DRAWN_PER_EXAMPLE = 2
_SECONDS_PER_EXAMPLE = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """The result of hunting one mutant.

    Attributes:
        verdict: The first contradiction, or empty if there is none.
        examples: The number of questions until then.
        is_reached: Whether the changed statement was executed; unknown, hence true, where it is not recorded.
        is_otherwise: Whether the mutant left other things unread than the correct engine, as far as known.
        is_bolder: Whether it left something more unread, as far as known; one that never does prunes less.
    """

    mutant: SourceMutant
    seed: int
    verdict: str
    examples: int
    is_reached: bool = True
    is_otherwise: bool = True
    is_bolder: bool = True


class Search(Protocol):
    """Hunts mutants, each for a number of examples."""

    def __call__(
        self, mutants: Sequence[SourceMutant], *, seed: int, examples: int
    ) -> Iterator[SearchResult]:
        """Yield the result of each mutant, in any order."""


class HuntFunction(Protocol):
    """The part of the signature of `hunt` that a search uses."""

    def __call__(
        self, worker: EngineClient, able: Capabilities, limits: Limits, *, hunt_seed: int = 0
    ) -> Hunt:
        """Hunt until a limit is reached."""


def one_finding(examples: int) -> Limits:
    """Return the limits of a hunt that ends with its first finding, which is not shrunk."""
    seconds = max(60.0, examples * _SECONDS_PER_EXAMPLE)
    return Limits(examples=examples, seconds=seconds, findings=1, worlds_to_shrink=0)


def search_each(hunt_one: HuntFunction = hunt) -> Search:
    """Return the search that hunts each mutant alone."""

    def search(mutants: Sequence[SourceMutant], *, seed: int, examples: int) -> Iterator[SearchResult]:
        limits = one_finding(examples)
        for mutant in mutants:
            engine = EngineCopy(mutant, tables=mutant.tables)
            state = hunt_one(engine, capabilities(engine), limits, hunt_seed=seed)
            verdict, count = "", state.examples
            for finding in state.findings:
                assert finding.outcome.contradiction is not None
                verdict, count = finding.outcome.contradiction.verdict.value, finding.examples
            yield SearchResult(mutant=mutant, seed=seed, verdict=verdict, examples=count)

    return search


def search_together(mutants: Sequence[SourceMutant], *, seed: int, examples: int) -> Iterator[SearchResult]:
    """Hunt all mutants over the same worlds, those of the uniform hunt of a seed."""
    for tables in ("files", "own"):
        suspects = [_Suspect(mutant) for mutant in mutants if mutant.tables == tables]
        if suspects:
            yield from _SharedHunt(suspects, tables, seed=seed, examples=examples).results()


class _Suspect:
    """A mutant during a search; its engine is made when it is first asked."""

    def __init__(self, mutant: SourceMutant) -> None:
        self.mutant = mutant
        self.examples = 0
        self.is_reached = self.is_otherwise = self.is_bolder = False
        self._place = (mutant.module, mutant.statement)
        self._engine: EngineCopy | None = None

    def reply(self, request: dict[str, Any], answered: "_Answered") -> Reply:
        """Return the reply to a request: the correct one unless the changed statement is executed."""
        if self.mutant.statement is not None and self._place not in answered.executed:
            return answered.reply
        if self._engine is None:
            self._engine = EngineCopy(self.mutant, tables=self.mutant.tables)
        self.is_reached = True
        before = self._engine.saved
        reply = self._engine.ask(**request)
        saved = _difference(self._engine.saved, before)
        self.is_otherwise |= saved != answered.saved
        self.is_bolder |= _is_more(saved, answered.saved)
        return reply


@dataclass(frozen=True, slots=True)
class _Answered:
    """The correct engine's reply to a request, the statements executed, and what was not read."""

    reply: Reply
    executed: frozenset[tuple[str, int]]
    saved: dict[str, int]


class _Replay:
    """A client that gives replies which are there already."""

    def __init__(self, hello: Hello, replies: Sequence[Reply]) -> None:
        self.hello = hello
        self._replies = iter(replies)

    def ask(self, **request: Any) -> Reply:
        """Return the next reply."""
        return next(self._replies)


class _SharedHunt:
    """The worlds of a seed, examined for many mutants."""

    def __init__(self, suspects: Sequence[_Suspect], tables: str, *, seed: int, examples: int) -> None:
        self._suspects = list(suspects)
        self._correct = EngineCopy(tables=tables, is_recording=True)
        self._seed, self._examples, self._drawn = seed, examples, 0

    def results(self) -> Iterator[SearchResult]:
        """Yield the result of each mutant, as soon as it is known."""
        rounds = Rounds(capabilities(self._correct), self._seed)
        while self._suspects:
            for world in _worlds_of_next(rounds):
                yield from self._results_of_world(world)
                if not self._suspects:
                    return

    def _results_of_world(self, world: World) -> Iterator[SearchResult]:
        """Ask every mutant the questions of a world, and yield the results that this determines."""
        with TemporaryDirectory(prefix="skipproof-") as directory:
            requests = self._requests(world, Path(directory))
            answers = [self._answer(request) for request in requests]
            replies_by_suspect = [
                [suspect.reply(request, answer) for request, answer in zip(requests, answers, strict=True)]
                for suspect in self._suspects
            ]
        remaining, self._drawn = [], self._drawn + len(world.questions)
        is_over = self._drawn >= _DRAWN_PER_EXAMPLE * self._examples
        for suspect, replies in zip(self._suspects, replies_by_suspect, strict=True):
            count, verdict = len(world.questions), ""
            if replies != [answer.reply for answer in answers]:
                count, verdict = self._judge(world, replies)
            suspect.examples += count
            if suspect.examples >= self._examples:
                # As in the hunt, the world that reaches the limit is counted, and its failures are not.
                verdict = ""
            if verdict or is_over or suspect.examples >= self._examples:
                yield self._result(suspect, verdict)
            else:
                remaining.append(suspect)
        self._suspects = remaining

    def _requests(self, world: World, directory: Path) -> list[dict[str, Any]]:
        """Return the requests of the hunt for a world: its pruned form, and its plain form."""
        pruned = {
            name: pruned_form(self._correct, table, directory / name, write_stored)
            for name, table in world.tables.items()
        }
        plain = {name: plain_form(self._correct, table) for name, table in world.tables.items()}
        forms = (
            (pruned, world.questions),
            (plain, [without_limit(question) for question in world.questions]),
        )
        return [
            {
                "tables": tables,
                "settings": world.settings,
                "questions": [question.json() for question in questions],
                "sources": False,
            }
            for tables, questions in forms
        ]

    def _answer(self, request: dict[str, Any]) -> _Answered:
        """Return the correct engine's answer to a request."""
        self._correct.executed.clear()
        before = self._correct.saved
        reply = self._correct.ask(**request)
        return _Answered(reply, frozenset(self._correct.executed), _difference(self._correct.saved, before))

    def _judge(self, world: World, replies: Sequence[Reply]) -> tuple[int, str]:
        """Return the number of questions that a mutant's replies answer, and the first contradiction."""
        outcomes = examine(_Replay(self._correct.hello, replies), world, write=lambda table, directory: [])
        verdicts = [outcome.contradiction.verdict.value for outcome in outcomes if outcome.contradiction]
        return sum(not outcome.refused for outcome in outcomes), next(iter(verdicts), "")

    def _result(self, suspect: _Suspect, verdict: str) -> SearchResult:
        """Return the result of a mutant."""
        return SearchResult(
            mutant=suspect.mutant,
            seed=self._seed,
            verdict=verdict,
            examples=suspect.examples,
            is_reached=suspect.is_reached,
            is_otherwise=suspect.is_otherwise,
            is_bolder=suspect.is_bolder,
        )


def _worlds_of_next(rounds: Rounds) -> list[World]:
    """Return the worlds of the next round."""
    of_round: list[World] = []

    def keep(world: World) -> None:
        of_round.append(world)

    rounds.draw(keep)
    return of_round


def _difference(after: Any, before: Any) -> dict[str, int]:
    """Return the counts that have grown, each with the growth."""
    growths = {name: count - before.get(name, 0) for name, count in after.items()}
    return {name: growth for name, growth in growths.items() if growth}


def _is_more(saved: Mapping[str, int], correct: Mapping[str, int]) -> bool:
    """Tell whether more is saved of something, of pages only if nothing is saved less.

    Pages are saved in the row groups that are read, so of more groups there are more pages to save.
    """
    more = {name for name in saved if saved[name] > correct.get(name, 0)}
    less = {name for name in correct if saved.get(name, 0) < correct[name]}
    return bool(more - {"pages"}) or (bool(more) and not less)
