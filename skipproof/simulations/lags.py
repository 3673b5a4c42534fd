"""How far behind dynamic tables were, as pictures: sawtooths, and some of their teeth from close by."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

from sim.refreshes.sawtooths import Point, Sawtooth, Spell, around, thinned
from skipproof.simulations import bands, look
from skipproof.simulations.look import Picture

# Points.
PANEL, HEAD, BETWEEN, LEGEND, LEFT = 74.0, 17.0, 10.0, 12.0, 60.0
CLOSE_BY = 150.0
TABLES_MAX, NAME_MAX = 6, 60
# Of more refreshes than that, some are shown from close by.
FEW, TEETH = 12, 7
# Of more times in which a table is late the longest are shown.
SPELLS_MAX = 1_000
LAG, TARGET, LATE, RUNNING = look.BLUE, look.VERMILION, "#f3c3a5", look.GREEN
DASHES, DOTS = (0, (5, 2)), (0, (1.5, 1.5))


def lags_picture(found: Sequence[Sawtooth], *, until_us: int, seed: int) -> Picture:
    """The lag of the tables that come first."""
    shown = found[:TABLES_MAX]
    panel = HEAD + PANEL + BETWEEN
    total = bands.TOP + panel * len(shown) + bands.BOTTOM + LEGEND
    unit, scale = look.unit_of(until_us)
    with look.paper(bands.WIDTH, total, font=bands.FONT) as figure:
        for place, one in enumerate(shown):
            top = bands.TOP + panel * place + HEAD
            axes = _axes(figure, top=top, bottom=total - top - PANEL)
            points = thinned(one.points, closer_us=until_us // round(2 * bands.WIDTH))
            _lag(axes, one, points, scale)
            _upright(axes, one.peak_us, one, nbins=3)
            axes.set_xlim(0, until_us / scale)
            axes.set_title(_headline(one), loc="left", fontsize=bands.FONT, pad=4)
            axes.tick_params(axis="x", labelbottom=place == len(shown) - 1)
        axes.set_xlabel(f"time since the beginning of the run ({unit})")
        look.legend_below(figure, axes, 4)
        told = "; ".join(_headline(one) for one in shown)
        drawn = look.svg(figure, name="lags", told=f"Lags in the run of seed {seed}: {told}")
    left_out = len(found) - len(shown)
    return Picture(
        name="lags",
        title="How far behind the tables were",
        caption="Lag rises by a second each second; when a refresh is committed it falls to the age of its "
        "data timestamp. Tables that were late for longest come first, then those that came nearest to it. "
        "The target of a DOWNSTREAM table is the least one below it."
        + (f" {left_out} more {'table is' if left_out == 1 else 'tables are'} left out." if left_out else ""),
        svg=drawn,
        wide=True,
    )


def teeth_picture(one: Sawtooth, *, seed: int) -> Picture | None:
    """Some teeth of one table about its greatest lag; None if it has so few that all can be seen."""
    if len(one.refreshed) <= FEW:
        return None
    places = list(around(one, teeth=TEETH))
    chosen = one.refreshed[places[0] : places[-1] + 1]
    corners = one.points[2 * places[0] : 2 * places[-1] + 2]
    unit, scale = look.unit_of(one.until_us)
    total = bands.TOP + CLOSE_BY + bands.BOTTOM + LEGEND
    with look.paper(bands.WIDTH, total, font=bands.FONT) as figure:
        axes = _axes(figure, top=bands.TOP, bottom=bands.BOTTOM + LEGEND)
        for at_us, data_us in chosen:
            axes.plot(
                [data_us / scale, at_us / scale],
                [0, (at_us - data_us) / _lag_unit(_most_us(one))[1]],
                color=RUNNING,
                linestyle=DOTS,
                linewidth=1.4,
                label="w + d of a refresh" if at_us == chosen[0][0] else None,
            )
        _lag(axes, one, corners, scale)
        _upright(axes, max(lag_us for _, lag_us in corners), one, nbins=6)
        axes.set_xlim(min(chosen[0]) / scale, corners[-1][0] / scale)
        axes.set_xlabel(f"time since the beginning of the run ({unit})")
        look.legend_below(figure, axes, 4)
        told = f"{len(chosen)} refreshes of {_name(one)} in the run of seed {seed}"
        drawn = look.svg(figure, name="teeth", told=told)
    return Picture(
        name="teeth",
        title=f"From close by: {_name(one)} where it was farthest behind",
        caption="A dotted line begins where a refresh has its data timestamp and ends where it is committed: "
        "it waits and runs so long, w + d, and lag falls to that. From one data timestamp to the next is p; "
        "before a commit lag is p + w + d.",
        svg=drawn,
        wide=True,
    )


def _axes(figure: Figure, *, top: float, bottom: float) -> Axes:
    axes = look.axes_within(figure, left=LEFT, right=bands.RIGHT, top=top, bottom=bottom)
    axes.grid()
    return axes


def _lag(axes: Axes, one: Sawtooth, points: Sequence[Point], scale: int) -> None:
    """The line of lag, those of its targets, and what is between where it is late."""
    size = _lag_unit(_most_us(one))[1]
    spells = sorted(one.spells, key=lambda spell: spell.from_us - spell.until_us)[:SPELLS_MAX]
    if spells:
        late = np.array([_corners(spell) for spell in spells], float) / (scale, size)
        axes.add_collection(
            PolyCollection(list(late), facecolor=LATE, linewidth=0, label="beyond the target"),
            autolim=False,
        )
    at = [at_us / scale for at_us, _ in points]
    axes.plot(at, [lag_us / size for _, lag_us in points], color=LAG, linewidth=1, label="lag")
    for (from_us, target_us), (until_us, _) in pairwise((*one.targets, (one.until_us, None))):
        if target_us is not None:
            ends = [from_us / scale, until_us / scale]
            axes.plot(ends, [target_us / size] * 2, color=TARGET, linestyle=DASHES, linewidth=1)
    axes.plot([], [], color=TARGET, linestyle=DASHES, linewidth=1, label="target lag")


def _corners(spell: Spell) -> list[Point]:
    """What lies between lag and target."""
    from_us, until_us, data_us, target_us = spell
    return [
        (from_us, target_us),
        (from_us, from_us - data_us),
        (until_us, until_us - data_us),
        (until_us, target_us),
    ]


def _upright(axes: Axes, most_us: int, one: Sawtooth, *, nbins: int) -> None:
    unit, size = _lag_unit(_most_us(one))
    axes.set_ylim(0, 1.12 * max([most_us, *_targets(one)]) / size)
    axes.locator_params(axis="y", nbins=nbins)
    axes.set_ylabel(f"lag ({unit})")


def _lag_unit(most_us: int) -> tuple[str, int]:
    return look.unit_of(most_us)


def _most_us(one: Sawtooth) -> int:
    return max([one.peak_us, *_targets(one)])


def _targets(one: Sawtooth) -> list[int]:
    return [target_us for _, target_us in one.targets if target_us is not None]


def _name(one: Sawtooth) -> str:
    return look.label(one.name, NAME_MAX)


def _headline(one: Sawtooth) -> str:
    """A table in words."""
    targets = ", then ".join("none" if lag_us is None else look.whole(lag_us) for _, lag_us in one.targets)
    late = f", late for {look.duration(one.late_us)}" if one.late_us else ""
    return f"{_name(one)}: target {targets or 'none'}; up to {look.duration(one.peak_us)} behind{late}"
