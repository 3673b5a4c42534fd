"""Pictures of the lag of dynamic tables: the whole sawtooths, and some teeth of one in detail."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from sim.refreshes.sawtooths import LateSpell, Point, Sawtooth, thin, worst_refreshes
from skipproof.simulations import bands, look
from skipproof.simulations.look import Picture

# Points.
PANEL, HEAD, BETWEEN, LEGEND, LEFT = 74.0, 17.0, 10.0, 12.0, 60.0
CLOSE_BY = 150.0
TABLES_MAX, NAME_MAX = 6, 60
# A table with more than `FEW` refreshes has a second picture of `TEETH` of them.
FEW, TEETH = 12, 7
# If a table is late more often, only its longest late spells are shown.
SPELLS_MAX = 1_000
LAG, TARGET, LATE, RUNNING = look.BLUE, look.VERMILION, "#f3c3a5", look.GREEN
DASHES, DOTS = (0, (5, 2)), (0, (1.5, 1.5))


def lags_picture(sawtooths: Sequence[Sawtooth], *, until_us: int, seed: int) -> Picture:
    """Return the picture of the lags of the first `TABLES_MAX` tables."""
    first_sawtooths = sawtooths[:TABLES_MAX]
    panel = HEAD + PANEL + BETWEEN
    total = bands.TOP + panel * len(first_sawtooths) + bands.BOTTOM + LEGEND
    unit, scale = look.time_unit(until_us)
    with look.new_figure(bands.WIDTH, total, font=bands.FONT) as figure:
        for place, sawtooth in enumerate(first_sawtooths):
            top = bands.TOP + panel * place + HEAD
            axes = _axes(figure, top=top, bottom=total - top - PANEL)
            points = thin(sawtooth.points, closer_us=until_us // round(2 * bands.WIDTH))
            _draw_lag(axes, sawtooth, points, scale)
            _set_vertical_axis(axes, sawtooth.peak_us, sawtooth, nbins=3)
            axes.set_xlim(0, until_us / scale)
            axes.set_title(_headline(sawtooth), loc="left", fontsize=bands.FONT, pad=4)
            axes.tick_params(axis="x", labelbottom=place == len(first_sawtooths) - 1)
        axes.set_xlabel(f"time since the beginning of the run ({unit})")
        look.legend_below(figure, axes, 4)
        headlines = "; ".join(_headline(sawtooth) for sawtooth in first_sawtooths)
        markup = look.svg(figure, name="lags", description=f"Lags in the run of seed {seed}: {headlines}")
    left_out = len(sawtooths) - len(first_sawtooths)
    return Picture(
        name="lags",
        title="How far behind the tables were",
        caption="Lag rises by a second each second; when a refresh is committed it falls to the age of its "
        "data timestamp. Tables that were late for longest come first, then those that came nearest to it. "
        "The target of a DOWNSTREAM table is the least one below it."
        + (f" {left_out} more {'table is' if left_out == 1 else 'tables are'} left out." if left_out else ""),
        svg=markup,
        wide=True,
    )


def teeth_picture(sawtooth: Sawtooth, *, seed: int) -> Picture | None:
    """Return a picture of the teeth around a table's greatest lag; None if the table has few teeth."""
    if len(sawtooth.refreshed) <= FEW:
        return None
    places = list(worst_refreshes(sawtooth, teeth=TEETH))
    chosen = sawtooth.refreshed[places[0] : places[-1] + 1]
    corners = sawtooth.points[2 * places[0] : 2 * places[-1] + 2]
    unit, scale = look.time_unit(sawtooth.until_us)
    total = bands.TOP + CLOSE_BY + bands.BOTTOM + LEGEND
    with look.new_figure(bands.WIDTH, total, font=bands.FONT) as figure:
        axes = _axes(figure, top=bands.TOP, bottom=bands.BOTTOM + LEGEND)
        for at_us, data_us in chosen:
            axes.plot(
                [data_us / scale, at_us / scale],
                [0, (at_us - data_us) / _lag_unit(_highest_us(sawtooth))[1]],
                color=RUNNING,
                linestyle=DOTS,
                linewidth=1.4,
                label="w + d of a refresh" if at_us == chosen[0][0] else None,
            )
        _draw_lag(axes, sawtooth, corners, scale)
        _set_vertical_axis(axes, max(lag_us for _, lag_us in corners), sawtooth, nbins=6)
        axes.set_xlim(min(chosen[0]) / scale, corners[-1][0] / scale)
        axes.set_xlabel(f"time since the beginning of the run ({unit})")
        look.legend_below(figure, axes, 4)
        description = f"{len(chosen)} refreshes of {_short_name(sawtooth)} in the run of seed {seed}"
        markup = look.svg(figure, name="teeth", description=description)
    return Picture(
        name="teeth",
        title=f"From close by: {_short_name(sawtooth)} where it was farthest behind",
        caption="A dotted line begins where a refresh has its data timestamp and ends where it is committed: "
        "it waits and runs so long, w + d, and lag falls to that. From one data timestamp to the next is p; "
        "before a commit lag is p + w + d.",
        svg=markup,
        wide=True,
    )


