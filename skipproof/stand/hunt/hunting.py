"""The hunt: worlds are drawn, an engine is asked, and what contradicts itself is made as small as it gets.

Hypothesis draws. A failure is shrunk, until each of its traits is needed. If they then include all traits of
an earlier finding, it is taken for another case of that, and only counted; so is one that has all that the
findings of a cause have in common, once there are a few of these. Once a finding has been met a few times,
most failures that look like it are counted as they are. Thus one loud cause takes little time, and does not
hide the others.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hypothesis import HealthCheck, Phase, given, seed, settings

from skipproof.stand.hunt.causes import AGAINST_THE_REFERENCE, cause, said, traits
from skipproof.stand.hunt.examining import Outcome, Write, examine
from skipproof.stand.hunt.shrinking import smaller
from skipproof.stand.hunt.tightness import measured
from skipproof.stand.workers.workers import Asked
from strategies.engines.conditions import Able
from strategies.engines.engine_questions import World, worlds
from strategies.engines.engine_tables import ALONE, Writers
from strategies.engines.files import write_stored

# Of more than ten, Hypothesis makes most by varying the first ones, and of ten or more some are kept small.
ROUND = 9
WORLDS_PER_TWIN = 3
FINDINGS_PER_CAUSE = 3
# How many failures that look like a finding are shrunk to be sure; of those after them, one in so many.
_LOOKS, _LOOKS_ONE_IN = 3, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One way in which an engine contradicts itself, as small as it got.

    Attributes:
        world: The tables, the settings and the one question.
        seed: Of the round that drew it.
        examples, seconds: How long the hunt had been on when it was first seen; shrinking is not counted.
    """

    world: World
    outcome: Outcome
    traits: frozenset[str]
    seed: int
    examples: int
    seconds: float


@dataclass(kw_only=True)
class Hunt:
    """What a hunt has come to.

    Attributes:
        refused: Why questions could not be compared, and how many.
        no_opinion: Why the reference could not judge what was compared, and how many.
        again: How many failures were taken for another case of a finding, by its ordinal.
        skippable, skipped: Row groups by the family of the condition; `tightness` has the meaning.
        interrupted: Whether it ended by the keyboard, before a limit.
    """

    findings: list[Finding] = field(default_factory=list)
    examples: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    no_opinion: Counter[str] = field(default_factory=Counter)
    again: Counter[int] = field(default_factory=Counter)
    seconds: float = 0.0
    seconds_shrinking: float = 0.0
    worlds: int = 0
    skippable: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    interrupted: bool = False

    def like(self, found: frozenset[str]) -> int | None:
        """The ordinal of a finding that a failure of these traits is taken for; None for a new one."""
        causes = Counter(cause(finding.traits) for finding in self.findings)
        for ordinal, finding in enumerate(self.findings):
            common = cause(finding.traits)
            if (AGAINST_THE_REFERENCE in finding.traits) != (AGAINST_THE_REFERENCE in found):
                continue
            if finding.traits <= found or (common <= found and causes[common] >= FINDINGS_PER_CAUSE):
                return ordinal
        return None


