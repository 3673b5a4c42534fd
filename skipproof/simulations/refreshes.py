"""A picture of the refreshes of a run: a row for each dynamic table."""

from collections.abc import Iterable, Sequence
from functools import partial

from matplotlib.axes import Axes
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from dynamic_tables.refreshes.actions import RefreshAction
from sim.refreshes.timelines import ExecutedStatement, Hindrance, RefreshSign, RefreshTimeline
from skipproof.simulations import bands, look
from skipproof.simulations.bands import Band, Bar
from skipproof.simulations.look import Picture

# Points.
ROW, LEAST = 9.0, 2.0
# Statements nearer to each other than NEAR points share a bar; if there are more than MANY statements, those
# nearer than NAME points do, so that names do not overlap.
NEAR, NAME, MANY = 3.0, 40.0, 30
NAME_MAX = 15
# Where bars overlap, later kinds are drawn over earlier ones.
WORK = {
    RefreshAction.NO_DATA: "#9aa4af",
    RefreshAction.INCREMENTAL: look.BLUE,
    RefreshAction.FULL: look.ORANGE,
    RefreshAction.REINITIALIZE: look.PURPLE,
}
STATES = {Hindrance.SUSPENDED: ("#f9f3b0", "///"), Hindrance.GONE: ("#e3e6ea", "xxx")}
SIGNS = {
    RefreshSign.SKIPPED: ("|", look.FAINT),
    RefreshSign.NOT_STARTED: ("s", look.FAINT),
    RefreshSign.FAILED_USER: ("v", look.VERMILION),
    RefreshSign.FAILED: ("D", look.VERMILION),
    RefreshSign.DIED: ("X", look.BLACK),
    RefreshSign.FLAGGED: ("P", look.ORANGE),
}
SAID, REFUSED = look.SKY, look.VERMILION


def refreshes_picture(line: RefreshTimeline, *, seed: int, violations_us: Sequence[int]) -> Picture:
    """Return the picture of one run, with its violations."""
    markup = bands.timeline_svg(
        "refreshes",
        until_us=line.until_us,
        above=("statements", statement_bars(line.said, line.until_us)),
        rows=[(look.short_label(row.name, NAME_MAX), bands.STRIP + ROW) for row in line.rows],
        troubles=line.troubles,
        draw_rows=partial(_draw_rows, line),
        violations_us=violations_us,
        handles=_legend_handles(line),
        description=_description(line, seed),
    )
    return Picture(
        name="refreshes",
        title="What each table's refreshes did",
        caption=_caption(line),
        svg=markup,
        wide=True,
    )


def statement_bars(statements: Sequence[ExecutedStatement], until_us: int) -> Iterable[Bar]:
    """Yield statements as bars without length; statements near each other share a bar."""
    near = NEAR if len(statements) <= MANY else NAME
    near_us = until_us * near / (bands.WIDTH - bands.LEFT - bands.RIGHT)
    together: list[list[ExecutedStatement]] = []
    for statement in statements:
        if together and statement.at_us - together[-1][0].at_us < near_us:
            together[-1].append(statement)
        else:
            together.append([statement])
    for group in together:
        first, last = group[0].place + 1, group[-1].place + 1
        name = f"S{first}" if first == last else f"S{first}–{last}"
        colour = REFUSED if any(statement.refused for statement in group) else SAID
        yield Bar(name, colour, group[0].at_us, group[-1].at_us)


def _draw_rows(line: RefreshTimeline, axes: Axes, stacked: Sequence[Band], scale: int) -> None:
    """Draw the states, work and marks of each table."""
    for row, band in zip(line.rows, stacked, strict=True):
        for state in row.states:
            bands.draw_state(axes, band, state.from_us / scale, state.until_us / scale, STATES[state.doing])
        bands.draw_boxes(axes, band, row.work, WORK, until_us=line.until_us, least=LEAST)
        bands.draw_marks(axes, band, row.marks, SIGNS, scale)


def _legend_handles(line: RefreshTimeline) -> list[Patch | Line2D]:
    """Return the legend of the kinds of marks that the picture has."""
    return [
        *bands.work_handles(WORK, {span.doing for row in line.rows for span in row.work}),
        *bands.state_handles(STATES, {span.doing for row in line.rows for span in row.states}, "it is"),
        *bands.sign_handles(SIGNS, {mark.sign for row in line.rows for mark in row.marks}),
    ]


def _description(line: RefreshTimeline, seed: int) -> str:
    """Return the picture in words."""
    marks = [mark for row in line.rows for mark in row.marks]
    counts = {sign: sum(mark.count for mark in marks if mark.sign is sign) for sign in SIGNS}
    return "; ".join(
        [
            f"Refreshes of {len(line.rows)} tables in the run of seed {seed}",
            *(f"{count} {action.value} committed" for action, count in line.actions.items() if count),
            *(f"{count} times {sign.value}" for sign, count in counts.items() if count),
        ]
    )


def _caption(line: RefreshTimeline) -> str:
    """Return the caption of the picture."""
    sentences = [
        "A bar goes from where a refresh has chosen its action to where it is committed or fails; it is at "
        "least as wide as can be seen, and one bar may be several that stand too near to be told apart. "
        "S and F are the numbers of statements and faults."
    ]
    if line.left_out:
        sentences.append(
            f"{line.left_out} tables are left out, those first to which nothing of note happened."
        )
    return " ".join(sentences)
