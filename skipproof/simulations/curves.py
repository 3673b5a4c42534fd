"""Measures along what a scenario varies, as pictures."""

import string
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from sim.kernel.varying import spelled
from skipproof.simulations import look
from skipproof.simulations.along import Along, Spread
from skipproof.simulations.look import Picture

# Points.
WIDTH, HEIGHT, LEGEND_ROW, FONT = 400.0, 260.0, 16.0, 10.5
LEFT, RIGHT, TOP, BOTTOM = 52.0, 30.0, 10.0, 44.0
LABEL_MAX, TICK_MAX = 60, 14
LETTERS = string.ascii_uppercase


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """What the upright axis shows.

    Attributes:
        label: What is measured, with its unit.
        scale: What one of that unit is.
        most: The end of the axis, where it is known.
    """

    label: str
    scale: float = 1
    most: float | None = None


def curves_picture(found: Along, axis: Axis, *, name: str, title: str) -> Picture:
    """The lines of a measure; a band from the least to the most of seeds where they differ."""
    names = list(found.lines)[: len(look.STYLES)]
    legend = LEGEND_ROW * len(names) if len(found.lines) > 1 else 0
    with look.paper(WIDTH, HEIGHT + legend, font=FONT) as figure:
        axes = look.axes_within(figure, left=LEFT, right=RIGHT, top=TOP, bottom=BOTTOM + legend)
        at = _places(axes, found)
        for line, (colour, dashes) in zip(names, look.STYLES, strict=False):
            there = [(x, spread) for x, spread in zip(at, found.lines[line], strict=True) if spread]
            xs = [x for x, _ in there]
            least, median, most = (
                [getattr(spread, end) / axis.scale for _, spread in there]
                for end in ("least", "median", "most")
            )
            if least != most and found.numeric:
                axes.fill_between(xs, least, most, color=colour, alpha=0.18, linewidth=0)
            elif least != most:
                axes.vlines(xs, least, most, color=colour, alpha=0.4, linewidth=4)
            axes.plot(
                xs,
                median,
                color=colour,
                linestyle=dashes if found.numeric else "none",
                marker="o",
                markersize=4,
                label=look.label(line, LABEL_MAX) if line else None,
            )
        _upright(axes, axis, [spread for line in names for spread in found.lines[line] if spread])
        axes.grid()
        axes.set_xlabel(look.label(found.key, LABEL_MAX))
        if len(found.lines) > 1:
            look.legend_below(figure, axes, 1)
        drawn = look.svg(figure, name=name, told=f"{title}: {_told(found, names, axis)}")
    left = len(found.lines) - len(names)
    return Picture(
        name=name,
        title=title,
        caption="".join(f"{letter}: {value}. " for letter, value in _letters(found) if letter)
        + "The median of all seeds; what is pale is from the least to the most of them."
        + (f" {left} more lines are left out." if left else ""),
        svg=drawn,
    )


def _places(axes: Axes, found: Along) -> Sequence[float]:
    """Where the values stand: in their distances, or one beside the other."""
    if found.numeric:
        values = [float(value) for value in found.values]
        if look.multiplies(values):
            look.multiply(axes.xaxis)
        return values
    places = list(range(len(found.values)))
    axes.set_xticks(places, [letter or look.label(value, TICK_MAX) for letter, value in _letters(found)])
    axes.set_xlim(-0.5, len(places) - 0.5)
    return places


def _letters(found: Along) -> list[tuple[str, str]]:
    """The values, each with what stands for it on the axis where one of them is too long to stand there."""
    values = [spelled(value) for value in found.values]
    long = not found.numeric and any(len(value) > TICK_MAX for value in values)
    return [(LETTERS[at % len(LETTERS)] if long else "", value) for at, value in enumerate(values)]


def _upright(axes: Axes, axis: Axis, spreads: Sequence[Spread]) -> None:
    axes.set_ylabel(axis.label)
    if axis.most is not None:
        axes.set_ylim(0, axis.most)
    elif look.multiplies([end for spread in spreads for end in (spread.least, spread.most)]):
        look.multiply(axes.yaxis)
    else:
        axes.set_ylim(bottom=0)


def _told(found: Along, names: Sequence[str], axis: Axis) -> str:
    """The ends of each line in words."""
    told = []
    for name in names:
        there = [spread for spread in found.lines[name] if spread]
        ends = f"from {there[0].median / axis.scale:.4g} to {there[-1].median / axis.scale:.4g}"
        told.append(f"{look.label(name, LABEL_MAX)} {ends}".strip())
    first, last = (look.label(spelled(found.values[at]), LABEL_MAX) for at in (0, -1))
    return f"{axis.label}, {look.label(found.key, LABEL_MAX)} from {first} to {last}: {'; '.join(told)}"
