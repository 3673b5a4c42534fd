"""A scheduler that is lost: another goes on from what is stored, and who cannot is found out."""

from typing import Any

import pytest

from dynamic_tables.scheduling.scheduler import TICK_US
from mutants.schedulers import FollowsAgain, ForgetsFrontiers, PassesOverTicks
from sim.refreshes.checks import violations
from sim.refreshes.cloud import CORRECT, RefreshImplementations
from sim.refreshes.events import Executed, RefreshOrdered, Restarted
from sim.refreshes.faults import AnyFault, SchedulerCrash
from sim.refreshes.measures import measures
from sim.refreshes.model import SECOND_US, RefreshWarehouse, RefreshWorld, Setup, Statement, Writer
from sim.refreshes.run import RefreshRun, run

SUSPENDED_US, RESUMED_US = 60 * SECOND_US, 100 * SECOND_US
LOST = SchedulerCrash(from_us=190 * SECOND_US, until_us=200 * SECOND_US)
TABLE = "CREATE DYNAMIC TABLE s.{} TARGET_LAG = '{} minutes' WAREHOUSE = w AS SELECT k FROM {}"


def play(
    *faults: AnyFault,
    implementations: RefreshImplementations = CORRECT,
    more: tuple[Statement, ...] = (),
    fixed_us: int = SECOND_US,
) -> RefreshRun:
    """Run two tables, of one and of five minutes, one of which reads the other, with faults."""
    sql = ("CREATE TABLE s.t (k INTEGER)", TABLE.format("d", 1, "t"), TABLE.format("e", 5, "d"))
    setup = Setup(
        world=RefreshWorld(until_us=600 * SECOND_US),
        warehouse=(RefreshWarehouse(fixed_us=fixed_us),),
        statement=(*(Statement(sql=text) for text in sql), *more),
        writer=(Writer(table="s.t", every_us=7 * SECOND_US),),
    )
    return run(setup, faults, seed=0, implementations=implementations)


def test_who_forgets_frontiers_is_found() -> None:
    """SIM-15. DVS-10 of a start: each table is told at the timestamp that it has."""
    assert violations(play(LOST)) == []
    found = violations(play(LOST, implementations=RefreshImplementations(scheduler=ForgetsFrontiers)))
    assert {one.invariant for one in found} == {"DVS-10"}
    assert "a new scheduler has it at None us" in found[0].what


def test_who_suspends_by_starting_is_found() -> None:
    """DVS-11 of a start: who was resumed under a suspended table stays so."""
    more = (
        Statement(sql="ALTER DYNAMIC TABLE s.d SUSPEND", at_us=SUSPENDED_US),
        Statement(sql="ALTER DYNAMIC TABLE s.e RESUME", at_us=RESUMED_US),
    )
    assert violations(play(LOST, more=more)) == []
    found = violations(play(LOST, implementations=RefreshImplementations(scheduler=FollowsAgain), more=more))
    assert [one.what for one in found] == ["t3: suspended by the start of a scheduler"]


def test_a_tick_that_fell_into_the_pause_is_made_up_for() -> None:
    """Else a table of a long period waits for another whole one."""
    tick_us = 4 * TICK_US
    assert LOST.from_us < tick_us < LOST.until_us

    def orders(implementations: RefreshImplementations) -> list[int]:
        events = [
            event
            for event in play(LOST, implementations=implementations).trace
            if isinstance(event, RefreshOrdered)
        ]
        return [event.data_us for event in events if event.table == "t3" and event.trigger == "scheduled"]

    assert tick_us in orders(CORRECT)
    assert tick_us not in orders(RefreshImplementations(scheduler=PassesOverTicks))


def test_what_is_on_its_way_is_ordered_again_and_committed_once() -> None:
    """R-DVS-38. The scheduler is lost while the first worker computes, and the second is told the same."""
    lost = SchedulerCrash(from_us=50 * SECOND_US, until_us=55 * SECOND_US)
    found = play(lost, fixed_us=20 * SECOND_US)
    assert violations(found) == []
    orders = [
        event for event in found.trace if isinstance(event, RefreshOrdered) and event.data_us == TICK_US
    ]
    assert [(event.table, event.attempt) for event in orders[:2]] == [("t2", 0), ("t2", 0)]
    assert measures(found)["committed_already"] >= 1
    assert measures(found)["validations_failed"] == 0


def test_the_last_of_two_faults_that_overlap_ends_the_pause() -> None:
    later = SchedulerCrash(from_us=195 * SECOND_US, until_us=230 * SECOND_US)
    starts = [event.at_us for event in play(LOST, later).trace if isinstance(event, Restarted)]
    assert starts == [230 * SECOND_US]


@pytest.mark.parametrize(
    ("at_us", "refused"), [(195 * SECOND_US, "the scheduler is down; ask again"), (205 * SECOND_US, "")]
)
def test_a_manual_refresh_of_a_pause_is_refused(at_us: int, refused: str) -> None:
    """Other statements are not: the next scheduler finds them in the catalog."""
    ask = Statement(sql="ALTER DYNAMIC TABLE s.e REFRESH", at_us=at_us)
    create = Statement(sql=TABLE.format("f", 1, "t"), at_us=196 * SECOND_US)
    found = play(LOST, more=(ask, create))
    assert violations(found) == []
    told: dict[str, Any] = {event.sql: event.refused for event in found.trace if isinstance(event, Executed)}
    assert told[ask.sql] == refused
    assert found.states["t4"].data_us is not None
