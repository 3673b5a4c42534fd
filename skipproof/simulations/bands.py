"""Parts of timelines: stacked bands along one axis of time, with bars, boxes and marks."""

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch, PathPatch, Rectangle
from matplotlib.path import Path

from sim.kernel.faults import Fault
from sim.kernel.spans import Kind, Mark, Span
from skipproof.simulations import look

# Points.
WIDTH, LEFT, RIGHT, TOP, BOTTOM = 800.0, 88.0, 12.0, 8.0, 40.0
BAR_ROW, STRIP, GAP = 12.0, 10.0, 5.0
LEGEND_ROW, LEGEND_COLUMNS = 14.5, 4
ROWS_OF_BARS_MAX = 8
FONT, LETTER = 9.0, 5.0
TROUBLE = look.ORANGE
EDGE = "#8b949e"


@dataclass(frozen=True, slots=True)
class Band:
    """The place of a lane, in points from the top."""

    label: str
    top: float
    height: float

    @property
    def bottom(self) -> float:
        """The lower edge, in points from the top."""
        return self.top + self.height


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar with a name."""

    name: str
    colour: str
    from_us: int
    until_us: int


def timeline_svg(
    name: str,
    *,
    until_us: int,
    above: tuple[str, Iterable[Bar]],
    rows: Iterable[tuple[str, float]],
    troubles: Iterable[tuple[int, Fault]],
    draw_rows: Callable[[Axes, Sequence[Band], int], None],
    violations_us: Sequence[int],
    handles: Sequence[Patch | Line2D],
    description: str,
) -> Markup:
    """Return the SVG of a run's timeline.

    Args:
        name: Its name in the page.
        until_us: When the run ended.
        above: The label and the bars above all rows: the requests of users.
        rows: Their labels and heights.
        troubles: The faults, each with its ordinal; they are bars below all rows.
        draw_rows: A function that draws the rows; its arguments are the axes, the bands of the rows, and the
            microseconds in one unit of the axis.
        violations_us: The times at which an invariant was violated.
        handles: The legend of the marks in the rows.
        description: The picture in words.
    """
    bars_label, bars = above
    placed = _pack_into_rows(bars, until_us)
    faults = _pack_into_rows((_fault_bar(place, fault, until_us) for place, fault in troubles), until_us)
    labelled_heights = [(bars_label, BAR_ROW * _row_count(placed)), *rows]
    if faults:
        labelled_heights.append(("faults", BAR_ROW * _row_count(faults)))
    bands = _stack_bands(labelled_heights)
    explained = [*handles, *_violation_handles(violations_us)]
    legend = _legend_height(len(explained))
    with look.new_figure(WIDTH, _figure_height(bands, legend), font=FONT) as figure:
        axes = _time_axes(figure, until_us, bands, legend=legend)
        scale = look.time_unit(until_us)[1]
        _draw_bars(axes, bands[0], placed, scale)
        draw_rows(axes, bands[1 : len(bands) - bool(faults)], scale)
        _draw_bars(axes, bands[-1], faults, scale)
        _draw_violations(axes, violations_us, scale)
        draw_legend(figure, explained)
        return look.svg(figure, name=name, description=description)


def _stack_bands(labelled_heights: Iterable[tuple[str, float]]) -> list[Band]:
    """Return bands of these labels and heights, one below the other."""
    bands, top = [], GAP / 2
    for name, height in labelled_heights:
        bands.append(Band(name, top, height))
        top += height + GAP
    return bands


def _figure_height(bands: Sequence[Band], legend: float) -> float:
    """Return the height of a figure with these bands."""
    return TOP + bands[-1].bottom + BOTTOM + legend


def _time_axes(figure: Figure, until_us: int, bands: Sequence[Band], *, legend: float) -> Axes:
    """Return the axes of these bands, from the beginning of a run to `until_us`."""
    axes = look.axes_within(figure, left=LEFT, right=RIGHT, top=TOP, bottom=BOTTOM + legend)
    unit, scale = look.time_unit(until_us)
    axes.set_xlim(0, until_us / scale)
    axes.set_ylim(bands[-1].bottom, 0)
    axes.set_yticks([band.top + band.height / 2 for band in bands], [band.label for band in bands])
    axes.tick_params(axis="y", length=0)
    axes.grid(axis="x")
    axes.set_xlabel(f"time since the beginning of the run ({unit})")
    for band in bands[1:]:
        axes.axhline(band.top - GAP / 2, color=look.LINE, linewidth=0.6)
    return axes


def _pack_into_rows(bars: Iterable[Bar], until_us: int) -> list[tuple[int, Bar]]:
    """Return each bar with its row; there are as few rows as possible without overlaps of bars or names."""
    ends: list[float] = []
    placed = []
    for bar in sorted(bars, key=lambda bar: (bar.from_us, bar.until_us)):
        wide_us = (len(bar.name) * LETTER + 4) / (WIDTH - LEFT - RIGHT) * until_us
        begins = min(bar.from_us, until_us - wide_us)
        row = next((row for row, end in enumerate(ends) if end <= begins), len(ends))
        ends[row : row + 1] = [max(bar.until_us, begins + wide_us)]
        placed.append((min(row, ROWS_OF_BARS_MAX - 1), bar))
    return placed


def _row_count(placed: Iterable[tuple[int, Bar]]) -> int:
    """Return the number of rows that the bars take."""
    return 1 + max((row for row, _ in placed), default=-1)


def _draw_bars(axes: Axes, band: Band, bars: Iterable[tuple[int, Bar]], scale: int) -> None:
    """Draw bars with their names at their left ends."""
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


def draw_state(axes: Axes, band: Band, first: float, last: float, style: tuple[str, str]) -> None:
    """Draw a state, a box over the whole height of a band; `style` is its colour and hatch."""
    colour, hatch = style
    axes.add_patch(
        Rectangle(
            (first, band.top),
            last - first,
            band.height,
            facecolor=colour,
            hatch=hatch,
            edgecolor=EDGE,
            linewidth=0,
        )
    )


def draw_marks(
    axes: Axes, band: Band, marks: Sequence[Mark[Kind]], signs: Mapping[Kind, tuple[str, str]], scale: int
) -> None:
    """Draw marks in the strip at the top of a band; `signs` has the marker and colour of each kind."""
    for sign, (marker, colour) in signs.items():
        at = [mark.at_us / scale for mark in marks if mark.sign is sign]
        if at:
            axes.plot(
                at,
                [band.top + STRIP / 2] * len(at),
                linestyle="none",
                marker=marker,
                color=colour,
                markersize=5,
            )


def draw_boxes(
    axes: Axes,
    band: Band,
    spans: Sequence[Span[Kind]],
    colours: Mapping[Kind, str],
    *,
    until_us: int,
    rows: int = 1,
    least: float = 1,
) -> None:
    """Draw spans in `rows` rows below the strip of a band, each at least `least` points wide.

    Kinds that come later in `colours` are drawn over earlier ones.
    """
    least_us, scale = least * until_us / (WIDTH - LEFT - RIGHT), look.time_unit(until_us)[1]
    for doing, colour in colours.items():
        chosen = [span for span in spans if span.doing is doing]
        if chosen:
            path = _boxes(chosen, band.top + STRIP, (band.height - STRIP) / rows, least_us, scale)
            axes.add_patch(PathPatch(path, facecolor=colour, linewidth=0))


def _boxes(spans: Sequence[Span[Kind]], top: float, row_height: float, least_us: float, scale: int) -> Path:
    """Return the boxes of spans as one path, so that a thousand spans are one element of the page."""
    first = np.array([span.from_us for span in spans], float)
    # A long box ends a little early, so that there is a gap before the next one.
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


def _draw_violations(axes: Axes, violations_us: Iterable[int], scale: int) -> None:
    """Draw a vertical line for each violation of an invariant."""
    for at_us in violations_us:
        axes.axvline(at_us / scale, color=look.VERMILION, linewidth=1.6)


def _fault_bar(place: int, fault: Fault, until_us: int) -> Bar:
    """Return the bar of a fault."""
    kind = str(fault.__struct_config__.tag).replace("_", " ")
    return Bar(f"F{place + 1} {kind}", TROUBLE, fault.from_us, min(fault.until_us, until_us))


def work_handles(colours: Mapping[Kind, str], there: Container[Kind]) -> list[Patch]:
    """Return the legend of the kinds of boxes that are in `there`."""
    return [Patch(facecolor=colour, label=kind.value) for kind, colour in colours.items() if kind in there]


def state_handles(looks: Mapping[Kind, tuple[str, str]], there: Container[Kind], whose: str) -> list[Patch]:
    """Return the legend of the kinds of states that are in `there`."""
    return [
        Patch(facecolor=colour, hatch=hatch, edgecolor=EDGE, linewidth=0, label=f"{whose} {kind.value}")
        for kind, (colour, hatch) in looks.items()
        if kind in there
    ]


def sign_handles(signs: Mapping[Kind, tuple[str, str]], there: Container[Kind]) -> list[Line2D]:
    """Return the legend of the kinds of marks that are in `there`."""
    return [
        Line2D([], [], linestyle="none", marker=marker, color=colour, markersize=5, label=kind.value)
        for kind, (marker, colour) in signs.items()
        if kind in there
    ]


def _violation_handles(violations_us: Sequence[int]) -> list[Line2D]:
    """Return the legend of the lines of violations, empty if there are none."""
    line = Line2D([], [], color=look.VERMILION, linewidth=1.6, label="an invariant is violated")
    return [line] if violations_us else []


def _legend_height(handles: int) -> float:
    """Return the height of a legend with this number of handles."""
    return -(-handles // LEGEND_COLUMNS) * LEGEND_ROW


def draw_legend(figure: Figure, handles: Sequence[Patch | Line2D], *, columns: int = LEGEND_COLUMNS) -> None:
    """Draw the legend below a figure."""
    figure.legend(
        handles=list(handles), loc="lower left", ncols=columns, columnspacing=1.4, handletextpad=0.6
    )
