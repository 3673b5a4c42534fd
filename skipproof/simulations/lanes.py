"""The timelines of a run as a picture: a lane for the control plane and one for each node."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch, Rectangle
from matplotlib.path import Path

from sim.faults import AnyFault
from sim.timelines import Asking, Doing, Sign, Span, Timeline
from skipproof.simulations import look
from skipproof.simulations.look import Picture

# Points.
WIDTH, LEFT, RIGHT, TOP, BOTTOM = 800.0, 88.0, 12.0, 8.0, 40.0
ROW, BAR_ROW, STRIP, GAP, LANE_MIN = 5.0, 12.0, 10.0, 5.0, 12.0
LEGEND_ROW, LEGEND_COLUMNS = 14.5, 4
ROWS_IN_ALL, ROWS_OF_BARS_MAX = 128, 8
FONT, LETTER = 9.0, 5.0

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
ANSWERED, CANCELLED, TROUBLE = look.GREEN, "#9aa4af", look.ORANGE


@dataclass(frozen=True, slots=True)
class _Band:
    """Where a lane lies, in points from the top."""

    label: str
    top: float
    height: float

    @property
    def bottom(self) -> float:
        return self.top + self.height


@dataclass(frozen=True, slots=True)
class _Bar:
    """A bar with a name."""

    name: str
    colour: str
    from_us: int
    until_us: int


def rows_each(lanes: int) -> int:
    """How many rows a lane may have where there are so many."""
    return max(1, min(8, ROWS_IN_ALL // max(lanes, 1)))


def lanes_picture(line: Timeline, *, seed: int, violations_us: Sequence[int]) -> Picture:
    """The timelines of a seed's run, and when it was found wrong."""
    queries = _in_rows((_asking(one, line.until_us) for one in line.asked), line.until_us)
    troubles = _in_rows((_trouble(*one, line.until_us) for one in line.troubles), line.until_us)
    bands = _bands(line, *(1 + max((row for row, _ in bars), default=-1) for bars in (queries, troubles)))
    legend = -(-len(_handles(line, bool(violations_us))) // LEGEND_COLUMNS) * LEGEND_ROW
    with look.paper(WIDTH, TOP + bands[-1].bottom + BOTTOM + legend, font=FONT) as figure:
        axes = _axes(figure, line, bands, bottom=BOTTOM + legend)
        scale = look.unit_of(line.until_us)[1]
        _bars(axes, bands[0], queries, scale)
        _lanes(axes, line, bands[1:], scale)
        _bars(axes, bands[-1], troubles, scale)
        for one in line.asked:
            if one.until_us is not None:
                axes.axvline(one.until_us / scale, color=look.GREEN, linewidth=0.8, linestyle=(0, (2, 2)))
        for at_us in violations_us:
            axes.axvline(at_us / scale, color=look.VERMILION, linewidth=1.6)
        handles = _handles(line, bool(violations_us))
        figure.legend(
            handles=handles, loc="lower left", ncols=LEGEND_COLUMNS, columnspacing=1.4, handletextpad=0.6
        )
        drawn = look.svg(figure, name="lanes", told=_told(line, seed))
    return Picture(name="lanes", title="What each node did", caption=_caption(line), svg=drawn, wide=True)


def _axes(figure: Figure, line: Timeline, bands: Sequence[_Band], *, bottom: float) -> Axes:
    axes = look.axes_within(figure, left=LEFT, right=RIGHT, top=TOP, bottom=bottom)
    unit, scale = look.unit_of(line.until_us)
    axes.set_xlim(0, line.until_us / scale)
    axes.set_ylim(bands[-1].bottom, 0)
    axes.set_yticks([band.top + band.height / 2 for band in bands], [band.label for band in bands])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.set_xlabel(f"time since the beginning of the run ({unit})")
    for band in bands[1:]:
        axes.axhline(band.top - GAP / 2, color=look.LINE, linewidth=0.6)
    return axes


def _bands(line: Timeline, query_rows: int, trouble_rows: int) -> list[_Band]:
    told = [("queries", BAR_ROW * query_rows)]
    for lane in line.lanes:
        name = "control plane" if lane.who is None else f"node {lane.who}"
        told.append((name, max(LANE_MIN, ROW * lane.rows) + STRIP))
    if trouble_rows:
        told.append(("faults", BAR_ROW * trouble_rows))
    bands, top = [], GAP / 2
    for name, height in told:
        bands.append(_Band(name, top, height))
        top += height + GAP
    return bands


def _in_rows(bars: Iterable[_Bar], until_us: int) -> list[tuple[int, _Bar]]:
    """Bars and their rows, so few that no bar and no name lies upon another."""
    ends: list[float] = []
    placed = []
    for bar in sorted(bars, key=lambda one: (one.from_us, one.until_us)):
        wide_us = (len(bar.name) * LETTER + 4) / (WIDTH - LEFT - RIGHT) * until_us
        begins = min(bar.from_us, until_us - wide_us)
        row = next((row for row, end in enumerate(ends) if end <= begins), len(ends))
        ends[row : row + 1] = [max(bar.until_us, begins + wide_us)]
        placed.append((min(row, ROWS_OF_BARS_MAX - 1), bar))
    return placed


def _bars(axes: Axes, band: _Band, bars: Iterable[tuple[int, _Bar]], scale: int) -> None:
    """Bars with their names at their beginnings."""
    for row, bar in bars:
        top, first = band.top + BAR_ROW * row, bar.from_us / scale
        axes.add_patch(
            Rectangle(
                (first, top + 1),
                (bar.until_us - bar.from_us) / scale,
                BAR_ROW - 2,
                facecolor=bar.colour,
                edgecolor=look.INK,
                linewidth=0.5,
                alpha=0.55,
            )
        )
        wide = len(bar.name) * LETTER / (WIDTH - LEFT - RIGHT) * axes.get_xlim()[1]
        late = first + wide > axes.get_xlim()[1]
        axes.annotate(
            bar.name,
            (first, top + BAR_ROW / 2),
            xytext=(-2 if late else 2, 0),
            textcoords="offset points",
            ha="right" if late else "left",
            va="center",
            fontsize=FONT - 1,
        )


def _lanes(axes: Axes, line: Timeline, bands: Sequence[_Band], scale: int) -> None:
    least_us = line.until_us / (WIDTH - LEFT - RIGHT)
    for lane, band in zip(line.lanes, bands, strict=False):
        for state in lane.states:
            colour, hatch = STATES[state.doing]
            until_us = min(state.until_us, line.until_us)
            axes.add_patch(
                Rectangle(
                    (state.from_us / scale, band.top),
                    (until_us - state.from_us) / scale,
                    band.height,
                    facecolor=colour,
                    hatch=hatch,
                    edgecolor="#8b949e",
                    linewidth=0,
                )
            )
        row_height = (band.height - STRIP) / lane.rows
        for doing, colour in WORK.items():
            spans = [span for span in lane.work if span.doing is doing]
            if spans:
                path = _boxes(spans, band.top + STRIP, row_height, least_us, scale)
                axes.add_patch(PathPatch(path, facecolor=colour, linewidth=0))
        for sign, (marker, colour) in SIGNS.items():
            at = [mark.at_us / scale for mark in lane.marks if mark.sign is sign]
            if at:
                axes.plot(
                    at,
                    [band.top + STRIP / 2] * len(at),
                    linestyle="none",
                    marker=marker,
                    color=colour,
                    markersize=5,
                )


def _boxes(spans: Sequence[Span], top: float, row_height: float, least_us: float, scale: int) -> Path:
    """The boxes of spans as one path: a thousand of them are one shape of the page."""
    first = np.array([span.from_us for span in spans], float)
    # A long bar ends a little early, so that it can be told from the next.
    last = np.maximum(np.array([span.until_us for span in spans], float) - 0.7 * least_us, first + least_us)
    upper = top + row_height * np.array([span.row for span in spans], float)
    lower = upper + row_height * 0.85
    corners = np.stack(
        [
            np.stack([first, last, last, first, first], axis=1) / scale,
            np.stack([upper, upper, lower, lower, upper], axis=1),
        ],
        axis=2,
    )
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    return Path(corners.reshape(-1, 2), np.tile(codes, len(spans)))


def _handles(line: Timeline, violated: bool) -> list[Patch | Line2D]:
    """What there is in a picture, each kind once."""
    doing = {span.doing for lane in line.lanes for span in (*lane.work, *lane.states)}
    signs = {mark.sign for lane in line.lanes for mark in lane.marks}
    handles: list[Patch | Line2D] = [
        Patch(facecolor=colour, label=kind.value) for kind, colour in WORK.items() if kind in doing
    ]
    handles += [
        Patch(facecolor=colour, hatch=hatch, edgecolor="#8b949e", linewidth=0, label=f"a node {kind.value}")
        for kind, (colour, hatch) in STATES.items()
        if kind in doing
    ]
    handles += [
        Line2D([], [], linestyle="none", marker=marker, color=colour, markersize=5, label=sign.value)
        for sign, (marker, colour) in SIGNS.items()
        if sign in signs
    ]
    ended = any(one.until_us is not None for one in line.asked)
    if ended:
        handles.append(
            Line2D([], [], color=look.GREEN, linewidth=0.8, linestyle=(0, (2, 2)), label="a query ends")
        )
    if violated:
        handles.append(Line2D([], [], color=look.VERMILION, linewidth=1.6, label="an invariant is violated"))
    return handles


def _asking(one: Asking, until_us: int) -> _Bar:
    answered = one.until_us is not None and not one.cancelled
    end_us = until_us if one.until_us is None else one.until_us
    return _Bar(one.query, ANSWERED if answered else CANCELLED, one.from_us, end_us)


def _trouble(place: int, fault: AnyFault, until_us: int) -> _Bar:
    kind = str(fault.__struct_config__.tag).replace("_", " ")
    return _Bar(f"F{place + 1} {kind}", TROUBLE, fault.from_us, min(fault.until_us, until_us))


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
