"""Sets of values of one ordered type: unions of intervals, or regular languages of byte strings.

What two sets make together may be too large, never too small, where it would take too many states;
so only what is exact may be complemented. Unions of intervals stay what they are, and are quicker.
"""

from collections.abc import Callable
from typing import TypeAlias

from pruning.expressions.types import BINARY, Value
from pruning.rules.sets import cuts, languages
from pruning.rules.sets.cuts import EMPTY, FULL, Cuts
from pruning.rules.sets.languages import Language

Values: TypeAlias = Cuts | Language


def union(left: Values, right: Values) -> Values:
    """The values of either, or more."""
    if isinstance(left, Cuts) and isinstance(right, Cuts):
        return cuts.union(left, right)
    if left.full or right.full:
        return FULL
    if left.empty or right.empty:
        return right if left.empty else left
    either = _in_languages(languages.union, left, right)
    return cuts.union(_outline(left), _outline(right)) if either is None else either


def intersection(left: Values, right: Values) -> Values:
    """The values of both, or more."""
    if isinstance(left, Cuts) and isinstance(right, Cuts):
        return cuts.intersection(left, right)
    if left.empty or right.empty:
        return EMPTY
    if left.full or right.full:
        return right if left.full else left
    for one, other in ((left, right), (right, left)):
        strings = _strings(one)
        if strings is not None:
            return cuts.of_values((string for string in strings if other.holds(string)), BINARY)
    both = _in_languages(languages.intersection, left, right)
    return _smaller(left, right) if both is None else both


def complement(values: Values) -> Values:
    """Every other value."""
    return cuts.complement(values) if isinstance(values, Cuts) else values.complement()


def meets(lower: Value | None, upper: Value | None, values: Values) -> bool:
    """Whether [lower, upper] may hold a value of the set; None is unbounded, lower <= upper."""
    if isinstance(values, Cuts):
        return cuts.meets(lower, upper, values)
    assert lower is None or isinstance(lower, bytes)
    assert upper is None or isinstance(upper, bytes)
    return values.meets(lower, upper)


def as_language(values: Values) -> Language | None:
    """A set of byte strings as a language; None if that takes too many states."""
    return values if isinstance(values, Language) else languages.of_cuts(values)


def _in_languages(
    combine: Callable[[Language, Language], Language | None], left: Values, right: Values
) -> Values | None:
    one, other = as_language(left), as_language(right)
    if one is None or other is None:
        return None
    combined = combine(one, other)
    if combined is None or not (combined.empty or combined.full):
        return combined
    return FULL if combined.full else EMPTY


def _outline(values: Values) -> Cuts:
    """Intervals around a set of byte strings: those that it is made of, or one."""
    return values if isinstance(values, Cuts) else cuts.between(*values.hull(), BINARY)


def _strings(values: Values) -> list[bytes] | None:
    """The members, of a list of byte strings; None of what holds an interval of them."""
    strings: list[bytes] = []
    for start, end in values.intervals() if isinstance(values, Cuts) else [(None, None)]:
        if start is None or end is None or not isinstance(start[0], bytes) or end[0] != start[0] + b"\0":
            return None
        strings.append(start[0])
    return strings


def _smaller(left: Values, right: Values) -> Values:
    """The one with fewer states: intervals, if there are too many of them for states, are not."""
    if isinstance(left, Cuts) or isinstance(right, Cuts):
        return right if isinstance(left, Cuts) else left
    return left if left.states <= right.states else right
