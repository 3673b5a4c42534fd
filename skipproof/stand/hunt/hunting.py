"""The hunt: draws worlds with Hypothesis, asks an engine their questions, and shrinks each contradiction.

A shrunk failure whose traits are a superset of a known finding's is a duplicate: it is counted and not kept.
So is a failure that has all traits of a cause which has `FINDINGS_PER_CAUSE` findings already. After the
first few duplicates of a finding, most failures like it are counted without being shrunk, so that a frequent
cause takes little time and does not hide others.
"""

import itertools
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from hypothesis import HealthCheck, Phase, given, seed, settings

from skipproof.stand.hunt.causes import AGAINST_THE_REFERENCE, cause, error_words, traits
from skipproof.stand.hunt.examining import QuestionResult, Write, examine
from skipproof.stand.hunt.shrinking import smaller_worlds
from skipproof.stand.hunt.tightness import measure_tightness
from skipproof.stand.workers.workers import EngineClient
from strategies.engines.capabilities import Capabilities
from strategies.engines.engine_questions import World, worlds
from strategies.engines.engine_tables import ALONE, Writers
from strategies.engines.files import write_stored

# Hypothesis draws the first examples of a run independently: beyond ten it mostly varies earlier ones, and
# from ten on it keeps some of them small.
ROUND = 9
# Tightness is measured in one world of so many.
WORLDS_PER_TIGHTNESS = 3
FINDINGS_PER_CAUSE = 3
# No hunt has more rounds, so that the hunts of two seeds have none in common.
_ROUNDS_MAX = 2**32
# Of the failures like a finding, the first `_SHRUNK_FIRST` are shrunk, then one in `_SHRUNK_ONE_IN`.
_SHRUNK_FIRST, _SHRUNK_ONE_IN = 3, 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A shrunk contradiction of an engine.

    Attributes:
        world: The tables, the settings and the one question.
        seed: The seed of the round that drew it.
        examples, seconds: The length of the hunt before the finding, without the time for shrinking.
    """

    world: World
    outcome: QuestionResult
    traits: frozenset[str]
    seed: int
    examples: int
    seconds: float


@dataclass(kw_only=True)
class Hunt:
    """The state of a hunt.

    Attributes:
        refused: The number of questions whose answers could not be compared, by the reason.
        no_opinion: The number of answers that the reference could not judge, by the reason.
        again: The number of duplicates of each finding, by the ordinal of the finding.
        skippable, skipped: Numbers of row groups by the family of the condition; `tightness` defines them.
        interrupted: Whether the keyboard ended the hunt before a limit.
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

    def similar_finding(self, failure_traits: frozenset[str]) -> int | None:
        """Return the ordinal of the finding of which a failure with these traits is a duplicate, or None."""
        causes = Counter(cause(finding.traits) for finding in self.findings)
        for ordinal, finding in enumerate(self.findings):
            common = cause(finding.traits)
            if (AGAINST_THE_REFERENCE in finding.traits) != (AGAINST_THE_REFERENCE in failure_traits):
                continue
            if finding.traits <= failure_traits or (
                common <= failure_traits and causes[common] >= FINDINGS_PER_CAUSE
            ):
                return ordinal
        return None


