"""A predicate on one expression, as the values of that expression on which it is TRUE, FALSE and NULL.

`a < 5`, `a IN (1, 9) AND NOT a <=> 1` and `a + b IS NULL OR a + b > 3` say nothing of a row but through
one expression, their *subject*. Whichever way such predicates are combined, three sets of the
subject's values tell all: a union of intervals or a language each, NULL and NaN beside. So what a
block can give is exact where the subject's range is.

The sets may be too large (a pattern that no rule knows), never too small, so connectives are made of
unions and intersections alone.
"""

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pruning.expressions.traversal import repeatable
from pruning.expressions.trees import Expression
from pruning.expressions.types import BOOLEAN
from pruning.rules.sets import value_sets
from pruning.rules.sets.cuts import EMPTY, FULL, of_values
from pruning.rules.sets.truths import Truths
from pruning.rules.sets.value_sets import Values


@dataclass(frozen=True, slots=True)
class ValueSet:
    """A set of values, NULL and NaN among them or not."""

    cuts: Values = EMPTY
    null: bool = False
    nan: bool = False

    def __or__(self, other: "ValueSet") -> "ValueSet":
        return ValueSet(
            value_sets.union(self.cuts, other.cuts),
            null=self.null or other.null,
            nan=self.nan or other.nan,
        )

    def __and__(self, other: "ValueSet") -> "ValueSet":
        return ValueSet(
            value_sets.intersection(self.cuts, other.cuts),
            null=self.null and other.null,
            nan=self.nan and other.nan,
        )

    @property
    def empty(self) -> bool:
        """Whether nothing is in it."""
        return self.cuts.empty and not self.null and not self.nan


NOTHING = ValueSet()
NULL_ONLY = ValueSet(null=True)
NAN_ONLY = ValueSet(nan=True)
NUMBERS = ValueSet(FULL)
NOT_NULL = ValueSet(FULL, nan=True)
EVERYTHING = ValueSet(FULL, null=True, nan=True)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """On which values of the subject a predicate is TRUE, FALSE, NULL; without subject, on all or none."""

    subject: Expression | None
    true: ValueSet
    false: ValueSet
    null: ValueSet

    def of(self, truths: Truths) -> ValueSet:
        """The values on which it takes one of these truth values."""
        each = {Truths.TRUE: self.true, Truths.FALSE: self.false, Truths.NULL: self.null}
        return union(each[truth] for truth in truths.members())


def union(parts: Iterable[ValueSet]) -> ValueSet:
    """What is in any of them."""
    return _in_pairs(operator.or_, list(parts) or [NOTHING])


def intersection(parts: Iterable[ValueSet]) -> ValueSet:
    """What is in all of them."""
    return _in_pairs(operator.and_, list(parts) or [EVERYTHING])


def _in_pairs(combine: Callable[[ValueSet, ValueSet], ValueSet], parts: list[ValueSet]) -> ValueSet:
    """The parts combined like with like in size: one after the other, many take quadratic time."""
    while len(parts) > 1:
        pairs = [combine(one, other) for one, other in zip(parts[0::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(parts) - len(parts) % 2 :]
    return parts[0]


def constant(value: object) -> Outcomes:
    """Of a boolean literal."""
    return Outcomes(
        None,
        true=EVERYTHING if value is True else NOTHING,
        false=EVERYTHING if value is False else NOTHING,
        null=EVERYTHING if value is None else NOTHING,
    )


def of_boolean(subject: Expression) -> Outcomes:
    """Of a boolean about which nothing else is known: it is what it is."""
    true, false = (of_values([value], BOOLEAN) for value in (True, False))
    return Outcomes(subject, true=ValueSet(true), false=ValueSet(false), null=NULL_ONLY)


def common_subject(parts: Iterable[Outcomes]) -> tuple[bool, Expression | None]:
    """Whether all parts have one subject, those aside that have none; and that subject."""
    subjects = [part.subject for part in parts if part.subject is not None]
    if not subjects:
        return True, None
    first, *others = subjects
    alike = all(other is first or (other == first and repeatable(first)) for other in others)
    return alike, first


def negation(part: Outcomes) -> Outcomes:
    """NOT swaps TRUE and FALSE."""
    return Outcomes(part.subject, true=part.false, false=part.true, null=part.null)


def connective(parts: list[Outcomes], *, decides: Truths) -> Outcomes | None:
    """AND (FALSE decides) and OR (TRUE decides) of predicates on one subject; None of several ones.

    It is decided where a part is; neutral where all are; NULL where one is and none decides.
    """
    alike, subject = common_subject(parts)
    if not alike:
        return None
    if any(part.subject is None and not part.of(decides).empty for part in parts):
        return constant(decides is Truths.TRUE)  # even where the subject raises
    neutral = decides.negated()
    all_neutral = intersection(part.of(neutral) for part in parts)
    none_decides = intersection(part.of(neutral | Truths.NULL) for part in parts)
    decided = union(part.of(decides) for part in parts)
    null = union(part.null for part in parts) & none_decides
    if decides is Truths.FALSE:
        return Outcomes(subject, true=all_neutral, false=decided, null=null)
    return Outcomes(subject, true=decided, false=all_neutral, null=null)


def choice(branches: list[tuple[Outcomes, Outcomes]], otherwise: Outcomes) -> Outcomes | None:
    """A boolean CASE on one subject: a branch is taken where the conditions before it are not TRUE."""
    branches = [branch for branch in branches if not _never_taken(branch[0])]
    if branches and branches[0][0].subject is None:
        return branches[0][1]  # even where a later condition raises
    alike, subject = common_subject([part for branch in branches for part in branch] + [otherwise])
    if not alike:
        return None
    taken = dict.fromkeys(Truths.ANY.members(), NOTHING)
    reached = EVERYTHING
    for condition, value in branches:
        inside = reached & condition.true
        taken = {truth: held | (inside & value.of(truth)) for truth, held in taken.items()}
        reached &= condition.of(Truths.NOT_TRUE)
    taken = {truth: held | (reached & otherwise.of(truth)) for truth, held in taken.items()}
    return Outcomes(subject, true=taken[Truths.TRUE], false=taken[Truths.FALSE], null=taken[Truths.NULL])


def _never_taken(condition: Outcomes) -> bool:
    return condition.subject is None and condition.true.empty


def mapped(part: Outcomes, table: dict[Truths, Truths]) -> Outcomes:
    """A function of a truth value, such as IS TRUE: `table` says what each becomes."""

    def where(wanted: Truths) -> ValueSet:
        return union(part.of(truth) for truth, becomes in table.items() if becomes is wanted)

    return Outcomes(part.subject, true=where(Truths.TRUE), false=where(Truths.FALSE), null=where(Truths.NULL))
