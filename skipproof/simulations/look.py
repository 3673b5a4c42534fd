"""How pictures look, and how they come into a page: as SVG that is the same whenever it is drawn."""

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

# Okabe and Ito's colours, which the colour-blind can tell apart too; and greys.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#1b1f24", "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7",
)  # fmt: skip
INK, FAINT, LINE, PALE = "#1b1f24", "#57606a", "#d0d7de", "#eef1f4"
# Twelve lines that differ in colour or in dashes; neighbours in both, so that one shows below the other.
STYLES = tuple(
    ((BLUE, VERMILION, GREEN, PURPLE)[at % 4], ("-", (0, (5, 2)), (0, (1.5, 1.5)))[at % 3])
    for at in range(12)
)
# From that ratio of the most to the least on a scale multiplies.
LOG_FROM = 100
POINTS_PER_INCH = 72
_MS, _S, _MIN, _H = 1_000, 1_000_000, 60_000_000, 3_600_000_000

# Matplotlib types names by a list of its own, which differs from release to release.
_SETTINGS: dict[Any, Any] = {
    # What shapes are called hangs on what they are, not on chance.
    "svg.hashsalt": "skipproof",
    # Letters stay letters: pages are small, and texts can be searched.
    "svg.fonttype": "none",
    # A dollar is a dollar.
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
    # Whole numbers, not what is left of them beside a power of ten.
    "axes.formatter.useoffset": False,
    "axes.formatter.limits": [-9, 12],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A picture on a page.

    Attributes:
        name: Its own on the page.
        wide: Whether it needs the whole width.
    """

    name: str
    title: str
    caption: str
    svg: Markup
    wide: bool = False


@contextlib.contextmanager
def paper(width: float, height: float, *, font: float) -> Iterator[Figure]:
    """A figure of so many points, drawn by the project's settings whatever the user's are."""
    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update({**_SETTINGS, "font.size": font, "legend.fontsize": font})
        yield Figure(figsize=(width / POINTS_PER_INCH, height / POINTS_PER_INCH), dpi=POINTS_PER_INCH)


def svg(figure: Figure, *, name: str, told: str) -> Markup:
    """A figure as an element of a page.

    Args:
        name: Begins the names of its parts, so that those of two pictures differ.
        told: What it shows, for those who do not see it.
    """
    file = io.StringIO()
    figure.savefig(
        file, format="svg", metadata=dict.fromkeys(("Creator", "Date", "Format", "Type")), transparent=True
    )
    text = file.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>|<style .*?</style>|<!--.*?-->", "", text, flags=re.DOTALL)
    text = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{name}-", text)
    # The page says how wide it is.
    head, rest = text.split(">", 1)
    box = re.search(r'viewBox="[^"]*"', head)
    assert box is not None
    drawn = re.sub(r"\n\s*", "\n", rest)
    return Markup(
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'{box.group()} role="img" aria-label="{escape(pages.visible(told))}">{drawn}'
    )


def unit_of(largest_us: float) -> tuple[str, int]:
    """The unit in which times up to that are told, and how many us it has."""
    units = (("µs", 1, 10 * _MS), ("ms", _MS, 10 * _S), ("s", _S, 10 * _MIN), ("min", _MIN, 10 * _H))
    return next(((unit, size) for unit, size, below_us in units if largest_us < below_us), ("h", _H))


def whole(us: int) -> str:
    """A time that somebody chose, exactly: in the largest unit of which it has a whole number."""
    units = (("h", _H), ("min", _MIN), ("s", _S), ("ms", _MS))
    return next((f"{us // size:,} {unit}" for unit, size in units if us % size == 0), f"{us:,} µs")


def duration(took_us: float) -> str:
    """A time for people."""
    unit, size = unit_of(took_us)
    return f"{took_us / size:,.3g} {unit}" if took_us / size < 1000 else f"{took_us / size:,.0f} {unit}"


def multiplies(values: Sequence[float]) -> bool:
    """Whether values are shown on a scale that multiplies."""
    return bool(values) and min(values) > 0 and max(values) / min(values) > LOG_FROM


def multiply(axis: XAxis | YAxis) -> None:
    """Let the scale of an axis multiply, with numbers as people write them."""
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_formatter(StrMethodFormatter("{x:,.10g}"))
    axis.set_minor_formatter(NullFormatter())


def label(text: str, characters_max: int) -> str:
    """A text of a scenario's as a picture shows it: each character visible, and not too many."""
    told = pages.visible(" ".join(text.split()))
    return told if len(told) <= characters_max else told[: characters_max - 1] + "…"


def axes_within(figure: Figure, *, left: float, right: float, top: float, bottom: float) -> Axes:
    """The axes of a figure between margins in points."""
    width, height = figure.get_size_inches() * POINTS_PER_INCH
    return figure.add_axes(
        (left / width, bottom / height, (width - left - right) / width, (height - top - bottom) / height)
    )


def legend_below(figure: Figure, axes: Axes, columns: int) -> None:
    """What the marks of a figure mean, in rows below it."""
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
