"""What a run of dynamic tables came to, in numbers: what scenarios expect, and reports show."""

from collections import Counter

from sim.refreshes.events import (
    Began,
    Broken,
    Committed,
    CommittedAlready,
    Computing,
    Died,
    Executed,
    Failed,
    Flagged,
    Judged,
    MessageTroubled,
    NotStarted,
    Ordered,
    ReadDone,
    Restarted,
    Skipped,
    Suspended,
    Told,
    Wrote,
)
from sim.refreshes.run import Run

NAMES = (
    "refreshes", "no_data", "full", "incremental", "reinitialize", "no_data_percent", "rows_changed",
    "skipped", "skipped_busy", "skipped_upstream", "orders", "attempts_again", "manual", "initial",
    "failed_user", "failed_system", "failed_upstream", "validations_failed", "died", "committed_already",
    "not_started", "suspended", "flagged", "restarts", "messages_lost", "messages_doubled", "refused",
    "writes", "writes_aborted", "reads", "lag_us_max", "lag_us_mean", "peak_us_max", "trough_us_max",
    "busy_us", "late_tables", "late_unexplained", "broken",
)  # fmt: skip


def measures(run: Run) -> dict[str, float]:
    """The numbers of a run, by name.

    ==========================  =================================================================
    refreshes                   committed; also by action, as in `no_data`, and `no_data_percent`
    rows_changed                rows that refreshes inserted and deleted
    skipped, skipped_busy, ...  timestamps passed over, also by reason
    orders, attempts_again      that the scheduler gave, and those of a second or later attempt
    manual, initial             orders that no tick made
    failed_user, ...            refreshes that failed, by whose fault; and `validations_failed`
    died, committed_already     refreshes whose worker died, and those that found nothing to do
    not_started, suspended      what the scheduler gave up
    flagged                     refreshes that were not heard of
    restarts                    of the scheduler
    writes, writes_aborted      transactions of users that write
    reads                       of dynamic tables, by users
    lag_us_max, lag_us_mean     that readers saw
    peak_us_max, trough_us_max  lag just before and after commits
    busy_us                     of warehouses
    late_tables                 beyond their target lag at the end; `late_unexplained` of these
    ==========================  =================================================================
    """
    found: Counter[str] = Counter()
    lags = []
    for event in run.trace:
        match event:
            case Began() | Told():
                continue  # half of all
            case Committed():
                found["refreshes"] += 1
                found[event.action.lower()] += 1
                found["rows_changed"] += event.inserted + event.deleted
                found["peak_us_max"] = max(found["peak_us_max"], event.peak_us)
                found["trough_us_max"] = max(found["trough_us_max"], event.trough_us)
            case Skipped():
                found["skipped"] += 1
                found[f"skipped_{event.reason}"] += 1
            case Ordered():
                found["orders"] += 1
                found["attempts_again"] += event.attempt > 0
                if event.trigger != "scheduled":
                    found[event.trigger] += 1
            case Failed():
                found[f"failed_{event.fault}"] += 1
                found["validations_failed"] += event.validation > 0
            case ReadDone():
                lags.append(event.lag_us)
            case Wrote():
                found["writes_aborted" if event.aborted else "writes"] += 1
            case Computing():
                found["busy_us"] += event.takes_us
            case MessageTroubled():
                found[f"messages_{event.how}"] += 1
            case Executed():
                found["refused"] += bool(event.refused)
            case Judged():
                late = not 0 <= event.lag_us <= event.target_us and event.target_us > 0
                found["late_tables"] += late
                found["late_unexplained"] += event.unexplained
            case (
                Died() | CommittedAlready() | NotStarted() | Suspended() | Flagged() | Restarted() | Broken()
            ):
                found[_COUNTED[type(event)]] += 1
    shares = {
        "no_data_percent": round(100 * found["no_data"] / found["refreshes"], 3) if found["refreshes"] else 0,
        "reads": len(lags),
        "lag_us_max": max(lags, default=0),
        "lag_us_mean": round(sum(lags) / len(lags)) if lags else 0,
    }
    return {**dict.fromkeys(NAMES, 0), **found, **shares}


_COUNTED = {
    Died: "died",
    CommittedAlready: "committed_already",
    NotStarted: "not_started",
    Suspended: "suspended",
    Flagged: "flagged",
    Restarted: "restarts",
    Broken: "broken",
}
