"""The state of a hunt: its findings, its fences and its counts, and the limits that end it."""

from collections import Counter
from dataclasses import dataclass, field

from skipproof.stand.hunt.causes import AGAINST_THE_REFERENCE, cause
from skipproof.stand.hunt.examining import QuestionResult
from strategies.engines.worlds import World

# Failures that have all traits of a cause with so many findings are shrunk only now and then.
FINDINGS_PER_CAUSE = 3
# A world that is examined for shrinking takes about as long as so many examples, most of which share a world.
_EXAMPLES_PER_SHRUNK_WORLD = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A shrunk contradiction of an engine.

    Attributes:
        world: The tables, the settings and the one question.
        seed: The seed of the round that drew it.
        examples, seconds: The length of the hunt when it failed, without the time for shrinking.
    """

    world: World
    outcome: QuestionResult
    traits: frozenset[str]
    seed: int
    examples: int
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Fence:
    """A loud cause that a hunt has fenced off.

    Attributes:
        ordinal: The ordinal of its finding.
        traits: The conjunction of traits that triggers it; a failure without one of them is outside.
    """

    ordinal: int
    traits: frozenset[str]

    def holds(self, failure_traits: frozenset[str]) -> bool:
        """Tell whether a failure has the whole conjunction, and is against the same oracle."""
        return self.traits <= failure_traits and _same_oracle(self.traits, failure_traits)


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierFinding:
    """A finding of an earlier hunt; `again` is the number of its duplicates until now."""

    traits: frozenset[str]
    again: int


@dataclass(kw_only=True)
class Hunt:
    """The state of a hunt.

    The findings of earlier hunts come first in the ordinals of findings; they have no worlds here.

    Attributes:
        earlier: The traits of the findings of earlier hunts, whose duplicates are only counted here.
        refused: The number of questions whose answers could not be compared, by the reason.
        no_opinion: The number of answers that the reference could not judge, by the reason.
        again: The number of duplicates of each finding, by the ordinal of the finding; of earlier ones with
            those that they had before.
        failures: The number of failures, duplicates included.
        fences: The causes that were fenced off.
        fenced: The number of failures behind each fence, by the ordinal of the finding.
        asked_behind: The number of questions that were asked although they are behind a fence, likewise.
        unasked: The number of questions that were not asked because they are behind a fence.
        asked_again: The number of questions that were asked with several threads, by their kind.
        unshrunk: The number of failures that were dropped because one like them waits to be shrunk.
        worlds_shrinking: The number of worlds examined for shrinking.
        skippable, skipped: Numbers of row groups by the family of the condition; `tightness` defines them.
        interrupted: Whether the keyboard ended the hunt before a limit.
    """

    earlier: tuple[frozenset[str], ...] = ()
    findings: list[Finding] = field(default_factory=list)
    examples: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    no_opinion: Counter[str] = field(default_factory=Counter)
    again: Counter[int] = field(default_factory=Counter)
    failures: int = 0
    fences: list[Fence] = field(default_factory=list)
    fenced: Counter[int] = field(default_factory=Counter)
    asked_behind: Counter[int] = field(default_factory=Counter)
    unasked: int = 0
    asked_again: Counter[str] = field(default_factory=Counter)
    unshrunk: int = 0
    seconds: float = 0.0
    seconds_shrinking: float = 0.0
    worlds_shrinking: int = 0
    worlds: int = 0
    skippable: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)
    interrupted: bool = False

    def similar_finding(self, failure_traits: frozenset[str]) -> int | None:
        """Return the ordinal of the finding that a failure with these traits resembles, or None.

        It has all traits of that finding, or those of a cause that has many findings.
        """
        ordinal = self.duplicated_finding(failure_traits)
        if ordinal is not None:
            return ordinal
        causes = Counter(map(cause, self._all_traits))
        for ordinal, finding_traits in enumerate(self._all_traits):
            common = cause(finding_traits)
            if (
                causes[common] >= FINDINGS_PER_CAUSE
                and common <= failure_traits
                and _same_oracle(finding_traits, failure_traits)
            ):
                return ordinal
        return None

    def duplicated_finding(self, failure_traits: frozenset[str]) -> int | None:
        """Return the ordinal of the finding whose traits a failure has, all of them, or None.

        Of several, it is the first of those with the most traits.
        """
        ordinals = [
            ordinal
            for ordinal, finding_traits in enumerate(self._all_traits)
            if finding_traits <= failure_traits and _same_oracle(finding_traits, failure_traits)
        ]
        return max(ordinals, key=lambda ordinal: len(self.traits_of(ordinal)), default=None)

    def traits_of(self, ordinal: int) -> frozenset[str]:
        """Return the traits of a finding, or of an earlier one."""
        return self._all_traits[ordinal]

    @property
    def _all_traits(self) -> tuple[frozenset[str], ...]:
        """The traits of all findings, in the order of their ordinals."""
        return (*self.earlier, *(finding.traits for finding in self.findings))

    @property
    def last_ordinal(self) -> int:
        """The ordinal of the last finding."""
        return len(self._all_traits) - 1

    def own_finding(self, ordinal: int) -> Finding | None:
        """Return the finding of an ordinal, or None if it is of an earlier hunt."""
        position = ordinal - len(self.earlier)
        return self.findings[position] if position >= 0 else None

    def fence_around(self, failure_traits: frozenset[str]) -> Fence | None:
        """Return the fence behind which a failure with these traits is, or None."""
        return next((fence for fence in self.fences if fence.holds(failure_traits)), None)

    def count_of(self, position: int) -> int:
        """Return the number of failures that were taken for one of its own findings, itself included."""
        ordinal = len(self.earlier) + position
        return 1 + self.again[ordinal] + self.fenced[ordinal]


def _same_oracle(first: frozenset[str], other: frozenset[str]) -> bool:
    """Tell whether two failures are both against the engine itself, or both against the reference."""
    return (AGAINST_THE_REFERENCE in first) == (AGAINST_THE_REFERENCE in other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The limits of a hunt, which ends when it reaches one of them; None is no limit.

    Attributes:
        examples: The number of questions, each asked in both forms.
        seconds: The time, without shrinking.
        findings: The number of findings.
        seconds_to_shrink, worlds_to_shrink: The limits for shrinking one failure.
        shrinking_share: The share of the hunt's time that shrinking may take. If there is no limit of time,
            worlds and examples are counted instead, so that the same seed has the same findings everywhere.
    """

    examples: int | None = None
    seconds: float | None = None
    findings: int = 50
    seconds_to_shrink: float = 30.0
    worlds_to_shrink: int = 300
    shrinking_share: float = 0.2

    def are_reached(self, state: Hunt) -> bool:
        """Tell whether a hunt has reached one of the limits."""
        return (
            len(state.findings) >= self.findings
            or (self.seconds is not None and state.seconds >= self.seconds)
            or (self.examples is not None and state.examples >= self.examples)
        )

    def allow_shrinking(self, state: Hunt) -> bool:
        """Tell whether shrinking has a part of its share of the hunt left."""
        ratio = self.shrinking_share / (1 - self.shrinking_share)
        if self.seconds is None:
            return state.worlds_shrinking * _EXAMPLES_PER_SHRUNK_WORLD < state.examples * ratio
        return state.seconds_shrinking < state.seconds * ratio