def _axes(figure: Figure, *, top: float, bottom: float) -> Axes:
    """Return the axes of one sawtooth."""
    axes = look.axes_within(figure, left=LEFT, right=bands.RIGHT, top=top, bottom=bottom)
    axes.grid()
    return axes


def _draw_lag(axes: Axes, sawtooth: Sawtooth, points: Sequence[Point], scale: int) -> None:
    """Draw the line of lag, the lines of its targets, and the areas where lag is above the target."""
    size = _lag_unit(_highest_us(sawtooth))[1]
    spells = sorted(sawtooth.spells, key=lambda spell: spell.from_us - spell.until_us)[:SPELLS_MAX]
    if spells:
        late = np.array([_corners(spell) for spell in spells], float) / (scale, size)
        axes.add_collection(
            PolyCollection(list(late), facecolor=LATE, linewidth=0, label="beyond the target"),
            autolim=False,
        )
    at = [at_us / scale for at_us, _ in points]
    axes.plot(at, [lag_us / size for _, lag_us in points], color=LAG, linewidth=1, label="lag")
    for (from_us, target_us), (until_us, _) in pairwise((*sawtooth.targets, (sawtooth.until_us, None))):
        if target_us is not None:
            ends = [from_us / scale, until_us / scale]
            axes.plot(ends, [target_us / size] * 2, color=TARGET, linestyle=DASHES, linewidth=1)
    axes.plot([], [], color=TARGET, linestyle=DASHES, linewidth=1, label="target lag")


def _corners(spell: LateSpell) -> list[Point]:
    """Return the corners of the area between lag and target."""
    from_us, until_us, data_us, target_us = spell
    return [
        (from_us, target_us),
        (from_us, from_us - data_us),
        (until_us, until_us - data_us),
        (until_us, target_us),
    ]


def _set_vertical_axis(axes: Axes, most_us: int, sawtooth: Sawtooth, *, nbins: int) -> None:
    """Set the label and the scale of the vertical axis."""
    unit, size = _lag_unit(_highest_us(sawtooth))
    axes.set_ylim(0, 1.12 * max([most_us, *_targets_us(sawtooth)]) / size)
    axes.locator_params(axis="y", nbins=nbins)
    axes.set_ylabel(f"lag ({unit})")


def _lag_unit(most_us: int) -> tuple[str, int]:
    """Return the unit of the vertical axis, and its size in us."""
    return look.time_unit(most_us)


def _highest_us(sawtooth: Sawtooth) -> int:
    """Return the greatest lag or target of a table."""
    return max([sawtooth.peak_us, *_targets_us(sawtooth)])


def _targets_us(sawtooth: Sawtooth) -> list[int]:
    """Return the target lags of a table."""
    return [target_us for _, target_us in sawtooth.targets if target_us is not None]


def _short_name(sawtooth: Sawtooth) -> str:
    """Return the name of a table, cut if it is long."""
    return look.short_label(sawtooth.name, NAME_MAX)


def _headline(sawtooth: Sawtooth) -> str:
    """Return the target and the greatest lag of a table as text."""
    targets = ", then ".join(
        "none" if lag_us is None else look.exact_duration(lag_us) for _, lag_us in sawtooth.targets
    )
    late = f", late for {look.duration(sawtooth.late_us)}" if sawtooth.late_us else ""
    peak = look.duration(sawtooth.peak_us)
    return f"{_short_name(sawtooth)}: target {targets or 'none'}; up to {peak} behind{late}"
