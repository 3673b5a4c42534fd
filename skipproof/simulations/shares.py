"""What became of blocks, as pictures: in one run as time goes by, and over all runs."""

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from sim.scans.prune_timeline import CANCELLED, READ, Settling
from skipproof.simulations import bands, look
from skipproof.simulations.look import Picture

# Points; what is of one run is as wide as its timelines, and its times stand below theirs.
WIDTH, HEIGHT, LEGEND_ROW, FONT = 400.0, 250.0, 16.0, 10.5
LEFT, RIGHT, TOP, BOTTOM = 46.0, 12.0, 10.0, 44.0
# More columns could not be told apart.
RUNS_MAX = 400

TECHNIQUES = {
    "filter": look.BLUE,
    "join": look.ORANGE,
    "limit": look.PURPLE,
    "topk": look.GREEN,
}
READ_COLOUR = "#57606a"
# What a node prunes is hatched; the control plane's is not.
HATCHED = {"node": "////"}


def settling_picture(found: Settling, *, until_us: int, seed: int) -> Picture:
    """The shares of blocks that were pruned, read, and open, by then."""
    unit, scale = look.unit_of(until_us)
    edges = np.array([*found.at_us, max(until_us, found.at_us[-1] + 1)]) / scale
    shares = {name: 100 * np.array(blocks) / max(found.total, 1) for name, blocks in found.blocks.items()}
    with look.paper(bands.WIDTH, _height(len(shares) + 1, columns=4), font=bands.FONT) as figure:
        axes = _stacked(figure, shares, edges, rest="not settled", left=bands.LEFT, columns=4)
        axes.set_xlim(0, until_us / scale)
        axes.set_xlabel(f"time since the beginning of the run ({unit})")
        told = ", ".join(f"{_told(name)} {share[-1]:.3g} %" for name, share in shares.items())
        drawn = look.svg(figure, name="settling", told=f"Shares of blocks at the end of seed {seed}: {told}")
    return Picture(
        name="settling",
        title=f"What became of {found.total:,} blocks",
        caption="Blocks of the scans of all queries, by how they were settled until then: pruned, by "
        "technique and place, or read and taken by the control plane. Hatched is what nodes prune.",
        svg=drawn,
        wide=True,
    )


def pruned_picture(runs: Sequence[Mapping[str, float]], *, left_out: int) -> Picture:
    """The shares of pruned blocks in each run, in the order of their sums.

    Args:
        runs: The measures of runs, of each of which the blocks are known.
        left_out: How many more runs there are.
    """
    shares = sorted((_shares(run) for run in runs), key=lambda one: (sum(one.values()), sorted(one.items())))
    chosen = np.unique(np.linspace(0, len(shares) - 1, min(len(shares), RUNS_MAX)).astype(int))
    names = sorted({name for one in shares for name in one})
    stacked = {name: np.array([shares[at].get(name, 0.0) for at in chosen]) for name in names}
    sums = [sum(one.values()) for one in shares]
    with look.paper(WIDTH, _height(len(names) + 1, columns=2), font=FONT) as figure:
        edges = np.linspace(0, 100, len(chosen) + 1)
        axes = _stacked(figure, stacked, edges, rest="not pruned", left=LEFT, columns=2)
        axes.set_xlim(0, 100)
        axes.set_xlabel("share of runs, least pruned first (%)")
        told = (
            f"from {sums[0]:.3g} % to {sums[-1]:.3g} %, half of the runs {sums[len(sums) // 2]:.3g} % or more"
        )
        drawn = look.svg(
            figure, name="pruned", told=f"The pruned share of blocks over {len(runs)} runs: {told}"
        )
    more = f" {left_out} runs in which a query has no end are left out." if left_out else ""
    return Picture(
        name="pruned",
        title=f"How much was pruned in {len(runs):,} {'run' if len(runs) == 1 else 'runs'}",
        caption="Each column is a run: the shares of its blocks that were pruned, by technique and place."
        f"{more}",
        svg=drawn,
    )


def _shares(measured: Mapping[str, float]) -> dict[str, float]:
    blocks = max(measured["blocks"], 1)
    return {
        f"{name.split('_pruned_at_')[0]} at {name.split('_pruned_at_')[1]}": 100 * value / blocks
        for name, value in measured.items()
        if "_pruned_at_" in name and value
    }


def _height(kinds: int, *, columns: int) -> float:
    return HEIGHT + LEGEND_ROW * -(-kinds // columns)


def _stacked(
    figure: Figure,
    shares: Mapping[str, np.ndarray],
    edges: np.ndarray,
    *,
    rest: str,
    left: float,
    columns: int,
) -> Axes:
    """Shares of blocks in steps, one upon the other."""
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
        colour, hatch = _colour(name)
        axes.stairs(
            above,
            edges,
            baseline=below,
            fill=True,
            facecolor=colour,
            edgecolor="#ffffff",
            hatch=hatch,
            linewidth=0.4,
            label=_told(name),
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


def _colour(name: str) -> tuple[str, str]:
    technique, _, where = name.partition(" at ")
    if name == READ:
        return READ_COLOUR, ""
    if name == CANCELLED:
        return "#9aa4af", ""
    return TECHNIQUES.get(technique, look.SKY), HATCHED.get(where, "")


def _told(name: str) -> str:
    technique, at, where = name.partition(" at ")
    places = {"compile": "at compile time", "control": "by the control plane", "node": "by nodes"}
    return f"{technique}, {places.get(where, where)}" if at else name
