"""The timelines of a run as a picture: a lane for the control plane and one for each node."""

from collections.abc import Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from sim.scans.timelines import Doing, Lane, QuerySpan, ScanSign, ScanTimeline
from skipproof.simulations import bands, look
from skipproof.simulations.bands import Band, Bar
from skipproof.simulations.look import Picture

# Points.
ROW, LANE_MIN = 5.0, 12.0
ROWS_IN_ALL = 128

WORK = {Doing.READING: look.BLUE, Doing.FOOTERS: look.SKY, Doing.PLANNING: look.PURPLE}
# The colour and the hatch of each state of a node.
STATES = {
    Doing.DOWN: ("#c3c8ce", "xxx"),
    Doing.SLOW: ("#f9f3b0", ""),
    Doing.PARTED: ("#f6dcc8", "..."),
}
# The marker and the colour of each sign; no two markers have the same shape.
SIGNS = {
    ScanSign.CRASHED: ("X", look.BLACK),
    ScanSign.FAILED: ("v", look.VERMILION),
    ScanSign.GIVEN_UP: ("s", look.VERMILION),
    ScanSign.LOST: ("x", look.VERMILION),
    ScanSign.DOUBLED: ("+", look.PURPLE),
    ScanSign.BOUNDARY: ("|", look.GREEN),
    ScanSign.SUMMARY: ("D", look.GREEN),
    ScanSign.DEAD: ("P", look.BLACK),
    ScanSign.IGNORED: (".", look.FAINT),
}
ANSWERED, CANCELLED = look.GREEN, "#9aa4af"


def rows_per_lane(lanes: int) -> int:
    """Return the number of rows that each lane may have."""
    return max(1, min(8, ROWS_IN_ALL // max(lanes, 1)))


def lanes_picture(line: ScanTimeline, *, seed: int, violations_us: Sequence[int]) -> Picture:
    """Return the picture of the timelines of one run, with its violations."""
    markup = bands.timeline_svg(
        "lanes",
        until_us=line.until_us,
        above=("queries", (_query_bar(query, line.until_us) for query in line.queries)),
        rows=[(_lane_name(lane), max(LANE_MIN, ROW * lane.rows) + bands.STRIP) for lane in line.lanes],
        troubles=line.troubles,
        draw_rows=partial(_draw_lanes, line),
        violations_us=violations_us,
        handles=_legend_handles(line),
        description=_description(line, seed),
    )
    return Picture(name="lanes", title="What each node did", caption=_caption(line), svg=markup, wide=True)


def _lane_name(lane: Lane) -> str:
    """Return the label of a lane."""
    return "control plane" if lane.who is None else f"node {lane.who}"


def _draw_lanes(line: ScanTimeline, axes: Axes, stacked: Sequence[Band], scale: int) -> None:
    """Draw the states, work and marks of each lane, and the ends of queries."""
    for lane, band in zip(line.lanes, stacked, strict=True):
        for state in lane.states:
            until_us = min(state.until_us, line.until_us)
            bands.draw_state(axes, band, state.from_us / scale, until_us / scale, STATES[state.doing])
        bands.draw_boxes(axes, band, lane.work, WORK, until_us=line.until_us, rows=lane.rows)
        bands.draw_marks(axes, band, lane.marks, SIGNS, scale)
    for query in line.queries:
        if query.until_us is not None:
            axes.axvline(query.until_us / scale, color=look.GREEN, linewidth=0.8, linestyle=(0, (2, 2)))


def _legend_handles(line: ScanTimeline) -> list[Patch | Line2D]:
    """Return the legend of the kinds of marks that the picture has."""
    doing = {span.doing for lane in line.lanes for span in (*lane.work, *lane.states)}
    ended = Line2D([], [], color=look.GREEN, linewidth=0.8, linestyle=(0, (2, 2)), label="a query ends")
    return [
        *bands.work_handles(WORK, doing),
        *bands.state_handles(STATES, doing, "a node"),
        *bands.sign_handles(SIGNS, {mark.sign for lane in line.lanes for mark in lane.marks}),
        *([ended] if any(query.until_us is not None for query in line.queries) else []),
    ]


def _query_bar(query: QuerySpan, until_us: int) -> Bar:
    """Return the bar of a query."""
    answered = query.until_us is not None and not query.cancelled
    end_us = until_us if query.until_us is None else query.until_us
    return Bar(query.query, ANSWERED if answered else CANCELLED, query.from_us, end_us)


def _description(line: ScanTimeline, seed: int) -> str:
    """Return the picture in words."""
    ends = [
        f"{query.query} has no end"
        if query.until_us is None
        else f"{query.query} {'is cancelled' if query.cancelled else 'ends'} "
        f"at {look.duration(query.until_us)}"
        for query in line.queries
    ]
    counts = [
        f"{sum(mark.count for lane in line.lanes for mark in lane.marks if mark.sign is sign)} times "
        f"{sign.value}"
        for sign in SIGNS
        if any(mark.sign is sign for lane in line.lanes for mark in lane.marks)
    ]
    nodes = len(line.lanes) - 1
    return "; ".join([f"Timelines of {nodes} nodes in the run of seed {seed}", *ends, *counts])


def _caption(line: ScanTimeline) -> str:
    """Return the caption of the picture."""
    sentences = [
        "A bar is a read, or several short ones with less than a pixel between them; a read that a crash cut "
        "short is not shown. A mark stands for all of its kind that it would cover."
    ]
    if any(lane.rows < lane.at_once for lane in line.lanes):
        most = max(lane.at_once for lane in line.lanes)
        sentences.append(f"A node reads up to {most} things at once, of which several share a row here.")
    if line.left_out:
        sentences.append(f"{line.left_out} nodes are left out, idle ones before others.")
    return " ".join(sentences)
