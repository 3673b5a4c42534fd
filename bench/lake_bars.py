"""Check that pruning reads at most so many files of a lake; the command fails if it reads more.

    python bench/lake_bars.py [--files N] [--json]
    python bench/lake_bars.py --backfill [--files N]

Counted are the rows that Spark's tasks read, in all jobs of `prune` and of the query together, with
Spark's own skipping off: so each file that is opened counts in full. The small tables of a join have
fewer rows than a file. Exit status: 0 every bar is met, 1 one is missed.

With `--backfill`, the shares of row groups are printed that filters exclude: of a copy of the fact table
without statistics, before and after `pruning.backfill`, and of the table as it was written; with a floating
column `x`, of which every twentieth file has a NaN. The bar is that the copy excludes no less than the table.
"""

import argparse
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table
from star_lake import RARE_ITEMS, WHOLE_FILES, Query, Size, alike, register, write_tables

import pruning
from oracles.files.counterfactual_files import write_stripped
from skipproof import metering
from skipproof.sessions import spark_session

MIXED_MAX = 3
# Spark reads 4,096 rows at once, so that of a smaller file it reads all.
ROWS_PER_FILE = 2_000
_SETTINGS = {
    "spark.driver.memory": "2g",
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.aggregatePushdown": "false",
}
_RANGES = "(select file, min({0}) as least, max({0}) as most from located group by file)"
_JOIN = "select count(*), sum(amount) from fact join items using (item) where kind = 'rare'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A query, and one that counts the files that a perfect pruner reads; `times` as many may be read."""

    query: Query
    optimum: str
    times: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The files that were read for a bar, beside what is allowed."""

    name: str
    files_alone: int
    files_pruned: int
    files_max: int
    same_answer: bool

    @property
    def is_met(self) -> bool:
        """True if the bar is met with the right answer."""
        return self.same_answer and self.files_pruned <= self.files_max


def bars(size: Size) -> list[Bar]:
    """Return the bars of a lake of that size."""
    end = (size.files // 2) * size.rows_per_file
    # The first file that holds such rows has too few of them; the others match as a whole.
    matching = f"id between {end - 5} and {end + WHOLE_FILES * size.rows_per_file}"
    tenth = "(select min({0}) from (select {0} from fact order by {0} desc limit 10))"
    best = f"select count(*) from {_RANGES} where most >= {tenth}"
    ordered = "select * from fact order by {0} desc limit 10"
    return [
        Bar(
            query=Query(
                name="LIMIT 10 where whole files match",
                sql=f"select * from fact where {matching}",
                rows_max=10,
            ),
            optimum="select 1",
        ),
        Bar(
            query=Query(name="top 10 by a sorted column", sql=ordered.format("id")),
            optimum=best.format("id"),
        ),
        Bar(
            query=Query(name="top 10 by a column whose ranges overlap by half", sql=ordered.format("mixed")),
            optimum=best.format("mixed"),
            times=MIXED_MAX,
        ),
        Bar(
            query=Query(name=f"a join with {RARE_ITEMS} keys", sql=_JOIN),
            optimum=f"select count(distinct file) from {_RANGES.format('item')} join items "
            "on items.item between least and most where kind = 'rare'",
        ),
    ]


def outcome(spark: SparkSession, bar: Bar, size: Size) -> Outcome:
    """Answer a bar's query with and without pruning."""
    text = bar.query.text
    # Footers are known from here on.
    pruning.explain(spark.sql(text))
    alone = metering.run_metered(spark, lambda: spark.sql(text).collect())
    pruned = metering.run_metered(spark, lambda: pruning.prune(spark.sql(text)).collect())
    (optimum,) = spark.sql(bar.optimum).first()
    return Outcome(
        name=bar.query.name,
        files_alone=alone.rows // size.rows_per_file,
        files_pruned=pruned.rows // size.rows_per_file,
        files_max=bar.times * int(optimum),
        same_answer=alike(spark, bar.query, found=pruned.result, expected=alone.result),
    )


