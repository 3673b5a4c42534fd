"""Pictures of dynamic tables: lags, timelines and the graph, compared with the trace."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dynamic_tables.catalog.ddl import Mode
from dynamic_tables.catalog.entities import EntityKind
from dynamic_tables.catalog.lags import DOWNSTREAM
from dynamic_tables.refreshes.actions import RefreshAction
from dynamic_tables.scheduling.states import Condition
from sim.kernel.spans import Mark, Span
from sim.kernel.trace import Trace
from sim.refreshes.events import (
    Began,
    Committed,
    Died,
    Executed,
    Failed,
    LagJudged,
    Named,
    Skipped,
    Suspended,
)
from sim.refreshes.graphs import GraphNode, graph, trim_graph
from sim.refreshes.model import RefreshWorld, Setup, Statement
from sim.refreshes.naming import display_names
from sim.refreshes.run import RefreshRun, run
from sim.refreshes.sawtooths import LateSpell, Sawtooth, sawtooths, thin, worst_refreshes
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

S = 1_000_000
WIDE = RefreshTimelineLimits(rows=100, spans=1 << 40, marks=1 << 40)
BASE = "CREATE TABLE s.t (k INTEGER, v INTEGER)"


def table(name: str, lag: str, query: str) -> str:
    """A statement that creates a dynamic table."""
    return f"CREATE DYNAMIC TABLE s.{name} TARGET_LAG = {lag} WAREHOUSE = w AS {query}"


def play(*statements: str | tuple[int, str]) -> RefreshRun:
    """Run statements for 200 s without rows; a number is the second at which a statement comes."""
    given_statements = tuple(
        Statement(sql=one) if isinstance(one, str) else Statement(sql=one[1], at_us=one[0] * S)
        for one in statements
    )
    world = RefreshWorld(until_us=150 * S, settle_us=50 * S)
    return run(Setup(world=world, statement=given_statements), seed=0)


def identities(done: RefreshRun) -> dict[str, str]:
    """Identities by name."""
    return {name: identity for identity, name in display_names(done).items()}


def committed_event(table_id: str, at_s: int, data_s: int, *, peak_s: int = 0) -> Committed:
    """Return the event of a refresh that is committed."""
    return Committed(
        at_us=at_s * S, table=table_id, data_us=data_s * S, attempt=0, action="NO_DATA", inserted=0,
        deleted=0, peak_us=peak_s * S, trough_us=(at_s - data_s) * S,
    )  # fmt: skip


def began(table_id: str, at_s: int, data_s: int, action: str, *, attempt: int = 0) -> Began:
    """Return the event of a refresh that has chosen its action."""
    return Began(
        at_us=at_s * S, table=table_id, data_us=data_s * S, attempt=attempt, node=0, action=action,
        cause="changed", changed=1,
    )  # fmt: skip


def failed_event(table_id: str, at_s: int, data_s: int, fault: str) -> Failed:
    """Return the event of a refresh that failed."""
    return Failed(
        at_us=at_s * S, table=table_id, data_us=data_s * S, attempt=0, fault=fault, validation=0, because=""
    )


def with_trace(done: RefreshRun, *events: object) -> RefreshRun:
    """Return a run with other events; the names of its tables stay."""
    kept = [event for event in done.trace if isinstance(event, Named)]
    return replace(done, trace=[*kept, *events])


ONE = play(BASE, table("d", "'1 minute'", "SELECT k, v FROM t"))


# Sawtooths


def test_two_refreshes_are_two_teeth() -> None:
    """Committed at 10 s as of 4 s, and at 100 s as of 52 s; the run ends at 200 s, and the target is 60 s."""
    d = identities(ONE)["d"]
    done = with_trace(ONE, committed_event(d, 10, 4), committed_event(d, 100, 52, peak_s=96))
    (found,) = sawtooths(done)
    assert found.name == "d"
    assert found.points == ((10 * S, 6 * S), (100 * S, 96 * S), (100 * S, 48 * S), (200 * S, 148 * S))
    assert found.targets == ((1_000, 60 * S),)
    assert found.peak_us == 148 * S
    assert list(found.spells) == [
        LateSpell(from_us=64 * S, until_us=100 * S, data_us=4 * S, target_us=60 * S),
        LateSpell(from_us=112 * S, until_us=200 * S, data_us=52 * S, target_us=60 * S),
    ]
    assert found.late_us == (36 + 88) * S
    assert found.share_of_target == 148 / 60


def test_the_teeth_of_drawn_accounts_have_the_lags_that_commits_tell() -> None:
    """Peaks and troughs are told by commits too, which no tooth is made of."""
    compared = 0
    for seed in range(12):
        done = small_world(seed).run(seed)
        by_table = {one.table: set(one.points) for one in sawtooths(done)}
        for event in done.trace:
            if isinstance(event, Committed):
                assert (event.at_us, event.trough_us) in by_table[event.table]
                if event.peak_us:
                    assert (event.at_us, event.peak_us) in by_table[event.table]
                    compared += 1
    assert compared > 100


def test_a_clone_begins_as_far_behind_as_its_original() -> None:
    done = play(
        BASE,
        table("d", "'1 minute'", "SELECT k, v FROM t"),
        (100, "CREATE SCHEMA z CLONE s"),
        (120, "ALTER DYNAMIC TABLE z.d RESUME"),
    )
    clone = identities(done)["z.d"]
    found = next(one for one in sawtooths(done) if one.table == clone)
    assert found.refreshed[0] == (100 * S, 96 * S)
    assert found.points[0] == (100 * S, 4 * S)
    assert found.targets == ((100 * S, None), (120 * S, 60 * S))
    behind = replace(found, refreshed=((100 * S, 40 * S),), until_us=200 * S)
    # It is 60 s behind at once, and 80 s when a target is set.
    assert list(behind.spells) == [LateSpell(120 * S, 200 * S, 40 * S, 60 * S)]


def test_the_lag_of_a_table_ends_where_it_is_dropped() -> None:
    done = play(BASE, table("d", "'1 minute'", "SELECT k, v FROM t"), (130, "DROP DYNAMIC TABLE s.d"))
    (found,) = sawtooths(done)
    assert found.points[-1][0] == 130 * S
    assert sawtooths(ONE)[0].points[-1][0] == 200 * S


def test_targets_are_those_in_force() -> None:
    """DOWNSTREAM is the least of the tables below; a suspended table asks for nothing until it is resumed."""
    done = play(
        BASE,
        table("d", "DOWNSTREAM", "SELECT k, v FROM t"),
        table("e", "'2 minutes'", "SELECT k FROM d"),
        (50, table("f", "'1 minute'", "SELECT v FROM d")),
        (90, "ALTER DYNAMIC TABLE s.f SUSPEND"),
    )
    found = {one.name: one.targets for one in sawtooths(done)}
    quiet = (150 * S + 1, 60 * S)
    assert found["d"] == ((1_000, None), (2_000, 120 * S), (50 * S, 60 * S), (90 * S, 120 * S), quiet)
    assert found["f"] == ((50 * S, 60 * S), (90 * S, None), quiet)
    near = {one.name: one.targets for one in sawtooths(done, closer_us=S)}
    assert near["d"] == ((2_000, 120 * S), (50 * S, 60 * S), (90 * S, 120 * S), quiet)


def test_tables_that_were_late_for_longest_come_first_then_those_nearest_to_it() -> None:
    done = play(BASE, *(table(name, "'1 minute'", "SELECT k FROM t") for name in "abc"))
    ids = identities(done)
    done = with_trace(
        done,
        *(committed_event(ids["a"], at, at - 1) for at in (10, 60, 110, 160)),
        committed_event(ids["b"], 10, 9),
        *(committed_event(ids["c"], at, at - 1) for at in (10, 69, 128, 187)),
    )
    assert [(one.name, one.late_us) for one in sawtooths(done)] == [("b", 131 * S), ("c", 0), ("a", 0)]


def test_a_thinned_line_keeps_its_ends_and_what_is_most_and_least() -> None:
    line = [(0, 5), (1, 9), (2, 7), (3, 8), (4, 1), (5, 2), (10, 6), (11, 3)]
    assert thin(line, closer_us=10) == [(0, 5), (1, 9), (4, 1), (5, 2), (10, 6), (11, 3)]
    assert thin(line, closer_us=0) == line


@given(st.lists(st.tuples(st.integers(0, 500), st.integers(0, 90))), st.integers(1, 60))
def test_no_stretch_of_a_thinned_line_has_more_than_four_points(
    drawn: list[tuple[int, int]], closer_us: int
) -> None:
    line = sorted(drawn)
    found = thin(line, closer_us=closer_us)
    for stretch in {at // closer_us for at, _ in line}:
        all_of = [lag for at, lag in line if at // closer_us == stretch]
        kept = [lag for at, lag in found if at // closer_us == stretch]
        assert len(kept) <= 4
        assert (min(all_of), max(all_of)) == (min(kept), max(kept))
        assert (all_of[0], all_of[-1]) == (kept[0], kept[-1])


@pytest.mark.parametrize(
    ("worst", "places"),
    [(0, [0, 1, 2]), (1, [0, 1, 2]), (3, [2, 3, 4]), (5, [3, 4, 5])],
    ids=["first", "second", "middle", "last"],
)
def test_teeth_from_close_by_have_the_greatest_in_their_middle(worst: int, places: list[int]) -> None:
    at = 0
    refreshed = []
    for place in range(6):
        refreshed.append((at, at))
        at += 50 if place == worst else 10
    one = Sawtooth(table="t1", name="d", refreshed=tuple(refreshed), until_us=at, targets=())
    assert list(worst_refreshes(one, teeth=3)) == places
    assert list(worst_refreshes(one, teeth=9)) == [0, 1, 2, 3, 4, 5]


# Timelines


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


# The graph


def test_the_graph_is_that_of_the_end() -> None:
    done = play(
        BASE,
        "CREATE TABLE s.u (k INTEGER)",
        "CREATE VIEW s.w AS SELECT k FROM t",
        table("d", "DOWNSTREAM", "SELECT k FROM w"),
        table("e", "'1 minute'", "SELECT d.k FROM d JOIN u ON d.k = u.k"),
        (155, "ALTER DYNAMIC TABLE s.e SUSPEND"),
        (160, "DROP TABLE s.u"),
    )
    ids = identities(done)
    late = LagJudged(
        at_us=200 * S, table=ids["e"], condition="SUSPENDED", lag_us=80 * S, target_us=60 * S, because="x",
        unexplained=False,
    )  # fmt: skip
    done = with_trace(done, late)
    found = graph(done)
    assert {one.name: one for one in found.nodes.values()} == {
        "t": GraphNode(name="t", kind=EntityKind.TABLE),
        "w": GraphNode(name="w", kind=EntityKind.VIEW),
        "d": GraphNode(
            name="d",
            kind=EntityKind.DYNAMIC_TABLE,
            mode=Mode.INCREMENTAL,
            lag=DOWNSTREAM,
            condition=Condition.UNSCHEDULED,
        ),
        "e": GraphNode(
            name="e",
            kind=EntityKind.DYNAMIC_TABLE,
            mode=Mode.INCREMENTAL,
            lag=60 * S,
            condition=Condition.SUSPENDED,
            late=True,
        ),
    }
    assert found.reads == ((ids["t"], ids["w"]), (ids["w"], ids["d"]), (ids["d"], ids["e"]))
    assert found.missing == (("s.u", ids["e"]),)


def test_a_part_of_a_graph_has_all_that_it_reads_and_first_what_does_not_rest() -> None:
    done = play(
        BASE,
        "CREATE TABLE s.u (k INTEGER)",
        table("a", "'1 minute'", "SELECT k FROM u"),
        table("b", "'1 minute'", "SELECT k FROM t"),
        table("c", "'1 minute'", "SELECT k FROM b"),
        (155, "ALTER DYNAMIC TABLE s.c SUSPEND"),
    )
    found = graph(done)
    assert trim_graph(found, nodes_max=6) == found
    part = trim_graph(found, nodes_max=4)
    assert {one.name for one in part.nodes.values()} == {"t", "b", "c", "u"}
    assert len(part.reads) == 2
    assert {one.name for one in trim_graph(found, nodes_max=3).nodes.values()} == {"t", "b", "c"}


def test_tables_are_called_by_their_last_names() -> None:
    """Schemas are told if there are several, identities of those that are gone if a name was given again."""
    done = play(
        BASE,
        "CREATE OR REPLACE TABLE s.t (k INTEGER)",
        "CREATE TABLE s.u (k INTEGER)",
        "ALTER TABLE s.u RENAME TO s.x",
    )
    assert list(display_names(done).values()) == ["t (t1)", "t", "x"]
    assert sorted(display_names(play(BASE, (5, "CREATE SCHEMA z CLONE s"))).values()) == ["s.t", "z.t"]
