"""PROP-7 and PROP-8: real data. Verdicts against counts of every row, skipping against the optimum."""

import functools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import sampled
from pyspark.sql import DataFrame, Row, functions

import pruning
from oracles.answers.frames import session
from pruning.rules.sets.truths import Match
from skipproof.commands.flights import Layout, flights, write_lake

PREDICATES = (
    "month = 3",
    "month <> 3",
    "not (month = 3)",
    "month < 2",
    "month <= 2 and day > 27",
    "month > 11 or dep_delay > 600",
    "month >= 12",
    "month <=> 1",
    "dep_time <=> null",
    "dep_time is null",
    "dep_time is not null and arr_time is null",
    "(dep_delay > 0) is true",
    "(dep_delay > 0) is not true",
    "(dep_delay > 900) is false",
    "(arr_delay > 900) is not false",
    "(arr_delay > 0) is null",
    "carrier in ('HA', 'OO', 'YV')",
    "carrier not in ('UA', 'B6', 'EV')",
    "carrier in ('ZZ')",
    "month in (1, 12, null)",
    "month not in (1, 12, null)",
    "flight in (1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23)",
    "distance between 100 and 200",
    "distance not between 80 and 5000",
    "time_hour between timestamp'2013-07-04 00:00:00Z' and timestamp'2013-07-04 23:59:59Z'",
    "time_hour < date'2013-01-02'",
    "time_hour >= timestamp_ntz'2013-12-31 00:00:00'",
    "tailnum like 'N0%'",
    "tailnum like 'N9%'",
    "tailnum not like 'N%'",
    "tailnum like 'N9__\\_%'",
    "dest like '%X'",
    "tailnum like 'N1%6'",
    "startswith(dest, 'SE')",
    "tailnum >= 'N9' and tailnum < 'NA'",
    "if(origin = 'JFK', air_time + air_time, air_time) > 1200",
    "if(origin = 'JFK', air_time, distance) < 25",
    "case when carrier = 'UA' then distance > 4900 when carrier = 'HA' then month = 12 else false end",
    "case when month > 6 then dep_delay end > 700",
    "coalesce(arr_delay, dep_delay, 9999) >= 9999",
    "coalesce(dep_time, 0) = 0",
    "air_time + 30 > 700",
    "distance - air_time < 50",
    "dep_delay - arr_delay > 100",
    "arr_delay < dep_delay",
    "cast(month as bigint) > 11",
    "month > 11.5",
    "month = 3.0D",
    "month + 0.5 > 12",
    "not (month <= 6 or dep_delay <= 0)",
    "not (month <= 3 or month >= 2)",
    "month = 1 and (day = 1 or day = 31) and not (hour < 20 and minute > 30)",
    "month < 3 and month > 2",
    "year = 2013",
    "year is not null",
    "year + 1 = 2014 or carrier = 'ZZ'",
    "true",
    "false",
    "month = null",
)
# The optimum by hand, from bounds alone: can a row within them satisfy the predicate?
Bounds = dict[str, Any]
OPTIMUM: dict[str, Callable[[Bounds], bool]] = {
    "month = 3": lambda b: b["month"][0] <= 3 <= b["month"][1],
    "time_hour between timestamp'2013-07-04 00:00:00Z' and timestamp'2013-07-04 23:59:59Z'": lambda b: (
        str(b["time_hour"][0]) < "2013-07-05" and str(b["time_hour"][1]) >= "2013-07-04"
    ),
    "carrier in ('HA', 'OO', 'YV')": lambda b: any(
        b["carrier"][0] <= carrier <= b["carrier"][1] for carrier in ("HA", "OO", "YV")
    ),
    "if(origin = 'JFK', air_time + air_time, air_time) > 1200": lambda b: (
        (b["origin"][0] <= "JFK" <= b["origin"][1] and 2 * b["air_time"][1] > 1200)
        or (b["origin"] != ("JFK", "JFK") and b["air_time"][1] > 1200)
    ),
    "tailnum like 'N0%'": lambda b: b["tailnum"][0] < "N1" and b["tailnum"][1] >= "N0",
    "not (month <= 6 or dep_delay <= 0)": lambda b: b["month"][1] > 6 and b["dep_delay"][1] > 0,
}


NOT_PARTITIONED = [layout for layout in Layout if layout is not Layout.PARTITIONED]


@pytest.fixture(scope="module")
def rows() -> pa.Table:
    """All flights, as shipped."""
    return flights()


