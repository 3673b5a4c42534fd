"""A picture of the latency of queries over all runs."""

from collections.abc import Mapping, Sequence

import numpy as np

from skipproof.simulations import look
from skipproof.simulations.look import Picture

# Points.
WIDTH, HEIGHT, LEGEND_ROW, FONT = 400.0, 250.0, 16.0, 10.5
LEFT, RIGHT, TOP, BOTTOM = 46.0, 10.0, 10.0, 44.0
# The lengths of names in a legend of three columns, and of one column.
SHORT, LABEL_MAX = 12, 60
# With fewer answers, the least and the greatest latency are told instead of a percentile.
FEW = 20


def latency_picture(curves: Mapping[str, Sequence[float]], *, runs: int) -> Picture | None:
    """Return the distribution of each query's latency as a picture; None if there is no answer.

    Args:
        curves: Latencies in us, by the name of a curve.
        runs: The number of runs.
    """
    latencies = {name: np.sort(values) for name, values in curves.items() if len(values)}
    if not latencies:
        return None
    names = list(latencies)[: len(look.STYLES)]
    least, most = min(latencies[name][0] for name in names), max(latencies[name][-1] for name in names)
    unit, scale = look.time_unit(float(most))
    columns = 3 if max(map(len, names)) <= SHORT else 1
    legend = LEGEND_ROW * -(-len(names) // columns)
    with look.new_figure(WIDTH, HEIGHT + legend, font=FONT) as figure:
        axes = look.axes_within(figure, left=LEFT, right=RIGHT, top=TOP, bottom=BOTTOM + legend)
        for name, (colour, dashes) in zip(names, look.STYLES, strict=False):
            values = latencies[name]
            at = np.concatenate([values[:1], values]) / scale
            share = np.linspace(0, 100, len(values) + 1)
            axes.plot(
                at,
                share,
                drawstyle="steps-post",
                color=colour,
                linestyle=dashes,
                label=look.short_label(name, LABEL_MAX),
            )
            if len(values) == 1:
                axes.plot(at[-1:], share[-1:], marker="o", color=colour)
        if look.is_logarithmic([float(least), float(most)]):
            look.use_logarithmic_scale(axes.xaxis)
        else:
            if least < most / 2 or least == most:
                axes.set_xlim(0, 1.05 * float(most) / scale or 1)
            axes.locator_params(axis="x", nbins=6)
        axes.set_ylim(0, 103)
        axes.grid()
        axes.set_xlabel(f"from a query's beginning to its answer ({unit})")
        axes.set_ylabel("share of answers (%)")
        look.legend_below(figure, axes, columns)
        texts = "; ".join(f"{name} {_spread_text(latencies[name])}" for name in names)
        markup = look.svg(figure, name="latency", description=f"Latencies: {texts}")
    more = len(latencies) - len(names)
    spreads = "; ".join(f"{name}: {_spread_text(latencies[name])}" for name in names)
    return Picture(
        name="latency",
        title=f"Latency over {runs:,} {'run' if runs == 1 else 'runs'}",
        caption=f"The share of a query's answers that came within a time. {spreads}."
        + (f" {more} more are left out." if more else ""),
        svg=markup,
    )


def _spread_text(values: np.ndarray) -> str:
    """Return the median and the spread of sorted latencies as text."""
    middle, late = (look.duration(float(values[-(-len(values) * share // 100) - 1])) for share in (50, 95))
    if len(values) == 1:
        return middle
    if len(values) < FEW:
        return f"median {middle}, {look.duration(float(values[0]))} to {look.duration(float(values[-1]))}"
    return f"median {middle}, 95 % within {late}"
