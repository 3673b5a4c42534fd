"""Parts of dates and times: numbers such as the quarter and the week."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from dynamic_tables.values.signatures import Resolver, Signature, Types
from dynamic_tables.values.types import INTEGER, TIMESTAMP, Kind
from pruning.errors import InputError

EPOCH = datetime(1970, 1, 1)
MICROSECOND = timedelta(microseconds=1)
# The kinds of values that have parts: text and variants are cast to a time.
TIMED = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TEXT, Kind.VARIANT, Kind.NULL})


def epoch_us(at: datetime) -> int:
    """Return the number of microseconds since the start of 1970."""
    return (at - EPOCH) // MICROSECOND


# Weeks are those of ISO 8601; Sunday is the day 0 of a week, or the day 7 of one by ISO. Numbers of seconds
# and milliseconds since 1970 are rounded down.
PARTS: Mapping[str, Callable[[datetime], int]] = {
    "year": lambda at: at.year,
    "quarter": lambda at: (at.month + 2) // 3,
    "month": lambda at: at.month,
    "week": lambda at: at.isocalendar().week,
    "yearofweek": lambda at: at.isocalendar().year,
    "day": lambda at: at.day,
    "dayofweek": lambda at: at.isoweekday() % 7,
    "dayofweekiso": lambda at: at.isoweekday(),
    "dayofyear": lambda at: at.timetuple().tm_yday,
    "hour": lambda at: at.hour,
    "minute": lambda at: at.minute,
    "second": lambda at: at.second,
    "nanosecond": lambda at: at.microsecond * 1000,
    "epoch_second": lambda at: epoch_us(at) // 1_000_000,
    "epoch_millisecond": lambda at: epoch_us(at) // 1000,
    "epoch_microsecond": epoch_us,
    "epoch_nanosecond": lambda at: epoch_us(at) * 1000,
}


def part_resolver(name: str) -> Resolver:
    """Return the resolver of the function that gives a part of a time."""

    def resolve(types: Types) -> Signature:
        if len(types) != 1:
            raise InputError(f"{name.upper()} takes 1 argument, not {len(types)}")
        if types[0].kind not in TIMED:
            raise InputError(f"{name.upper()} takes a date or a time, not {types[0]}: cast it")
        return Signature(INTEGER, (TIMESTAMP,), PARTS[name])

    return resolve


TIME_PARTS: Mapping[str, Resolver] = {name: part_resolver(name) for name in PARTS}
