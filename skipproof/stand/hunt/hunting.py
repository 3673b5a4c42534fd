"""The hunt: draws worlds with Hypothesis, asks an engine their questions, and shrinks each contradiction.

A shrunk failure whose traits are a superset of a known finding's is a duplicate, unless it is answered
rightly without a trait that the finding has not. A duplicate is counted and not kept. After the first few
failures that resemble a finding, most failures like it are counted without being shrunk, so that a frequent
cause takes little time and does not hide others.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeAlias

from skipproof.stand.hunt.corpus import Corpus
from skipproof.stand.hunt.examining import QuestionResult, Write, examine
from skipproof.stand.hunt.failures import Clock, Failures, IsSought
from skipproof.stand.hunt.fences import without_fenced_questions
from skipproof.stand.hunt.races import find_race, question_to_ask_again
from skipproof.stand.hunt.rounds import Rounds
from skipproof.stand.hunt.state import EarlierFinding as EarlierFinding
from skipproof.stand.hunt.state import Finding as Finding
from skipproof.stand.hunt.state import Hunt as Hunt
from skipproof.stand.hunt.state import Limits as Limits
from skipproof.stand.hunt.tightness import measure_tightness
from skipproof.stand.workers.workers import EngineClient
from strategies.engines.capabilities import Capabilities
from strategies.engines.engine_tables import ALONE, ORC, Writers
from strategies.engines.files import ORC_OPTIONS, write_stored
from strategies.engines.worlds import World

# Tightness is measured in one world of so many.
WORLDS_PER_TIGHTNESS = 3
# A question of one world of so many is asked again and again with several threads.
WORLDS_PER_RACE = 4
# While there is a corpus, one world of so many is explained: that may take as long as asking it.
WORLDS_PER_EXPLANATION = 4

ReportState: TypeAlias = Callable[[Hunt], None]


def capabilities(
    worker: EngineClient,
    *,
    areas: tuple[str, ...] | None = None,
    writers: Writers = ALONE,
) -> Capabilities:
    """Return the questions, types and layouts that a worker's engine supports, with ORC if it reads it.

    Args:
        writers: The engines that may write its files, with the options of each.
    """
    hello = worker.hello
    if ORC in hello.formats:
        writers = {**writers, ORC: ORC_OPTIONS}
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
    earlier: Sequence[EarlierFinding] = (),
    corpus: Corpus | None = None,
    write: Write = write_stored,
    progress: ReportState = lambda _: None,
    sought: IsSought = lambda world, outcome: True,
    clock: Clock = time.monotonic,
) -> Hunt:
    """Hunt until a limit is reached or the keyboard interrupts; findings until then are kept.

    Args:
        hunt_seed: The hunts of two seeds have no round in common.
        earlier: The findings of earlier hunts; failures like these are counted, and not kept.
        corpus: Has worlds that are asked first, and keeps those with something new; None keeps none.
        sought: A predicate of a world with one question, and its result. Contradictions for which it is false
            are ignored, so that they do not count as findings like the one that is sought.
        clock: The time in seconds, by which limits of time are reached.
    Raises:
        WorkerError: the engine ended and does not start again.
        UnreadableCorpus: a file of the corpus is not what a hunt wrote.
    """
    state = Hunt(
        earlier=tuple(finding.traits for finding in earlier),
        again=Counter({ordinal: finding.again for ordinal, finding in enumerate(earlier)}),
    )

    def examine_alone(world: World) -> QuestionResult:
        (outcome,) = examine(worker, world, write=write)
        return outcome

    failures = Failures(
        state,
        limits,
        examine=examine_alone,
        sought=sought,
        switches=worker.hello.settings,
        clock=clock,
    )
    rounds = Rounds(able, hunt_seed, before=corpus.rounds_before(hunt_seed) if corpus is not None else 0)

    def next_round() -> _Round:
        return _Round(
            worker,
            state,
            rounds=rounds,
            limits=limits,
            corpus=corpus,
            write=write,
            progress=progress,
            failures=failures,
            clock=clock,
        )

    try:
        if corpus is not None:
            next_round().run_again(corpus.worlds(able))
        while not limits.are_reached(state):
            next_round().run()
            progress(state)
    except KeyboardInterrupt:
        state.interrupted = True
    if corpus is not None:
        corpus.finish(hunt_seed, rounds.count)
    failures.finish()
    return state


class _Round:
    """The examples of one seed."""

    def __init__(
        self,
        worker: EngineClient,
        state: Hunt,
        *,
        rounds: Rounds,
        limits: Limits,
        corpus: Corpus | None,
        write: Write,
        progress: ReportState,
        failures: Failures,
        clock: Clock,
    ) -> None:
        self._worker, self._rounds, self._state, self._corpus = worker, rounds, state, corpus
        self._limits, self._write, self._progress, self._failures = limits, write, progress, failures
        self._clock, self._since = clock, clock()

    def run(self) -> None:
        """Draw worlds, and add the findings to the state of the hunt."""
        self._rounds.draw(lambda world: self._examine_world(world, self._corpus))

    def run_again(self, worlds: Iterable[World]) -> None:
        """Ask the questions of worlds that were kept, as those of a round."""
        for world in worlds:
            self._examine_world(world, None)

    def _examine_world(self, world: World, corpus: Corpus | None) -> None:
        """Examine a world, and handle its failures.

        Args:
            corpus: Keeps the world if it shows something new; None does not look.
        """
        if self._limits.are_reached(self._state):
            return
        world = without_fenced_questions(self._state, world)
        if not world.questions:
            self._state.worlds += 1
            return
        explains = corpus is not None and self._state.worlds % WORLDS_PER_EXPLANATION == 0
        outcomes = examine(self._worker, world, write=self._write, with_features=explains)
        self._count(outcomes)
        if self._state.worlds % WORLDS_PER_TIGHTNESS == 0:
            outcomes = self._measure(world, outcomes)
        if corpus is not None and (explains or not self._worker.hello.features):
            corpus.add(world, outcomes)
        for outcome in outcomes:
            if outcome.contradiction is not None and not self._limits.are_reached(self._state):
                alone = replace(world, questions=(outcome.question,))
                self._failures.handle(alone, outcome, seed=self._rounds.number)
        self._look_for_race(world, outcomes)
        self._failures.continue_waiting()
        self._since = self._clock()

    def _count(self, outcomes: list[QuestionResult]) -> None:
        """Add the results of a world to the counts of the hunt."""
        state, now = self._state, self._clock()
        took, self._since = now - self._since, now
        state.seconds += took
        state.examples += sum(not outcome.refused for outcome in outcomes)
        state.refused.update(outcome.refused for outcome in outcomes if outcome.refused)
        state.no_opinion.update(outcome.no_opinion for outcome in outcomes if outcome.no_opinion)
        state.worlds += 1
        self._progress(state)

    def _look_for_race(self, world: World, outcomes: list[QuestionResult]) -> None:
        """Ask a question of some worlds with several threads, and handle a wrong answer."""
        state, since = self._state, self._clock()
        if state.worlds % WORLDS_PER_RACE or self._limits.are_reached(state):
            return
        chosen = question_to_ask_again(outcomes, state.asked_again)
        if chosen is None:
            return
        kind, outcome = chosen
        state.asked_again[kind] += 1
        race = find_race(self._worker, world, outcome, write=self._write)
        state.seconds += self._clock() - since
        if race is not None:
            self._failures.handle(*race, seed=self._rounds.number)

    def _measure(self, world: World, outcomes: list[QuestionResult]) -> list[QuestionResult]:
        """Add the tightness of the first question for which it can be measured; return all with its features.

        What it skips, or does not, is a feature: the only one of an engine that tells none.
        """
        for ordinal, outcome in enumerate(outcomes):
            measures = [
                measure
                for measure in measure_tightness(self._worker, world, outcome, write=self._write)
                if measure.skippable
            ]
            for measure in measures:
                self._state.skippable[measure.family] += measure.skippable
                self._state.skipped[measure.family] += measure.skipped
            if measures:
                features = (*outcome.features, *(measure.feature for measure in measures))
                return [*outcomes[:ordinal], replace(outcome, features=features), *outcomes[ordinal + 1 :]]
        return outcomes
