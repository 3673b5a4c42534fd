"""Measure a warm `prune` of many files: its time, and the calls into Java that it makes.

    python bench/planning/warm.py [--files N] [--rounds N] [--rounds-before N] [--query TEXT] [--calls]

The table has a small Parquet file for each of N ranges of values, and is listed once. Each round makes a new
DataFrame of each query in turn, with other constants, asks for its optimized plan, and then times `prune`, so
that neither Spark's listing nor its planning of the DataFrame is in the figures. The first rounds, which read
footers and let Java compile what runs often, are not counted. Processor time is that of Python and Java
together, with what Java compiles and collects meanwhile. In the last rounds calls are counted; with `--calls`
they are printed by the Python function that made them.
"""

import argparse
import contextlib
import statistics
import sys
import tempfile
import time
import traceback
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import pruning
from skipproof.sessions import spark_session

ROWS_PER_FILE = 10
# Java compiles a method well after thousands of calls of it.
ROUNDS_BEFORE, _ROUNDS_OF_CALLS = 100, 3
# Each query, given the number of a file that it needs.
QUERIES: dict[str, Callable[[int], str]] = {
    "a point": lambda file: f"select * from fact where id = {file * ROWS_PER_FILE + 3}",
    "LIMIT with a filter": lambda file: f"select * from fact where id >= {file * ROWS_PER_FILE} limit 10",
    "LIMIT without a filter": lambda file: f"select * from fact limit {file % 50 + 5}",
    "top 10": lambda file: (
        f"select * from fact where id < {file * ROWS_PER_FILE + 15} order by id desc limit 10"
    ),
}


@dataclass(slots=True)
class Calls:
    """The calls into Java, and their seconds, by the function of this project that made them."""

    seconds: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, function: str, seconds: float) -> None:
        """Count a call."""
        self.seconds[function].append(seconds)

    @property
    def count(self) -> int:
        """The number of calls."""
        return sum(map(len, self.seconds.values()))


@dataclass(slots=True)
class Figures:
    """The seconds of each round of a query, on the clock and of processors; the calls of the last round."""

    files_kept: int = 0
    wall: list[float] = field(default_factory=list)
    processor: list[float] = field(default_factory=list)
    calls: Calls = field(default_factory=Calls)


def write_table(directory: Path, files: int) -> None:
    """Write files of consecutive ids."""
    for number in range(files):
        ids = pa.array(range(number * ROWS_PER_FILE, (number + 1) * ROWS_PER_FILE), pa.int64())
        rows = pa.table({"id": ids, "height": ids, "unit": pa.repeat("feet", ROWS_PER_FILE)})
        pq.write_table(rows, directory / f"part-{number:06}.parquet", use_dictionary=False)


@contextlib.contextmanager
def counted_calls(spark: SparkSession) -> Iterator[Calls]:
    """Count the calls into Java inside a `with` block."""
    client = spark.sparkContext._gateway._gateway_client
    send, calls = client.send_command, Calls()

    def send_and_count(*arguments: Any, **options: Any) -> Any:
        began = time.perf_counter()
        answer = send(*arguments, **options)
        calls.add(_calling_function(), time.perf_counter() - began)
        return answer

    client.send_command = send_and_count
    try:
        yield calls
    finally:
        del client.send_command


def _calling_function() -> str:
    """Return the innermost function of this project, outside of what all calls go through, on the stack."""
    for frame, _ in traceback.walk_stack(sys._getframe(2)):
        name = frame.f_code.co_filename
        if frame.f_code.co_name == "_garbage_collect_object":
            return "py4j: a Java object is let go"
        if "/pruning/" in name and not name.endswith("/jvm/gateway.py"):
            return f"{name.rpartition('/pruning/')[2]}: {frame.f_code.co_name}"
    return "elsewhere"


def _processor_seconds(java_id: int) -> float:
    """Return the processor seconds of this process and of Java's, by Linux's count in hundredths."""
    ticks = Path(f"/proc/{java_id}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return time.process_time() + (int(ticks[11]) + int(ticks[12])) / 100


def measure(
    spark: SparkSession,
    queries: dict[str, Callable[[int], str]],
    files: int,
    *,
    rounds_before: int,
    rounds: int,
) -> dict[str, Figures]:
    """Time the queries in turn, and count their calls."""
    java_id = spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid()
    figures = {name: Figures() for name in queries}
    for number in range(-rounds_before, rounds + _ROUNDS_OF_CALLS):
        for name, text in queries.items():
            frame = spark.sql(text((number * 37 + 5_000) % files))
            frame._jdf.queryExecution().optimizedPlan()
            if number >= rounds:
                with counted_calls(spark) as figures[name].calls:
                    pruned = pruning.prune(frame)
                figures[name].files_kept = pruning.explain(pruned).scans[0].files_kept or 0
                continue
            before, began = _processor_seconds(java_id), time.perf_counter()
            pruning.prune(frame)
            seconds = time.perf_counter() - began
            if number >= 0:
                figures[name].wall.append(seconds)
                figures[name].processor.append(_processor_seconds(java_id) - before)
    return figures


def grid(figures: dict[str, Figures], files: int) -> Table:
    """Return the figures as a table."""
    table = Table(title=f"a warm prune of {files:,} files; milliseconds on the clock, and of processors")
    for heading in ("query", "files kept", "least", "median", "processors, mean", "calls into Java"):
        table.add_column(heading, justify="left" if heading == "query" else "right")
    for name, measured in figures.items():
        seconds = (min(measured.wall), statistics.median(measured.wall), statistics.fmean(measured.processor))
        table.add_row(
            name,
            f"{measured.files_kept:,}",
            *(f"{part * 1e3:.1f}" for part in seconds),
            f"{measured.calls.count:,}",
        )
    return table


def calls_grid(name: str, calls: Calls) -> Table:
    """Return the calls of a query, by function."""
    table = Table(title=f"calls of: {name}")
    for heading in ("function", "calls", "milliseconds"):
        table.add_column(heading, justify="left" if heading == "function" else "right")
    ordered = sorted(calls.seconds.items(), key=lambda item: -sum(item[1]))
    for function, seconds in ordered:
        table.add_row(function, f"{len(seconds):,}", f"{sum(seconds) * 1e3:.1f}")
    return table


def main() -> None:
    """Write the table, prune, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=2_000, help="files of the table (default %(default)s)")
    parser.add_argument("--rounds", type=int, default=100, help="counted rounds (default %(default)s)")
    parser.add_argument(
        "--rounds-before", type=int, default=ROUNDS_BEFORE, help="uncounted rounds (default %(default)s)"
    )
    parser.add_argument("--query", default="", help="measure only queries whose names contain this")
    parser.add_argument("--calls", action="store_true", help="print the calls by function, too")
    arguments = parser.parse_args()
    chosen = {name: text for name, text in QUERIES.items() if arguments.query in name}
    with tempfile.TemporaryDirectory() as directory, spark_session({"spark.driver.memory": "4g"}) as spark:
        write_table(Path(directory), arguments.files)
        spark.read.parquet(directory).createOrReplaceTempView("fact")
        figures = measure(
            spark,
            chosen,
            arguments.files,
            rounds_before=arguments.rounds_before,
            rounds=arguments.rounds,
        )
    console = Console(width=120)
    console.print(grid(figures, arguments.files))
    if arguments.calls:
        for name, measured in figures.items():
            console.print(calls_grid(name, measured.calls))


if __name__ == "__main__":
    main()
