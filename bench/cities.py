"""Measure what coverings skip of the world's cities, compared with bounds alone and a perfect index.

    python bench/cities.py [--rounds N]

Each share is of blocks, in percent. "bounds" are the least and greatest latitude and longitude of a
block, "coverings" is what they skip alone, "possible" are the blocks without a city in the box.
Needs the packages s2geometry and reverse_geocoder.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

from pruning.metadata.table.coverings import CELL_BYTES, CELLS_MAX, LISTS, covering, may_be_inside
from pruning.rules.sets.regions import Box, Cap
from skipproof.commands.cities import cities

BLOCK_ROWS = (500, 1_000)
CELLS = (8, 16, 32)
SHUFFLE_SEED = 20130101
PLACES = {
    "New York": Box(latitudes=((40.5, 40.9),), longitudes=((-74.25, -73.7),)),
    "New York, wide": Box(latitudes=((40.0, 41.5),), longitudes=((-75.0, -73.0),)),
    "100 km of Paris": Cap(latitude=48.8566, longitude=2.3522, meters=100_000).box(),
    "1,000 km of Fiji": Cap(latitude=-17.7134, longitude=178.065, meters=1_000_000).box(),
    "beyond 66.5 north": Box(latitudes=((66.5, 90.0),), longitudes=((-180.0, 180.0),)),
}
LOOKUP_BLOCKS, LOOKUP_AT_ONCE = 3_000_000, 65_536

Points = np.ndarray  # latitudes and longitudes, of shape (rows, 2)


def seconds(run: Callable[[], object], rounds: int) -> float:
    """Return the median of several runs."""
    taken = []
    for _ in range(rounds):
        began = time.perf_counter()
        run()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def coverings(blocks: list[Points], cells_max: int) -> pa.ListArray:
    """Return the covering of each block."""
    return pa.array(
        [covering(pa.array(rows[:, 0]), pa.array(rows[:, 1]), cells_max=cells_max) for rows in blocks], LISTS
    )


def orders(points: Points) -> dict[str, np.ndarray]:
    """Return ways to lay out the rows: positions in the order that the package has."""
    leaves = [covering(pa.array([north]), pa.array([east])) for north, east in points.tolist()]
    return {
        "by S2 cell": np.argsort(np.array(leaves, np.uint64)[:, 0], kind="stable"),
        "as shipped": np.arange(len(points)),
        "shuffled": np.random.default_rng(SHUFFLE_SEED).permutation(len(points)),
    }


def inside(values: np.ndarray, box: Box) -> np.ndarray:
    """Tell for each point whether it is in the box."""
    north, east = (
        np.any([(low <= side) & (side <= high) for low, high in intervals], axis=0)
        for side, intervals in zip(values.T, (box.latitudes, box.longitudes), strict=True)
    )
    return north & east


def bounds_meet(rows: Points, box: Box) -> bool:
    """Tell whether a block's bounds of latitude and longitude meet the box."""
    return all(
        any(low <= most and high >= least for low, high in intervals)
        for least, most, intervals in zip(
            rows.min(axis=0), rows.max(axis=0), (box.latitudes, box.longitudes), strict=True
        )
    )


def shares(blocks: list[Points], lists: pa.ListArray, box: Box) -> list[float]:
    """Return the percentages of blocks that bounds, coverings, and both skip, and that could be skipped."""
    kept = np.array([bounds_meet(rows, box) for rows in blocks])
    covered = may_be_inside(lists, box, 0, len(lists)).to_numpy(zero_copy_only=False)
    needed = np.array([inside(rows, box).any() for rows in blocks])
    assert not (needed & ~covered).any(), "a block with a city in the box was skipped"
    return [100 * (1 - flags.mean()) for flags in (kept, covered, kept & covered, needed)]


def skip_tables(points: Points, layouts: dict[str, np.ndarray]) -> tuple[Table, Table]:
    """Return a table of the blocks skipped around each place, and one of the costs around New York."""
    found = Table(title=f"skipped blocks, in percent, of coverings of {CELLS_MAX} cells")
    for heading in ("order", "rows", "place", "bounds", "coverings", "both", "possible"):
        found.add_column(heading, justify="left" if heading in ("order", "place") else "right")
    taken = Table(title="what coverings take, and skip around New York")
    for heading in (
        "order",
        "rows",
        "cells",
        "bytes per block",
        "ms per block to build",
        "coverings",
        "both",
    ):
        taken.add_column(heading, justify="left" if heading == "order" else "right")
    for layout, order in layouts.items():
        for rows in BLOCK_ROWS:
            blocks = [points[order[start : start + rows]] for start in range(0, len(points), rows)]
            for cells_max in CELLS:
                began = time.perf_counter()
                lists = coverings(blocks, cells_max)
                built_ms = (time.perf_counter() - began) * 1e3 / len(blocks)
                bytes_per_block = len(lists.values) * CELL_BYTES / len(blocks)
                _, alone, both, _ = shares(blocks, lists, PLACES["New York"])
                figures = f"{bytes_per_block:.0f}", f"{built_ms:.2f}", f"{alone:.1f}", f"{both:.1f}"
                taken.add_row(layout, f"{rows:,}", str(cells_max), *figures)
                if cells_max == CELLS_MAX:
                    for place, box in PLACES.items():
                        part = (f"{share:.1f}" for share in shares(blocks, lists, box))
                        found.add_row(layout, f"{rows:,}", place, *part)
    return found, taken


def lookup(points: Points, layouts: dict[str, np.ndarray], rounds: int) -> str:
    """Measure how long a query over the coverings of many blocks takes."""
    order = layouts["as shipped"]
    blocks = [points[order[start : start + 500]] for start in range(0, len(points), 500)]
    lists = coverings(blocks, CELLS_MAX)
    many = lists.take(pa.array(np.arange(LOOKUP_BLOCKS) % len(lists)))

    def ask() -> None:
        for start in range(0, len(many), LOOKUP_AT_ONCE):
            may_be_inside(many, PLACES["New York"], start, LOOKUP_AT_ONCE)

    took = seconds(ask, rounds)
    return (
        f"{LOOKUP_BLOCKS:,} blocks of {len(many.values) / len(many):.1f} cells asked in {took * 1e3:.0f} ms"
    )


def main() -> None:
    """Read, cover, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5, help="counted rounds (default %(default)s)")
    arguments = parser.parse_args()
    table = cities()
    points = np.column_stack([table["lat"].to_numpy(), table["lon"].to_numpy()])
    layouts = orders(points)
    console = Console(width=110)
    for grid in skip_tables(points, layouts):
        console.print(grid)
    console.print(lookup(points, layouts, arguments.rounds))


if __name__ == "__main__":
    main()
