"""Queries over a lake of many files, from end to end: Spark alone beside `prune`, in one run.

    python bench/end_to_end.py [--files N] [--rows-per-file N] [--query TEXT]
                               [--rounds N] [--cold-rounds N] [--json]

Every round runs the contestants in turn, in an order that changes: Spark alone, and `prune` with block
metadata cached ("warm"); in the first rounds also without, so that footers are read ("cold"); and Spark
over a table of the needed files alone ("picked"), which no pruner can beat that must first find out which
they are. The tables are listed before. What is timed is `prune`, Spark's planning and the jobs of both;
not the making of the DataFrame from SQL. What is read is counted apart, in a session whose count of bytes
is complete. Answers are compared once.
"""

import argparse
import json
import re
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.progress import track
from rich.table import Table
from star_lake import ROWS_PER_FILE, TABLES, Query, Size, alike, queries, register, write_tables

import pruning
from skipproof import metering
from skipproof.sessions import spark_session

FEW_FILES_SHARE = 0.02
FASTER_MIN, SLOWER_MAX = 5.0, 1.1
_SETTINGS = {"spark.driver.memory": "4g"}
_ROUNDS_BEFORE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """Seconds of each round; `prune` is the part of `warm` that passes before Spark is asked."""

    alone: list[float]
    picked: list[float]
    cold: list[float]
    warm: list[float]
    prune: list[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The measures of a query: medians of seconds, and of the ratio in each round.

    Files are those of `fact`; rows and bytes are what Spark's tasks read, of all tables.
    """

    query: str
    files_total: int
    files_needed: int
    rows_alone: int
    rows_pruned: int
    bytes_alone: int
    bytes_pruned: int
    same_answer: bool
    seconds_alone: float
    seconds_picked: float
    seconds_cold: float | None
    seconds_warm: float
    seconds_of_prune: float
    alone_by_picked: float
    alone_by_warm: float
    bar: str
    bar_is_met: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reads:
    """The files that one query needs and reads, and whether the answers agree."""

    files_needed: list[str]
    alone: metering.Reading[list[Any]]
    pruned: metering.Reading[list[Any]]
    same_answer: bool


def time_contestants(
    spark: SparkSession, lake: Path, query: Query, read: Reads, *, rounds: int, cold_rounds: int
) -> Times:
    """Run the contestants; the first rounds, in which Java compiles what runs often, are not counted."""
    times = Times(alone=[], picked=[], cold=[], warm=[], prune=[])
    spark.read.parquet(*read.files_needed).createOrReplaceTempView("picked")
    picked = re.sub(r"\bfact\b", "picked", query.text)
    for _ in range(_ROUNDS_BEFORE):
        _collect_pruned(spark, query)
        _seconds(spark, query.text)
        _seconds(spark, picked)
    for number in range(rounds):
        if number < cold_rounds:
            _forget(lake)
            times.cold.append(sum(_collect_pruned(spark, query)))
        if number % 2 == 0:
            times.alone.append(_seconds(spark, query.text))
            times.picked.append(_seconds(spark, picked))
        before, after = _collect_pruned(spark, query)
        times.prune.append(before)
        times.warm.append(before + after)
        if number % 2 == 1:
            times.picked.append(_seconds(spark, picked))
            times.alone.append(_seconds(spark, query.text))
    return times


def _seconds(spark: SparkSession, text: str) -> float:
    frame = spark.sql(text)
    began = time.perf_counter()
    frame.collect()
    return time.perf_counter() - began


def _collect_pruned(spark: SparkSession, query: Query) -> tuple[float, float]:
    """Return the seconds of `prune`, and those after."""
    frame = spark.sql(query.text)
    began = time.perf_counter()
    pruned = pruning.prune(frame)
    between = time.perf_counter()
    pruned.collect()
    return between - began, time.perf_counter() - between


def _forget(lake: Path) -> None:
    """Remove what is known of the files from earlier runs."""
    for name in TABLES:
        shutil.rmtree(lake / name / ".skipproof", ignore_errors=True)


def reads(spark: SparkSession, query: Query) -> Reads:
    """Measure what a query reads with block metadata cached, and compare the answers."""

    def collect_rows(frame: DataFrame) -> list[Any]:
        return list(frame.collect())

    pruning.explain(spark.sql(query.text))
    alone = metering.run_metered(spark, lambda: collect_rows(spark.sql(query.text)))
    pruned = metering.run_metered(spark, lambda: collect_rows(pruning.prune(spark.sql(query.text))))
    return Reads(
        files_needed=_files_needed(spark, query),
        alone=alone,
        pruned=pruned,
        same_answer=alike(spark, query, found=pruned.result, expected=alone.result),
    )


def _files_needed(spark: SparkSession, query: Query) -> list[str]:
    source = f"(select file {query.needed})" if query.needed else "located"
    return [file for (file,) in spark.sql(f"select distinct file from {source} order by file").collect()]


def result(query: Query, times: Times, read: Reads, files: int) -> Result:
    """Return the figures of a query, and whether they are as they should be."""

    def faster_than_alone(seconds: list[float]) -> float:
        return statistics.median(alone / other for alone, other in zip(times.alone, seconds, strict=True))

    faster, needed = faster_than_alone(times.warm), len(read.files_needed)
    bar, met = "", None
    if query.hopeless or query.rows_max is not None:
        bar, met = f"warm <= {SLOWER_MAX} alone", 1 / faster <= SLOWER_MAX
    elif needed < FEW_FILES_SHARE * files:
        bar, met = f"alone >= {FASTER_MIN:g} warm", faster >= FASTER_MIN
    return Result(
        query=query.name,
        files_total=files,
        files_needed=needed,
        rows_alone=read.alone.rows,
        rows_pruned=read.pruned.rows,
        bytes_alone=read.alone.read_bytes,
        bytes_pruned=read.pruned.read_bytes,
        same_answer=read.same_answer,
        seconds_alone=statistics.median(times.alone),
        seconds_picked=statistics.median(times.picked),
        seconds_cold=statistics.median(times.cold) if times.cold else None,
        seconds_warm=statistics.median(times.warm),
        seconds_of_prune=statistics.median(times.prune),
        alone_by_picked=faster_than_alone(times.picked),
        alone_by_warm=faster,
        bar=bar,
        bar_is_met=met,
    )


def grid(results: list[Result], size: Size) -> tuple[Table, Table]:
    """Return the times, and what is read."""
    times = Table(title="seconds; medians, and the median of the ratio in each round")
    reading = Table(title=f"what is read; a file of the fact table has {size.rows_per_file:,} rows")
    headings = ("query", "alone", "picked", "cold", "warm", "of it prune()")
    for heading in (*headings, "alone / picked", "alone / warm", "bar", ""):
        times.add_column(heading, justify="left" if heading in ("query", "bar") else "right")
    for heading in ("query", "files needed", "rows alone", "pruned", "MB alone", "pruned", "same answer"):
        reading.add_column(heading, justify="left" if heading == "query" else "right")
    for one in results:
        after = (one.seconds_cold, one.seconds_warm, one.seconds_of_prune)
        seconds = (one.seconds_alone, one.seconds_picked, *after)
        times.add_row(
            one.query,
            *("-" if median is None else f"{median:.2f}" for median in seconds),
            f"{one.alone_by_picked:.1f}",
            f"{one.alone_by_warm:.2f}",
            one.bar,
            {True: "met", False: "MISSED", None: ""}[one.bar_is_met],
        )
        reading.add_row(
            one.query,
            f"{one.files_needed:,} of {one.files_total:,}",
            *(f"{rows:,}" for rows in (one.rows_alone, one.rows_pruned)),
            *(f"{size / 1e6:.2f}" for size in (one.bytes_alone, one.bytes_pruned)),
            "yes" if one.same_answer else "NO",
        )
    return times, reading


def main() -> None:
    """Write the lake, ask, print; status 1 where an answer differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--files", type=int, default=2_000, help="files of the lake (default %(default)s)")
    parser.add_argument(
        "--rows-per-file", type=int, default=ROWS_PER_FILE, help="rows of each (default %(default)s)"
    )
    parser.add_argument("--query", default="", help="ask only what matches this, as 'star|top 10'")
    parser.add_argument("--rounds", type=int, default=7, help="counted rounds (default %(default)s)")
    parser.add_argument(
        "--cold-rounds", type=int, default=2, help="rounds with a cold run (default %(default)s)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    arguments = parser.parse_args()
    size = Size(arguments.files, arguments.rows_per_file)
    asked = [query for query in queries(size) if re.search(arguments.query, query.name)]
    if not asked:
        parser.error(f"no query's name matches {arguments.query!r}")
    with tempfile.TemporaryDirectory() as directory:
        lake = Path(directory)
        write_tables(lake, size)
        with spark_session({**_SETTINGS, **metering.SETTINGS}) as spark:
            register(spark, lake)
            read = [reads(spark, query) for query in _with_progress(asked, "reading")]
        with spark_session(_SETTINGS) as spark:
            register(spark, lake)
            rounds, cold = arguments.rounds, arguments.cold_rounds
            times = [
                time_contestants(spark, lake, query, known, rounds=rounds, cold_rounds=cold)
                for query, known in _with_progress(list(zip(asked, read, strict=True)), "timing")
            ]
    results = [result(*all_, arguments.files) for all_ in zip(asked, times, read, strict=True)]
    if arguments.json:
        print(json.dumps([asdict(one) for one in results], indent=2))
    else:
        for table in grid(results, size):
            Console(width=150).print(table)
    sys.exit(0 if all(one.same_answer for one in results) else 1)


def _with_progress(asked: list[Any], what: str) -> Any:
    return track(asked, description=what, disable=not sys.stderr.isatty(), console=Console(stderr=True))


if __name__ == "__main__":
    main()
