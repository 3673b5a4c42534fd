"""A user who writes and then asks for a refresh sees what was written, wherever the node's clock is."""

from typing import Any

import pytest

from dynamic_tables.scheduling.policy import SchedulerPolicy
from dynamic_tables.scheduling.scheduler import Scheduler
from sim.refreshes.checks import violations
from sim.refreshes.cloud import CORRECT, RefreshImplementations
from sim.refreshes.events import Committed
from sim.refreshes.faults import Skew
from sim.refreshes.model import SECOND_US, RefreshWorld, Setup, Statement, Writer
from sim.refreshes.run import RefreshRun, run

ASKED_US = 60 * SECOND_US


def by_its_own_clock(**options: Any) -> Scheduler:
    """A scheduler that asks nobody what a user's clock shows."""
    policy = SchedulerPolicy(after_asking=lambda now_us, asked_us: now_us + 1)
    return Scheduler(policy=policy, **options)


def play(offset_us: int, implementations: RefreshImplementations = CORRECT) -> RefreshRun:
    """Run a world in which a user writes on node 1 every second and refreshes a table there."""
    sql = (
        "CREATE TABLE s.t (k INTEGER)",
        "CREATE DYNAMIC TABLE s.d TARGET_LAG = '5 minutes' WAREHOUSE = w AS SELECT k FROM t",
    )
    asks = Statement(sql="ALTER DYNAMIC TABLE s.d REFRESH", at_us=ASKED_US, node=1)
    setup = Setup(
        world=RefreshWorld(nodes=2, until_us=100 * SECOND_US, settle_us=400 * SECOND_US),
        statement=(*(Statement(sql=text) for text in sql), asks),
        writer=(Writer(table="s.t", node=1, every_us=SECOND_US),),
    )
    ahead = Skew(from_us=0, until_us=90 * SECOND_US, node=1, offset_us=offset_us)
    return run(setup, (ahead,), seed=0, implementations=implementations)


@pytest.mark.parametrize("seconds", [-5, 0, 5])
def test_a_manual_refresh_sees_what_its_node_has_committed(seconds: int) -> None:
    """SIM-16, DVS-16, R-DVS-07."""
    found = play(seconds * SECOND_US)
    assert violations(found) == []
    asked = next(one for one in found.trace if isinstance(one, Committed) and one.at_us > ASKED_US)
    versions = next(iter(found.record.bases.values()))
    before = [committed for committed, _ in versions if committed.physical_us <= asked.data_us]
    assert len(before) > 30
    assert asked.data_us > ASKED_US + max(0, seconds) * SECOND_US


def test_a_scheduler_that_asks_nobody_is_found() -> None:
    found = violations(play(5 * SECOND_US, RefreshImplementations(scheduler=by_its_own_clock)))
    assert {one.invariant for one in found} == {"DVS-16"}
    assert violations(play(-5 * SECOND_US, RefreshImplementations(scheduler=by_its_own_clock))) == []
