"""Pictures show all that happened: what is made one to the eye is still there, and nothing else is."""

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sim.kernel.faults import FOREVER_US
from sim.kernel.spans import LONG, Span, assign_rows, marks, merge_spans
from sim.kernel.trace import Trace
from sim.scans.events import (
    BlocksRead,
    FootersRead,
    MessageLost,
    NodeCrashed,
    NodeStarted,
    QueryBegan,
    QueryEnded,
    ReadFailed,
    TakenForDead,
)
from sim.scans.faults import CancelQuery, Crash, Partition, ScanMessageFaults, Straggler
from sim.scans.run import ScanRun
from sim.scans.scenario import scenario, world_of_seed
from sim.scans.timelines import Doing, ScanSign, ScanTimelineLimits, over_us, query_spans, timeline
from sim.scans.worlds import small_world

TEXT = (
    'title = ""\nclaim = ""\n[world.warehouse]\nnodes = 3\n[[table]]\nname = "t"\nblocks = 4\n'
    'rows_per_block = 2\n[[query]]\nsql = "SELECT * FROM t"\n'
)
CLOSER_US = 10
WIDE = ScanTimelineLimits(lanes=100, lanes_idle=100, rows=100, spans=1 << 40, marks=1 << 40)


@st.composite
def spans(draw: st.DrawFn) -> list[Span]:
    """Spans of two kinds. Shrinks to none."""
    drawn = draw(
        st.lists(
            st.tuples(
                st.sampled_from([Doing.READING, Doing.FOOTERS]), st.integers(0, 300), st.integers(0, 60)
            ),
            max_size=12,
        )
    )
    return [Span(doing=doing, from_us=first, until_us=first + took) for doing, first, took in drawn]


@pytest.fixture
def run() -> ScanRun:
    """A run of three nodes, whose trace a test replaces."""
    return world_of_seed(scenario(TEXT), 0).run(0)


def read(node: int, began_us: int, at_us: int) -> BlocksRead:
    """A read of one block."""
    return BlocksRead(
        at_us=at_us, scan="q0/t", task=0, node=node, incarnation=1, blocks=((0, 1),), began_us=began_us,
        requests=1, bytes=1, cached=0,
    )  # fmt: skip


def query_ended(at_us: int, *, cancelled: bool = False) -> QueryEnded:
    """Return the event of the end of the query."""
    return QueryEnded(
        at_us=at_us, query="q0", cancelled=cancelled, answer=None, rows=0, total=4, read=0, pruned={}
    )


BEGAN = QueryBegan(at_us=5, query="q0", kind="filter", scans=("q0/t",))


@given(spans())
def test_rows_keep_apart_what_overlaps_and_are_no_more_than_it_takes(given_spans: list[Span]) -> None:
    placed = assign_rows(given_spans)
    assert sorted((one.doing.name, one.from_us, one.until_us) for one in placed) == sorted(
        (one.doing.name, one.from_us, one.until_us) for one in given_spans
    )
    for at, one in enumerate(placed):
        for other in placed[:at]:
            if one.row == other.row:
                assert one.from_us >= other.until_us or other.from_us >= one.until_us
    at_once = max(
        (
            sum(one.from_us <= at.from_us < max(one.until_us, one.from_us + 1) for one in given_spans)
            for at in given_spans
        ),
        default=0,
    )
    assert len({span.row for span in placed}) <= max(at_once, 1)


@given(spans())
def test_merging_loses_no_time_and_adds_only_what_no_eye_sees(given_spans: list[Span]) -> None:
    placed = assign_rows(given_spans)
    found = merge_spans(placed, closer_us=CLOSER_US)
    for span in placed:
        assert any(
            one.doing is span.doing
            and one.row == span.row
            and one.from_us <= span.from_us
            and span.until_us <= one.until_us
            for one in found
        )
    worked = sum(span.until_us - span.from_us for span in placed)
    shown = sum(span.until_us - span.from_us for span in found)
    assert shown <= worked + CLOSER_US * (len(placed) - len(found))


def test_short_spans_become_one_and_long_ones_stay_alone() -> None:
    """So that a picture has few bars, and long reads can be told apart."""
    short = [Span(doing=Doing.READING, from_us=at, until_us=at + 1) for at in range(0, 10_000, 2)]
    assert len(merge_spans(short, closer_us=CLOSER_US)) == 1
    took = LONG * CLOSER_US
    long = [Span(doing=Doing.READING, from_us=at, until_us=at + took) for at in range(0, 10 * took, took)]
    assert merge_spans(long, closer_us=CLOSER_US) == tuple(long)
    mixed = [
        Span(doing=Doing.READING, from_us=0, until_us=took),
        Span(doing=Doing.READING, from_us=took, until_us=took + 1),
        Span(doing=Doing.READING, from_us=took + 2, until_us=took + 3),
        Span(doing=Doing.READING, from_us=took + 4, until_us=2 * took + 4),
    ]
    assert [span.until_us for span in merge_spans(mixed, closer_us=CLOSER_US)] == [
        took,
        took + 3,
        2 * took + 4,
    ]


@given(st.lists(st.integers(0, 500)), st.integers(0, 50))
def test_marks_count_all_that_they_stand_for(at_us: list[int], closer_us: int) -> None:
    found = list(marks(ScanSign.FAILED, at_us, closer_us=closer_us))
    assert sum(mark.count for mark in found) == len(at_us)
    assert {mark.at_us for mark in found} <= set(at_us)
    for one, other in pairwise(found):
        assert other.at_us - one.at_us >= max(closer_us, 1) or closer_us == 0