@pytest.fixture(scope="module")
def lakes(rows: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> dict[Layout, Path]:
    """The flights on disk, in each layout."""
    root = tmp_path_factory.mktemp("flights")
    return {layout: write_lake(rows, root, layout) for layout in Layout}


def blocks_of(lake: Path) -> Iterator[tuple[dict[str, str], pa.Table]]:
    """The rows of each block, in the order of `collect`, read without a filter; and partition values."""
    for file in sorted(lake.rglob("*.parquet")):
        values = dict(part.split("=") for part in file.relative_to(lake).parts[:-1])
        reader = pq.ParquetFile(file)
        for group in range(reader.num_row_groups):
            yield values, reader.read_row_group(group)


def unprunable(spark: Any, rows: pa.Table, file: Path) -> Any:
    """The rows as a DataFrame over a file without statistics, to read with pushdown off.

    A third of a million rows do not fit a test's heap as a relation in memory.
    """
    if not file.exists():
        pq.write_table(rows, file, write_statistics=False)
    return spark.read.parquet(str(file))


def matching_rows(spark: Any, lake: Path, predicates: tuple[str, ...]) -> list[tuple[int, list[int]]]:
    """Of each block its number of rows, and how many are TRUE for each predicate."""
    parts = [
        part.append_column("block", pa.repeat(ordinal, part.num_rows).cast(pa.int32()))
        for ordinal, (_, part) in enumerate(blocks_of(lake))
    ]
    sums = [functions.expr(f"count_if({predicate})") for predicate in predicates]
    with session(spark):
        frame = unprunable(spark, pa.concat_tables(parts), lake.with_suffix(".blocks"))
        counted = frame.groupBy("block").agg(functions.count("*"), *sums).collect()
    found = {row["block"]: (row[1], list(row[2:])) for row in counted}
    return [found[ordinal] for ordinal in range(len(parts))]


@pytest.mark.parametrize("layout", sampled(NOT_PARTITIONED, default=[Layout.CLUSTERED]))
def test_verdicts_on_flights_agree_with_counts_of_all_rows(
    spark: Any, lakes: dict[Layout, Path], layout: Layout
) -> None:
    """PROP-7. NONE only where no row of the block matches, ALL only where each does."""
    metadata = pruning.collect(str(lakes[layout]))
    counts = matching_rows(spark, lakes[layout], PREDICATES)
    seen = set()
    for ordinal, predicate in enumerate(PREDICATES):
        verdicts = pruning.classify(predicate, metadata).to_pylist()
        for verdict, (total, matching) in zip(verdicts, counts, strict=True):
            seen.add(verdict)
            assert verdict != Match.NONE or matching[ordinal] == 0, predicate
            assert verdict != Match.ALL or matching[ordinal] == total, predicate
    assert seen == set(Match)


@pytest.mark.parametrize("predicate", OPTIMUM)
@pytest.mark.parametrize("layout", NOT_PARTITIONED)
def test_each_block_that_bounds_allow_to_skip_is_skipped(
    spark: Any, lakes: dict[Layout, Path], layout: Layout, predicate: str
) -> None:
    """PROP-8. Tight: NONE exactly where no row within the bounds could match."""
    expected = [OPTIMUM[predicate](bounds_of(part)) for _, part in blocks_of(lakes[layout])]
    verdicts = pruning.classify(predicate, str(lakes[layout])).to_pylist()
    assert [verdict != Match.NONE for verdict in verdicts] == expected


def bounds_of(part: pa.Table) -> Bounds:
    """The least and the greatest value of each column in a block."""
    bounds: Bounds = {}
    for name in part.column_names:
        extremes = pa.compute.min_max(part[name]).as_py()
        bounds[name] = (extremes["min"], extremes["max"])
    return bounds


FEW = "day = 4"  # keeps the answers small enough to compare row by row
KEY = ["time_hour", "carrier", "flight", "origin"]


@pytest.fixture(scope="module")
def some_rows(rows: pa.Table) -> pa.Table:
    """The flights of three days of each month, the day asked for among them."""
    return rows.filter((pa.compute.field("day") >= 3) & (pa.compute.field("day") <= 5))


@pytest.fixture(scope="module")
def small_lakes(some_rows: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> dict[Layout, Path]:
    """These flights on disk, in each layout."""
    root = tmp_path_factory.mktemp("some_flights")
    return {layout: write_lake(some_rows, root, layout) for layout in Layout}


@pytest.fixture(scope="module")
def expected(spark: Any, some_rows: pa.Table, small_lakes: dict[Layout, Path]) -> dict[str, list[str]]:
    """The rows of each query, a row told by its flight, carrier, hour and origin; all queries in one pass."""
    with session(spark):
        everything = unprunable(spark, some_rows, small_lakes[Layout.SHIPPED].with_suffix(".all")).where(FEW)
        answers = [functions.expr(f"({predicate}) <=> true") for predicate in PREDICATES]
        answered = everything.select(*KEY, *answers).collect()
    return {
        predicate: sorted(str(Row(*KEY)(*row[: len(KEY)])) for row in answered if row[len(KEY) + ordinal])
        for ordinal, predicate in enumerate(PREDICATES)
    }


@pytest.mark.parametrize(
    "layout",
    sampled([layout for layout in Layout if layout is not Layout.CLUSTERED], default=[Layout.PARTITIONED]),
)
def test_pruned_queries_of_flights_give_the_rows_of_the_oracle(
    spark: Any, expected: dict[str, list[str]], small_lakes: dict[Layout, Path], layout: Layout
) -> None:
    """PROP-7 through files, hive-partitioned ones too. Each query has a scan of its own in one union."""
    lake = str(small_lakes[layout])
    with session(spark):
        schema = spark.read.parquet(lake).schema
        frames = [
            spark.read.schema(schema)
            .parquet(lake)
            .where(f"({predicate}) and {FEW}")
            .select(*KEY, functions.lit(ordinal).alias("query"))
            for ordinal, predicate in enumerate(PREDICATES)
        ]
        pruned = pruning.prune(functools.reduce(DataFrame.union, frames))
        rows: dict[int, list[str]] = {ordinal: [] for ordinal in range(len(PREDICATES))}
        for *key, query in pruned.collect():
            rows[query].append(str(Row(*KEY)(*key)))
    for ordinal, predicate in enumerate(PREDICATES):
        assert sorted(rows[ordinal]) == expected[predicate], predicate
