"""Pictures of measures along a setting that a scenario varies."""

import string
from collections.abc import Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes

from sim.kernel.varying import setting_text
from skipproof.simulations import look
from skipproof.simulations.along import MeasureCurves, Spread
from skipproof.simulations.look import Picture

# Points.
WIDTH, HEIGHT, LEGEND_ROW, FONT = 400.0, 260.0, 16.0, 10.5
LEFT, RIGHT, TOP, BOTTOM = 52.0, 30.0, 10.0, 44.0
LABEL_MAX, TICK_MAX = 60, 14
LETTERS = string.ascii_uppercase


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """The vertical axis of a picture.

    Attributes:
        label: The name of the measure, with its unit.
        scale: The size of the unit in the measure's own unit.
        most: The upper end of the axis, or None if it follows from the values.
    """

    label: str
    scale: float = 1
    most: float | None = None


def curves_picture(curves: MeasureCurves, axis: Axis, *, name: str, title: str) -> Picture:
    """Return a picture of a measure: a line of medians, within a band from the least to the greatest seed."""
    names = list(curves.lines)[: len(look.STYLES)]
    legend = LEGEND_ROW * len(names) if len(curves.lines) > 1 else 0
    with look.new_figure(WIDTH, HEIGHT + legend, font=FONT) as figure:
        axes = look.axes_within(figure, left=LEFT, right=RIGHT, top=TOP, bottom=BOTTOM + legend)
        at = _positions(axes, curves)
        for line, (colour, dashes) in zip(names, look.STYLES, strict=False):
            there = [(x, spread) for x, spread in zip(at, curves.lines[line], strict=True) if spread]
            xs = [x for x, _ in there]
            least, median, most = (
                [getattr(spread, end) / axis.scale for _, spread in there]
                for end in ("least", "median", "most")
            )
            if least != most and curves.is_numeric:
                axes.fill_between(xs, least, most, color=colour, alpha=0.18, linewidth=0)
            elif least != most:
                axes.vlines(xs, least, most, color=colour, alpha=0.4, linewidth=4)
            axes.plot(
                xs,
                median,
                color=colour,
                linestyle=dashes if curves.is_numeric else "none",
                marker="o",
                markersize=4,
                label=look.short_label(line, LABEL_MAX) if line else None,
            )
        _set_vertical_axis(axes, axis, [spread for line in names for spread in curves.lines[line] if spread])
        axes.grid()
        axes.set_xlabel(look.short_label(curves.key, LABEL_MAX))
        if len(curves.lines) > 1:
            look.legend_below(figure, axes, 1)
        markup = look.svg(figure, name=name, description=f"{title}: {_description(curves, names, axis)}")
    left = len(curves.lines) - len(names)
    return Picture(
        name=name,
        title=title,
        caption="".join(f"{letter}: {value}. " for letter, value in _value_letters(curves) if letter)
        + "The median of all seeds; what is pale is from the least to the most of them."
        + (f" {left} more lines are left out." if left else ""),
        svg=markup,
    )


def _positions(axes: Axes, curves: MeasureCurves) -> Sequence[float]:
    """Return the positions of the values on the axis: numbers to scale, others side by side."""
    if curves.is_numeric:
        values = [float(value) for value in curves.values]
        if look.is_logarithmic(values):
            look.use_logarithmic_scale(axes.xaxis)
        return values
    places = list(range(len(curves.values)))
    axes.set_xticks(
        places, [letter or look.short_label(value, TICK_MAX) for letter, value in _value_letters(curves)]
    )
    axes.set_xlim(-0.5, len(places) - 0.5)
    return places


def _value_letters(curves: MeasureCurves) -> list[tuple[str, str]]:
    """Return each value with the letter that replaces it on the axis, empty if all values are short."""
    values = [setting_text(value) for value in curves.values]
    long = not curves.is_numeric and any(len(value) > TICK_MAX for value in values)
    return [(LETTERS[at % len(LETTERS)] if long else "", value) for at, value in enumerate(values)]


def _set_vertical_axis(axes: Axes, axis: Axis, spreads: Sequence[Spread]) -> None:
    """Set the label and the scale of the vertical axis."""
    axes.set_ylabel(axis.label)
    if axis.most is not None:
        axes.set_ylim(0, axis.most)
    elif look.is_logarithmic([end for spread in spreads for end in (spread.least, spread.most)]):
        look.use_logarithmic_scale(axes.yaxis)
    else:
        axes.set_ylim(bottom=0)


def _description(curves: MeasureCurves, names: Sequence[str], axis: Axis) -> str:
    """Return the first and last value of each line as text."""
    line_texts = []
    for name in names:
        there = [spread for spread in curves.lines[name] if spread]
        ends = f"from {there[0].median / axis.scale:.4g} to {there[-1].median / axis.scale:.4g}"
        line_texts.append(f"{look.short_label(name, LABEL_MAX)} {ends}".strip())
    first, last = (look.short_label(setting_text(curves.values[at]), LABEL_MAX) for at in (0, -1))
    key = look.short_label(curves.key, LABEL_MAX)
    return f"{axis.label}, {key} from {first} to {last}: {'; '.join(line_texts)}"
