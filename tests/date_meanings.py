"""How Spark reads dates and times from texts, in plain Python, and texts that tell the ways apart.

Nothing of the rules is used: texts are matched with Python's regular expressions, and dates are counted
with its calendar, 400 years being 146,097 days.
"""

import datetime
import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass

DAY = 86_400_000_000
HOUR = DAY // 24
_TRIMMED = bytes(range(0x21)) + b"\x7f"
_DATE = rb"([+-]?)([0-9]{4,%d})(?:-([0-9]{1,2})(?:-([0-9]{1,2})(?:%s)?)?)?"
_CLOCK = rb"([0-9]{1,2})(?::([0-9]{1,2})(?::([0-9]{1,2})(?:\.([0-9]*))?([^0-9].*)?)?)?"
_DATES = re.compile(_DATE % (7, rb"[ T].*"), re.DOTALL)
_TIMES = re.compile(_DATE % (6, rb"[ T]" + _CLOCK), re.DOTALL)
_ALONE = re.compile(rb"T[0-9]{1,2}(:.*)?|[0-9]{1,2}:.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Spelled:
    """A local time, in microseconds, and what names its zone."""

    local: int
    zone: bytes = b""


def days_of(year: int, month: int, day: int) -> int | None:
    """The days since 1970-01-01 of a date; None if there is no such date."""
    cycles, rest = divmod(year - 1970, 400)
    try:
        return (datetime.date(1970 + rest, month, day) - datetime.date(1970, 1, 1)).days + cycles * 146_097
    except ValueError:
        return None


def date_of(text: bytes) -> int | None:
    """The days of what a text says; None of what is no date."""
    found = _DATES.fullmatch(text.strip(_TRIMMED))
    return None if found is None else _days(*found.groups())


def time_of(text: bytes) -> Spelled | None:
    """The local time that a text says; None of what is none, and of a time without a date."""
    found = _TIMES.fullmatch(text.strip(_TRIMMED))
    if found is None:
        return None
    *date, hour, minute, second, fraction, zone = found.groups()
    days = _days(*date)
    clock = [int(each or 0) for each in (hour, minute, second)]
    if days is None or any(each > most for each, most in zip(clock, (23, 59, 59), strict=True)):
        return None
    seconds = (clock[0] * 60 + clock[1]) * 60 + clock[2]
    micros = int((fraction or b"").ljust(6, b"0")[:6])
    return Spelled(days * DAY + seconds * 1_000_000 + micros, zone or b"")


def is_alone(text: bytes) -> bool:
    """Whether a text may be a time of the day of the query."""
    return _ALONE.fullmatch(text.strip(_TRIMMED)) is not None


def _days(sign: bytes, year: bytes, month: bytes | None, day: bytes | None) -> int | None:
    return days_of(int(sign + year), int(month or 1), int(day or 1))


DATES = (
    b"2024|2024-3|2024-03|2024-3-1|2024-03-01|2024-02-29|2023-02-29|1900-02-29|2000-02-29|2024-02-30|"
    b"2024-04-31|2024-12-31|2024-00-10|2024-13-01|2024-10-00|2023-12-31|2025-01-01|02024-03-01|"
    b"0002024-03-1|00002024-03-01|+2024-03-01|324|-2024-03-01|-0001-12-31|0000-01-01|-0000-02-29|"
    b"0004-02-29|9999-12-31|10000-01-01|-10000-1-1|294247-01-10|294248-01-01|-290308-12-21|"
    b"999999-01-01|1000000-01-01|5881580-07-11|5881580-07-12|-5877641-06-23|9999999-12-31|20240301|"
    b"2024-3-001|+-2024-03-01|2024--03-01|2024-03-|2024-|2024/03/01|2024-03-01-|2024-0x-01||-|epoch|"
    b"today|now|omega|1|12|\xff|2024-03-01\xff|2024\xe2\x80\x8303"
).split(b"|")
CLOCKS = (
    b"| |T|  |T | x|Tx|x| 1|T01| 12| 24| 012| 1:2| 1:2:3|T23:59:59| 23:60:00| 23:59:60|T12:|T12:30:|"
    b"T12:30:45.| 12:30:45.1| 12:30Z| 12:30:45.000001| 12:30:45.9999999| 12:30:45.12x| 12:30:45Z|"
    b"T12:30:45.5 UTC|T12Z| 12:30:45+05:30| 12:30:45-18:00| 12:30:45+18:00| 12:30:45+19:00| 12:30:45 Z|"
    b"  12:30| 12:30:45America/New_York| 00:00:00 Asia/Kolkata| 12:30:45 GMT+1| 1:2:3:4| 12.5|\t12|"
    b" 12:30:45.5\t| 12:30:45\x00\x7f| 12:30:45\tZ| 02:30:00| 01:30:00| 12:30:45..5"
).split(b"|")
ALONE = (
    b"12:30|T12|T12:30:45|T|1:2:3.4|12:30:45Z| T12:30|\t12:30|123:00|+12:30|T25|25:00|T12:30:45.5+01:00|T1x"
).split(b"|")
# Of noon on the first of March in the zones furthest from UTC.
FAR = (b"2024-02-29 18:30:45-18:00|2024-03-02T06:30:45.0+18:00").split(b"|")
AROUND = (
    *((b"", b""), (b" ", b""), (b"\t\x00", b"\n\x7f"), (b"\x1f", b" \x0b ")),
    *((b"\xc2\xa0", b""), (b"", b"\x80")),
)


def texts() -> Iterator[bytes]:
    """Each date with each clock; some with something before and after."""
    for date, clock in itertools.product(DATES, CLOCKS):
        yield date + clock
    few = (b"2024-03-01", b"2024", b"2024-3", b"2024-03-01 12:30:45", b"2024-03-01T1:2:3.5Z", b"omega", b"")
    for (before, after), text in itertools.product(AROUND, (*few, *ALONE, *FAR)):
        yield before + text + after
