"""Measure the predicate cache over a random layout that changes while queries are repeated.

A table of files whose rows are in no order, so that bounds exclude little; queries of a few shapes, filters
and ORDER BY ... LIMIT, with constants that are drawn by a power law; after some of them a file is added,
written anew or removed, or three are compacted. Each query is run unpruned, pruned by metadata, and pruned
through the cache, and the rows are compared. Printed for each rate of changes, of queries that were asked
before: hits, and the row groups of the table and of both ways; then the times of one query, in turns.

    PYTHONPATH=. python bench/planning/predicate_cache.py [--files N] [--queries N] [--rows N]
"""

import argparse
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean, median
from time import perf_counter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import pruning

SHAPES = 4
CONSTANTS = 25
GROUPS_OF_FILE = 2
LIMIT = 10


@dataclass
class Lake:
    """A table of files in no order, which changes."""

    folder: Path
    rows: int
    draws: random.Random
    written: int = 0

    def add(self) -> None:
        """Write a file."""
        values = np.random.default_rng(self.written)
        columns = {name: values.integers(0, 1_000_000, self.rows) for name in ("a", "b", "c")}
        path = self.folder / f"{self.written:06}.parquet"
        pq.write_table(pa.table(columns), path, row_group_size=self.rows // GROUPS_OF_FILE)
        self.written += 1

    def change(self) -> None:
        """Add, rewrite or remove a file, or compact three."""
        files = sorted(self.folder.glob("*.parquet"))
        kind = self.draws.choice(("add", "add", "rewrite", "remove", "compact"))
        if kind == "compact":
            chosen = self.draws.sample(files, 3)
            table = pa.concat_tables(map(pq.read_table, chosen))
            pq.write_table(
                table, self.folder / f"{self.written:06}.parquet", row_group_size=self.rows // GROUPS_OF_FILE
            )
            self.written += 1
            for path in chosen:
                path.unlink()
            return
        if kind != "add":
            self.draws.choice(files).unlink()
        if kind != "remove":
            self.add()


@dataclass
class Counts:
    """The sums of a run over queries that were asked before; blocks are those of one query."""

    hits: list[bool] = field(default_factory=list)
    pruned: list[int] = field(default_factory=list)
    cached: list[int] = field(default_factory=list)
    total: list[int] = field(default_factory=list)
    wrong: int = 0


def query_of(shape: int, constant: int) -> Callable[[DataFrame], DataFrame]:
    """Return a query of a shape; constants change what it selects, and not how much."""
    low = constant * 30_000
    filtered = f"a BETWEEN {low} AND {low + 200} AND b > 250000"
    if shape == 0:
        return lambda frame: frame.where(filtered)
    if shape == 1:
        return lambda frame: frame.where(filtered).groupBy().count()
    if shape == 2:
        return lambda frame: frame.where(f"b BETWEEN {low} AND {low + 250_000}").orderBy("c").limit(LIMIT)
    return lambda frame: frame.where(f"b < {250_000 + low}").orderBy("c", "a").limit(LIMIT)


def run(spark: SparkSession, arguments: argparse.Namespace, rate: float) -> Counts:
    """Run drawn queries over a lake that changes after a share of them."""
    draws, counts = random.Random(7), Counts()
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(Path(folder), arguments.rows, draws)
        for _ in range(arguments.files):
            lake.add()
        cache, earlier = pruning.PredicateCache(), set[tuple[int, int]]()
        for _ in range(arguments.queries):
            shape, constant = draws.randrange(SHAPES), min(int(draws.paretovariate(1.0)), CONSTANTS) - 1
            query = query_of(shape, constant)
            frame = query(spark.read.parquet(folder))
            pruned, cached = pruning.prune(frame, runtime=False), pruning.prune(frame, cache=cache)
            order = shape >= SHAPES // 2
            rows = [[row["c"] if order else row for row in df.collect()] for df in (frame, pruned, cached)]
            rows = [part if order else sorted(part) for part in rows]
            counts.wrong += rows[1:] != rows[:1] * 2
            if (shape, constant) in earlier:
                (scan,), (plain,) = pruning.explain(cached).scans, pruning.explain(pruned).scans
                counts.hits.append(any(removal.technique == "cache" for removal in scan.removals))
                counts.cached.append(scan.blocks_kept or 0)
                counts.pruned.append(plain.blocks_kept or 0)
                counts.total.append(scan.blocks_total or 0)
            earlier.add((shape, constant))
            if draws.random() < rate:
                lake.change()
    return counts


def times(spark: SparkSession, arguments: argparse.Namespace) -> None:
    """Print the median times of a filter and a top-k: unpruned, pruned, through a cache that knows them."""
    with tempfile.TemporaryDirectory() as folder:
        lake = Lake(Path(folder), arguments.rows, random.Random(7))
        for _ in range(arguments.files):
            lake.add()
        for name, shape in (("filter", 0), ("top-k", 2)):
            query, cache = query_of(shape, 3), pruning.PredicateCache()
            frame = query(spark.read.parquet(folder))
            pruning.prune(frame, cache=cache).collect()
            ways: dict[str, Callable[[], DataFrame]] = {
                "unpruned": lambda frame=frame: frame,
                "pruned": lambda frame=frame: pruning.prune(frame),
                "recorded": lambda frame=frame: pruning.prune(frame, cache=pruning.PredicateCache()),
                "through the cache": lambda frame=frame, cache=cache: pruning.prune(frame, cache=cache),
            }
            seconds: dict[str, list[float]] = {way: [] for way in ways}
            for _ in range(9):
                for way, make in ways.items():
                    began = perf_counter()
                    make().collect()
                    seconds[way].append(perf_counter() - began)
            print(name, *(f"{way} {median(part):.3f} s" for way, part in seconds.items()), sep="; ")


def main() -> None:
    """Run the bench."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--rows", type=int, default=2_000)
    arguments = parser.parse_args()
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    print("changes after     repeated   hits   blocks   kept by metadata   kept by the cache   wrong")
    for rate in (0.0, 0.1, 0.5, 1.0):
        counts = run(spark, arguments, rate)
        print(
            f"{rate:>7.0%} of queries {len(counts.hits):>7,} {mean(counts.hits):>6.0%} "
            f"{mean(counts.total):>8.0f} {mean(counts.pruned):>18.1f} {mean(counts.cached):>19.1f} "
            f"{counts.wrong:>7}"
        )
    times(spark, arguments)


if __name__ == "__main__":
    main()
