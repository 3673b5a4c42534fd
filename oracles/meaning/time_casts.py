"""Spark's casts among dates, times and texts in plain Python, for `oracles.meaning.casts`."""

import datetime
import re

from oracles.meaning.numbers import NoSecondOpinion, raise_under_ansi
from oracles.meaning.texts import characters_of
from oracles.meaning.zones import US_PER_DAY, clock_of, day_of, days_of, instant_of, local_of, midnight_of
from pruning.expressions.trees import Mode
from pruning.expressions.types import Kind, Type, Value

# Texts that Spark certainly reads, and texts that it certainly does not; the others are not covered.
_READ = re.compile(
    r" *(\d{4})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2}):(\d{1,2})(?:\.(\d{1,6}))?)?)?)? *"
)
_UNREAD = re.compile(r" *[A-SU-Za-z]")


def between_times(value: int, source: Kind, target: Kind, zone: str) -> int:
    """Convert among date, timestamp and timestamp_ntz."""
    if source is Kind.DATE and target is Kind.TIMESTAMP:
        return midnight_of(value, zone)
    local = value * US_PER_DAY if source is Kind.DATE else value
    local = local_of(value, zone) if source is Kind.TIMESTAMP else local
    if target is Kind.DATE:
        return local // US_PER_DAY
    return local if target is Kind.TIMESTAMP_NTZ else instant_of(local, zone)


def time_text(value: int, source: Kind, zone: str) -> bytes:
    """Return a date or time as text, without zeros at the end of its fraction.

    Raises:
        oracles.meaning.numbers.NoSecondOpinion: Its year is not within 1 to 9999.
    """
    if source is Kind.DATE:
        return day_of(value).isoformat().encode()
    clock = clock_of(local_of(value, zone) if source is Kind.TIMESTAMP else value)
    whole = clock.isoformat(sep=" ", timespec="seconds")
    fraction = f".{clock.microsecond:06}".rstrip("0").rstrip(".")
    return (whole + fraction).encode()


def parse_time(value: Value, target: Type, mode: Mode, zone: str) -> int | None:
    """Read a text as a date or time; other text gives NULL or raises, by the mode.

    Raises:
        oracles.meaning.numbers.Overflow: The text is no date or time and the mode is ANSI.
        oracles.meaning.numbers.NoSecondOpinion: Spark may read the text in a way that is not covered.
    """
    text = characters_of(value)
    local = _parse_local_time(text, clock_matters=target.kind is not Kind.DATE)
    if local is None:
        raise_under_ansi(f"{text!r} is no {target}", mode)
        return None
    if target.kind is Kind.DATE:
        return local // US_PER_DAY
    return local if target.kind is Kind.TIMESTAMP_NTZ else instant_of(local, zone)


def _parse_local_time(text: str, *, clock_matters: bool) -> int | None:
    if not re.search(r"\d", text) or _UNREAD.match(text):
        return None
    match = _READ.fullmatch(text)
    if match is None or not text.isascii():
        raise NoSecondOpinion(f"no second opinion on {text!r} as a time")
    year, month, day, hour, minute, second, fraction = match.groups()
    try:
        days = days_of(datetime.date(int(year), int(month or 1), int(day or 1)))
    except ValueError:
        return None
    if not clock_matters:
        return days * US_PER_DAY
    if max(int(hour or 0) // 24, int(minute or 0) // 60, int(second or 0) // 60):
        return None
    seconds = (int(hour or 0) * 60 + int(minute or 0)) * 60 + int(second or 0)
    return days * US_PER_DAY + seconds * 1_000_000 + int((fraction or "0").ljust(6, "0"))
