"""Dates and instants that Parquet's reader is asked for as they are.

Spark pushes a DATE as a `java.sql.Date` and a TIMESTAMP as a `java.sql.Timestamp`, which count by the hybrid
calendar and by the local time of the driver's process. So a day that lacks there is asked for as the next
one. Ten days lack everywhere, where the Gregorian calendar began, and one day each where an island changed
the side of the date line. Instants before 1900 may move by the difference of a zone's old clocks.
"""

from datetime import date

from pruning.expressions.types import Kind, Type, Value
from pruning.pushed.value_ranges import closed_ranges
from pruning.rules.sets import cuts, outcomes
from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.outcomes import ValueSet

_EPOCH = date(1970, 1, 1).toordinal()
_GREGORIAN_DAYS = range(date(1582, 10, 5).toordinal(), date(1582, 10, 15).toordinal())
# Kwajalein, the Line and Phoenix Islands, and Samoa with Tokelau.
_ISLAND_DAYS = (date(1993, 8, 21), date(1994, 12, 31), date(2011, 12, 30))
_LACKING = frozenset(
    day - _EPOCH for day in (*_GREGORIAN_DAYS, *(island.toordinal() for island in _ISLAND_DAYS))
)
# A day after 1900-01-01, because zones differ.
_EXACT_FROM_US = (date(1900, 1, 2).toordinal() - _EPOCH) * 86_400_000_000


def is_exact(value: Value, type_: Type) -> bool:
    """Tell whether Parquet's reader is asked for a constant as it is, whatever the time zone.

    Args:
        value: In days or microseconds since 1970, where the type is of dates or instants.
        type_: Its type.
    """
    if type_.kind is Kind.DATE:
        return value not in _LACKING
    return type_.kind is not Kind.TIMESTAMP or int(value) >= _EXACT_FROM_US


def with_exact_ends(values: Cuts, type_: Type) -> Cuts:
    """Return a set that holds the values, and whose ends Parquet's reader is asked for as they are.

    Args:
        values: Of a type that is not floating.
        type_: Their type.
    """
    ends = closed_ranges(values, type_) if type_.kind in (Kind.DATE, Kind.TIMESTAMP) else []
    if all(end is None or is_exact(end, type_) for lower, upper, _ in ends for end in (lower, upper)):
        return values
    united = outcomes.union(
        ValueSet(cuts.between(_exact_lower(lower, type_), _exact_upper(upper, type_), type_))
        for lower, upper, _ in ends
    ).cuts
    assert isinstance(united, Cuts)
    return united


def _exact_lower(lower: Value | None, type_: Type) -> Value | None:
    """Return the greatest exact value that is at most this one; None is unbounded."""
    if lower is None or is_exact(lower, type_):
        return lower
    if type_.kind is Kind.TIMESTAMP:
        return None
    return max(day for day in range(int(lower) - len(_LACKING), int(lower)) if day not in _LACKING)


def _exact_upper(upper: Value | None, type_: Type) -> Value | None:
    """Return the least exact value that is at least this one; None is unbounded."""
    if upper is None or is_exact(upper, type_):
        return upper
    if type_.kind is Kind.TIMESTAMP:
        return _EXACT_FROM_US
    return min(day for day in range(int(upper), int(upper) + len(_LACKING) + 1) if day not in _LACKING)
