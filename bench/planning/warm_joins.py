"""Measure what joins by ranges add to a warm `prune` of other joins: its time, and its calls into Java.

    python bench/planning/warm_joins.py [--files N] [--rounds N] [--rounds-before N] [--calls]

A fact of N files is joined with two dimensions of one small file, with a table of as many files that is not
clustered by the key, and with one that is. Of the last pair the cost model joins by ranges. "before" is
`prune` without that technique; both take turns in each round, so that the machine is the same to both. The
figures are as those of `bench/planning/warm.py`.
"""

import argparse
import contextlib
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table
from warm import Calls, Figures, calls_grid, counted_calls

import pruning
from pruning.spark.drive import pruning as driver
from skipproof.sessions import spark_session

_ROWS_PER_FILE, _DIMENSION_ROWS = 5_000, 100
_SETTINGS = {
    "spark.driver.memory": "4g",
    # Both tables are larger, and files are not dear to open beside them.
    "spark.sql.autoBroadcastJoinThreshold": "1000000",
    "spark.sql.files.openCostInBytes": "10000",
}
_QUERIES = {
    "a star": "SELECT f.v, a.name FROM fact f JOIN dim_a a ON f.a = a.id JOIN dim_b b ON f.b = b.id",
    "not clustered": "SELECT f.v, o.w FROM fact f JOIN mixed o ON f.k = o.k",
    "clustered": "SELECT f.v, o.w FROM fact f JOIN sorted o ON f.k = o.k",
}


def write_tables(root: Path, files: int) -> None:
    """Write a fact by `k`, two dimensions, and two tables of the same keys, one of them in no order."""
    generator = np.random.default_rng(4)
    count = files * _ROWS_PER_FILE
    keys = np.arange(count)
    dimension_keys = generator.integers(0, _DIMENSION_ROWS, (2, count))
    texts = pa.array([f"{number:020}" for number in generator.integers(0, 1 << 60, count)])
    fact = {"k": keys, "a": dimension_keys[0], "b": dimension_keys[1], "v": texts}
    _write(root / "fact", pa.table(fact), files)
    numbers = generator.integers(0, 1 << 40, count)
    _write(root / "sorted", pa.table({"k": keys, "w": numbers}), files)
    _write(root / "mixed", pa.table({"k": generator.permutation(keys), "w": numbers}), files)
    names = [f"name {number}" for number in range(_DIMENSION_ROWS)]
    for name in ("dim_a", "dim_b"):
        _write(root / name, pa.table({"id": range(_DIMENSION_ROWS), "name": names}), 1)


def _write(folder: Path, rows: pa.Table, files: int) -> None:
    folder.mkdir()
    step = -(-rows.num_rows // files)
    for number in range(files):
        pq.write_table(rows.slice(number * step, step), folder / f"{number:05}.parquet")


@contextlib.contextmanager
def without_ranges() -> Iterator[None]:
    """Prune as if there were no joins by ranges, inside a `with` block."""
    with mock.patch.object(driver, "range_joins", return_value=[]):
        yield


def measure(spark: SparkSession, *, rounds_before: int, rounds: int) -> dict[tuple[str, str], Figures]:
    """Time each query in turn with and without the technique, and count its calls."""
    contestants = {"before": without_ranges, "after": contextlib.nullcontext}
    figures = {(query, name): Figures() for query in _QUERIES for name in contestants}
    for number in range(-rounds_before, rounds + 1):
        for query, sql in _QUERIES.items():
            # The first of two has the colder caches.
            for name in sorted(contestants, reverse=number % 2 == 0):
                frame = spark.sql(sql)
                frame._jdf.queryExecution().optimizedPlan()
                measured = figures[query, name]
                with contestants[name]():
                    if number == rounds:
                        with counted_calls(spark) as measured.calls:
                            pruning.prune(frame, runtime=False)
                        continue
                    began = time.perf_counter()
                    pruning.prune(frame, runtime=False)
                    if number >= 0:
                        measured.wall.append(time.perf_counter() - began)
    return figures


def _own_calls(calls: Calls) -> int:
    """Return the number of calls, without those that let go of objects of earlier rounds."""
    return sum(len(seconds) for name, seconds in calls.seconds.items() if not name.startswith("py4j"))


def _line(before: Figures, after: Figures) -> Iterator[str]:
    for measure in (min, statistics.median):
        yield from (f"{measure(figures.wall) * 1e3:.1f}" for figures in (before, after))
    yield from (f"{_own_calls(figures.calls):,}" for figures in (before, after))


def calls_added(before: Calls, after: Calls) -> Calls:
    """Return the calls of functions that make more calls than before."""
    added = Calls()
    for function, seconds in after.seconds.items():
        more = len(seconds) - len(before.seconds.get(function, ()))
        if more > 0:
            added.seconds[function] = sorted(seconds)[-more:]
    return added


def main() -> None:
    """Write the tables, prune, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=200, help="files of a large table (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=40, help="counted rounds (default %(default)s)")
    parser.add_argument(
        "--rounds-before", type=int, default=40, help="uncounted rounds (default %(default)s)"
    )
    parser.add_argument("--calls", action="store_true", help="print the calls that were added, by function")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, spark_session(_SETTINGS) as spark:
        write_tables(Path(folder), arguments.files)
        for path in Path(folder).iterdir():
            spark.read.parquet(str(path)).createOrReplaceTempView(path.name)
        figures = measure(spark, rounds_before=arguments.rounds_before, rounds=arguments.rounds)
    console = Console(width=120)
    table = Table(
        title=f"a warm prune of joins, {arguments.files:,} files each: before and after, milliseconds"
    )
    for heading in ("join", "least", "", "median", "", "calls into Java", ""):
        table.add_column(heading, justify="left" if heading == "join" else "right")
    for query in _QUERIES:
        table.add_row(query, *_line(figures[query, "before"], figures[query, "after"]))
    console.print(table)
    if arguments.calls:
        for query in _QUERIES:
            more = calls_added(figures[query, "before"].calls, figures[query, "after"].calls)
            console.print(calls_grid(query, more))


if __name__ == "__main__":
    main()
