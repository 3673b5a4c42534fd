"""Measure what summaries of a join's build side skip, and their time, for each form and budget.

    python bench/join_summaries.py [--blocks N] [--rounds N] [--seed N]

The probe side has bigint keys below `VALUES`. Its blocks are clustered, so that each spans its share of
them and a little more, or narrow, so that each spans 32 of them anywhere. Build keys are drawn with the
seed: clustered ones in 50 runs with gaps between them.

"possible" is the share of blocks whose bounds hold no build key: what all the keys would skip. Beside
what the summary skips stands what its least and greatest value would, and ranges with the whole budget.
Times are medians of processor time: to summarise the build side, and to ask the summary of every block.
"""

import argparse
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table
from timing import medians

from pruning.expressions.types import LONG
from pruning.techniques.join import summary_ranges
from pruning.techniques.join.summaries import KeySummary, summarise
from pruning.techniques.plan.keys import KeyBounds

VALUES = 100_000_000
BUDGETS_KIB = (1, 16, 256)
NARROW = 32
CLUSTERS = 50
LONG_RANGE_BYTES = 16


def build_sides(generator: np.random.Generator) -> dict[str, np.ndarray]:
    """Return build keys, by what they are called."""
    starts = np.sort(generator.integers(0, VALUES, CLUSTERS))
    near = np.concatenate([start + generator.integers(0, VALUES // 500, 2_000) for start in starts])
    return {
        "5 keys": generator.integers(0, VALUES, 5),
        "2,000 random": generator.integers(0, VALUES, 2_000),
        "20,000 random": generator.integers(0, VALUES, 20_000),
        "100,000 random": generator.integers(0, VALUES, 100_000),
        "100,000 clustered": near,
    }


def probe_sides(generator: np.random.Generator, blocks: int) -> dict[str, KeyBounds]:
    """Return bounds of blocks, by how wide they are."""
    share = VALUES // blocks
    clustered = np.arange(blocks) * share + generator.integers(0, share // 2 + 1, blocks)
    anywhere = generator.integers(0, VALUES - NARROW, blocks)
    return {
        "clustered": bounds(clustered, clustered + share),
        "narrow": bounds(anywhere, anywhere + NARROW - 1),
    }


def bounds(lower: np.ndarray, upper: np.ndarray) -> KeyBounds:
    """Return blocks with both bounds, without NULL."""
    yes, no = np.ones(len(lower), bool), np.zeros(len(lower), bool)
    return KeyBounds(
        type=LONG,
        lower=pa.array(lower),
        upper=pa.array(upper),
        may_null=no,
        may_nan=no,
        may_value=yes,
        lower_exact=yes,
        upper_exact=yes,
        null_counts=np.zeros(len(lower), np.int64),
        nan_counts=np.zeros(len(lower), np.int64),
    )


def possible(keys: np.ndarray, known: KeyBounds) -> np.ndarray:
    """Return the blocks that hold no build key."""
    ordered = np.sort(keys)
    below = np.searchsorted(ordered, known.lower.to_numpy(), side="left")
    return below == np.searchsorted(ordered, known.upper.to_numpy(), side="right")


def exclusion_test(summary: KeySummary, known: KeyBounds) -> Callable[[], np.ndarray]:
    """Return a function that tests every block against the summary."""
    return lambda: summary.excludes(known, null_safe=False)


def ranges_only(summary: KeySummary, values: pa.Array, bytes_max: int) -> KeySummary:
    """Return the summary without a filter, its ranges as many as fit."""
    ranges = summary_ranges.points(values, LONG).with_joined_integers().within_bytes(bytes_max)
    return replace(summary, ranges=ranges, filter=None, exact=False)


def compare(blocks: int, rounds: int, seed: int, console: Console) -> None:
    """Compare the summaries of every build side, probe side and budget."""
    generator = np.random.default_rng(seed)
    builds, probes = build_sides(generator), probe_sides(generator, blocks)
    table = Table(title=f"{blocks:,} probe blocks, seed {seed}")
    for heading in ("build side", "probe side", "KiB", "summary"):
        table.add_column(heading)
    for heading in ("possible", "skipped", "min/max", "ranges", "make ms", "ask ms"):
        table.add_column(heading, justify="right")
    for name, keys in builds.items():
        values = pa.array(keys)
        for kibibytes in BUDGETS_KIB:
            make = partial(summarise, LONG, values, bytes_max=kibibytes * 1024)
            summary = make()
            others = [ranges_only(summary, values, most) for most in (LONG_RANGE_BYTES, kibibytes * 1024)]
            for probe, known in probes.items():
                skipped, could = exclusion_test(summary, known)(), possible(keys, known)
                assert not (skipped & ~could).any(), "a block with a partner is skipped"
                times = medians({"make": make, "ask": exclusion_test(summary, known)}, rounds)
                table.add_row(
                    name,
                    probe,
                    str(kibibytes),
                    f"{summary.form.name}: {summary.describe()}",
                    f"{could.mean():.1%}",
                    f"{skipped.mean():.1%}",
                    *(f"{exclusion_test(other, known)().mean():.1%}" for other in others),
                    f"{times['make'] * 1_000:.1f}",
                    f"{times['ask'] * 1_000:.1f}",
                )
    console.print(table)


def main() -> None:
    """Read the command line and print the comparison."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--blocks", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    compare(arguments.blocks, arguments.rounds, arguments.seed, Console(width=160))


if __name__ == "__main__":
    main()
