"""Time zones to draw from, and the changes of their clocks; draws nothing.

This only proposes values: times outside the years of Python's calendar are left out.

"""

import datetime
from functools import lru_cache
from zoneinfo import ZoneInfo

# Daylight saving of an hour, an offset of half an hour, daylight saving of half an hour, and none.
ZONES = ("America/New_York", "Asia/Kolkata", "Australia/Lord_Howe", "UTC")
US_PER_DAY = 86_400_000_000
UNITS = ("YEAR", "QUARTER", "MONTH", "WEEK", "DAY", "HOUR", "MINUTE", "SECOND", "MILLISECOND")
_EPOCH = datetime.datetime(1970, 1, 1)
_ONE = datetime.timedelta(microseconds=1)
# These years cover the first standard time, wars and the rules of today.
_YEARS = (1883, 1895, 1905, 1918, 1941, 1942, 1945, 1981, 1985, 2007, 2023, 2024, 2037)


def clock(instant_us: int, zone: str) -> datetime.datetime | None:
    """Return the local time at an instant; None outside the years of Python's calendar."""
    try:
        moment = (_EPOCH + instant_us * _ONE).replace(tzinfo=datetime.UTC)
        return moment.astimezone(ZoneInfo(zone)).replace(tzinfo=None)
    except OverflowError:
        return None


def instant(local: datetime.datetime, zone: str) -> int | None:
    """Return an instant with a local time, or nearly; None outside the years of Python's calendar."""
    try:
        return (
            local.replace(tzinfo=ZoneInfo(zone)).astimezone(datetime.UTC).replace(tzinfo=None) - _EPOCH
        ) // _ONE
    except OverflowError:
        return None


def microseconds(local: datetime.datetime) -> int:
    """Return a local time as a timestamp_ntz."""
    return (local - _EPOCH) // _ONE


def start_of(unit: str, local: datetime.datetime) -> datetime.datetime:
    """Return the beginning of the year, week and so on that holds a local time."""
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
    """Return the instants in some years at which the zone's clocks change."""
    instants: list[int] = []
    for year in _YEARS:
        start = microseconds(datetime.datetime(year, 1, 1))
        instants += changes_between(zone, start, start + 366 * US_PER_DAY)
    return tuple(sorted(set(instants)))


def changes_between(zone: str, first_us: int, last_us: int, *, step_us: int = 3 * US_PER_DAY) -> list[int]:
    """Return the changes after `first_us` up to `last_us`, except two within a step that undo each other."""
    instants: list[int] = []
    low = first_us
    while low < last_us:
        high = min(low + step_us, last_us)
        if offset(low, zone) != offset(high, zone):
            instants.append(_change(zone, low, high))
        low = high
    return instants


def offset(instant_us: int, zone: str) -> int:
    """Return how far clocks are ahead of UTC, in microseconds; 0 if Python does not know."""
    local = clock(instant_us, zone)
    return 0 if local is None else microseconds(local) - instant_us


def _change(zone: str, low: int, high: int) -> int:
    before = offset(low, zone)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if offset(middle, zone) == before else (low, middle)
    return high
