"""Pictures of the shares of blocks pruned and read: in one run over time, and over all runs."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sim.scans.prune_timeline import CANCELLED, READ, PruneTimeline
from skipproof.simulations import bands, look
from skipproof.simulations.look import Picture

# Points. The picture of one run is as wide as its timelines, so that their axes of time agree.
WIDTH, HEIGHT, LEGEND_ROW, FONT = 400.0, 250.0, 16.0, 10.5
LEFT, RIGHT, TOP, BOTTOM = 46.0, 12.0, 10.0, 44.0
# More columns could not be distinguished.
RUNS_MAX = 400

TECHNIQUES = {
    "filter": look.BLUE,
    "join": look.ORANGE,
    "limit": look.PURPLE,
    "topk": look.GREEN,
}
READ_COLOUR = "#57606a"
# Blocks pruned by nodes are hatched, those pruned by the control plane are not.
HATCHED = {"node": "////"}


def settling_picture(timeline: PruneTimeline, *, until_us: int, seed: int) -> Picture:
    """Return a picture of the shares of blocks pruned, read and not settled, over the time of a run."""
    unit, scale = look.time_unit(until_us)
    edges = np.array([*timeline.at_us, max(until_us, timeline.at_us[-1] + 1)]) / scale
    shares = {
        name: 100 * np.array(blocks) / max(timeline.total, 1) for name, blocks in timeline.blocks.items()
    }
    with look.new_figure(bands.WIDTH, _height(len(shares) + 1, columns=4), font=bands.FONT) as figure:
        axes = _draw_stacked_shares(figure, shares, edges, rest="not settled", left=bands.LEFT, columns=4)
        axes.set_xlim(0, until_us / scale)
        axes.set_xlabel(f"time since the beginning of the run ({unit})")
        texts = ", ".join(f"{_share_name(name)} {share[-1]:.3g} %" for name, share in shares.items())
        markup = look.svg(
            figure, name="settling", description=f"Shares of blocks at the end of seed {seed}: {texts}"
        )
    return Picture(
        name="settling",
        title=f"What became of {timeline.total:,} blocks",
        caption="Blocks of the scans of all queries, by how they were settled until then: pruned, by "
        "technique and place, or read and taken by the control plane. Hatched is what nodes prune.",
        svg=markup,
        wide=True,
    )


def pruned_picture(runs: Sequence[Mapping[str, float]], *, left_out: int) -> Picture:
    """Return a picture of the share of pruned blocks in each run, least pruned run first.

    Args:
        runs: The measures of runs that have counted their blocks.
        left_out: How many more runs there are.
    """
    shares = sorted(
        (_shares(run) for run in runs),
        key=lambda run_shares: (sum(run_shares.values()), sorted(run_shares.items())),
    )
    chosen = np.unique(np.linspace(0, len(shares) - 1, min(len(shares), RUNS_MAX)).astype(int))
    names = sorted({name for run_shares in shares for name in run_shares})
    stacked = {name: np.array([shares[at].get(name, 0.0) for at in chosen]) for name in names}
    sums = [sum(run_shares.values()) for run_shares in shares]
    with look.new_figure(WIDTH, _height(len(names) + 1, columns=2), font=FONT) as figure:
        edges = np.linspace(0, 100, len(chosen) + 1)
        axes = _draw_stacked_shares(figure, stacked, edges, rest="not pruned", left=LEFT, columns=2)
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of runs, least pruned first (%)")
        description = (
            f"from {sums[0]:.3g} % to {sums[-1]:.3g} %, half of the runs {sums[len(sums) // 2]:.3g} % or more"
        )
        markup = look.svg(
            figure,
            name="pruned",
            description=f"The pruned share of blocks over {len(runs)} runs: {description}",
        )
    more = f" {left_out} runs in which a query has no end are left out." if left_out else ""
    return Picture(
        name="pruned",
        title=f"How much was pruned in {len(runs):,} {'run' if len(runs) == 1 else 'runs'}",
        caption="Each column is a run: the shares of its blocks that were pruned, by technique and place."
        f"{more}",
        svg=markup,
    )


def _shares(measured: Mapping[str, float]) -> dict[str, float]:
    """Return the pruned shares of a run's blocks in percent, by technique and place."""
    blocks = max(measured["blocks"], 1)
    return {
        f"{name.split('_pruned_at_')[0]} at {name.split('_pruned_at_')[1]}": 100 * value / blocks
        for name, value in measured.items()
        if "_pruned_at_" in name and value
    }


def _height(kinds: int, *, columns: int) -> float:
    """Return the height of a figure with this number of kinds in its legend."""
    return HEIGHT + LEGEND_ROW * -(-kinds // columns)


def _draw_stacked_shares(
    figure: Figure,
    shares: Mapping[str, np.ndarray],
    edges: np.ndarray,
    *,
    rest: str,
    left: float,
    columns: int,
) -> Axes:
    """Draw the shares of blocks as stacked steps, and return the axes."""
    axes = look.axes_within(
        figure,
        left=left,
        right=RIGHT,
        top=TOP,
        bottom=_height(len(shares) + 1, columns=columns) - HEIGHT + BOTTOM,
    )
    below = np.zeros(len(edges) - 1)
    for name, share in shares.items():
        above = below + share
        colour, hatch = _colour_and_hatch(name)
        axes.stairs(
            above,
            edges,
            baseline=below,
            fill=True,
            facecolor=colour,
            edgecolor="#ffffff",
            hatch=hatch,
            linewidth=0.4,
            label=_share_name(name),
        )
        below = above
    axes.stairs(
        np.full(len(below), 100.0),
        edges,
        baseline=np.minimum(below, 100),
        fill=True,
        facecolor=look.PALE,
        edgecolor=look.LINE,
        linewidth=0.4,
        label=rest,
    )
    axes.set_ylim(0, 100)
    axes.set_ylabel("share of blocks (%)")
    look.legend_below(figure, axes, columns)
    return axes


def _colour_and_hatch(name: str) -> tuple[str, str]:
    """Return the colour and the hatch of a kind of blocks."""
    technique, _, where = name.partition(" at ")
    if name == READ:
        return READ_COLOUR, ""
    if name == CANCELLED:
        return "#9aa4af", ""
    return TECHNIQUES.get(technique, look.SKY), HATCHED.get(where, "")


def _share_name(name: str) -> str:
    """Return the name of a kind of blocks as text."""
    technique, at, where = name.partition(" at ")
    places = {"compile": "at compile time", "control": "by the control plane", "node": "by nodes"}
    return f"{technique}, {places.get(where, where)}" if at else name