def test_a_lane_has_what_its_node_did_and_suffered(run: ScanRun) -> None:
    trace: Trace = [
        NodeStarted(at_us=0, node=0, incarnation=1),
        BEGAN,
        read(0, 10, 30),
        MessageLost(at_us=35, kind="Task", to="node 2"),
        MessageLost(at_us=36, kind="Report", to="control"),
        NodeCrashed(at_us=40, node=1, incarnation=1),
        ReadFailed(at_us=45, scan="q0/t", node=0, block=1, attempt=1),
        FootersRead(
            at_us=50, scan="q0/t", task=1, node=0, incarnation=1, blocks=1, began_us=20, requests=1, bytes=1
        ),
        NodeStarted(at_us=60, node=1, incarnation=2),
        TakenForDead(at_us=65, node=2),
        NodeCrashed(at_us=70, node=2, incarnation=1),
        query_ended(80),
        read(0, 90, 200),
        read(0, 110, 120),
    ]
    faults = (
        Straggler(from_us=15, until_us=FOREVER_US, node=0),
        Partition(from_us=150, until_us=160, node=0),
        Crash(from_us=40, until_us=60, node=1),
        ScanMessageFaults(from_us=20, until_us=30, lost_percent=1),
        CancelQuery(from_us=500, until_us=500),
    )
    found = timeline(replace(run, trace=trace, faults=faults), until_us=100, room=WIDE)
    control, first, second, third = found.lanes
    assert [lane.who for lane in found.lanes] == [None, 0, 1, 2]
    assert first.work == (
        Span(doing=Doing.READING, from_us=10, until_us=30, row=0),
        Span(doing=Doing.READING, from_us=90, until_us=200, row=0),
        Span(doing=Doing.FOOTERS, from_us=20, until_us=50, row=1),
    )
    assert first.rows == first.at_once == 2
    assert first.states == (Span(doing=Doing.SLOW, from_us=15, until_us=FOREVER_US),)
    assert [(mark.sign, mark.at_us) for mark in first.marks] == [(ScanSign.FAILED, 45)]
    assert second.states == (Span(doing=Doing.DOWN, from_us=40, until_us=60),)
    assert [mark.sign for mark in second.marks] == [ScanSign.CRASHED]
    assert third.states == (Span(doing=Doing.DOWN, from_us=70, until_us=100),)
    assert [mark.sign for mark in third.marks] == [ScanSign.CRASHED, ScanSign.LOST, ScanSign.DEAD]
    assert [mark.sign for mark in control.marks] == [ScanSign.LOST]
    assert found.troubles == ((3, faults[3]),)
    assert [(one.query, one.from_us, one.until_us) for one in found.queries] == [("q0", 5, 80)]


def test_where_lanes_are_few_those_to_which_something_happened_come_first_and_idle_ones_last(
    run: ScanRun,
) -> None:
    trace: Trace = [read(1, 0, 5), NodeCrashed(at_us=1, node=2, incarnation=1)]

    def nodes_shown(lanes: int, lanes_idle: int) -> list[int | None]:
        room = replace(WIDE, lanes=lanes, lanes_idle=lanes_idle)
        found = timeline(replace(run, trace=trace), until_us=10, room=room)
        assert found.left_out == 4 - len(found.lanes)
        return [lane.who for lane in found.lanes]

    assert nodes_shown(1, 1) == [None, 2]
    assert nodes_shown(2, 1) == nodes_shown(3, 1) == [None, 1, 2]
    assert nodes_shown(3, 3) == [None, 0, 1, 2]


def test_where_rows_are_few_they_are_shared(run: ScanRun) -> None:
    trace: Trace = [read(0, 0, 100), read(0, 50, 100), read(0, 60, 100), read(0, 70, 100)]
    found = timeline(replace(run, trace=trace), until_us=100, room=replace(WIDE, rows=2))
    assert found.lanes[1].at_once == 4
    assert found.lanes[1].rows == 2
    assert {span.row for span in found.lanes[1].work} == {0, 1}


def test_a_run_is_over_with_its_last_query_or_else_with_what_is_done_last(run: ScanRun) -> None:
    trace: Trace = [BEGAN, read(0, 10, 30), query_ended(80), NodeCrashed(at_us=900, node=1, incarnation=1)]
    assert over_us(replace(run, trace=trace)) == 80
    assert over_us(replace(run, trace=[BEGAN, read(0, 10, 30)], settled=False)) == 30
    assert query_spans([BEGAN])[0].until_us is None
    assert query_spans([BEGAN, query_ended(9, cancelled=True)])[0].cancelled


@pytest.mark.parametrize("seed", range(12))
def test_of_whole_runs_each_event_is_in_a_lane(seed: int) -> None:
    """If there is enough room; the worlds are drawn and have faults."""
    ran = small_world(seed).run(seed)
    until_us = ran.ended_us + 1
    found = timeline(ran, until_us=until_us, room=WIDE)
    reads = sum(isinstance(event, BlocksRead | FootersRead) for event in ran.trace)
    shown = sum(span.doing in (Doing.READING, Doing.FOOTERS) for lane in found.lanes for span in lane.work)
    assert shown == reads
    crashes = sum(isinstance(event, NodeCrashed) for event in ran.trace)
    assert sum(state.doing is Doing.DOWN for lane in found.lanes for state in lane.states) == crashes
    lost = sum(isinstance(event, MessageLost) for event in ran.trace)
    told = [mark.count for lane in found.lanes for mark in lane.marks if mark.sign is ScanSign.LOST]
    assert sum(told) == lost
    assert all(lane.rows <= ran.world.warehouse.workers for lane in found.lanes if lane.who is not None)
