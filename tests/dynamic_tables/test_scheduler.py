"""What the scheduler orders, event by event."""

from scheduler_bench import SECOND_US, Bench, created, node, said, started

from dynamic_tables.catalog.lags import DOWNSTREAM, MINUTE_US
from dynamic_tables.scheduling.events import (
    Failed,
    Fault,
    Flag,
    GraphChanged,
    Reason,
    ResumeTable,
    Skip,
    SuspendTable,
    TableUpdate,
    Tick,
    Timer,
)
from dynamic_tables.scheduling.policy import ATTEMPTS_MAX, ERRORS_MAX, FOLLOWS
from dynamic_tables.scheduling.scheduler import ERRORS, TICK_US, Scheduler


def test_a_table_starts_when_all_that_it_reads_have_committed():
    """R-DVS-72, R-DVS-08, trap 35. A diamond: the top at the tick, the sides then, the bottom after both."""
    bench = Bench(node("a"), node("b", "a"), node("c", "a"), node("d", "b", "c"))
    assert bench.tick(1) == ["a"]
    assert bench.finish("a") == ["b", "c"]
    assert bench.finish("c") == []
    assert bench.finish("b") == ["d"]
    assert bench.finish("d") == []
    assert {start.data_us for start in bench.starts} == {TICK_US}


def test_lag_is_a_sawtooth():
    """R-DVS-70, R-DVS-72. Upstream runs 10 s, downstream waits for it and runs 5 s: lags by hand."""
    bench = Bench(node("a"), node("b", "a"))
    troughs, peaks = [], []
    for tick in (1, 2, 3):
        bench.at(48 * tick)
        bench.seconds += 10
        assert bench.finish("a") == ["b"]
        bench.seconds += 5
        peaks.append(bench.lag("b"))
        bench.finish("b")
        troughs.append(bench.lag("b"))
    assert troughs == [15, 15, 15]
    assert peaks == [None, 48 + 15, 48 + 15]


def test_the_age_of_a_first_timestamp_is_no_cost():
    """R-DVS-75, R-DVS-09. Of 45 s of lag 40 are those of the timestamp that upstream had: 192 + 5 < 200."""
    bench = Bench(node("a"))
    bench.tick(1)
    bench.finish("a")
    assert created(bench, "b", "a", second=48 + 40, lag=200 * SECOND_US) == ["b"]
    assert bench.starts[-1].data_us == TICK_US
    bench.seconds += 5
    bench.finish("b")
    bench.at(2 * 48)
    assert bench.status("b").period_us == 4 * TICK_US


def test_a_tick_is_skipped_while_the_refresh_before_runs():
    """R-DVS-30, R-DVS-31. One refresh of a table at a time; the next after it covers what was skipped."""
    bench = Bench(node("a"))
    bench.tick(1)
    assert bench.at(2 * 48) == [Skip("a", 2 * TICK_US, Reason.BUSY)]
    bench.beat("a")
    assert bench.at(3 * 48) == [Skip("a", 3 * TICK_US, Reason.BUSY)]
    bench.finish("a")
    assert bench.tick(4) == ["a"]
    assert bench.starts[-1].data_us == 4 * TICK_US


def test_what_upstream_skips_is_skipped_downstream():
    """R-DVS-36. At the same timestamp; a table beside them goes on."""
    bench = Bench(node("a"), node("b", "a"), node("other"))
    bench.tick(1)
    bench.finish("other")
    assert said(bench.at(2 * 48)) == [("Skip", "a", 2), ("Skip", "b", 2), ("StartRefresh", "other", 2)]


def test_what_fails_upstream_is_skipped_downstream_all_the_way():
    """R-DVS-33, R-DVS-36. Not tried again at the same timestamp; at the next tick it is."""
    bench = Bench(node("a"), node("b", "a"), node("c", "b"), node("d", "c"))
    bench.tick(1)
    assert said(bench.fail("a")) == [("Skip", "b", 1), ("Skip", "c", 1), ("Skip", "d", 1)]
    assert bench.tick(2) == ["a"]
    bench.finish("a")
    assert said(bench.fail("b")) == [("Skip", "c", 2), ("Skip", "d", 2)]
    assert bench.tick(3) == ["a"]


