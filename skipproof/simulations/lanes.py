"""The timelines of a run as a picture: a lane for the control plane and one for each node."""

from collections.abc import Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from sim.scans.timelines import Asking, Doing, Lane, Sign, Timeline
from skipproof.simulations import bands, look
from skipproof.simulations.bands import Band, Bar
from skipproof.simulations.look import Picture

# Points.
ROW, LANE_MIN = 5.0, 12.0
ROWS_IN_ALL = 128

WORK = {Doing.READING: look.BLUE, Doing.FOOTERS: look.SKY, Doing.PLANNING: look.PURPLE}
# The colour and the hatching of what a node suffers.
STATES = {
    Doing.DOWN: ("#c3c8ce", "xxx"),
    Doing.SLOW: ("#f9f3b0", ""),
    Doing.PARTED: ("#f6dcc8", "..."),
}
# The marker and the colour; markers differ in shape.
SIGNS = {
    Sign.CRASHED: ("X", look.BLACK),
    Sign.FAILED: ("v", look.VERMILION),
    Sign.GIVEN_UP: ("s", look.VERMILION),
    Sign.LOST: ("x", look.VERMILION),
    Sign.DOUBLED: ("+", look.PURPLE),
    Sign.BOUNDARY: ("|", look.GREEN),
    Sign.SUMMARY: ("D", look.GREEN),
    Sign.DEAD: ("P", look.BLACK),
    Sign.IGNORED: (".", look.FAINT),
}
ANSWERED, CANCELLED = look.GREEN, "#9aa4af"


def rows_each(lanes: int) -> int:
    """How many rows a lane may have where there are so many."""
    return max(1, min(8, ROWS_IN_ALL // max(lanes, 1)))


def lanes_picture(line: Timeline, *, seed: int, violations_us: Sequence[int]) -> Picture:
    """The timelines of a seed's run, and when it was found wrong."""
    drawn = bands.timeline(
        "lanes",
        until_us=line.until_us,
        above=("queries", (_asking(one, line.until_us) for one in line.asked)),
        rows=[(_name(lane), max(LANE_MIN, ROW * lane.rows) + bands.STRIP) for lane in line.lanes],
        troubles=line.troubles,
        within=partial(_lanes, line),
        violations_us=violations_us,
        handles=_handles(line),
        told=_told(line, seed),
    )
    return Picture(name="lanes", title="What each node did", caption=_caption(line), svg=drawn, wide=True)


def _name(lane: Lane) -> str:
    return "control plane" if lane.who is None else f"node {lane.who}"


def _lanes(line: Timeline, axes: Axes, stacked: Sequence[Band], scale: int) -> None:
    for lane, band in zip(line.lanes, stacked, strict=True):
        for state in lane.states:
            until_us = min(state.until_us, line.until_us)
            bands.draw_state(axes, band, state.from_us / scale, until_us / scale, STATES[state.doing])
        bands.draw_boxes(axes, band, lane.work, WORK, until_us=line.until_us, rows=lane.rows)
        bands.draw_marks(axes, band, lane.marks, SIGNS, scale)
    for one in line.asked:
        if one.until_us is not None:
            axes.axvline(one.until_us / scale, color=look.GREEN, linewidth=0.8, linestyle=(0, (2, 2)))


def _handles(line: Timeline) -> list[Patch | Line2D]:
    """What there is in a picture, each kind once."""
    doing = {span.doing for lane in line.lanes for span in (*lane.work, *lane.states)}
    ended = Line2D([], [], color=look.GREEN, linewidth=0.8, linestyle=(0, (2, 2)), label="a query ends")
    return [
        *bands.work_handles(WORK, doing),
        *bands.state_handles(STATES, doing, "a node"),
        *bands.sign_handles(SIGNS, {mark.sign for lane in line.lanes for mark in lane.marks}),
        *([ended] if any(one.until_us is not None for one in line.asked) else []),
    ]


def _asking(one: Asking, until_us: int) -> Bar:
    answered = one.until_us is not None and not one.cancelled
    end_us = until_us if one.until_us is None else one.until_us
    return Bar(one.query, ANSWERED if answered else CANCELLED, one.from_us, end_us)


def _told(line: Timeline, seed: int) -> str:
    """The picture in words."""
    ends = [
        f"{one.query} has no end"
        if one.until_us is None
        else f"{one.query} {'is cancelled' if one.cancelled else 'ends'} at {look.duration(one.until_us)}"
        for one in line.asked
    ]
    counts = [
        f"{sum(mark.count for lane in line.lanes for mark in lane.marks if mark.sign is sign)} times "
        f"{sign.value}"
        for sign in SIGNS
        if any(mark.sign is sign for lane in line.lanes for mark in lane.marks)
    ]
    nodes = len(line.lanes) - 1
    return "; ".join([f"Timelines of {nodes} nodes in the run of seed {seed}", *ends, *counts])


def _caption(line: Timeline) -> str:
    told = [
        "A bar is a read, or several short ones with less than a pixel between them; a read that a crash cut "
        "short is not shown. A mark stands for all of its kind that it would cover."
    ]
    if any(lane.rows < lane.at_once for lane in line.lanes):
        most = max(lane.at_once for lane in line.lanes)
        told.append(f"A node reads up to {most} things at once, of which several share a row here.")
    if line.left_out:
        told.append(f"{line.left_out} nodes are left out, idle ones before others.")
    return " ".join(told)
