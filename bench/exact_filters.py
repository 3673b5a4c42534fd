"""Whether it pays to drop the row filter of a scan whose blocks all match fully ([S]: exact filters).

    python bench/exact_filters.py [--rows N] [--rounds N]

Every row of the lake satisfies every filter, so both ways read the same files and give the same rows. "Both"
is a UNION ALL of the files of one half with the filter and of the other half without. Each figure is the
median over rounds in which all run once, in turn, planning included; the ratios are medians of each round's.
"""

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

from skipproof.sessions import spark_session

FILES = 50
FILTERS = {
    "an IF": "if(unit = 'feet', height * 0.3048D, height) >= 0",
    "a range": "id BETWEEN 0 AND 1000000000",
    "LIKE": "name LIKE 'name %'",
    "upper": "upper(unit) IN ('FEET', 'METRES')",
}
# What the query reads besides: columns that no filter names, or those that the filters name too.
OUTPUTS = {"another column": "sum(value)", "the same columns": "max(struct(id, unit, height, name))"}


def write_lake(directory: Path, rows: int) -> list[str]:
    """Files of consecutive ids."""
    paths, step = [], rows // FILES
    for number in range(FILES):
        ids = range(number * step, (number + 1) * step)
        table = pa.table(
            {
                "id": pa.array(ids, pa.int64()),
                "height": pa.array(ids, pa.float64()),
                "unit": ["feet" if i % 2 else "metres" for i in ids],
                "name": [f"name {i:09}" for i in ids],
                "value": pa.array(ids, pa.int64()),
            }
        )
        paths.append(str(directory / f"part-{number:05}.parquet"))
        pq.write_table(table, paths[-1])
    return paths


def contestants(spark: SparkSession, paths: list[str], predicate: str) -> dict[str, DataFrame]:
    """The rows of the files: filtered, as they are, and half by half."""
    whole, half = spark.read.parquet(*paths), len(paths) // 2
    first, second = spark.read.parquet(*paths[:half]), spark.read.parquet(*paths[half:])
    return {
        "filtered": whole.where(predicate),
        "unfiltered": whole,
        "both": first.where(predicate).unionAll(second),
    }


def compare(spark: SparkSession, paths: list[str], predicate: str, output: str, rounds: int) -> list[str]:
    """The medians of one filter and one output."""
    taken: dict[str, list[float]] = {"filtered": [], "unfiltered": [], "both": []}
    answers = set()
    for counted in range(-1, rounds):
        for name, rows in contestants(spark, paths, predicate).items():
            began = time.perf_counter()
            answers.add(str(rows.selectExpr(output).collect()))
            if counted >= 0:
                taken[name].append(time.perf_counter() - began)
    assert len(answers) == 1
    medians = [f"{statistics.median(times):.3f}" for times in taken.values()]
    for name in ("unfiltered", "both"):
        ratios = [time_ / base for time_, base in zip(taken[name], taken["filtered"], strict=True)]
        medians.append(f"{statistics.median(ratios):.2f}")
    return medians


def main() -> None:
    """Write the lake, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=2_000_000, help="rows (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=7, help="counted rounds (default %(default)s)")
    arguments = parser.parse_args()
    table = Table(title=f"{arguments.rows:,} rows in {FILES} files, all of them match; medians in seconds")
    for heading in (
        "filter",
        "read besides",
        "filtered",
        "unfiltered",
        "both",
        "unfiltered / f.",
        "both / f.",
    ):
        table.add_column(heading, justify="left" if heading in ("filter", "read besides") else "right")
    with tempfile.TemporaryDirectory() as directory, spark_session() as spark:
        paths = write_lake(Path(directory), arguments.rows)
        for name, predicate in FILTERS.items():
            for read, output in OUTPUTS.items():
                table.add_row(name, read, *compare(spark, paths, predicate, output, arguments.rounds))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()
