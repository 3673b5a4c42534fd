"""Mutants of functions of SQL: each takes the place of the function of the same name in its table."""

from collections.abc import Callable, Mapping
from datetime import datetime

EPOCH = datetime(1970, 1, 1)
# Mutants of `values.time_parts.PARTS`, by name and mistake.
PARTS: Mapping[tuple[str, str], Callable[[datetime], int]] = {
    ("quarter", "quarters begin a month late"): lambda at: (at.month + 1) // 3,
    ("week", "weeks are counted from January 1"): lambda at: (at.timetuple().tm_yday + 6) // 7,
    ("yearofweek", "the year of a week is that of its day"): lambda at: at.year,
    ("dayofweek", "Sunday is the day 7"): lambda at: at.isoweekday(),
    ("dayofweekiso", "Monday is the day 0"): lambda at: at.weekday(),
    ("dayofyear", "days are counted from 0"): lambda at: at.timetuple().tm_yday - 1,
    ("epoch_second", "seconds are cut towards 1970"): lambda at: int(
        (at - datetime(1970, 1, 1)).total_seconds()
    ),
    ("nanosecond", "microseconds for nanoseconds"): lambda at: at.microsecond,
}
