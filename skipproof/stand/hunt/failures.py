"""The failures of a hunt: they are shrunk within a budget, and kept unless they are duplicates.

A failure that cannot be shrunk now, because shrinking has used up its share of the hunt, waits until there is
time again, or the hunt ends. A cause whose duplicates are a large share of the failures is fenced off. A
known fault gives no more findings.
"""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import TypeAlias

from skipproof.stand.hunt import fences
from skipproof.stand.hunt.causes import traits, type_traits
from skipproof.stand.hunt.duplicates import Examine, Switches, another_cure, has_cure
from skipproof.stand.hunt.examining import QuestionResult
from skipproof.stand.hunt.known_faults import KnownFaults
from skipproof.stand.hunt.shrinking import Fails, tried_worlds
from skipproof.stand.hunt.state import Fence, Finding, Hunt, Limits
from skipproof.stand.hunt.varying import Cure
from skipproof.stand.hunt.waiting import Shrinking, Waiting, failure_kind
from strategies.engines.worlds import World

# Of the failures like a finding, the first `_SHRUNK_FIRST` of each family of types are shrunk, then one in
# `_SHRUNK_ONE_IN`: what is wrong in one type only must not be taken for what is wrong in all.
_SHRUNK_FIRST, _SHRUNK_ONE_IN = 3, 10
# The most worlds that are examined to find the traits of a fence, or a failure outside of it.
_TRIES_PER_FENCE = 100

Clock: TypeAlias = Callable[[], float]
IsSought: TypeAlias = Callable[[World, QuestionResult], bool]


