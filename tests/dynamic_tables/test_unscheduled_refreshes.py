"""Refreshes that no tick asks for: of users, and of new tables."""

import pytest
from scheduler_bench import CREATE, SECOND_US, Bench, created, node, said, started

from dynamic_tables.catalog.lags import DOWNSTREAM, MINUTE_US
from dynamic_tables.scheduling.events import Fail, Reason, Trigger
from dynamic_tables.scheduling.scheduler import JOBS_MAX, TICK_US


def test_a_manual_refresh_is_later_than_its_asking_and_takes_upstream_along():
    """R-DVS-07, R-DVS-15. Tables without a schedule, too; others are left alone."""
    nodes = [node("a", lag=DOWNSTREAM), node("b", "a", lag=DOWNSTREAM), node("c", "a", lag=DOWNSTREAM)]
    bench = Bench(*nodes)
    bench.at(100)
    assert started(bench.manual("b")) == ["a"]
    assert bench.finish("a") == ["b"]
    assert bench.finish("b") == []
    assert {start.data_us for start in bench.starts} == {100 * SECOND_US + 1}
    assert {start.trigger for start in bench.starts} == {Trigger.MANUAL}


def test_a_manual_refresh_is_later_than_its_asking_by_the_clock_of_who_asks():
    """R-DVS-07, R-DVS-80. It is ahead here; who is behind gets what the scheduler's clock shows."""
    bench = Bench(node("a", lag=DOWNSTREAM), node("b", "a", lag=DOWNSTREAM))
    bench.at(100)
    bench.manual("b", asked=105)
    assert [start.data_us for start in bench.starts] == [105 * SECOND_US + 1]
    bench.manual("b", asked=90)
    assert bench.status("b").target_us == 105 * SECOND_US + 1
    bench.at(110)
    assert bench.finish("a") == ["b"]
    assert bench.finish("b") == []
    assert started(bench.manual("b", asked=90)) == ["a"]
    assert bench.starts[-1].data_us == 110 * SECOND_US + 1


def test_a_manual_refresh_is_never_skipped():
    """R-DVS-36. It waits for what runs, and takes its turn before the next tick's."""
    bench = Bench(node("a"), node("b", "a"))
    bench.tick(1)
    bench.at(60)
    assert bench.manual("b") == []
    assert said(bench.at(96)) == [("Skip", "a", 2), ("Skip", "b", 2)]
    assert bench.finish("a") == ["b", "a"]
    assert bench.finish("b") == []
    assert bench.finish("a") == ["b"]
    bench.finish("b")
    assert bench.status("b").data_us == 60 * SECOND_US + 1


def test_a_manual_refresh_fails_with_what_it_needs():
    """R-DVS-36. If upstream fails it is said to fail; it is not skipped."""
    bench = Bench(node("a"), node("b", "a"))
    bench.manual("b")
    assert bench.fail("a") == [Fail("b", 1, Trigger.MANUAL, Reason.UPSTREAM)]
    assert bench.status("b").errors == 0


def test_too_many_manual_refreshes_are_refused():
    """R-DVS-36. What is planned ahead has a limit, and who goes beyond is told."""
    bench = Bench(node("a"))
    for second in range(JOBS_MAX):
        bench.seconds = second / 10
        bench.manual("a")
    bench.seconds = 20
    assert bench.manual("a") == [Fail("a", 20 * SECOND_US + 1, Trigger.MANUAL, Reason.BUSY)]


@pytest.mark.parametrize("at_once", [True, False], ids=["at once", "one after the other"])
def test_a_chain_costs_one_refresh_for_each_table(at_once):
    """R-DVS-10, R-DVS-09. n tables created in order: n refreshes, not n(n+1)/2; upstream may still run."""
    bench = Bench()
    count = 30
    for number in range(count):
        upstream = [f"t{number - 1}"] if number else []
        created(bench, f"t{number}", *upstream, second=number / 10)
        if not at_once:
            bench.finish(f"t{number}")
    for number in range(count if at_once else 0):
        bench.finish(f"t{number}")
    assert len(bench.starts) == count
    assert {start.data_us for start in bench.starts} == {0}


def test_a_new_table_starts_from_a_timestamp_that_all_it_reads_have():
    """R-DVS-09. So its data may be older than the table; upstream is not refreshed for it."""
    bench = Bench(node("a"), node("b", lag=5 * MINUTE_US))
    for number in range(1, 7):
        for table in bench.tick(number):
            bench.finish(table)
    assert created(bench, "c", "a", "b", lag=5 * MINUTE_US, second=300) == ["c"]
    assert bench.starts[-1].data_us == 4 * TICK_US
    assert bench.starts[-1].trigger is Trigger.INITIAL


def test_a_new_table_whose_upstream_is_too_old_starts_from_its_creation():
    """R-DVS-09, R-DVS-08. All upstream tables are refreshed to the time of creation first."""
    bench = Bench(node("a", lag=5 * MINUTE_US), node("b", "a", lag=5 * MINUTE_US))
    for table in ("a", "b"):
        bench.tick(4)
        bench.finish(table)
    assert created(bench, "c", "b", second=4 * 48 + 100) == ["a"]
    assert bench.finish("a") == ["b"]
    assert bench.finish("b") == ["c"]
    assert {start.data_us for start in bench.starts[2:]} == {(4 * 48 + 100) * SECOND_US}


def test_a_table_created_ahead_of_the_schedulers_clock_starts_from_its_creation():
    """R-DVS-09, R-DVS-80. Commit timestamps may be ahead; before its creation nothing is to be had."""
    bench = Bench()
    bench.change(node("a", created_us=3 * SECOND_US, **CREATE))
    assert bench.starts[0].data_us == 3 * SECOND_US


def test_a_table_that_is_initialized_by_its_schedule_waits_for_a_tick():
    """R-DVS-03. Asynchronous initialization: the first tick gives it contents."""
    bench = Bench(node("a"))
    assert bench.starts == []
    assert bench.tick(1) == ["a"]
