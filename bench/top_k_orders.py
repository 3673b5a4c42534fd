"""Count the blocks and the waves that a top-k reads in each arrangement of blocks.

    python bench/top_k_orders.py [--blocks N] [--rows N] [--seeds N]

A table of one integer column is laid out in four ways, a filter keeps a share of its rows, and the
greatest keys are asked for. The filter knows nothing of the key, or keeps low keys only. No verdict and
no first boundary helps: the filter says nothing of any block. The share that the filter keeps is told as
it is, ten times too high or too low, or not at all, but only `expected` looks at it.

The optimum is the blocks that may hold a better key than the last of the answer: what one who knew the
answer's boundary would read. Each figure is a mean over the seeds: blocks read / optimum, and waves.
"""

import argparse
import itertools
import math

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from pruning.expressions.types import LONG
from pruning.rules.sets.truths import Match
from pruning.techniques.plan.keys import KeyBounds
from pruning.techniques.topk.arrangements import Arrangement
from pruning.techniques.topk.orders import SortOrder
from pruning.techniques.topk.topk import TopK

# Not the seeds on which the size of waves was chosen.
FIRST_SEED = 100
SHARES, WANTED = (1.0, 0.1, 0.01, 0.001), (10, 100)
LAYOUTS = ("sorted", "half overlapping", "random", "clustered")
ORDER = SortOrder(descending=True, nulls_first=False)
CONTESTANTS = [
    ("as stored", Arrangement.AS_STORED, 1.0),
    ("by bound", Arrangement.BY_BOUND, 1.0),
    ("expected", Arrangement.EXPECTED, 1.0),
    ("expected, share x 10", Arrangement.EXPECTED, 10.0),
    ("expected, share / 10", Arrangement.EXPECTED, 0.1),
    ("expected, no share", Arrangement.EXPECTED, math.inf),
]


def main() -> None:
    """Print a table: a line per layout, filter and number of wanted rows."""
    parser = argparse.ArgumentParser(description="Blocks and waves that a top-k reads.")
    parser.add_argument("--blocks", type=int, default=1_000)
    parser.add_argument("--rows", type=int, default=1_000)
    parser.add_argument("--seeds", type=int, default=3)
    arguments = parser.parse_args()
    table = Table("layout", "filter", "kept", "k", "optimum", *(name for name, _, _ in CONTESTANTS))
    lines = []
    for layout, low, share, wanted in itertools.product(LAYOUTS, (False, True), SHARES, WANTED):
        found = [
            one_run(np.random.default_rng(seed), layout, low, share, wanted, arguments.blocks, arguments.rows)
            for seed in range(FIRST_SEED, FIRST_SEED + arguments.seeds)
        ]
        optimum, *figures = np.mean(found, axis=0)
        lines.append((low, share, figures))
        cells = (
            f"{ratio:.2f} in {waves:.1f}" for ratio, waves in zip(figures[::2], figures[1::2], strict=True)
        )
        table.add_row(
            layout, "low keys" if low else "any key", f"{share:g}", str(wanted), f"{optimum:.0f}", *cells
        )
    for low in (False, True):
        for selective in (False, True):
            means = np.mean([f for is_low, s, f in lines if is_low is low and (s < 1) is selective], axis=0)
            cells = (
                f"{ratio:.2f} in {waves:.1f}" for ratio, waves in zip(means[::2], means[1::2], strict=True)
            )
            kept = "< 1" if selective else "1"
            table.add_row("mean", "low keys" if low else "any key", kept, "", "", *cells)
    Console(width=175).print(table)


def one_run(
    random: np.random.Generator, layout: str, low: bool, share: float, wanted: int, blocks: int, rows: int
) -> list[float]:
    """Return the optimum, then for each contestant blocks read / optimum and waves."""
    keys = laid_out(random, layout, blocks, rows)
    kept = random.random(keys.shape) < share
    if low:
        kept &= keys < np.quantile(keys, 0.5)
    answer = np.sort(keys[kept])[::-1][:wanted]
    last = answer[-1] if len(answer) == wanted else keys.min() - 1
    optimum = max(1, int(np.count_nonzero(keys.max(axis=1) > last)))
    found: list[float] = [optimum]
    for _, arrangement, factor in CONTESTANTS:
        density = min(1.0, float(kept.mean()) * factor)
        read, waves = read_by(keys, kept, wanted, arrangement, density)
        found += [read / optimum, waves]
    return found


def laid_out(random: np.random.Generator, layout: str, blocks: int, rows: int) -> np.ndarray:
    """Return keys of shape (blocks, rows); the blocks are stored in random order."""
    match layout:
        case "sorted":
            keys = np.sort(random.integers(0, 10**9, blocks * rows)).reshape(blocks, rows)
        case "half overlapping":
            keys = (np.arange(blocks)[:, None] * 0.5 + random.random((blocks, rows))) * 1e6
        case "random":
            keys = random.integers(0, 10**9, (blocks, rows))
        case _:
            widths = random.random((blocks, 1)) * 2e7
            keys = random.random((blocks, 1)) * 1e9 + random.normal(size=(blocks, rows)) * widths
    shuffled: np.ndarray = keys[random.permutation(blocks)].astype(np.int64)
    return shuffled


def read_by(
    keys: np.ndarray, kept: np.ndarray, wanted: int, arrangement: Arrangement, density: float
) -> tuple[int, int]:
    """Return blocks and waves until the answer is known."""
    blocks, rows = keys.shape
    yes, none = np.ones(blocks, bool), np.zeros(blocks, np.int64)
    bounds = KeyBounds(
        type=LONG,
        lower=pa.array(keys.min(axis=1)),
        upper=pa.array(keys.max(axis=1)),
        may_null=~yes,
        may_nan=~yes,
        may_value=yes,
        lower_exact=yes,
        upper_exact=yes,
        null_counts=none,
        nan_counts=none,
    )
    machine = TopK(
        bounds,
        np.full(blocks, Match.SOME, np.int8),
        np.full(blocks, rows),
        ORDER,
        wanted=wanted,
        keeps_ties=False,
        arrangement=arrangement,
        densities=np.full(blocks, density),
    )
    read = waves = 0
    while len(wave := machine.next_blocks()):
        read, waves = read + len(wave), waves + 1
        machine.observe(wave, np.sort(keys[wave][kept[wave]])[::-1][:wanted].tolist())
    return read, waves


if __name__ == "__main__":
    main()
