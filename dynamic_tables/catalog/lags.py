"""Target lags, the canonical periods that try to meet them, and initial data timestamps ([D] 3.2 and 5.2).

All times are whole microseconds. A refresh with period p waits w after its data timestamp for its warehouse
and its upstream tables, and then runs for d: just before the next one commits, the lag is p + w + d.
"""

import enum
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TypeAlias, TypeVar

from pruning.errors import InputError

MINUTE_US = 60_000_000
TARGET_LAG_US_MIN = MINUTE_US
# Each period divides the next, so that a downstream tick is always an upstream tick too (R-DVS-73).
PERIODS_US = tuple(48_000_000 << n for n in range(12))


class Downstream(enum.Enum):
    """The target lag of a table that is refreshed only for the tables that read it."""

    DOWNSTREAM = "DOWNSTREAM"


DOWNSTREAM = Downstream.DOWNSTREAM
TargetLag: TypeAlias = int | Downstream
Key = TypeVar("Key", bound=Hashable)


def check_target_lag(lag: TargetLag) -> None:
    """Raise InputError for a target lag below a minute (R-DVS-12)."""
    if lag is not DOWNSTREAM and lag < TARGET_LAG_US_MIN:
        raise InputError(f"a target lag of {lag / 1e6:g} seconds is below the minimum of one minute")


def lags_in_force(
    lags: Mapping[Key, TargetLag], consumers: Mapping[Key, Iterable[Key]], order: Sequence[Key]
) -> dict[Key, int | None]:
    """Return the lag that each table has to meet; None: the table is never scheduled (R-DVS-13).

    Args:
        lags: The target lag of each table.
        consumers: The tables that directly read each table.
            order: The tables, upstream before downstream.
        Returns:
            The lags, in that order.
    """
    in_force: dict[Key, int | None] = {}
    required: dict[Key, int | None] = {}  # the least numeric lag of a table and of all tables below it
    for table in reversed(order):
        below = least_lag(required[consumer] for consumer in consumers[table])
        lag = lags[table]
        in_force[table] = below if isinstance(lag, Downstream) else lag
        required[table] = least_lag((in_force[table], below))
    return {table: in_force[table] for table in order}


def least_lag(lags: Iterable[int | None]) -> int | None:
    """Return the least lag of those that are not None; None if there is none."""
    return min((lag for lag in lags if lag is not None), default=None)


def own_period(lag_us: int, cost_us: int) -> int:
    """The index of the longest period p with p + cost < lag; 0 if none is short enough (R-DVS-75).

    Args:
        lag_us: The lag in force.
        cost_us: The expected time of waiting and running together, w + d.
    """
    return max(0, bisect_left(PERIODS_US, lag_us - cost_us) - 1)


def periods(own: Mapping[Key, int | None], upstream: Mapping[Key, Iterable[Key]]) -> dict[Key, int | None]:
    """Return the index of each table's period, which is never shorter than upstream's (R-DVS-74).

    Args:
        own: The period that each table would choose, upstream first; None: it is not scheduled.
        upstream: The tables that each directly reads; those not in `own` are ignored.
    """
    chosen: dict[Key, int | None] = {}
    for table, period in own.items():
        if period is not None:
            above = (chosen.get(source) for source in upstream[table])
            period = max((period, *(p for p in above if p is not None)))
        chosen[table] = period
    return chosen


def below_upstream(
    in_force: Mapping[Key, int | None], upstream: Mapping[Key, Iterable[Key]]
) -> dict[Key, Key]:
    """Return the tables whose lag is below that of a source, each with its slowest source (R-DVS-14)."""
    slower_sources = {}
    for table, lag in in_force.items():
        above = [
            (source_lag, source)
            for source in upstream[table]
            if (source_lag := in_force.get(source)) is not None
        ]
        slowest = max(above, key=lambda pair: pair[0], default=None)
        if lag is not None and slowest is not None and slowest[0] > lag:
            slower_sources[table] = slowest[1]
    return slower_sources


def initial_timestamp(
    upstream: Sequence[Sequence[int]], *, created_us: int, lag_us: int | None, since_us: int
) -> int | None:
    """Return an initial data timestamp that costs no refresh of the tables read (R-DVS-09).

    Args:
        upstream: For each dynamic table that is read, the data timestamps that it has or is about to have.
            created_us: The time at which the table was created.
            lag_us: The lag in force, the greatest age of the timestamp; None: any age.
            since_us: The time since which all other sources can be read.
        Returns:
            The newest timestamp that all have; None if none is suitable: then take the time of creation.
    """
    if not upstream:
        return None
    oldest_us = since_us if lag_us is None else max(since_us, created_us - lag_us)
    common = set(upstream[0]).intersection(*upstream[1:])
    return max((data_us for data_us in common if data_us >= oldest_us), default=None)
