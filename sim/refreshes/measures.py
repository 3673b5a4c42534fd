"""The measures of a run of dynamic tables, which scenarios bound and reports show."""

from collections import Counter
from collections.abc import Sequence

from sim.refreshes.events import (
    Began,
    Broken,
    Committed,
    CommittedAlready,
    Computing,
    Died,
    EndReported,
    Executed,
    Failed,
    Flagged,
    LagJudged,
    MessageTroubled,
    NotStarted,
    ReadDone,
    RefreshOrdered,
    Restarted,
    Skipped,
    Suspended,
    Wrote,
)
from sim.refreshes.run import RefreshRun

NAMES = (
    "refreshes", "no_data", "full", "incremental", "reinitialize", "no_data_percent", "rows_changed",
    "skipped", "skipped_busy", "skipped_upstream", "orders", "attempts_again", "manual", "initial",
    "failed_user", "failed_system", "failed_upstream", "validations_failed", "died", "committed_already",
    "not_started", "suspended", "flagged", "restarts", "messages_lost", "messages_doubled", "refused",
    "writes", "writes_aborted", "reads", "lag_us_max", "lag_us_mean", "peak_us_max", "trough_us_max",
    "busy_us", "late_tables", "late_unexplained", "broken",
)  # fmt: skip


def measures(run: RefreshRun) -> dict[str, float]:
    """Return the measures of a run, by name.

    ==========================  =================================================================
    refreshes                   committed; also by action, as in `no_data`, and `no_data_percent`
    rows_changed                rows that refreshes inserted and deleted
    skipped, skipped_busy, ...  timestamps skipped, also by reason
    orders, attempts_again      orders of the scheduler, and those of a second or later attempt
    manual, initial             orders that no tick caused
    failed_user, ...            refreshes that failed, by kind of fault; and `validations_failed`
    died, committed_already     refreshes whose worker died, and those that found nothing to do
    not_started, suspended      refreshes and tables that the scheduler gave up
    flagged                     refreshes whose heartbeats stopped
    restarts                    of the scheduler
    writes, writes_aborted      transactions of users that write
    reads                       of dynamic tables, by users
    lag_us_max, lag_us_mean     the lag that readers saw
    peak_us_max, trough_us_max  lag just before and after commits
    busy_us                     of warehouses
    late_tables                 beyond their target lag at the end; `late_unexplained` of these
    ==========================  =================================================================
    """
    counts: Counter[str] = Counter()
    lags = []
    for event in run.trace:
        match event:
            case Began() | EndReported():
                continue  # half of all events
            case Committed():
                counts["refreshes"] += 1
                counts[event.action.lower()] += 1
                counts["rows_changed"] += event.inserted + event.deleted
                counts["peak_us_max"] = max(counts["peak_us_max"], event.peak_us)
                counts["trough_us_max"] = max(counts["trough_us_max"], event.trough_us)
            case Skipped():
                counts["skipped"] += 1
                counts[f"skipped_{event.reason}"] += 1
            case RefreshOrdered():
                counts["orders"] += 1
                counts["attempts_again"] += event.attempt > 0
                if event.trigger != "scheduled":
                    counts[event.trigger] += 1
            case Failed():
                counts[f"failed_{event.fault}"] += 1
                counts["validations_failed"] += event.validation > 0
            case ReadDone():
                lags.append(event.lag_us)
            case Wrote():
                counts["writes_aborted" if event.aborted else "writes"] += 1
            case Computing():
                counts["busy_us"] += event.takes_us
            case MessageTroubled():
                counts[f"messages_{event.how}"] += 1
            case Executed():
                counts["refused"] += bool(event.refused)
            case LagJudged():
                late = not 0 <= event.lag_us <= event.target_us and event.target_us > 0
                counts["late_tables"] += late
                counts["late_unexplained"] += event.unexplained
            case (
                Died() | CommittedAlready() | NotStarted() | Suspended() | Flagged() | Restarted() | Broken()
            ):
                counts[_COUNTED[type(event)]] += 1
    return {**dict.fromkeys(NAMES, 0), **counts, **_shares(counts, lags)}


def _shares(counts: Counter[str], lags_us: Sequence[int]) -> dict[str, float]:
    """Return the measures that are shares and means of others."""
    refreshes = counts["refreshes"]
    return {
        "no_data_percent": round(100 * counts["no_data"] / refreshes, 3) if refreshes else 0,
        "reads": len(lags_us),
        "lag_us_max": max(lags_us, default=0),
        "lag_us_mean": round(sum(lags_us) / len(lags_us)) if lags_us else 0,
    }


_COUNTED = {
    Died: "died",
    CommittedAlready: "committed_already",
    NotStarted: "not_started",
    Suspended: "suspended",
    Flagged: "flagged",
    Restarted: "restarts",
    Broken: "broken",
}
