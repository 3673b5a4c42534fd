"""A predicate on one expression, as the sets of its values on which it is TRUE, FALSE and NULL.

`a < 5`, `a IN (1, 9) AND NOT a <=> 1` and `a + b IS NULL OR a + b > 3` depend on a row only through the
value of one expression, their *subject*. Any combination of such predicates is described by three sets
of the subject's values, each a union of intervals or a language, with NULL and NaN as extra members.
The verdict on a block is therefore exact wherever the range of the subject is.

The sets may be too large (for a pattern that no rule knows) but never too small, so connectives use
unions and intersections only, no complements.
"""

import operator
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pruning.expressions.traversal import is_repeatable
from pruning.expressions.trees import Expression
from pruning.expressions.types import BOOLEAN
from pruning.rules.sets import value_sets
from pruning.rules.sets.cuts import EMPTY, FULL, of_values
from pruning.rules.sets.truths import Truths
from pruning.rules.sets.value_sets import Values


@dataclass(frozen=True, slots=True)
class ValueSet:
    """A set of values, in which NULL and NaN may be members."""

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
        """True if the set has no member."""
        return self.cuts.empty and not self.null and not self.nan


NOTHING = ValueSet()
NULL_ONLY = ValueSet(null=True)
NAN_ONLY = ValueSet(nan=True)
NUMBERS = ValueSet(FULL)
NOT_NULL = ValueSet(FULL, nan=True)
EVERYTHING = ValueSet(FULL, null=True, nan=True)


@dataclass(frozen=True, slots=True)
class Outcomes:
    """The values of the subject on which a predicate is TRUE, FALSE and NULL.

    A predicate without subject has the same truth value on every row: one set is full, the others empty.
    """

    subject: Expression | None
    true: ValueSet
    false: ValueSet
    null: ValueSet

    def of(self, truths: Truths) -> ValueSet:
        """Return the values on which the predicate takes one of these truth values."""
        sets = {Truths.TRUE: self.true, Truths.FALSE: self.false, Truths.NULL: self.null}
        return union(sets[truth] for truth in truths.members())


def union(parts: Iterable[ValueSet]) -> ValueSet:
    """Return the union of the sets."""
    return _combine_pairwise(operator.or_, list(parts) or [NOTHING])


def intersection(parts: Iterable[ValueSet]) -> ValueSet:
    """Return the intersection of the sets."""
    return _combine_pairwise(operator.and_, list(parts) or [EVERYTHING])


def _combine_pairwise(combine: Callable[[ValueSet, ValueSet], ValueSet], parts: list[ValueSet]) -> ValueSet:
    """Combine the parts pairwise, so that their sizes stay alike; one after another takes quadratic time."""
    while len(parts) > 1:
        pairs = [combine(first, second) for first, second in zip(parts[0::2], parts[1::2], strict=False)]
        parts = pairs + parts[len(parts) - len(parts) % 2 :]
    return parts[0]


def constant(value: object) -> Outcomes:
    """Return the outcomes of a boolean literal."""
    return Outcomes(
        None,
        true=EVERYTHING if value is True else NOTHING,
        false=EVERYTHING if value is False else NOTHING,
        null=EVERYTHING if value is None else NOTHING,
    )


def of_boolean(subject: Expression) -> Outcomes:
    """Return the outcomes of a boolean expression as its own subject."""
    true, false = (of_values([value], BOOLEAN) for value in (True, False))
    return Outcomes(subject, true=ValueSet(true), false=ValueSet(false), null=NULL_ONLY)


def common_subject(parts: Iterable[Outcomes]) -> tuple[bool, Expression | None]:
    """Tell whether all parts that have a subject have the same one, and return that subject."""
    subjects = [part.subject for part in parts if part.subject is not None]
    if not subjects:
        return True, None
    first, *others = subjects
    is_common = all(other is first or (other == first and is_repeatable(first)) for other in others)
    return is_common, first


def negation(part: Outcomes) -> Outcomes:
    """Return the outcomes of NOT: TRUE and FALSE change places."""
    return Outcomes(part.subject, true=part.false, false=part.true, null=part.null)


def connective(parts: list[Outcomes], *, decides: Truths) -> Outcomes | None:
    """Return the outcomes of AND (FALSE decides) or OR (TRUE decides); None if the subjects differ.

    The result is decided where a part is, neutral where all parts are, and NULL where a part is NULL and
    none decides.
    """
    is_common, subject = common_subject(parts)
    if not is_common:
        return None
    if any(part.subject is None and not part.of(decides).empty for part in parts):
        return constant(decides is Truths.TRUE)  # even where the subject raises
    neutral = decides.negation()
    all_neutral = intersection(part.of(neutral) for part in parts)
    none_decides = intersection(part.of(neutral | Truths.NULL) for part in parts)
    decided = union(part.of(decides) for part in parts)
    null = union(part.null for part in parts) & none_decides
    if decides is Truths.FALSE:
        return Outcomes(subject, true=all_neutral, false=decided, null=null)
    return Outcomes(subject, true=decided, false=all_neutral, null=null)


def choice(branches: list[tuple[Outcomes, Outcomes]], otherwise: Outcomes) -> Outcomes | None:
    """Return the outcomes of a boolean CASE on one subject; None if the subjects differ.

    A branch is taken where its condition is TRUE and the conditions before it are not.
    """
    branches = [branch for branch in branches if not _never_taken(branch[0])]
    if branches and branches[0][0].subject is None:
        return branches[0][1]  # even where a later condition raises
    is_common, subject = common_subject([part for branch in branches for part in branch] + [otherwise])
    if not is_common:
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
    """Tell whether a condition is constant and not TRUE."""
    return condition.subject is None and condition.true.empty


def map_truths(part: Outcomes, table: dict[Truths, Truths]) -> Outcomes:
    """Return the outcomes of a function of a truth value, such as IS TRUE, given as a table."""

    def where(wanted: Truths) -> ValueSet:
        """Return the values on which the function gives a truth value."""
        return union(part.of(truth) for truth, becomes in table.items() if becomes is wanted)

    return Outcomes(part.subject, true=where(Truths.TRUE), false=where(Truths.FALSE), null=where(Truths.NULL))