def main() -> None:
    """Write the lake, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=1_000, help="files of the lake (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--backfill", action="store_true", help="compare a lake without statistics")
    arguments = parser.parse_args()
    if arguments.backfill:
        sys.exit(compare_backfill(Size(arguments.files, ROWS_PER_FILE)))
    size = Size(arguments.files, ROWS_PER_FILE)
    with tempfile.TemporaryDirectory() as directory, spark_session(_SETTINGS) as spark:
        write_tables(Path(directory), size)
        register(spark, Path(directory))
        outcomes = [outcome(spark, bar, size) for bar in bars(size)]
    if arguments.json:
        print(json.dumps([{**asdict(one), "met": one.is_met} for one in outcomes], indent=2))
    else:
        Console(width=110).print(grid(outcomes, size))
    sys.exit(0 if all(one.is_met for one in outcomes) else 1)


def grid(outcomes: list[Outcome], size: Size) -> Table:
    """Return the outcomes as a table."""
    table = Table(title=f"files read, of {size.files:,} files of {size.rows_per_file:,} rows")
    for heading in ("query", "Spark alone", "pruned", "at most", "same answer", "bar"):
        table.add_column(heading, justify="left" if heading == "query" else "right")
    for one in outcomes:
        counts = (one.files_alone, one.files_pruned, one.files_max)
        verdicts = ("yes" if one.same_answer else "NO", "met" if one.is_met else "MISSED")
        table.add_row(one.name, *(f"{count:,}" for count in counts), *verdicts)
    return table


NAN_EVERY = 20
FILTERS = (
    "id between {middle} and {middle} + 5000",
    "id < 5000",
    "at >= timestamp_seconds(1704067200 + {middle})",
    "day = 3",
    "unit = 'feet'",
    "mixed < 1000000",
    "amount = 77",
    "x < {middle}",
    "x > {middle}",
    "x >= {rows} - 1000",
)


def with_floats(file: Path, number: int) -> None:
    """Add the ids as floating numbers to a file, with a NaN in some files, in two row groups."""
    table = pq.read_table(file)
    numbers = table["id"].to_numpy().astype(float)
    if number % NAN_EVERY == 0:
        numbers[-1] = np.nan
    half = -(-len(table) // 2)
    pq.write_table(table.append_column("x", pa.array(numbers)), file, row_group_size=half)


def excluded_shares(lake: Path, size: Size) -> list[float]:
    """Return the share of row groups that each filter excludes."""
    metadata = pruning.collect(lake)
    texts = [text.format(middle=size.rows // 2, rows=size.rows) for text in FILTERS]
    return [pruning.classify(text, metadata).to_pylist().count(0) / len(metadata) for text in texts]


def compare_backfill(size: Size) -> int:
    """Measure a copy without statistics, and print what is excluded; return the exit status."""
    with tempfile.TemporaryDirectory() as directory, spark_session(_SETTINGS) as spark:
        write_tables(Path(directory), size)
        lake, bare = Path(directory, "fact"), Path(directory, "bare")
        bare.mkdir()
        for number, file in enumerate(sorted(lake.iterdir())):
            with_floats(file, number)
            write_stripped(file, bare / file.name)
        before = excluded_shares(bare, size)
        began = time.perf_counter()
        report = pruning.backfill(bare)
        seconds = time.perf_counter() - began
        shares = list(zip(before, excluded_shares(bare, size), excluded_shares(lake, size), strict=True))
        query = f"x > {size.rows // 2}"
        (scan,) = pruning.explain(spark.read.parquet(str(bare)).filter(query)).scans
    table = Table(title=f"row groups excluded, of {report.row_groups:,} in {size.files:,} files, in %")
    for heading in ("filter", "stripped", "after backfill", "with statistics"):
        table.add_column(heading, justify="left" if heading == "filter" else "right")
    for text, row in zip(FILTERS, shares, strict=True):
        table.add_row(
            text.format(middle=size.rows // 2, rows=size.rows), *(f"{100 * share:.1f}" for share in row)
        )
    Console(width=110).print(table)
    print(f"{report.summary.partition(';')[0]}, in {seconds:.1f} s")
    print(f"prune of {query}: {scan.blocks_kept:,} of {scan.blocks_total:,} row groups kept")
    return 0 if all(after >= twin for _, after, twin in shares) else 1


if __name__ == "__main__":
    main()
