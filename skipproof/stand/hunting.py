"""The hunt: worlds are drawn, an engine is asked, and what contradicts itself is made as small as it gets.

Hypothesis draws and shrinks. A failure whose traits include all traits of an earlier finding is taken for
another case of it, and only counted; so is one that has all that the findings of a cause have in common, once
there are a few of these. Thus one loud cause does not hide the others: worlds without it are drawn as well.
"""

import time
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import FlakyFailure, HypothesisException, HypothesisWarning

from skipproof.stand.causes import AGAINST_THE_REFERENCE, cause, traits
from skipproof.stand.examining import Outcome, Write, examine
from skipproof.stand.tightness import measured
from skipproof.stand.workers import Asked
from strategies.engine_conditions import Able
from strategies.engine_files import write_stored
from strategies.engine_questions import World, worlds
from strategies.engine_tables import ALONE, Writers

# Of more than ten, Hypothesis makes most by varying the first ones, and of ten or more some are kept small.
ROUND = 9
WORLDS_PER_TWIN = 3
FINDINGS_PER_CAUSE = 3


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
        seconds_to_shrink, worlds_to_shrink: For making one finding small.
    """

    examples: int | None = None
    seconds: float | None = None
    findings: int = 50
    seconds_to_shrink: float = 30.0
    worlds_to_shrink: int = 2_000

    def reached(self, state: Hunt) -> bool:
        """Whether a hunt is over."""
        return (
            len(state.findings) >= self.findings
            or (self.seconds is not None and state.seconds >= self.seconds)
            or (self.examples is not None and state.examples >= self.examples)
        )


class _Found(Exception):
    """Tells Hypothesis that an example fails."""


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
    """Examples of one seed, until one fails that is not like an earlier finding; then it is shrunk."""

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
        self._smallest: tuple[World, Outcome] | None = None
        self._target: tuple[str, ...] = ()
        self._examples_then, self._seconds_then = 0, 0.0
        self._shrinks_until, self._tried = 0.0, 0

    def run(self) -> None:
        """Draw, and keep what is found in the state."""
        test = given(worlds(self._able))(self._one)
        test = settings(
            max_examples=ROUND,
            phases=(Phase.generate, Phase.shrink),
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            # They judge tests that draw and throw away; here each world is asked, and how long that takes, or
            # how large a world is, is the engine's and the hunt's affair.
            suppress_health_check=list(HealthCheck),
        )(test)
        try:
            with warnings.catch_warnings():
                # Hypothesis spells a world that fails, of a dozen questions; nobody reads that.
                warnings.simplefilter("ignore", HypothesisWarning)
                seed(self._number)(test)()
        except (_Found, FlakyFailure):
            pass
        except HypothesisException:
            # What fails once and not again is a finding all the same: an engine with threads is like that.
            if self._smallest is None:
                raise
        finally:
            # Also when the keyboard interrupts, with what is smallest by then.
            self._keep()

    def _one(self, world: World) -> None:
        if self._smallest is None and self._limits.reached(self._state):
            return
        if self._smallest is not None and self._is_small_enough():
            return
        outcomes = examine(self._worker, world, write=self._write)
        self._count(world, outcomes)
        for outcome in outcomes:
            if outcome.contradiction is None or not self._is_new(world, outcome):
                continue
            alone = replace(world, questions=(outcome.question,))
            if self._sought(alone, outcome):
                self._take(alone, outcome)
                raise _Found

    def _is_small_enough(self) -> bool:
        self._tried += 1
        return time.monotonic() > self._shrinks_until or self._tried > self._limits.worlds_to_shrink

    def _count(self, world: World, outcomes: list[Outcome]) -> None:
        state, now = self._state, time.monotonic()
        took, self._since = now - self._since, now
        if self._smallest is not None:
            state.seconds_shrinking += took
            return
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

    def _is_new(self, world: World, outcome: Outcome) -> bool:
        assert outcome.contradiction is not None
        wrong = outcome.contradiction
        key = (outcome.question.area, wrong.verdict.value, wrong.oracle.value)
        if self._smallest is not None and key != self._target:
            return False
        known = self._state.like(traits(world, outcome.question, outcome.contradiction))
        if known is None:
            self._target = key
        elif self._smallest is None:
            self._state.again[known] += 1
        return known is None

    def _take(self, alone: World, outcome: Outcome) -> None:
        if self._smallest is None:
            self._examples_then, self._seconds_then = self._state.examples, self._state.seconds
            self._shrinks_until = time.monotonic() + self._limits.seconds_to_shrink
        if self._smallest is None or size(alone) <= size(self._smallest[0]):
            self._smallest = (alone, outcome)

    def _keep(self) -> None:
        if self._smallest is None:
            return
        world, outcome = self._smallest
        assert outcome.contradiction is not None
        self._state.findings.append(
            Finding(
                world=world,
                outcome=outcome,
                traits=traits(world, outcome.question, outcome.contradiction),
                seed=self._number,
                examples=self._examples_then,
                seconds=self._seconds_then,
            )
        )


def size(world: World) -> int:
    """How much there is to read: cells, and characters of the question and of the settings."""
    cells = sum(len(block) * len(table.columns) for table in world.tables.values() for block in table.blocks)
    return cells * 10 + sum(len(str(question)) for question in world.questions) + len(str(world.settings))
