"""The style of pictures, and their rendering as SVG, which is the same each time."""

import contextlib
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import matplotlib
from markupsafe import Markup, escape
from matplotlib.axes import Axes
from matplotlib.axis import XAxis, YAxis
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter, StrMethodFormatter

from skipproof import pages

# Okabe and Ito's colours, which colour-blind readers can distinguish; and greys.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#1b1f24", "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7",
)  # fmt: skip
INK, FAINT, LINE, PALE = "#1b1f24", "#57606a", "#d0d7de", "#eef1f4"
# Twelve styles that differ in colour or dashes; neighbours differ in both, so that lines that coincide are
# both visible.
STYLES = tuple(
    ((BLUE, VERMILION, GREEN, PURPLE)[at % 4], ("-", (0, (5, 2)), (0, (1.5, 1.5)))[at % 3])
    for at in range(12)
)
# A scale is logarithmic if the greatest value is more than so many times the least.
LOG_FROM = 100
POINTS_PER_INCH = 72
_MS, _S, _MIN, _H = 1_000, 1_000_000, 60_000_000, 3_600_000_000

# Typed as Any, because the names that Matplotlib's types allow differ from release to release.
_SETTINGS: dict[Any, Any] = {
    # The ids of shapes depend on the shapes alone, so that the output is the same each time.
    "svg.hashsalt": "skipproof",
    # Keep text as text, so that pages are small and can be searched.
    "svg.fonttype": "none",
    # Do not read text between dollar signs as a formula.
    "text.parse_math": False,
    "font.family": ["sans-serif"],
    "font.sans-serif": ["DejaVu Sans"],
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": FAINT,
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": LINE,
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.7,
    "legend.frameon": False,
    "axes.axisbelow": True,
    # Write numbers in full, without an offset or a power of ten beside the axis.
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": [-9, 12],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture on a page.

    Attributes:
        name: The name of the picture, unique on its page.
        wide: Whether it needs the whole width.
    """

    name: str
    title: str
    caption: str
    svg: Markup
    wide: bool = False


@contextlib.contextmanager
def new_figure(width: float, height: float, *, font: float) -> Iterator[Figure]:
    """Make a figure of a size in points, drawn with the project's settings and not the user's."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**_SETTINGS, "font.size": font, "legend.fontsize": font})
        yield Figure(figsize=(width / POINTS_PER_INCH, height / POINTS_PER_INCH), dpi=POINTS_PER_INCH)


def svg(figure: Figure, *, name: str, description: str) -> Markup:
    """Return a figure as an SVG element of a page.

    Args:
        name: The prefix of the ids of its parts, which keeps the ids of two pictures distinct.
        description: The text that stands for the picture where it cannot be seen.
    """
    file = io.StringIO()
    figure.savefig(
        file, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")), transparent=True
    )
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style .*?</style>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text)
    # Leave out the width and height, which the page sets.
    head, rest = text.split(">", 1)
    box = re.search(r'viewBox="[^"]*"', head)
    assert box is not None
    body = re.sub(r"\n\s*", "\n", rest)
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'{box.group()} role="img" aria-label="{escape(pages.visible_text(description))}">{body}'
    )


def time_unit(largest_us: float) -> tuple[str, int]:
    """Return the unit for times up to `largest_us`, and its size in us."""
    units = (("µs", 1, 10 * _MS), ("ms", _MS, 10 * _S), ("s", _S, 10 * _MIN), ("min", _MIN, 10 * _H))
    return next(((unit, size) for unit, size, below_us in units if largest_us < below_us), ("h", _H))


def exact_duration(us: int) -> str:
    """Return a time as text without rounding, in the largest unit of which it is a whole number."""
    units = (("h", _H), ("min", _MIN), ("s", _S), ("ms", _MS))
    return next((f"{us // size:,} {unit}" for unit, size in units if us % size == 0), f"{us:,} µs")


def duration(took_us: float) -> str:
    """Return a time as text, rounded."""
    unit, size = time_unit(took_us)
    return f"{took_us / size:,.3g} {unit}" if took_us / size < 1000 else f"{took_us / size:,.0f} {unit}"


def is_logarithmic(values: Sequence[float]) -> bool:
    """Tell whether values need a logarithmic scale."""
    return bool(values) and min(values) > 0 and max(values) / min(values) > LOG_FROM


def use_logarithmic_scale(axis: XAxis | YAxis) -> None:
    """Make the scale of an axis logarithmic, with numbers in full."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def short_label(text: str, characters_max: int) -> str:
    """Return a text with each character visible, cut to `characters_max`."""
    visible = pages.visible_text(" ".join(text.split()))
    return visible if len(visible) <= characters_max else visible[: characters_max - 1] + "…"


def axes_within(figure: Figure, *, left: float, right: float, top: float, bottom: float) -> Axes:
    """Return axes that fill a figure within margins in points."""
    width, height = figure.get_size_inches() * POINTS_PER_INCH
    return figure.add_axes(
        (left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height)
    )


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """Draw the legend of the axes in rows below a figure."""
    handles, labels = axes.get_legend_handles_labels()
    if handles:
        figure.legend(
            handles,
            labels,
            loc="lower left",
            ncols=columns,
            bbox_to_anchor=(0.0, 0.0),
            columnspacing=1.4,
            handletextpad=0.5,
            borderaxespad=0.2,
        )
