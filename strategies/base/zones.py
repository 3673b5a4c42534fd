"""Time zones to draw from, and where their clocks change; draws nothing.

Only proposes: what stands outside the years that Python's calendar has is left alone.
"""

import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

# Daylight saving of an hour, an offset of half an hour, daylight saving of half an hour, none at all.
ZONES = ("America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC")
US_PER_DAY = 86_400_000_000
UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND")
_EPOCH = datetime.datetime(1970, 1, 1)
_ONE = datetime.timedelta(microseconds=1)
# Enough for the first standard time, wars and the rules of today.
_YEARS = (1883, 1895, 1905, 1918, 1941, 1942, 1945, 1981, 1985, 2007, 2023, 2024, 2037)


def clock(instant_us: int, zone: str) -> datetime.datetime | None:
    """What clocks show at an instant; None outside the years that Python has."""
    try:
        moment = (_EPOCH + instant_us * _ONE).replace(tzinfo=datetime.UTC)
        return moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    except OverflowError:
        return None


def instant(local: datetime.datetime, zone: str) -> int | None:
    """An instant at which clocks show a time, or nearly."""
    try:
        return (
            local.replace(tzinfo=ZoneInfo(zone)).astimezone(datetime.UTC).replace(tzinfo=None) - _EPOCH
        ) // _ONE
    except OverflowError:
        return None


def microseconds(local: datetime.datetime) -> int:
    """A local time as a timestamp_ntz."""
    return (local - _EPOCH) // _ONE


def start_of(unit: str, local: datetime.datetime) -> datetime.datetime:
    """Where the year, the week and so on began that a local time is in."""
    midnight = local.replace(hour=0, minute=0, second=0, microsecond=0)
    match unit:
        case "YEAR":
            return midnight.replace(month=1, day=1)
        case "QUARTER":
            return midnight.replace(month=(local.month - 1) // 3 * 3 + 1, day=1)
        case "MONTH":
            return midnight.replace(day=1)
        case "WEEK":
            monday = local.weekday()
            return midnight - datetime.timedelta(days=monday) if midnight.toordinal() > monday else midnight
        case "DAY":
            return midnight
        case "HOUR":
            return local.replace(minute=0, second=0, microsecond=0)
        case "MINUTE":
            return local.replace(second=0, microsecond=0)
        case "SECOND":
            return local.replace(microsecond=0)
        case _:
            return local.replace(microsecond=local.microsecond // 1000 * 1000)


@lru_cache(maxsize=16)
def changes(zone: str) -> tuple[int, ...]:
    """The instants in some years at which the zone's clocks change."""
    found: list[int] = []
    for year in _YEARS:
        start = microseconds(datetime.datetime(year, 1, 1))
        found += changes_between(zone, start, start + 366 * US_PER_DAY)
    return tuple(sorted(set(found)))


def changes_between(zone: str, first_us: int, last_us: int, *, step_us: int = 3 * US_PER_DAY) -> list[int]:
    """The changes after `first_us` up to `last_us`, but for two within a step that undo each other."""
    found: list[int] = []
    low = first_us
    while low < last_us:
        high = min(low + step_us, last_us)
        if offset(low, zone) != offset(high, zone):
            found.append(_change(zone, low, high))
        low = high
    return found


def offset(instant_us: int, zone: str) -> int:
    """How far clocks are ahead of UTC, in microseconds; 0 where Python does not know."""
    shown = clock(instant_us, zone)
    return 0 if shown is None else microseconds(shown) - instant_us


def _change(zone: str, low: int, high: int) -> int:
    before = offset(low, zone)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if offset(middle, zone) == before else (low, middle)
    return high
