"""Instants and local times of a zone, by Python's zone database, for `oracles.meaning.brute_force`.

Local times are microseconds since 1970-01-01 00:00 on the zone's clocks. Where clocks go back, a local time
is two instants; where they go forward, some local times do not exist.
"""

import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

from oracles.meaning.numbers import NoSecondOpinion

US_PER_DAY = 86_400_000_000
_EPOCH = datetime.datetime(1970, 1, 1)
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()
_ONE = datetime.timedelta(microseconds=1)


def day_of(days: int) -> datetime.date:
    """Return the date so many days after 1970-01-01.

    Raises:
        NoSecondOpinion: It is outside the years 1 to 9999, as for all functions here.
    """
    try:
        return datetime.date.fromordinal(days + _EPOCH_DAY)
    except (ValueError, OverflowError) as error:
        raise NoSecondOpinion(f"no second opinion on the day {days}: not in the years 1 to 9999") from error


def days_of(day: datetime.date) -> int:
    """Return the days from 1970-01-01 to a date."""
    return day.toordinal() - _EPOCH_DAY


def clock_of(local_us: int) -> datetime.datetime:
    """Return a local time as a datetime without zone."""
    try:
        return _EPOCH + datetime.timedelta(microseconds=local_us)
    except OverflowError as error:
        raise NoSecondOpinion(f"no second opinion on {local_us} us: not in the years 1 to 9999") from error


def local_of(instant_us: int, zone: str) -> int:
    """Return the local time of the zone at an instant."""
    return instant_us + offset_us(instant_us, zone)


def offset_us(instant_us: int, zone: str) -> int:
    """Return the zone's offset from UTC at an instant, in microseconds."""
    if zone == "UTC":
        return 0
    moment = clock_of(instant_us).replace(tzinfo=datetime.UTC)
    try:
        offset = moment.astimezone(_zone(zone)).utcoffset()
    except OverflowError as error:
        raise NoSecondOpinion(f"no second opinion on {instant_us} us in {zone}") from error
    assert offset is not None
    return offset // _ONE


def instant_of(local_us: int, zone: str, *, preferred_us: int | None = None) -> int:
    """Return the instant of a local time: the earlier of two; in a gap, later by the length of the gap.

    Args:
        preferred_us: The offset to take if it is one of two.
    """
    if zone == "UTC":
        return local_us
    if preferred_us is not None and offset_us(local_us - preferred_us, zone) == preferred_us:
        return local_us - preferred_us
    return local_us - _assumed_us(local_us, zone, fold=0)


def midnight_of(days: int, zone: str) -> int:
    """Return the first instant of a day; where midnight is skipped, the time of the change."""
    local = days * US_PER_DAY
    before, after = (_assumed_us(local, zone, fold=fold) for fold in (0, 1))
    if zone == "UTC" or before >= after:
        return instant_of(local, zone)
    low, high = local - after, local - before
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if offset_us(middle, zone) == after else (middle, high)
    return high


def _assumed_us(local_us: int, zone: str, *, fold: int) -> int:
    """Return the offset before (0) or after (1) the change at a local time."""
    offset = clock_of(local_us).replace(tzinfo=_zone(zone), fold=fold).utcoffset()
    assert offset is not None
    return offset // _ONE


@lru_cache(maxsize=64)
def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError) as error:
        raise NoSecondOpinion(f"no second opinion on the time zone {name!r}") from error
