"""Engines, schedulers, clocks and backends that are wrong on purpose; each must be found by a check.

Each is the project's own with one decision replaced, as somebody might write it.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from dynamic_tables.maintenance.algebra import Group, Join, UnionAll
from dynamic_tables.maintenance.differentiation import group
from dynamic_tables.maintenance.plans import Moment
from dynamic_tables.refreshes.engine import Engine
from dynamic_tables.refreshes.policy import EnginePolicy
from mutants import clocks, differentiation, schedulers
from mutants import refresh_engines as engines
from mutants.schedulers import with_calendar, with_jobs, with_next_tick, with_policy
from sim.refreshes.cloud import RefreshImplementations
from sim.refreshes.semantics import persisted_engine


@dataclass(frozen=True, slots=True, kw_only=True)
class RefreshMutant:
    """A wrong implementation of a scheduler, engine, clock or backend."""

    name: str
    what: str
    implementations: RefreshImplementations


def _mutant(name: str, what: str, **implementations: Any) -> RefreshMutant:
    return RefreshMutant(name=name, what=what, implementations=RefreshImplementations(**implementations))


def _engine(name: str, engine: type[Engine]) -> RefreshMutant:
    return _mutant(name, engine.__doc__ or "", engine=engine)


def _engine_decision(name: str, **decision: Callable[..., Any]) -> RefreshMutant:
    (wrong,) = decision.values()
    policy = EnginePolicy(**decision)
    return _mutant(name, wrong.__doc__ or "", engine=partial(Engine, policy=policy))


_OLD_AND_OLD = differentiation.of_inner(differentiation.pairs_at(Moment.BEFORE, Moment.BEFORE))
_WITHOUT_NULL_GROUP = differentiation.with_recomputation(group, differentiation.nulls_dropped)

MUTANTS: Mapping[str, RefreshMutant] = {
    mutant.name: mutant
    for mutant in (
        _mutant("persisted tables", "A table reads what those upstream hold now.", engine=persisted_engine),
        _engine_decision("newest of base tables", choose_version=engines.newest_of_bases),
        _engine_decision("upstream by commit time", choose_version=engines.by_commit_time),
        _engine_decision("open interval", choose_version=engines.open_end),
        _engine_decision("reads leave no mark", choose_version=engines.unseen_reads),
        _engine("frontier before commit", engines.FrontierFirst),
        _engine_decision("skip loses an interval", compute_delta=engines.skip_loses_an_interval),
        _engine_decision("purge unseen", count_changes=engines.purge_unseen),
        _engine("replace unseen", engines.ReplaceUnseen),
        _engine_decision("NO_DATA although changed", count_changes=engines.few_are_none),
        _engine_decision("maintenance is a change", count_changes=engines.versions_are_changes),
        _engine("applied twice", engines.AppliedTwice),
        _engine("torn commit", engines.Torn),
        _engine("last writer wins", engines.LastWriterWins),
        _engine("columns by place", engines.ColumnsByPlace),
        _engine_decision("one number for all", compute_delta=engines.interval_of_one_number),
        _engine("errors are empty", engines.ErrorsAreEmpty),
        _mutant("clock going back", "Timestamps are wall times.", clock=clocks.WallTime),
        _mutant("clock passes nothing", "A commit may come before a read.", clock=clocks.IgnoresReaders),
        _mutant(
            "two refreshes at once",
            "A tick does not wait.",
            scheduler=with_policy(obstacle=schedulers.busy_unseen),
        ),
        _mutant(
            "downstream first", "Nobody waits upstream.", scheduler=with_jobs(schedulers.WaitsForNothing)
        ),
        _mutant(
            "waits for ever", "What fails is not told below.", scheduler=with_jobs(schedulers.ForgetsWhoWaits)
        ),
        _mutant(
            "own periods",
            "Upstream's are not asked.",
            scheduler=with_calendar(choose_periods=schedulers.own_periods),
        ),
        _mutant("off the grid", "Ticks are counted from another.", scheduler=with_next_tick),
        _mutant(
            "suspension ignored",
            "Ticks go on.",
            scheduler=with_calendar(is_scheduled=schedulers.unless_dropped),
        ),
        _mutant(
            "manual without upstream",
            "One table is refreshed.",
            scheduler=with_policy(refreshed_with=schedulers.manual_alone),
        ),
        _mutant(
            "errors never reset",
            "A success ends no row of errors.",
            scheduler=with_policy(reset_errors=schedulers.never_resets),
        ),
        _mutant(
            "errors never counted",
            "Nothing is ever suspended.",
            scheduler=with_policy(count_error=schedulers.never_counts),
        ),
        _mutant(
            "system faults counted",
            "All faults are the user's.",
            scheduler=with_policy(respond_to_failure=schedulers.count_system_faults),
        ),
        _mutant(
            "blind monitor",
            "Silence is not noticed.",
            scheduler=with_policy(silence_us_max=schedulers.NEVER_SILENT_US),
        ),
        _mutant(
            "deaf to failures",
            "Only users' faults are heard.",
            scheduler=with_policy(
                respond_to_failure=schedulers.ignore_system_faults,
                silence_us_max=schedulers.NEVER_SILENT_US,
            ),
        ),
        _mutant(
            "any attempt",
            "An old attempt's failure is the new one's.",
            scheduler=with_policy(respond_to_failure=schedulers.take_for_running),
        ),
        _mutant(
            "newest of any",
            "A table begins where one upstream is.",
            scheduler=with_policy(first_timestamp=schedulers.newest_of_any),
        ),
        _mutant(
            "stays suspended",
            "Nobody is resumed.",
            scheduler=with_policy(resumed_with=schedulers.resume_nobody),
        ),
        _mutant(
            "join old and old",
            "Changes of two sides miss each other.",
            backend=partial(differentiation.with_rule, Join, _OLD_AND_OLD),
        ),
        _mutant(
            "NULL group dropped",
            "NULL is no group.",
            backend=partial(differentiation.with_rule, Group, _WITHOUT_NULL_GROUP),
        ),
        _mutant(
            "union without branches",
            "Rows of branches have one id.",
            backend=partial(differentiation.with_kernel, UnionAll, differentiation.without_branch),
        ),
    )
}
