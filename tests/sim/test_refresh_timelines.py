"""Timelines of refreshes, compared with the trace."""

from collections import Counter

from refresh_plays import (
    BASE,
    ONE,
    S,
    began,
    committed_event,
    failed_event,
    identities,
    play,
    table,
    with_trace,
)

from dynamic_tables.catalog.entities import EntityKind
from dynamic_tables.refreshes.actions import RefreshAction
from sim.kernel.spans import Mark, Span
from sim.kernel.trace import Trace
from sim.refreshes.events import Began, Committed, Died, Executed, Named, Skipped, Suspended
from sim.refreshes.timelines import (
    ExecutedStatement,
    Hindrance,
    RefreshSign,
    RefreshTimelineLimits,
    executed_statements,
    spans,
    timeline,
)
from sim.refreshes.worlds import small_world

WIDE = RefreshTimelineLimits(rows=100, spans=1 << 40, marks=1 << 40)


def test_a_bar_goes_from_the_choice_of_an_action_to_its_end() -> None:
    """Of an attempt that was ordered twice the first ends first; what does not end lasts to the end."""
    trace: Trace = [
        began("t1", 1, 0, "FULL"),
        committed_event("t1", 3, 0),
        began("t1", 50, 48, "INCREMENTAL"),
        began("t1", 52, 48, "NO_DATA"),
        failed_event("t1", 55, 48, "user"),
        Died(at_us=57 * S, table="t1", data_us=48 * S, attempt=0, phase="begun"),
        began("t1", 58, 48, "REINITIALIZE", attempt=1),
        failed_event("t1", 59, 48, "system"),
    ]
    doing = RefreshAction
    assert list(spans(trace, until_us=99 * S)) == [
        ("t1", Span(doing=doing.FULL, from_us=1 * S, until_us=3 * S)),
        ("t1", Span(doing=doing.INCREMENTAL, from_us=50 * S, until_us=55 * S)),
        ("t1", Span(doing=doing.NO_DATA, from_us=52 * S, until_us=57 * S)),
        ("t1", Span(doing=doing.REINITIALIZE, from_us=58 * S, until_us=99 * S)),
    ]


def test_what_happens_to_a_table_is_marked_in_its_row() -> None:
    d = identities(ONE)["d"]
    done = with_trace(
        ONE,
        failed_event(d, 50, 48, "user"),
        failed_event(d, 60, 48, "system"),
        Skipped(at_us=96 * S, table=d, data_us=96 * S, reason="busy"),
        Skipped(at_us=97 * S, table=d, data_us=97 * S, reason="busy"),
        Died(at_us=99 * S, table=d, data_us=96 * S, attempt=0, phase="down"),
    )
    (row,) = timeline(done, room=RefreshTimelineLimits(marks=40)).rows
    assert row.marks == (
        Mark(sign=RefreshSign.FAILED_USER, at_us=50 * S, count=1),
        Mark(sign=RefreshSign.FAILED, at_us=60 * S, count=1),
        Mark(sign=RefreshSign.DIED, at_us=99 * S, count=1),
        Mark(sign=RefreshSign.SKIPPED, at_us=96 * S, count=2),
    )


def test_what_hinders_a_table_lasts_in_its_row() -> None:
    done = play(
        BASE,
        table("d", "'1 minute'", "SELECT k, v FROM t"),
        (20, "ALTER DYNAMIC TABLE s.d SUSPEND"),
        (70, "ALTER DYNAMIC TABLE s.d RESUME"),
        (110, "DROP DYNAMIC TABLE s.d"),
        (140, "UNDROP DYNAMIC TABLE s.d"),
        (170, "ALTER DYNAMIC TABLE s.d SUSPEND"),
    )
    (row,) = timeline(done, room=WIDE).rows
    assert row.states == (
        Span(doing=Hindrance.SUSPENDED, from_us=20 * S, until_us=70 * S),
        Span(doing=Hindrance.GONE, from_us=110 * S, until_us=140 * S),
        Span(doing=Hindrance.SUSPENDED, from_us=170 * S, until_us=200 * S),
    )


def test_rows_stand_below_what_they_read_and_idle_ones_are_left_out_first() -> None:
    done = play(
        BASE,
        table("a", "'1 minute'", "SELECT k FROM t"),
        table("b", "'1 minute'", "SELECT k FROM a"),
        table("c", "'1 minute'", "SELECT k FROM t"),
    )
    ids = identities(done)
    busy = with_trace(done, began(ids["c"], 5, 0, "FULL"), failed_event(ids["b"], 9, 8, "user"))
    assert [row.name for row in timeline(busy, room=RefreshTimelineLimits(rows=3)).rows] == ["a", "c", "b"]
    assert [row.name for row in timeline(busy, room=RefreshTimelineLimits(rows=2)).rows] == ["c", "b"]
    few = timeline(busy, room=RefreshTimelineLimits(rows=1))
    assert [row.name for row in few.rows] == ["b"]
    assert few.left_out == 2


def test_statements_are_numbered_with_what_refused_them() -> None:
    trace: Trace = [
        Executed(at_us=3, sql="DROP TABLE s.t", node=0, refused=""),
        Suspended(at_us=4, table="t1", reason="errors"),
        Executed(at_us=5, sql="DROP TABLE s.t", node=0, refused="there is no s.t"),
    ]
    assert executed_statements(trace) == (
        ExecutedStatement(place=0, at_us=3, sql="DROP TABLE s.t", refused=""),
        ExecutedStatement(place=1, at_us=5, sql="DROP TABLE s.t", refused="there is no s.t"),
    )


def test_timelines_of_drawn_accounts_leave_nothing_out() -> None:
    """Each refresh that began has its bar, and each table that ever was its row."""
    for seed in range(8):
        done = small_world(seed).run(seed)
        line = timeline(done, room=WIDE)
        due = Counter((event.table, event.action) for event in done.trace if isinstance(event, Began))
        drawn = Counter(
            (table, span.doing.value) for table, span in spans(done.trace, until_us=done.ended_us)
        )
        assert drawn == due
        tables = {
            event.table
            for event in done.trace
            if isinstance(event, Named) and event.kind == EntityKind.DYNAMIC_TABLE.value
        }
        assert {row.table for row in line.rows} == tables
        ends = Counter(event.action for event in done.trace if isinstance(event, Committed))
        assert {action.value: count for action, count in line.actions.items() if count} == ends
