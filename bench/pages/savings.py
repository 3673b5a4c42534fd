"""Compare what reports say is saved with what is saved, over generated queries.

    python bench/pages/savings.py [--queries N] [--seed N] [--rows N]

A lake of four files by several layouts of pages, sorted, clustered and random columns, and queries of one of
each kind in turn: filters that Spark pushes itself and that it does not, joins with a small side, LIMIT, and
ORDER BY ... LIMIT. Savings are counted in bytes: what a scan of all rows of the query's columns reads, less
what the pruned query reads, by the growth of `rchar` in /proc/PID/io of Spark's JVM, the least of three runs
after a warm-up. From both, what the same query reads over a table without rows is subtracted, which is what
Java reads itself. Reported are the bytes of all scans, less those that are read at most. Rows are compared
with those of the query without pruning.
"""

import argparse
import random
import tempfile
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pushed import bytes_read
from pyspark.sql import SparkSession
from rich.console import Console
from rich.table import Table

import pruning
from skipproof.sessions import spark_session

FILES = 4
TABLES = ("t", "none", "k")
COLUMNS = ("a", "b", "c", "d", "e", "s")
KEYS = 40
# A query that saves fewer bytes is listed apart: what Java reads itself, which varies, hides it.
SAVED_MIN = 200_000
# Streams of local files read a buffer ahead after each seek, here as little as they can.
SETTINGS = {"spark.buffer.size": "64"}
# What Java reads itself varies by up to a thousandth of what is counted.
RATIO_MIN, RATIO_MAX = 0.9, 1.001


@dataclass(frozen=True, slots=True)
class Case:
    """A generated query: its kind, its text, and the columns of the large table that it reads."""

    kind: str
    sql: str
    columns: tuple[str, ...]
    is_determined: bool = True