ReportState: TypeAlias = Callable[[Hunt], None]
IsSought: TypeAlias = Callable[[World, QuestionResult], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a hunt, which ends when it reaches one of them; None is no limit.

    Attributes:
        examples: The number of questions, each asked in both forms.
        seconds: The time, without shrinking.
        findings: The number of findings.
        seconds_to_shrink, worlds_to_shrink: The limits for shrinking one failure.
    """

    examples: int | None = None
    seconds: float | None = None
    findings: int = 50
    seconds_to_shrink: float = 30.0
    worlds_to_shrink: int = 300

    def are_reached(self, state: Hunt) -> bool:
        """Tell whether a hunt has reached one of the limits."""
        return (
            len(state.findings) >= self.findings
            or (self.seconds is not None and state.seconds >= self.seconds)
            or (self.examples is not None and state.examples >= self.examples)
        )


def capabilities(
    worker: EngineClient,
    *,
    areas: tuple[str, ...] | None = None,
    writers: Writers = ALONE,
) -> Capabilities:
    """Return the questions, types and layouts that a worker's engine supports.

    Args:
        writers: The engines that may write its files, with the options of each.
    """
    hello = worker.hello
    return Capabilities(
        areas=tuple(sorted(hello.areas.intersection(areas) if areas else hello.areas)),
        functions_missing=hello.functions_missing,
        types_missing=hello.types_missing,
        joins_missing=hello.joins_missing,
        settings=hello.settings,
        writers=writers,
        layouts=hello.layouts if hello.tables == "own" else None,
    )


def hunt(
    worker: EngineClient,
    able: Capabilities,
    limits: Limits,
    *,
    hunt_seed: int = 0,
    write: Write = write_stored,
    progress: ReportState = lambda _: None,
    sought: IsSought = lambda world, outcome: True,
) -> Hunt:
    """Hunt until a limit is reached or the keyboard interrupts; findings until then are kept.

    Args:
        hunt_seed: The hunts of two seeds have no round in common.
        sought: A predicate of a world with one question, and its result. Contradictions for which it is false
            are ignored, so that they do not count as findings like the one that is sought.
    Raises:
        WorkerError: the engine ended and does not start again.
    """
    state = Hunt()
    numbers = itertools.count(hunt_seed * _ROUNDS_MAX)
    try:
        while not limits.are_reached(state):
            _Round(
                worker,
                state,
                able=able,
                number=next(numbers),
                limits=limits,
                write=write,
                progress=progress,
                sought=sought,
            ).run()
            progress(state)
    except KeyboardInterrupt:
        state.interrupted = True
    return state


class _Round:
    """The examples of one seed; a failure is shrunk, and kept unless it is a duplicate."""

    def __init__(
        self,
        worker: EngineClient,
        state: Hunt,
        *,
        able: Capabilities,
        number: int,
        limits: Limits,
        write: Write,
        progress: ReportState,
        sought: IsSought,
    ) -> None:
        self._worker, self._able, self._state, self._number = worker, able, state, number
        self._limits, self._write, self._progress, self._sought = limits, write, progress, sought
        self._since = time.monotonic()

    def run(self) -> None:
        """Draw worlds, and add the findings to the state of the hunt."""
        test = given(worlds(self._able))(self._examine_world)
        test = settings(
            max_examples=ROUND,
            phases=(Phase.generate,),
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            # Health checks judge the speed and size of examples; here these depend on the engine and the
            # hunt.
            suppress_health_check=list(HealthCheck),
        )(test)
        seed(self._number)(test)()

    def _examine_world(self, world: World) -> None:
        """Examine a world, and handle its failures."""
        if self._limits.are_reached(self._state):
            return
        outcomes = examine(self._worker, world, write=self._write)
        self._count(world, outcomes)
        for outcome in outcomes:
            if outcome.contradiction is not None and not self._limits.are_reached(self._state):
                self._handle_failure(replace(world, questions=(outcome.question,)), outcome)

    def _handle_failure(self, alone: World, outcome: QuestionResult) -> None:
        """Shrink and keep a failure, or count it if it is a duplicate."""
        ordinal = self._similar_finding(alone, outcome)
        if ordinal is not None and not self._is_shrunk_again(ordinal):
            self._state.again[ordinal] += 1
        elif self._sought(alone, outcome):
            self._keep(*self._shrink(alone, outcome))

    def _similar_finding(self, alone: World, outcome: QuestionResult) -> int | None:
        """Return the ordinal of the finding of which a failure is a duplicate, or None."""
        assert outcome.contradiction is not None
        return self._state.similar_finding(traits(alone, outcome.question, outcome.contradiction))

    def _is_shrunk_again(self, ordinal: int) -> bool:
        """Tell whether to shrink a failure like a finding too, because it may have another cause."""
        times = self._state.again[ordinal]
        return times < _SHRUNK_FIRST or times % _SHRUNK_ONE_IN == 0

    def _shrink(self, alone: World, outcome: QuestionResult) -> tuple[World, QuestionResult]:
        """Shrink a failure; if the keyboard interrupts, keep the smallest world until then."""
        until = time.monotonic() + self._limits.seconds_to_shrink

        def fails(candidate: World) -> QuestionResult | None:
            if time.monotonic() > until:
                return None
            (result,) = examine(self._worker, candidate, write=self._write)
            alike = result.contradiction is not None and _failure_kind(result) == _failure_kind(outcome)
            return result if alike and self._sought(candidate, result) else None

        smallest = alone, outcome
        try:
            tries_max = self._limits.worlds_to_shrink
            for smaller in smaller_worlds(alone, fails, tries_max=tries_max):
                smallest = smaller
        except KeyboardInterrupt:
            self._keep(*smallest)
            raise
        finally:
            now = time.monotonic()
            self._state.seconds_shrinking += now - self._since
            self._since = now
        return smallest

    def _keep(self, world: World, outcome: QuestionResult) -> None:
        """Add a failure to the findings, or count it if it is a duplicate."""
        # If the reference contradicts, the result's question has no LIMIT.
        world = replace(world, questions=(outcome.question,))
        ordinal = self._similar_finding(world, outcome)
        if ordinal is not None:
            self._state.again[ordinal] += 1
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

    def _count(self, world: World, outcomes: list[QuestionResult]) -> None:
        """Add the results of a world to the counts of the hunt."""
        state, now = self._state, time.monotonic()
        took, self._since = now - self._since, now
        state.seconds += took
        state.examples += sum(not outcome.refused for outcome in outcomes)
        state.refused.update(outcome.refused for outcome in outcomes if outcome.refused)
        state.no_opinion.update(outcome.no_opinion for outcome in outcomes if outcome.no_opinion)
        state.worlds += 1
        if state.worlds % WORLDS_PER_TIGHTNESS == 0:
            self._measure(world, outcomes)
        self._progress(state)

    def _measure(self, world: World, outcomes: list[QuestionResult]) -> None:
        """Add the tightness of the first question for which it can be measured."""
        for outcome in outcomes:
            measures = [
                measure
                for measure in measure_tightness(self._worker, world, outcome, write=self._write)
                if measure.skippable
            ]
            for measure in measures:
                self._state.skippable[measure.family] += measure.skippable
                self._state.skipped[measure.family] += measure.skipped
            if measures:
                return


def _failure_kind(outcome: QuestionResult) -> tuple[str, ...]:
    """Return the kind of a failure; a smaller world must fail in the same way."""
    assert outcome.contradiction is not None
    wrong = outcome.contradiction
    return outcome.question.area, wrong.verdict.value, wrong.oracle.value, error_words(wrong)
