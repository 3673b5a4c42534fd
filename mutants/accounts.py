"""Engines, schedulers, clocks and tables of an account, each wrong in one way.

Random worlds find each of them by the promise that it breaks.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from dynamic_tables.refreshes.engine import Engine
from dynamic_tables.refreshes.policy import EnginePolicy
from dynamic_tables.scheduling.scheduler import Scheduler
from dynamic_tables.storage.clock import Clock
from dynamic_tables.storage.versions import Table, Version
from mutants import clocks, schedulers
from mutants import refresh_engines as engines
from mutants.schedulers import with_calendar, with_jobs, with_policy
from sim.refreshes.semantics import persisted_engine


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountMutant:
    """A wrong engine, scheduler, clock or table.

    Attributes:
        message: The start of the message by which it is found first: the promise that it breaks, or an
            assertion.
    """

    message: str
    engine: Callable[..., Engine] = Engine
    scheduler: Callable[[], Scheduler] = Scheduler
    clock: type[Clock] = Clock
    table: type[Table] = Table


class EndUnseen(Table):
    """Reads what was committed before a data timestamp, not at it (R-DVS-81)."""

    def as_of(self, data_us: int) -> Version:
        return super().as_of(data_us - 1)


def _engine(message: str, engine: Callable[..., Engine]) -> AccountMutant:
    return AccountMutant(message=message, engine=engine)


def _decision(message: str, **decision: Any) -> AccountMutant:
    return _engine(message, partial(Engine, policy=EnginePolicy(**decision)))


def _scheduler(message: str, scheduler: Callable[[], Scheduler]) -> AccountMutant:
    return AccountMutant(message=message, scheduler=scheduler)


MUTANTS: Mapping[str, AccountMutant] = {
    "FrontierBeforeContents": _engine("R-DVS-02", engines.FrontierBeforeContents),
    "PersistedTables": _engine("R-DVS-02", persisted_engine),
    "NewestOfBaseTables": _decision("R-DVS-02", choose_version=engines.newest_of_bases),
    "NoDataAlthoughChanged": _engine("R-DVS-02", engines.CountsFirstSource),
    "MaintenanceIsChange": _decision("R-DVS-23", count_changes=engines.versions_are_changes),
    "ReplacementNotSeen": _engine("R-DVS-02", engines.IgnoresReplacement),
    "PurgeNotSeen": _decision("R-DVS-02", count_changes=engines.purge_unseen),
    "SkippedIntervalLost": _decision("R-DVS-02", compute_delta=engines.skip_loses_an_interval),
    "NamesOfNow": _decision("R-DVS-02", choose_state=engines.names_of_now),
    "ColumnsByName": _engine("R-DVS-02", engines.ColumnsByName),
    "CommitsTwice": _engine("R-DVS-04", engines.MergesAgain),
    "NeverAnew": _engine("R-DVS-02", engines.NeverReinitializes),
    "UpstreamNotAwaited": _scheduler("R-DVS-72", with_jobs(schedulers.WaitsForNothing)),
    "UpstreamFailureIgnored": _scheduler("R-DVS-72", with_jobs(schedulers.IgnoresUpstreamFailures)),
    "TwoAtOnce": _scheduler("R-DVS-30", with_jobs(schedulers.TwoAtOnce)),
    "NeverAgain": _scheduler("R-DVS-12", with_jobs(schedulers.NeverRetries)),
    "BusyNotSeen": _scheduler("R-DVS-30", with_policy(obstacle=schedulers.busy_unseen)),
    "PeriodsOfTheirOwn": _scheduler("R-DVS-74", with_calendar(choose_periods=schedulers.own_periods)),
    "OffTheTicks": _scheduler("R-DVS-73", schedulers.MovesItsPhase),
    "UpstreamNotTakenAlong": _scheduler("R-DVS-72", with_policy(refreshed_with=schedulers.manual_alone)),
    "ManualTooEarly": _scheduler("R-DVS-07", with_policy(after_asking=schedulers.before_asking)),
    "ManualByItsOwnClock": _scheduler("R-DVS-07", with_policy(after_asking=schedulers.by_its_own_clock)),
    "ErrorsNeverReset": _scheduler("R-DVS-34", with_policy(reset_errors=schedulers.never_resets)),
    "ManualErrorsCount": _scheduler(
        "R-DVS-34", with_policy(respond_to_failure=schedulers.count_manual_errors)
    ),
    "NeverSuspends": _scheduler("R-DVS-34", with_policy(count_error=schedulers.counts_for_nothing)),
    "SilenceNotHeard": _scheduler("R-DVS-12", with_policy(silence_us_max=schedulers.NEVER_SILENT_US)),
    "ResumeNotHeard": _scheduler("R-DVS-34", with_policy(resumed_with=schedulers.resume_nobody)),
    "SuspensionNotHeard": _scheduler("R-DVS-34", schedulers.IgnoresSuspensions),
    "InitialTimestampOfOne": _scheduler("R-DVS-72", with_policy(first_timestamp=schedulers.newest_of_any)),
    "WallClock": AccountMutant(
        message="the log is in the order of its timestamps", clock=clocks.WallTimeBehindReaders
    ),
    "ReadersIgnored": AccountMutant(
        message="a reader has seen that there is no such entry", clock=clocks.IgnoresReaders
    ),
    "EndNotSeen": AccountMutant(message="R-DVS-02", table=EndUnseen),
}