def test_a_slow_branch_does_not_hold_a_fast_one():
    """R-DVS-72. The fast upstream table goes on while the slow one runs; the reader gets their tick."""
    bench = Bench(node("fast"), node("slow"), node("join", "fast", "slow"))
    bench.tick(1)
    bench.finish("fast")
    bench.at(2 * 48)
    bench.finish("fast")
    assert bench.finish("slow") == ["join"]
    assert bench.starts[-1].data_us == TICK_US


def test_periods_follow_lags_and_upstream():
    """R-DVS-73, R-DVS-74. Five minutes give a tick in four; a reader of a slower table has its period."""
    bench = Bench(node("a", lag=5 * MINUTE_US), node("b", "a"), node("c"))
    started_at = {number: bench.tick(number) for number in range(1, 9)}
    for table in bench.starts:
        assert table.data_us % (1 if table.table == "c" else 4 * TICK_US) == 0
    assert started_at[4] == ["a"]
    assert bench.status("b").period_us == 4 * TICK_US


def test_a_phase_shifts_all_ticks():
    """R-DVS-73. One constant phase for an account."""
    scheduler = Scheduler(phase_us=7)
    bench = Bench(node("a"), scheduler=scheduler)
    bench.at(48)
    bench.finish("a")
    bench.at(49)
    assert [start.data_us for start in bench.starts] == [7, TICK_US + 7]


def test_downstream_tables_are_scheduled_for_their_readers():
    """R-DVS-13. Without a timed reader never; with one as often as it; not for one that is suspended."""
    bench = Bench(node("a", lag=DOWNSTREAM), node("b", "a", lag=DOWNSTREAM))
    assert bench.tick(4) == []
    assert bench.status("a").period_us is None
    bench.change(node("c", "b", lag=5 * MINUTE_US))
    assert bench.tick(8) == ["a"]
    assert bench.status("a").period_us == 4 * TICK_US
    bench.change(node("c", "b", lag=5 * MINUTE_US, suspended="by a user"))
    assert bench.tick(12) == []


