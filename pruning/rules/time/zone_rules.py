"""The offsets of a time zone as the IANA database publishes them: transitions, then a yearly rule.

The `tzdata` package carries the compiled database (TZif, RFC 9636); the machine's own files are not used.
"""

import importlib.resources
import re
import struct
from dataclasses import dataclass

from pruning.rules.time import calendar

_HEADER = struct.Struct(">4sc15x6I")
_MICROS = 1_000_000
_SECONDS_PER_DAY = 86_400
_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*")
# Names that Java treats as fixed offsets and the database as places.
_OFFSETS_OF_JAVA = frozenset({"EST", "MST", "HST"})
_MAGIC = b"TZif"
_NAME, _OFFSET = r"(?:[A-Za-z]{3,}|<[A-Za-z0-9+-]+>)", r"([+-]?\d{1,3}(?::\d\d){0,2})"
_DATE = r"([MJ]?\d+(?:\.\d+)*)(?:/([+-]?\d{1,3}(?::\d\d){0,2}))?"
_FOOTER = re.compile(f"{_NAME}{_OFFSET}(?:{_NAME}{_OFFSET}?,{_DATE},{_DATE})?")
_DEFAULT_TIME = "2"


@dataclass(frozen=True, slots=True)
class YearlyRule:
    """The two changes of offset that recur every year, each to an offset at a local time."""

    standard: int
    daylight: int
    starts: tuple[str, int]
    ends: tuple[str, int]

    def transitions(self, year: int) -> list[tuple[int, int]]:
        """Return the instants of a year at which the offset changes, with the new offsets; in seconds."""
        starts, ends = (_day(year, date) * _SECONDS_PER_DAY + time for date, time in (self.starts, self.ends))
        return sorted([(starts - self.standard, self.daylight), (ends - self.daylight, self.standard)])


@dataclass(frozen=True, slots=True)
class ZoneData:
    """The offset before the first transition, the listed transitions, and the rule after them."""

    first: int
    transitions: tuple[tuple[int, int], ...]
    yearly: YearlyRule | None


def read_zone(key: str) -> ZoneData | None:
    """Return the database's entry for a zone, in seconds; None if it has none of that name."""
    if not _KEY.fullmatch(key) or key in _OFFSETS_OF_JAVA:
        return None
    file = importlib.resources.files("tzdata").joinpath("zoneinfo", *key.split("/"))
    return parse_tzif(file.read_bytes()) if file.is_file() else None


def parse_tzif(data: bytes) -> ZoneData | None:
    """Return the content of a TZif file; None if it is no such file, of version 1, or has leap seconds."""
    if not data.startswith(_MAGIC):
        return None
    _, version, *short = _HEADER.unpack_from(data)
    if version < b"2":
        return None
    at = _HEADER.size + _section_size(short, time_bytes=4)
    counts = list(_HEADER.unpack_from(data, at)[2:])
    _, _, leaps, times, kinds, _ = counts
    if leaps:
        return None
    begin = at + _HEADER.size
    instants = struct.unpack_from(f">{times}q", data, begin)
    chosen = struct.unpack_from(f">{times}B", data, begin + 8 * times)
    offsets = [struct.unpack_from(">i", data, begin + 9 * times + 6 * kind)[0] for kind in range(kinds)]
    footer = data[begin + _section_size(counts, time_bytes=8) :].strip(b"\n").decode("ascii")
    rule = _parse_footer(footer)
    if rule is None:
        return None
    listed = tuple(zip(instants, (offsets[kind] for kind in chosen), strict=True))
    last = listed[-1][1] if listed else offsets[0]
    if isinstance(rule, int):
        return ZoneData(offsets[0], listed, None) if rule == last else None
    return ZoneData(offsets[0], listed, rule)


def _section_size(counts: list[int], *, time_bytes: int) -> int:
    """Return the size of a data block from the counts of its header."""
    utc, standard, leaps, times, kinds, letters = counts
    return times * (time_bytes + 1) + kinds * 6 + letters + leaps * (time_bytes + 4) + standard + utc


def _parse_footer(text: str) -> YearlyRule | int | None:
    """Return the yearly rule, or the offset that stays for ever; None if the text is neither."""
    match = _FOOTER.fullmatch(text)
    if match is None:
        return None
    standard, daylight, starts, starts_at, ends, ends_at = match.groups()
    offset = -_seconds(standard)
    if starts is None:
        return offset
    return YearlyRule(
        standard=offset,
        daylight=offset + 3_600 if daylight is None else -_seconds(daylight),
        starts=(starts, _seconds(starts_at or _DEFAULT_TIME)),
        ends=(ends, _seconds(ends_at or _DEFAULT_TIME)),
    )


def _seconds(text: str) -> int:
    """Return the seconds of a time such as `-3:30`."""
    hours, minutes, seconds = (*(int(part) for part in text.lstrip("+-").split(":")), 0, 0)[:3]
    size = hours * 3_600 + minutes * 60 + seconds
    return -size if text.startswith("-") else size


def _day(year: int, date: str) -> int:
    """Return the day of a year that a date of a rule names."""
    if date.startswith("J"):  # without February 29
        start, day = calendar.year_start(year), int(date[1:])
        leap: bool = calendar.year_start(year + 1) - start > 365 and day >= 60
        return int(start + day - 1 + leap)
    if not date.startswith("M"):
        return int(calendar.year_start(year)) + int(date)
    month, week, weekday = (int(part) for part in date[1:].split("."))
    start, following = (calendar.month_start(year * 12 + month - 1 + more) for more in (0, 1))
    first = start + (weekday - (start + 4)) % 7  # day 0 was a Thursday
    last: int = first + (following - 1 - first) // 7 * 7
    return min(int(first) + 7 * (week - 1), last)