class Failures:
    """The failures of one hunt, and the findings that it keeps of them.

    Args:
        examine: Asks the one question of a world, and compares the answers.
        sought: As in `hunting.hunt`.
        switches: The switches of the engine with their values, the default first.
        clock: The time in seconds.
    """

    def __init__(
        self,
        state: Hunt,
        limits: Limits,
        *,
        examine: Examine,
        sought: IsSought,
        switches: Switches,
        clock: Clock = time.monotonic,
    ) -> None:
        self._state, self._limits, self._examine, self._switches = state, limits, examine, switches
        self._sought, self._clock = sought, clock
        self._waiting = Waiting()
        # The number of failures that resemble each finding, of each set of families of types.
        self._alike: Counter[tuple[int, frozenset[str]]] = Counter()
        self._again_before: Counter[int] = Counter(state.again)
        self._known_faults = KnownFaults(examine=self._examine_for_shrinking, switches=switches)

    def handle(self, alone: World, outcome: QuestionResult, *, seed: int) -> None:
        """Shrink and keep a failure, let it wait, or count it if it is a duplicate or behind a fence.

        Args:
            alone: The failing world, with the one question of `outcome`.
            seed: The seed of the round that drew it.
        """
        state = self._state
        state.failures += 1
        failure = self._failure(alone, outcome, seed)
        fence = state.fence_around(failure.traits)
        if fence is not None and fences.ignores_fences(state.worlds) and self._limits.allow_shrinking(state):
            escaped = self._escaped(failure, fence)
            if escaped is not None:
                failure, fence = escaped, None
        ordinal = state.similar_finding(failure.traits)
        cure = self._another_cure(failure, ordinal, fence)
        if cure is None and fence is not None:
            state.fenced[fence.ordinal] += 1
        elif cure is None and ordinal is not None and not self._is_shrunk_again(ordinal, failure):
            self._count_duplicate(ordinal)
        elif self._sought(failure.world, failure.outcome):
            self._take_up(Shrinking(failure, cure))

    def continue_waiting(self) -> None:
        """Shrink failures that wait, as long as there is time for it."""
        while self._waiting and self._limits.allow_shrinking(self._state):
            self._go_on(self._waiting.pop())

    def _go_on(self, shrinking: Shrinking) -> None:
        """Shrink a failure that waited; if it was not begun and is a duplicate by now, count it."""
        if shrinking.steps is not None:
            self._shrink(shrinking)
            return
        failure, cure = shrinking.failure, None
        ordinal = self._known_faults.first_finding(failure)
        if ordinal is None:
            ordinal = self._state.duplicated_finding(failure.traits)
            cure = None if ordinal is None else self._cure_of_another_cause(failure, ordinal)
        if ordinal is None or (cure is not None and cure == shrinking.cure):
            self._shrink(shrinking)
        elif cure is not None:
            self._shrink(Shrinking(failure, cure, is_its_turn=True))
        else:
            self._leave_out(shrinking, ordinal)

    def finish(self) -> None:
        """Keep the failures that still wait as small as they are."""
        while self._waiting:
            shrinking = self._waiting.pop()
            is_begun = shrinking.steps is not None
            ordinal = None if is_begun else self._known_faults.first_finding(shrinking.failure)
            if ordinal is None:
                self._keep(shrinking)
            else:
                self._leave_out(shrinking, ordinal)

    def _another_cure(self, failure: Finding, ordinal: int | None, fence: Fence | None) -> Cure | None:
        """Return a cure that tells a failure from the finding like it, or from the cause behind a fence.

        None if there is none, or no time to look for it.

        Args:
            ordinal: The ordinal of the finding, or None.
        """
        if not self._limits.allow_shrinking(self._state):
            return None
        if fence is not None and ordinal in (None, fence.ordinal):
            return self._cure_beside(failure, fence.traits)
        return None if ordinal is None else self._cure_of_another_cause(failure, ordinal)

    def _cure_beside(self, failure: Finding, other_traits: frozenset[str]) -> Cure | None:
        """Return a cure of a failure that takes a trait away which is not among others, or None."""
        return another_cure(
            failure, other_traits, examine=self._examine_for_shrinking, switches=self._switches
        )

    def _cure_of_another_cause(self, failure: Finding, ordinal: int) -> Cure | None:
        """Return a cure that tells a failure from the finding of this ordinal, or None."""
        return self._cure_beside(failure, self._state.traits_of(ordinal))

    def _failure(self, alone: World, outcome: QuestionResult, seed: int) -> Finding:
        """Return a failure in the form of a finding."""
        assert outcome.contradiction is not None
        return Finding(
            world=alone,
            outcome=outcome,
            traits=traits(alone, outcome.question, outcome.contradiction),
            seed=seed,
            examples=self._state.examples,
            seconds=self._state.seconds,
        )

    def _is_shrunk_again(self, ordinal: int, failure: Finding) -> bool:
        """Tell whether to shrink a failure like a finding too, because it may have another cause."""
        key = ordinal, type_traits(failure.traits)
        times = self._again_before[ordinal] + self._alike[key]
        self._alike[key] += 1
        return times < _SHRUNK_FIRST or times % _SHRUNK_ONE_IN == 0

    def _take_up(self, shrinking: Shrinking) -> None:
        """Shrink a new failure, or count it if it shows a known fault.

        Let it wait if there is no time, or if others do: it may not be its turn.
        """
        limits, state, ordinal = self._limits, self._state, None
        if limits.allow_shrinking(state):
            ordinal = self._known_faults.first_finding(shrinking.failure)
        if ordinal is not None:
            self._count_duplicate(ordinal)
        elif self._waiting or not limits.allow_shrinking(state):
            self._let_wait(shrinking)
        else:
            self._shrink(shrinking)

    def _shrink(self, shrinking: Shrinking) -> None:
        """Shrink a failure and keep it; if there is no time for it, let it wait.

        If the keyboard interrupts, keep the smallest world until then.
        """
        self._run(shrinking)
        if shrinking.is_done:
            if self._keep(shrinking):
                self._known_faults.learn(self._state.findings[-1], self._state.last_ordinal)
            self._start_again(shrinking)
        else:
            self._let_wait(shrinking)

    def _let_wait(self, shrinking: Shrinking) -> None:
        """Let a failure wait; if the findings and all that waits are as many as there may be, shrink some."""
        if not self._waiting.add(shrinking):
            self._state.unshrunk += 1
        while len(self._state.findings) + len(self._waiting) >= self._limits.findings and self._waiting:
            # The hunt may end with this one, so that shrinking takes no time from it.
            last = self._waiting.pop()
            self._run(last, until_done=True)
            self._keep(last)

    def _start_again(self, shrinking: Shrinking) -> None:
        """Let a failure that was shrunk wait again if it has traits that its finding lacks.

        Its smaller worlds may show another fault. They do if one of these traits is a cure of the failure.
        """
        start = shrinking.start
        findings_left = self._limits.findings - len(self._state.findings) - len(self._waiting)
        if findings_left > 1 and shrinking.cure is None and shrinking.failure.traits < start.traits:
            self._waiting.add(Shrinking(start, is_shrunk_before=True))

    def _run(self, shrinking: Shrinking, *, until_done: bool = False) -> None:
        """Shrink a failure until it is done, or the share of shrinking is used up; then it goes on later."""
        limits, state = self._limits, self._state
        if shrinking.steps is None:
            fails = self._fails_and_has_cure(shrinking)
            shrinking.steps = tried_worlds(shrinking.failure.world, fails, tries_max=limits.worlds_to_shrink)
        shrinking.is_done = shrinking.worlds >= limits.worlds_to_shrink
        try:
            while not shrinking.is_done and (until_done or limits.allow_shrinking(state)):
                spent = state.seconds_shrinking
                # The failure itself stands for the end of the steps.
                smaller = next(shrinking.steps, shrinking.failure)
                shrinking.worlds += 1
                shrinking.seconds += state.seconds_shrinking - spent
                if isinstance(smaller, tuple):
                    shrinking.failure = self._smaller(shrinking.failure, *smaller)
                shrinking.is_done = (
                    isinstance(smaller, Finding)
                    or shrinking.worlds >= limits.worlds_to_shrink
                    or shrinking.seconds >= limits.seconds_to_shrink
                )
        except KeyboardInterrupt:
            self._keep(shrinking)
            raise

    def _smaller(self, failure: Finding, world: World, outcome: QuestionResult) -> Finding:
        """Return a failure with a smaller world."""
        assert outcome.contradiction is not None
        own_traits = traits(world, outcome.question, outcome.contradiction)
        return replace(failure, world=world, outcome=outcome, traits=own_traits)

    def _fails_alike(self, original: QuestionResult) -> Fails:
        """Return a function that examines a world, and returns its result if it fails like the original."""

        def fails(candidate: World) -> QuestionResult | None:
            since = self._clock()
            try:
                result = self._examine(candidate)
                alike = result.contradiction is not None and failure_kind(result) == failure_kind(original)
                return result if alike and self._sought(candidate, result) else None
            finally:
                self._count_shrinking(since)

        return fails

    def _fails_and_has_cure(self, shrinking: Shrinking) -> Fails:
        """Return a function like `_fails_alike`, for worlds that the cure of a failure makes right too."""
        cure, fails = shrinking.cure, self._fails_alike(shrinking.failure.outcome)
        if cure is None:
            return fails

        def fails_too(candidate: World) -> QuestionResult | None:
            result = fails(candidate)
            has_it = result is not None and has_cure(
                candidate, cure, examine=self._examine_for_shrinking, switches=self._switches
            )
            return result if has_it else None

        return fails_too

    def _examine_for_shrinking(self, world: World) -> QuestionResult:
        """Examine a world, and count that as shrinking."""
        since = self._clock()
        try:
            return self._examine(world)
        finally:
            self._count_shrinking(since)

    def _count_shrinking(self, since: float) -> None:
        """Count a world that was examined for shrinking."""
        self._state.seconds_shrinking += self._clock() - since
        self._state.worlds_shrinking += 1

    def _keep(self, shrinking: Shrinking) -> bool:
        """Add a failure to the findings, or count it if it is a duplicate; tell whether it was added."""
        failure = shrinking.failure
        # If the reference contradicts, the result's question has no LIMIT.
        world = replace(failure.world, questions=(failure.outcome.question,))
        failure = self._smaller(failure, world, failure.outcome)
        ordinal = self._state.duplicated_finding(failure.traits)
        if ordinal is None or self._cure_of_another_cause(failure, ordinal) is not None:
            self._state.findings.append(failure)
            return True
        self._leave_out(shrinking, ordinal)
        return False

    def _leave_out(self, shrinking: Shrinking, ordinal: int) -> None:
        """Count a failure as a duplicate of the finding of this ordinal, unless it was shrunk before."""
        if not shrinking.is_shrunk_before:
            self._count_duplicate(ordinal)

    def _count_duplicate(self, ordinal: int) -> None:
        """Count a duplicate of a finding, and fence its cause off if it is loud."""
        state = self._state
        state.again[ordinal] += 1
        is_fenced = any(fence.ordinal == ordinal for fence in state.fences)
        if is_fenced or not (fences.is_loud(state, ordinal) and self._limits.allow_shrinking(state)):
            return
        finding = state.own_finding(ordinal)
        if finding is None:
            return
        conjunction = fences.minimal_conjunction(
            finding.world, finding.outcome, self._fails_alike(finding.outcome), tries_max=_TRIES_PER_FENCE
        )
        state.fences.append(Fence(ordinal=ordinal, traits=conjunction))

    def _escaped(self, failure: Finding, fence: Fence) -> Finding | None:
        """Return a failure that is behind a fence, made simpler until it is outside; None if it is not."""
        outside = fences.escape(
            failure.world,
            failure.outcome,
            fence.traits,
            self._fails_alike(failure.outcome),
            tries_max=_TRIES_PER_FENCE,
        )
        return None if outside is None else self._smaller(failure, *outside)