def test_a_costly_refresh_shortens_the_period_and_cheap_ones_lengthen_it_slowly():
    """R-DVS-75. p + w + d < t: of five minutes, a refresh of two leaves 96 s, one of a second 192."""
    bench = Bench(node("a", lag=5 * MINUTE_US))
    assert bench.tick(4) == ["a"]
    bench.at(4 * 48 + 47)
    bench.beat("a")
    bench.at(4 * 48 + 120)
    bench.finish("a")
    periods = []
    for number in range(8, 40, 4):
        if bench.tick(number):
            bench.finish("a")
        periods.append(bench.status("a").period_us // TICK_US)
    assert periods[0] == 2
    assert periods[-1] == 4
    assert periods == sorted(periods)


def fail_often(bench, table, count, first=1):
    commands = []
    for number in range(first, first + count):
        bench.tick(number)
        commands = bench.fail(table)
    return commands


def test_more_than_five_errors_in_a_row_suspend_a_table_and_its_readers():
    """R-DVS-34. The sixth does; no tick starts them then."""
    bench = Bench(node("a"), node("b", "a"), node("c", "b"))
    fail_often(bench, "a", ERRORS_MAX)
    assert bench.status("a").suspended is None
    assert bench.status("a").errors == ERRORS_MAX
    commands = fail_often(bench, "a", 1, first=ERRORS_MAX + 1)
    suspended = [command for command in commands if isinstance(command, SuspendTable)]
    assert suspended == [SuspendTable("a", ERRORS), SuspendTable("b", FOLLOWS), SuspendTable("c", FOLLOWS)]
    assert bench.at(10 * 48) == []


def test_a_success_ends_a_row_of_errors():
    """R-DVS-34. Also that of a manual refresh."""
    bench = Bench(node("a"))
    fail_often(bench, "a", ERRORS_MAX)
    bench.manual("a")
    bench.finish("a")
    assert bench.status("a").errors == 0
    fail_often(bench, "a", ERRORS_MAX, first=7)
    assert bench.status("a").suspended is None


def test_errors_of_manual_refreshes_do_not_count():
    """R-DVS-34. However many."""
    bench = Bench(node("a"))
    for _ in range(2 * ERRORS_MAX):
        bench.manual("a")
        bench.fail("a")
    assert bench.status("a").errors == 0


def test_a_resumed_table_goes_on_and_those_suspended_with_it():
    """R-DVS-35. Those whom a user suspended stay so."""
    bench = Bench(node("a"), node("b", "a"), node("c", "a"))
    bench.change(node("c", "a", suspended="by a user"))
    fail_often(bench, "a", ERRORS_MAX + 1)
    for command in bench.said:
        if isinstance(command, SuspendTable):
            above = () if command.table == "a" else ("a",)
            bench.change(node(command.table, *above, suspended=command.reason))
    assert bench.change(node("a")) == [ResumeTable("b")]
    bench.change(node("b", "a"))
    assert bench.tick(8) == ["a"]
    assert bench.finish("a") == ["b"]
    assert bench.status("c").suspended == "by a user"


def test_a_suspended_table_ends_what_runs_and_gives_up_what_waits():
    """R-DVS-34, R-DVS-36. A reader that waits for its tick is told."""
    bench = Bench(node("a"), node("b", "a"), node("c", "b"))
    bench.tick(1)
    commands = bench.change(node("b", "a", suspended="by a user"))
    assert said(commands) == [("Skip", "b", 1), ("Skip", "c", 1), ("SuspendTable", "c")]
    assert bench.finish("a") == []
    assert bench.tick(2) == ["a"]


def test_faults_of_the_system_are_tried_again_and_not_counted():
    """R-DVS-38, R-DVS-34. After 1, 2, 4 seconds, then given up; the next tick is tried."""
    bench = Bench(node("a"), node("b", "a"))
    bench.tick(1)
    for attempt in range(1, ATTEMPTS_MAX):
        assert bench.fail("a", Fault.SYSTEM) == []
        wait = 2 ** (attempt - 1)
        assert bench.at(bench.seconds + wait - 0.5) == []
        assert started(bench.at(bench.seconds + 0.5)) == ["a"]
        assert bench.starts[-1].attempt == attempt
        assert bench.starts[-1].data_us == TICK_US
    assert said(bench.fail("a", Fault.SYSTEM)) == [("Skip", "b", 1)]
    assert bench.status("a").errors == 0
    assert bench.tick(2) == ["a"]


def test_an_upstream_version_that_is_gone_is_neither_counted_nor_tried_again():
    """R-DVS-82. The refresh fails; the next tick is tried."""
    bench = Bench(node("a"))
    bench.tick(1)
    assert bench.fail("a", Fault.UPSTREAM) == []
    assert bench.status("a").errors == 0
    assert bench.tick(2) == ["a"]


def test_a_refresh_without_a_heartbeat_is_flagged_once_and_then_taken_for_lost():
    """R-DVS-37. Then another attempt follows, and what the old one says later is taken or ignored."""
    bench = Bench(node("a"))
    bench.tick(1)
    bench.at(2 * 48)
    bench.beat("a")
    flags = [bench.at(number * 48) for number in (3, 4, 5)]
    assert [[type(command) for command in said_then] for said_then in flags] == [[Skip], [Flag, Skip], [Skip]]
    assert flags[1][0] == Flag("a", TICK_US, 96 * SECOND_US)
    assert started(bench.at(5 * 48 + 2)) == ["a"]
    assert bench.starts[-1] == bench.starts[0]._replace(attempt=1)
    bench.finish("a")
    assert bench.status("a").data_us == TICK_US


def test_what_is_told_twice_or_late_changes_nothing():
    """R-DVS-38. Messages may be repeated, and come from an attempt that was given up."""
    bench = Bench(node("a"), node("b", "a"))
    bench.tick(1)
    bench.fail("a", Fault.SYSTEM)
    late = bench.scheduler.step(0, Tick())
    assert [command for command in late if not isinstance(command, Timer)] == []
    assert bench.finish("a", 48) == ["b"]
    assert bench.finish("a", 48) == []
    assert bench.at(48 + 5) == []
    assert bench.finish("b") == []
    assert bench.finish("b", 48) == []
    assert bench.step(Failed("nobody", 0, 0, Fault.USER)) == []


def test_a_dropped_table_is_given_up_and_its_readers_go_on():
    """R-DVS-40, R-DVS-41. What waits for it is skipped; restored, it goes on."""
    bench = Bench(node("a"), node("b", "a"), node("c", "b"))
    bench.tick(1)
    bench.finish("a")
    commands = bench.change(node("c"), dropped=("b",))
    assert said(commands) == [("Skip", "c", 1)]
    assert sorted(bench.tick(2)) == ["a", "c"]
    bench.finish("a"), bench.finish("c"), bench.finish("b", 48)
    assert bench.status("b") is None
    bench.change(node("b", "a"), node("c", "b"), data_us=TICK_US)
    assert bench.status("b").data_us == TICK_US
    assert bench.tick(3) == ["a"]
    assert bench.finish("a") == ["b"]


def test_a_table_restored_while_it_runs_is_not_refreshed_twice_at_once():
    """R-DVS-30. Its tick is skipped until the old refresh has ended."""
    bench = Bench(node("a"))
    bench.tick(1)
    bench.change(dropped=("a",))
    bench.change(node("a"))
    assert said(bench.at(2 * 48)) == [("Skip", "a", 2)]
    bench.finish("a")
    assert bench.tick(3) == ["a"]


def test_after_a_long_pause_the_newest_tick_of_each_period_is_dealt_with():
    """R-DVS-32. Not every tick that was missed: at most one for each period."""
    bench = Bench(node("a"), node("b", lag=60 * MINUTE_US))
    commands = bench.at(48 * 1000)
    assert started(commands) == ["a", "b"]
    assert len(commands) <= 12
    assert {start.table: start.data_us // TICK_US for start in bench.starts}["b"] == 960


def test_time_that_goes_back_stands_still():
    """R-DVS-80. A step back of the clock starts nothing, and timestamps never go back."""
    bench = Bench(node("a"))
    bench.tick(2)
    bench.finish("a")
    assert bench.tick(1) == []
    bench.seconds = 1
    bench.manual("a")
    assert bench.starts[-1].data_us == 2 * TICK_US + 1


def test_the_same_steps_give_the_same_commands():
    """R-DVS-37. Nothing is drawn and no clock is read: what happened can be told from the events alone."""

    def run():
        bench = Bench(node("a"), node("b", "a"), node("c", "a"), node("d", "b", "c"))
        for number in range(1, 20):
            for table in bench.tick(number):
                for next_table in bench.finish(table):
                    bench.fail(next_table) if number % 3 else bench.finish(next_table)
        return bench.said

    assert run() == run()


def test_a_scheduler_that_starts_anew_makes_up_for_the_newest_tick_of_each_period():
    """R-DVS-38. It was lost over ticks 4 and 5; of those that a table has, no skip is told."""
    fast, slow = node("a"), node("b", lag=5 * MINUTE_US)
    bench = Bench()
    bench.seconds = 5 * 48 + 10
    known = (TableUpdate(fast, 4 * TICK_US, 0), TableUpdate(slow, 3 * TICK_US, 0))
    assert said(bench.step(GraphChanged(known, anew=True))) == [
        ("StartRefresh", "b", 4),
        ("StartRefresh", "a", 5),
    ]


def test_a_scheduler_that_starts_anew_suspends_nobody():
    """R-DVS-34, R-DVS-45. Who reads a suspended table, and was resumed by a user since, stays resumed."""
    bench = Bench()
    known = (TableUpdate(node("a", suspended="by a user"), 0, 0), TableUpdate(node("b", "a"), 0, 0))
    assert bench.step(GraphChanged(known, anew=True)) == []
    assert bench.status("a").suspended == "by a user"
    assert bench.status("b").suspended is None


def test_a_scheduler_that_starts_anew_knows_what_upstream_had():
    """R-DVS-82, R-DVS-38. Upstream went on to tick 5, and downstream was lost on its way to 4."""
    fast, slow = node("a"), node("b", "a", lag=5 * MINUTE_US)
    bench = Bench()
    bench.seconds = 5 * 48 + 10
    told = (TableUpdate(fast, 5 * TICK_US, 0, (3 * TICK_US, 4 * TICK_US)), TableUpdate(slow, 0, 0))
    assert said(bench.step(GraphChanged(told, anew=True))) == [("StartRefresh", "b", 4)]
    bench = Bench()
    bench.seconds = 5 * 48 + 10
    told = (TableUpdate(fast, 5 * TICK_US, 0), TableUpdate(slow, 0, 0))
    assert said(bench.step(GraphChanged(told, anew=True))) == [("Skip", "b", 4)]
