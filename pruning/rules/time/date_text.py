"""Texts of dates and times that sort like the times themselves: year, month, day, ... in order.

Spark's casts to string write such texts, and so do patterns such as `yyyy-MM`. This holds for the years 0
to 9999; beyond them Spark writes `+10000` and `-0005`, which do not sort like the years.
"""

import re
from functools import lru_cache

from pruning.expressions.types import TIMESTAMP_NTZ
from pruning.rules.sets.cuts import Cuts, between
from pruning.rules.sets.primitives import MICROS_PER_DAY
from pruning.rules.time import calendar

FIRST_LOCAL = int(calendar.year_start(0)) * MICROS_PER_DAY
LAST_LOCAL = int(calendar.year_start(10_000)) * MICROS_PER_DAY - 1
# The patterns of Spark's casts to string; a time's fraction of a second is written without trailing zeros.
DATE_PATTERN, TIME_PATTERN = "yyyy-MM-dd", "yyyy-MM-dd HH:mm:ss"
CAST_PATTERN = "cast"
_FIELDS = ("yyyy", "MM", "dd", "HH", "mm", "ss", "S")
_TWO_DIGITS = ("MM", "dd", "HH", "mm", "ss")
_TOKEN = re.compile(r"'([^']+)'|(S{1,9})|([A-Za-z])\3*|[^A-Za-z'\[\]{}#]")


@lru_cache(maxsize=256)
def tokens(pattern: str) -> tuple[str, ...] | None:
    """Return the format of each field of a pattern and of the text between; None if order is not kept.

    Order is kept if the fields are year, month, day, ... without a gap.
    """
    fields = _parse(pattern)
    if fields is None:
        return None
    parts, names = fields
    return parts if names and names == _FIELDS[: len(names)] else None


@lru_cache(maxsize=256)
def single_field(pattern: str) -> tuple[str, str] | None:
    """Return the name and the format of a pattern with one field of two digits; None of other patterns."""
    fields = _parse(pattern)
    if fields is None:
        return None
    parts, names = fields
    if len(names) != 1 or names[0] not in _TWO_DIGITS:
        return None
    return names[0], "".join(parts).replace(f"{{{names[0]}}}", "{:02}")


def _parse(pattern: str) -> tuple[tuple[str, ...], tuple[str, ...]] | None:
    """Return the formats that a pattern consists of, and its fields; None if it has unsupported letters."""
    parts: list[str] = []
    names: list[str] = []
    place = 0
    while place < len(pattern):
        match = _TOKEN.match(pattern, place)
        if match is None or not match.group().isascii():
            return None
        quoted, fraction, letter = match.groups()
        if fraction or letter:
            name = "S" if fraction else match.group()
            if name not in _FIELDS:
                return None
            names.append(name)
            parts.append(f"{{{name}{len(fraction) if fraction else ''}}}")
        else:
            parts.append((quoted or match.group()).replace("{", "{{").replace("}", "}}"))
        place = match.end()
    return tuple(parts), tuple(names)


def text(pattern: str, local: int) -> bytes | None:
    """Return a local time in a pattern, as Spark writes it; None beyond the years 0 to 9999."""
    if not FIRST_LOCAL <= local <= LAST_LOCAL:
        return None
    if pattern == CAST_PATTERN:
        whole = text(TIME_PATTERN, local)
        fraction = f".{local % 1_000_000:06}".rstrip("0").rstrip(".")
        assert whole is not None
        return whole + fraction.encode()
    parts = tokens(pattern)
    assert parts is not None
    return "".join(parts).format(**_fields(local)).encode()


def _fields(local: int) -> dict[str, str]:
    """Return the digits of each field of a local time."""
    days, time = divmod(local, MICROS_PER_DAY)
    seconds, fraction = divmod(time, 1_000_000)
    digits = f"{fraction:06}000"
    return {
        "yyyy": f"{calendar.year_of(days):04}",
        "MM": f"{calendar.month_of(days) % 12 + 1:02}",
        "dd": f"{calendar.day_of(days):02}",
        "HH": f"{seconds // 3_600:02}",
        "mm": f"{seconds // 60 % 60:02}",
        "ss": f"{seconds % 60:02}",
        **{f"S{count}": digits[:count] for count in range(1, 10)},
    }


def below(pattern: str, value: bytes) -> Cuts:
    """Return the local times whose text is below a byte string, of those that have a text."""
    low, high = FIRST_LOCAL, LAST_LOCAL + 1
    while low < high:
        middle = (low + high) // 2
        written = text(pattern, middle)
        assert written is not None
        low, high = (middle + 1, high) if written < value else (low, middle)
    return Cuts(True, ((low, False),))


WRITTEN = between(FIRST_LOCAL, LAST_LOCAL, TIMESTAMP_NTZ)