Progress: TypeAlias = Callable[[Hunt], None]
Sought: TypeAlias = Callable[[World, Outcome], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """When a hunt ends, whichever comes first; None is no limit.

    Attributes:
        examples: Questions, each asked with statistics and without.
        seconds: Time, shrinking not counted.
        findings: How many are enough.
        seconds_to_shrink, worlds_to_shrink: For making one failure small.
    """

    examples: int | None = None
    seconds: float | None = None
    findings: int = 50
    seconds_to_shrink: float = 30.0
    worlds_to_shrink: int = 300

    def reached(self, state: Hunt) -> bool:
        """Whether a hunt is over."""
        return (
            len(state.findings) >= self.findings
            or (self.seconds is not None and state.seconds >= self.seconds)
            or (self.examples is not None and state.examples >= self.examples)
        )


def able(
    worker: Asked,
    *,
    areas: tuple[str, ...] | None = None,
    writers: Writers = ALONE,
) -> Able:
    """What can be asked of a worker's engine.

    Args:
        writers: Who may write its files, with the options of each.
    """
    hello = worker.hello
    return Able(
        areas=tuple(sorted(hello.areas.intersection(areas) if areas else hello.areas)),
        functions_missing=hello.functions_missing,
        types_missing=hello.types_missing,
        joins_missing=hello.joins_missing,
        settings=hello.settings,
        writers=writers,
        layouts=hello.layouts if hello.tables == "own" else None,
    )


def hunt(
    worker: Asked,
    able: Able,
    limits: Limits,
    *,
    seed_first: int = 0,
    write: Write = write_stored,
    progress: Progress = lambda _: None,
    sought: Sought = lambda world, outcome: True,
) -> Hunt:
    """Ask an engine until a limit is reached, or the keyboard interrupts: what is found by then is kept.

    Args:
        seed_first: Of the first round; each round has the next one.
        sought: Whether a contradiction counts, of a world with that question alone. Others are passed over,
            so that what they have in common with it does not hide what is sought.
    Raises:
        WorkerError: the engine ended and does not start again.
    """
    state = Hunt()
    number = seed_first
    try:
        while not limits.reached(state):
            _Round(worker, able, state, number, limits, write, progress, sought).run()
            progress(state)
            number += 1
    except KeyboardInterrupt:
        state.interrupted = True
    return state


class _Round:
    """Examples of one seed; what fails is shrunk, and kept if it is not like an earlier finding."""

    def __init__(
        self,
        worker: Asked,
        able: Able,
        state: Hunt,
        number: int,
        limits: Limits,
        write: Write,
        progress: Progress,
        sought: Sought,
    ) -> None:
        self._worker, self._able, self._state, self._number = worker, able, state, number
        self._limits, self._write, self._progress, self._sought = limits, write, progress, sought
        self._since = time.monotonic()

    def run(self) -> None:
        """Draw, and keep what is found in the state."""
        test = given(worlds(self._able))(self._one)
        test = settings(
            max_examples=ROUND,
            phases=(Phase.generate,),
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            # They judge tests that draw and throw away; here each world is asked, and how long that takes, or
            # how large a world is, is the engine's and the hunt's affair.
            suppress_health_check=list(HealthCheck),
        )(test)
        seed(self._number)(test)()

    def _one(self, world: World) -> None:
        if self._limits.reached(self._state):
            return
        outcomes = examine(self._worker, world, write=self._write)
        self._count(world, outcomes)
        for outcome in outcomes:
            if outcome.contradiction is not None and not self._limits.reached(self._state):
                self._look(replace(world, questions=(outcome.question,)), outcome)

    def _look(self, alone: World, outcome: Outcome) -> None:
        """Keep a failure, made small, if none of the findings is like it."""
        known = self._known(alone, outcome)
        if known is not None and not self._looks_again(known):
            self._state.again[known] += 1
        elif self._sought(alone, outcome):
            self._keep(*self._shrunk(alone, outcome))

    def _known(self, alone: World, outcome: Outcome) -> int | None:
        assert outcome.contradiction is not None
        return self._state.like(traits(alone, outcome.question, outcome.contradiction))

    def _looks_again(self, known: int) -> bool:
        """Whether what is like a finding is shrunk all the same: it may fail for another reason too."""
        times = self._state.again[known]
        return times < _LOOKS or times % _LOOKS_ONE_IN == 0

    def _shrunk(self, alone: World, outcome: Outcome) -> tuple[World, Outcome]:
        """The same failure, made small; where the keyboard interrupts, what is smallest by then is kept."""
        until = time.monotonic() + self._limits.seconds_to_shrink

        def fails(candidate: World) -> Outcome | None:
            if time.monotonic() > until:
                return None
            (found,) = examine(self._worker, candidate, write=self._write)
            alike = found.contradiction is not None and _way(found) == _way(outcome)
            return found if alike and self._sought(candidate, found) else None

        smallest = alone, outcome
        try:
            for one in smaller(alone, fails, tries_max=self._limits.worlds_to_shrink):
                smallest = one
        except KeyboardInterrupt:
            self._keep(*smallest)
            raise
        finally:
            now = time.monotonic()
            self._state.seconds_shrinking += now - self._since
            self._since = now
        return smallest

    def _keep(self, world: World, outcome: Outcome) -> None:
        # The reference judges a question without its LIMIT.
        world = replace(world, questions=(outcome.question,))
        known = self._known(world, outcome)
        if known is not None:
            self._state.again[known] += 1
            return
        assert outcome.contradiction is not None
        self._state.findings.append(
            Finding(
                world=world,
                outcome=outcome,
                traits=traits(world, outcome.question, outcome.contradiction),
                seed=self._number,
                examples=self._state.examples,
                seconds=self._state.seconds,
            )
        )

    def _count(self, world: World, outcomes: list[Outcome]) -> None:
        state, now = self._state, time.monotonic()
        took, self._since = now - self._since, now
        state.seconds += took
        state.examples += sum(not outcome.refused for outcome in outcomes)
        state.refused.update(outcome.refused for outcome in outcomes if outcome.refused)
        state.no_opinion.update(outcome.no_opinion for outcome in outcomes if outcome.no_opinion)
        state.worlds += 1
        if state.worlds % WORLDS_PER_TWIN == 0:
            self._measure(world, outcomes)
        self._progress(state)

    def _measure(self, world: World, outcomes: list[Outcome]) -> None:
        """By the first question that tells something."""
        for outcome in outcomes:
            found = [
                one for one in measured(self._worker, world, outcome, write=self._write) if one.skippable
            ]
            for one in found:
                self._state.skippable[one.family] += one.skippable
                self._state.skipped[one.family] += one.skipped
            if found:
                return


def _way(outcome: Outcome) -> tuple[str, ...]:
    """How it fails; what is smaller must fail in the same way."""
    assert outcome.contradiction is not None
    wrong = outcome.contradiction
    return outcome.question.area, wrong.verdict.value, wrong.oracle.value, said(wrong)
