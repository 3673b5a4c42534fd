"""How long queries took over all runs, as a picture."""

from collections.abc import Mapping, Sequence

import numpy as np

from skipproof.simulations import look
from skipproof.simulations.look import Picture

# Points.
WIDTH, HEIGHT, LEGEND_ROW, FONT = 400.0, 250.0, 16.0, 10.5
LEFT, RIGHT, TOP, BOTTOM = 46.0, 10.0, 10.0, 44.0
# Of names that stand beside each other, and of one that stands alone.
SHORT, LABEL_MAX = 12, 60
# Of fewer answers all lie within what is told.
FEW = 20


def latency_picture(curves: Mapping[str, Sequence[float]], *, runs: int) -> Picture | None:
    """Of each query, the share of its answers that came by then; None if there is no answer.

    Args:
        curves: Latencies in us, by the name of a curve.
        runs: Of how many runs they are.
    """
    found = {name: np.sort(values) for name, values in curves.items() if len(values)}
    if not found:
        return None
    names = list(found)[: len(look.STYLES)]
    least, most = min(found[name][0] for name in names), max(found[name][-1] for name in names)
    unit, scale = look.unit_of(float(most))
    columns = 3 if max(map(len, names)) <= SHORT else 1
    legend = LEGEND_ROW * -(-len(names) // columns)
    with look.paper(WIDTH, HEIGHT + legend, font=FONT) as figure:
        axes = look.axes_within(figure, left=LEFT, right=RIGHT, top=TOP, bottom=BOTTOM + legend)
        for name, (colour, dashes) in zip(names, look.STYLES, strict=False):
            values = found[name]
            at = np.concatenate([values[:1], values]) / scale
            share = np.linspace(0, 100, len(values) + 1)
            axes.plot(
                at,
                share,
                drawstyle="steps-post",
                color=colour,
                linestyle=dashes,
                label=look.label(name, LABEL_MAX),
            )
            if len(values) == 1:
                axes.plot(at[-1:], share[-1:], marker="o", color=colour)
        if look.multiplies([float(least), float(most)]):
            look.multiply(axes.xaxis)
        else:
            if least < most / 2 or least == most:
                axes.set_xlim(0, 1.05 * float(most) / scale or 1)
            axes.locator_params(axis="x", nbins=6)
        axes.set_ylim(0, 103)
        axes.grid()
        axes.set_xlabel(f"from a query's beginning to its answer ({unit})")
        axes.set_ylabel("share of answers (%)")
        look.legend_below(figure, axes, columns)
        told = "; ".join(f"{name} {_spread(found[name])}" for name in names)
        drawn = look.svg(figure, name="latency", told=f"Latencies: {told}")
    more = len(found) - len(names)
    spreads = "; ".join(f"{name}: {_spread(found[name])}" for name in names)
    return Picture(
        name="latency",
        title=f"Latency over {runs:,} {'run' if runs == 1 else 'runs'}",
        caption=f"The share of a query's answers that came within a time. {spreads}."
        + (f" {more} more are left out." if more else ""),
        svg=drawn,
    )


def _spread(values: np.ndarray) -> str:
    """Sorted latencies in words."""
    middle, late = (look.duration(float(values[-(-len(values) * share // 100) - 1])) for share in (50, 95))
    if len(values) == 1:
        return middle
    if len(values) < FEW:
        return f"median {middle}, {look.duration(float(values[0]))} to {look.duration(float(values[-1]))}"
    return f"median {middle}, 95 % within {late}"