def write_lake(directory: Path, rows: int) -> None:
    """Write a table of four files of two row groups each, and one of keys."""
    generator = np.random.default_rng(7)
    for name in TABLES:
        (directory / name).mkdir()
    for number in range(FILES):
        ids = np.arange(number * rows, (number + 1) * rows)
        clustered = ids // 500 * 500 + generator.integers(0, 500, rows)
        table = pa.table(
            {
                "a": ids,
                "b": generator.integers(0, 2**40, rows),
                "c": pa.array(clustered.astype(np.int32)),
                "d": pa.array((ids // 2_000).astype(np.int32), pa.date32()),
                "e": generator.random(rows),
                "s": [f"{value:08}-{value % 97:02}" for value in (FILES * rows - ids).tolist()],
            }
        )
        pq.write_table(
            table,
            directory / "t" / f"{number}.parquet",
            row_group_size=rows // 2,
            compression="none" if number % 2 else "snappy",
            write_page_index=True,
            data_page_size=(8_000, 16_000, 24_000, 64_000)[number],
            use_dictionary=["d"] if number < 2 else False,
        )
    pq.write_table(table.slice(0, 0), directory / "none" / "0.parquet")
    key = generator.integers(0, FILES * rows, KEYS)
    pq.write_table(pa.table({"key": key, "group": np.arange(KEYS)}), directory / "k" / "0.parquet")


def cases(count: int, seed: int, rows: int) -> list[Case]:
    """Return generated queries, each kind in turn."""
    chance = random.Random(seed)
    total = FILES * rows
    makers: Sequence[Callable[[], Case]] = [
        lambda: _filter_case("BETWEEN", chance, _between("a", chance, total)),
        lambda: _filter_case("IF", chance, _between("IF(b % 2 = 0, a, a + 1)", chance, total)),
        lambda: _filter_case("clustered", chance, _between("c + c", chance, 2 * total)),
        lambda: _filter_case("IN", chance, f"a IN ({_members(chance, total)})"),
        lambda: _filter_case(
            "OR", chance, f"{_between('a', chance, total)} OR {_between('c', chance, total)}"
        ),
        lambda: _filter_case("date", chance, f"year(d) = 1970 AND month(d) = {chance.randint(1, 12)}"),
        lambda: _filter_case("text", chance, f"substr(s, 1, 5) = '{chance.randrange(total) // 1_000:05}'"),
        lambda: _filter_case("difference", chance, f"a - c > {chance.randint(380, 495)}"),
        lambda: _filter_case("nothing to skip", chance, f"b % 1000 = {chance.randrange(1_000)}"),
        lambda: _join_case(chance),
        lambda: _limit_case(chance, total),
        lambda: _top_k_case(chance),
    ]
    return [makers[number % len(makers)]() for number in range(count)]


def _between(operand: str, chance: random.Random, total: int) -> str:
    start, width = chance.randrange(total), chance.choice((10, 1_000, 20_000, total // 3))
    return f"{operand} BETWEEN {start} AND {start + width}"


def _members(chance: random.Random, total: int) -> str:
    return ", ".join(str(chance.randrange(total)) for _ in range(chance.choice((1, 3, 12, 30))))


def _columns(chance: random.Random, *named: str) -> tuple[str, ...]:
    return tuple(sorted({*named, *chance.sample(COLUMNS, chance.randint(1, 4))}))


def _filter_case(kind: str, chance: random.Random, condition: str) -> Case:
    in_condition = [name for name in COLUMNS if f"{name} " in condition or f"({name}" in condition]
    columns = _columns(chance)
    read = tuple(sorted({*columns, *in_condition}))
    maxima = ", ".join(f"max({name})" for name in columns)
    return Case(kind, f"SELECT {maxima} FROM t WHERE {condition}", read)


def _join_case(chance: random.Random) -> Case:
    start = chance.randrange(KEYS)
    columns = _columns(chance, "a")
    maxima = ", ".join(f"max({name})" for name in columns)
    condition = f"k.group BETWEEN {start} AND {start + chance.randrange(6)}"
    return Case("join", f"SELECT {maxima} FROM t JOIN k ON t.a = k.key WHERE {condition}", columns)


def _limit_case(chance: random.Random, total: int) -> Case:
    columns = _columns(chance, "a")
    start, wanted = chance.randrange(total - 10_000), chance.choice((1, 10, 100))
    rows = f"SELECT {', '.join(columns)} FROM t WHERE a >= {start} LIMIT {wanted}"
    counts = ", ".join(f"count({name})" for name in columns)
    # The rows of a LIMIT are written and read again between stages, so they are few.
    return Case("LIMIT", f"SELECT {counts} FROM ({rows})", columns)


def _top_k_case(chance: random.Random) -> Case:
    key = chance.choice(("a", "c", "s"))
    columns = _columns(chance, key)
    order = f"{key} {chance.choice(('ASC', 'DESC'))} LIMIT {chance.choice((1, 10, 1_000))}"
    # Many rows have the same `c`, so that only the key is determined.
    return Case("top-k", f"SELECT {', '.join(columns)} FROM t ORDER BY {order}", columns, key != "c")


def full_scan_bytes(spark: SparkSession, columns: Sequence[str]) -> int:
    """Return the bytes that a scan of all rows of some columns reads."""
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")
    try:
        hashed = f"SELECT max(hash({', '.join(columns)})) FROM t"
        return bytes_of_table(spark, hashed, lambda: spark.sql(hashed).collect())
    finally:
        spark.conf.unset("spark.sql.parquet.filterPushdown")


def bytes_of_table(spark: SparkSession, sql: str, run: Callable[[], object]) -> int:
    """Return the bytes that a run of a query reads, less those of the query over a table without rows."""
    empty = sql.replace(" t ", " none t ") if " t " in sql else sql.replace("FROM t", "FROM none")
    return bytes_read(spark, run) - bytes_read(spark, lambda: spark.sql(empty).collect())


def measure(spark: SparkSession, case: Case, full: int) -> tuple[int, int]:
    """Return the bytes that are saved of those of a full scan, as counted and as reported."""
    frame = spark.sql(case.sql)
    pruned = pruning.prune(frame)
    rows, expected = sorted(map(str, pruned.collect())), sorted(map(str, frame.collect()))
    assert rows == expected or not case.is_determined, case.sql
    scan = pruning.explain(pruned).scans[0]
    counted = full - bytes_of_table(spark, case.sql, lambda: pruned.select("*").collect())
    return counted, (scan.bytes_total or 0) - (scan.bytes_read_max or 0)


def main() -> None:
    """Write the lake, run the queries, and print a line for each kind."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--queries", type=int, default=500, help="queries (default %(default)s)")
    parser.add_argument("--seed", type=int, default=2026, help="of the queries (default %(default)s)")
    parser.add_argument("--rows", type=int, default=200_000, help="rows of a file (default %(default)s)")
    parser.add_argument("--verbose", action="store_true", help="print each query outside of the range")
    arguments = parser.parse_args()
    ratios: dict[str, list[float]] = defaultdict(list)
    small: dict[str, int] = defaultdict(int)
    with tempfile.TemporaryDirectory() as directory, spark_session(SETTINGS) as spark:
        write_lake(Path(directory), arguments.rows)
        for name in TABLES:
            spark.read.parquet(f"{directory}/{name}").createOrReplaceTempView(name)
        full: dict[tuple[str, ...], int] = {}
        for case in cases(arguments.queries, arguments.seed, arguments.rows):
            if case.columns not in full:
                full[case.columns] = full_scan_bytes(spark, case.columns)
            counted, reported = measure(spark, case, full[case.columns])
            if counted < SAVED_MIN:
                small[case.kind] += 1
                if reported > SAVED_MIN:
                    print(f"reported {reported:,}, counted {counted:,}: {case.sql}")
                continue
            ratios[case.kind].append(reported / counted)
            if arguments.verbose and not RATIO_MIN <= reported / counted <= RATIO_MAX:
                print(f"reported {reported:,}, counted {counted:,}: {case.sql}")
    report = Table(title=f"{arguments.queries:,} queries: reported savings by counted ones")
    for heading in ("kind", "queries", "saving < 0.2 MB", "least", "median", "greatest", "90-100.1 %"):
        report.add_column(heading, justify="left" if heading == "kind" else "right")
    for kind, values in [*ratios.items(), ("all", [value for group in ratios.values() for value in group])]:
        within = sum(RATIO_MIN <= value <= RATIO_MAX for value in values)
        few = sum(small.values()) if kind == "all" else small[kind]
        report.add_row(
            kind,
            str(len(values) + few),
            str(few),
            *(f"{100 * value:.1f} %" for value in (min(values), float(np.median(values)), max(values))),
            f"{within} of {len(values)}",
        )
    Console(width=110).print(report)


if __name__ == "__main__":
    main()
