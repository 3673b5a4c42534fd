"""The state of each dynamic table, at any moment."""

import pytest
from scheduler_bench import SECOND_US, Bench, node
from small_world import World

from dynamic_tables.catalog import ddl
from dynamic_tables.catalog.ddl import Initialize, Privilege
from dynamic_tables.catalog.lags import DOWNSTREAM, MINUTE_US
from dynamic_tables.scheduling.events import Fault
from dynamic_tables.scheduling.scheduler import Scheduler
from dynamic_tables.scheduling.states import Condition, lags_below_upstream, monitored_state, table_state
from pruning.errors import InputError


def condition(bench, name, **options):
    now_us = int(bench.seconds * SECOND_US)
    return table_state(node(name, **options), bench.status(name), now_us=now_us).condition


def test_the_state_is_told_from_creation_to_suspension():
    """R-DVS-37. Each state in the order in which a table may go through them."""
    bench = Bench()
    seen = [condition(bench, "a")]
    bench.change(node("a"))
    seen.append(condition(bench, "a"))
    bench.tick(1)
    seen.append(condition(bench, "a"))
    bench.finish("a")
    seen.append(condition(bench, "a"))
    bench.tick(2)
    seen.append(condition(bench, "a"))
    bench.seconds += 61
    seen.append(condition(bench, "a"))
    bench.fail("a", Fault.SYSTEM)
    seen.append(condition(bench, "a"))
    bench.at(bench.seconds + 1)
    bench.fail("a")
    seen.append(condition(bench, "a"))
    bench.change(node("a", suspended="by a user"))
    seen.append(condition(bench, "a"))
    assert seen == [
        Condition.UNKNOWN,
        Condition.UNINITIALIZED,
        Condition.INITIALIZING,
        Condition.IDLE,
        Condition.EXECUTING,
        Condition.SILENT,
        Condition.SCHEDULED,
        Condition.FAILED,
        Condition.SUSPENDED,
    ]


def test_a_table_that_waits_for_another_is_scheduled():
    """R-DVS-37. And one that nobody with a lag reads is not."""
    bench = Bench(node("a"), node("b", "a"), node("c", lag=DOWNSTREAM))
    bench.change(node("c", lag=DOWNSTREAM), data_us=0)
    bench.tick(1)
    assert condition(bench, "b") is Condition.SCHEDULED
    bench = Bench()
    bench.change(node("c", lag=DOWNSTREAM), data_us=0)
    assert condition(bench, "c") is Condition.UNSCHEDULED


def test_states_are_those_of_another_scheduler_that_was_told_the_same():
    """R-DVS-37, R-DVS-45. They can be told from the events alone."""

    class Kept(Scheduler):
        def __init__(self):
            super().__init__()
            self.events = []

        def step(self, now_us, event):
            self.events.append((now_us, event))
            return super().step(now_us, event)

    world = World(scheduler=Kept())
    world.dynamic("s.d", "sum", "b0")
    world.dynamic("s.e", "divide", "d")
    for number in range(8):
        world.write("s.b0", 2, zero=number > 4)
        world.advance(30)
        world.finish_all()
    again = Scheduler()
    for now_us, event in world.scheduler.events:
        again.step(now_us, event)
    for name in ("s.d", "s.e"):
        identity = world.account.catalog.state.get(name).identity
        assert again.status(identity) == world.scheduler.status(identity)
        assert again.status(identity).data_us is not None


def test_a_new_scheduler_goes_on_from_what_is_stored():
    """R-DVS-38. After it was lost, the catalog and the frontiers tell the next one where it is."""
    world = World()
    world.dynamic("s.d", "sum", "b0")
    world.dynamic("s.e", "copy", "d")
    world.finish_all()
    world.settle(96)
    world.works.clear()
    world.scheduler = Scheduler()
    everything = world.account.initial_event()
    for known in everything.tables:
        had = world.account.tables[known.node.table].refresh_timestamps()
        assert len(had) == 3
        assert (*known.past_us, known.data_us) == had
    world.tell(everything)
    world.write("s.b0", 2)
    world.settle(96)
    world.check_contents(world.account.catalog.state.get("s.e").identity)
    assert world.table("s.e").frontier.data_us >= 4 * 48 * SECOND_US
    assert world.log[-1].action.name in ("INCREMENTAL", "NO_DATA")


def test_states_are_for_those_who_may_see_them():
    """R-DVS-48. MONITOR, on a dynamic table."""
    world = World()
    world.dynamic("s.d", "copy", "b0", initialize=Initialize.ON_SCHEDULE)
    world.ddl(ddl.Drop("s.b0"))
    state = world.account.catalog.state
    status = world.scheduler.status(state.get("s.d").identity)
    with pytest.raises(InputError, match=r"role r needs MONITOR on s\.d"):
        monitored_state(state, "s.d", "r", status, now_us=0)
    world.ddl(ddl.Grant(Privilege.MONITOR, "s.d", "r"))
    told = monitored_state(world.account.catalog.state, "s.d", "r", status, now_us=0)
    assert told.condition is Condition.UPSTREAM_MISSING
    assert told.missing == ("s.b0",)
    with pytest.raises(InputError, match=r"s\.b1 is a table"):
        monitored_state(world.account.catalog.state, "s.b1", "SYSTEM", None, now_us=0)


def test_a_lag_that_upstream_cannot_give_is_told():
    """R-DVS-14. A table of a minute over one of five is as late as that."""
    nodes = [node("a", lag=5 * MINUTE_US), node("b", "a"), node("c", "a", lag=5 * MINUTE_US)]
    bench = Bench(*nodes)
    bench.tick(1)
    known = {one.table: one for one in nodes}
    assert lags_below_upstream(known, {table: bench.status(table) for table in known}) == {"b": "a"}
