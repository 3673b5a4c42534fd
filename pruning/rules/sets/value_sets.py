"""Sets of values of one ordered type: unions of intervals, or regular languages of byte strings.

Where the result of an operation would take too many states, a larger set is returned, never a smaller
one; therefore only exact sets may be complemented. Operations on unions of intervals stay exact, and are
faster than those on languages.
"""

from collections.abc import Callable
from typing import TypeAlias

from pruning.expressions.types import BINARY, Value
from pruning.rules.sets import cuts, languages
from pruning.rules.sets.cuts import EMPTY, FULL, Cuts
from pruning.rules.sets.languages import Language

Values: TypeAlias = Cuts | Language


def union(left: Values, right: Values) -> Values:
    """Return a set that holds the values of either; it may hold more."""
    if isinstance(left, Cuts) and isinstance(right, Cuts):
        return cuts.union(left, right)
    if left.full or right.full:
        return FULL
    if left.empty or right.empty:
        return right if left.empty else left
    either = _combine_languages(languages.union, left, right)
    return cuts.union(_enclosing_intervals(left), _enclosing_intervals(right)) if either is None else either


def intersection(left: Values, right: Values) -> Values:
    """Return a set that holds the values that are in both; it may hold more."""
    if isinstance(left, Cuts) and isinstance(right, Cuts):
        return cuts.intersection(left, right)
    if left.empty or right.empty:
        return EMPTY
    if left.full or right.full:
        return right if left.full else left
    for narrow, wide in ((left, right), (right, left)):
        strings = _finite_strings(narrow)
        if strings is not None:
            return cuts.of_values((string for string in strings if wide.holds(string)), BINARY)
    both = _combine_languages(languages.intersection, left, right)
    return _with_fewer_states(left, right) if both is None else both


def complement(values: Values) -> Values:
    """Return all values that are not in the set."""
    return cuts.complement(values) if isinstance(values, Cuts) else values.complement()


def meets(lower: Value | None, upper: Value | None, values: Values) -> bool:
    """Tell whether [lower, upper] may hold a value of the set; None is unbounded, lower <= upper."""
    if isinstance(values, Cuts):
        return cuts.meets(lower, upper, values)
    assert lower is None or isinstance(lower, bytes)
    assert upper is None or isinstance(upper, bytes)
    return values.meets(lower, upper)


def as_language(values: Values) -> Language | None:
    """Return a set of byte strings as a language; None if that takes too many states."""
    return values if isinstance(values, Language) else languages.of_cuts(values)


def _combine_languages(
    combine: Callable[[Language, Language], Language | None], left: Values, right: Values
) -> Values | None:
    """Combine two sets as languages; None if that takes too many states."""
    left_language, right_language = as_language(left), as_language(right)
    if left_language is None or right_language is None:
        return None
    combined = combine(left_language, right_language)
    if combined is None or not (combined.empty or combined.full):
        return combined
    return FULL if combined.full else EMPTY


def _enclosing_intervals(values: Values) -> Cuts:
    """Return intervals that enclose a set of byte strings."""
    return values if isinstance(values, Cuts) else cuts.between(*values.hull(), BINARY)


def _finite_strings(values: Values) -> list[bytes] | None:
    """Return the members of a set of finitely many byte strings; None for any other set."""
    strings: list[bytes] = []
    for start, end in values.intervals() if isinstance(values, Cuts) else [(None, None)]:
        if start is None or end is None or not isinstance(start[0], bytes) or end[0] != start[0] + b"\0":
            return None
        strings.append(start[0])
    return strings


def _with_fewer_states(left: Values, right: Values) -> Values:
    """Return the smaller representation: of a language and intervals the language, else fewer states."""
    if isinstance(left, Cuts) or isinstance(right, Cuts):
        return right if isinstance(left, Cuts) else left
    return left if left.states <= right.states else right
