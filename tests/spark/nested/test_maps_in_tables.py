"""Conditions on the values of keys in maps, over tables of several files: same rows, fewer files."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pyspark
import pytest
from pyspark.sql import DataFrame, SparkSession

import pruning
from oracles.answers.frames import settings

OF_INTS, OF_BIGINTS = pa.map_(pa.string(), pa.int32()), pa.map_(pa.string(), pa.int64())
# Spark 3 does not read them as wider ones.
NARROWER = OF_INTS if int(pyspark.__version__.partition(".")[0]) >= 4 else OF_BIGINTS
# The files of a table, each with the maps of its rows: a key twice, of which the first counts, maps that are
# NULL, a file without the column, and one of narrower values.
FILES: list[tuple[pa.DataType | None, list[Any]]] = [
    (OF_BIGINTS, [[("k", 3), ("l", 9)], [("k", 4)], [("l", 3)]]),
    (OF_BIGINTS, [[("k", 30), ("l", 9)], [], None]),
    (
        OF_BIGINTS,
        [[("k", 3), ("k", 100)], [("k", None), ("l", 100)], [("", 7)]],
    ),
    (OF_BIGINTS, [None, None, []]),
    (None, [None, None, None]),
    (OF_BIGINTS, [[("x", 3)], [("y", 3)], [("z", None)]]),
    (NARROWER, [[("k", 5)], [("k", -6)], [("other", 3)]]),
]
CONDITIONS = [
    "m['k'] = 3", "element_at(m, 'k') > 5", "try_element_at(m, 'k') < 0", "m['k'] IS NULL", "m['k'] <=> NULL",
    "NOT (m['k'] = 3)", "m['k'] = 100", "m['k'] = 3 AND m['l'] = 9", "m['k'] = 3 OR m['x'] = 3", "m[s] = 3",
    "m['no such key'] = 3", "m['no such key'] IS NULL", "m[CAST(NULL AS STRING)] = 3", "m['K'] = 3",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of Parquet files, with a number for each row and a key that rows of its file may have."""
    folder = tmp_path_factory.mktemp("maps")
    for place, (type_, maps) in enumerate(FILES):
        columns: dict[str, Any] = {
            "i": pa.array([10 * place + row for row in range(len(maps))], pa.int32()),
            "s": pa.array(["k", "x", None]),
        }
        if type_ is not None:
            columns["m"] = pa.array(maps, type_)
        pq.write_table(pa.table(columns), folder / f"{place}.parquet", use_dictionary=False)
    return folder


@pytest.fixture(scope="module")
def frame(spark: SparkSession, folder: Path) -> DataFrame:
    """The table, read as its widest type."""
    return spark.read.schema("i int, s string, m map<string, bigint>").parquet(str(folder))


@pytest.fixture(params=["true", "false"], ids=["ANSI", "not ANSI"])
def ansi(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[None]:
    """Each of Spark's modes."""
    with settings(spark, {"spark.sql.ansi.enabled": request.param}):
        yield


@pytest.mark.usefixtures("ansi")
def test_conditions_on_values_of_keys_lose_no_row(frame: DataFrame) -> None:
    """PROP-6. All at once: a query with a scan for each condition."""
    scans = [frame.where(sql).selectExpr(f"{n} AS n", "i") for n, sql in enumerate(CONDITIONS)]
    united = scans[0]
    for scan in scans[1:]:
        united = united.unionAll(scan)
    wanted = sorted(map(tuple, united.collect()))
    assert sorted(map(tuple, pruning.prune(united).collect())) == wanted
    assert {n for n, _ in wanted} > {0, 1, 2, 3, 4}


@pytest.mark.parametrize(
    ("sql", "kept"),
    [
        ("m['k'] = 3", {0, 2, 3, 4, 6}),
        ("m['k'] = 4", {0, 2, 3, 4, 6}),
        ("element_at(m, 'k') > 5", {0, 1, 2, 3, 4}),
        ("m['x'] = 3", {3, 4, 5}),
        ("m['no such key'] IS NOT NULL", {2, 3, 4, 6}),
    ],
)
def test_files_are_spared_by_keys_and_by_values(
    spark: SparkSession, folder: Path, frame: DataFrame, sql: str, kept: set[int]
) -> None:
    """Files of NULL and empty maps have no bounds, and the last one's keys reach from k to other."""
    filtered = frame.where(sql)
    pruned = pruning.prune(filtered)
    assert {Path(file).stem for file in pruned.inputFiles()} <= {str(place) for place in kept}
    assert sorted(pruned.collect()) == sorted(filtered.collect())


# Where maps are not filtered alone: what orders, limits and joins, and answers that footers alone may give.
QUERIES = [
    "SELECT i FROM maps ORDER BY m['k'] DESC NULLS LAST, i LIMIT 2",
    "SELECT i FROM maps ORDER BY m['x'] NULLS LAST, i LIMIT 2",
    "SELECT count(*), min(m['k']), max(m['k']), count(m['k']) FROM maps",
    "SELECT count(*) FROM maps WHERE m['no such key'] IS NULL",
    "SELECT a.i, b.i FROM maps a JOIN maps b ON a.m['k'] = b.m['x']",
    "SELECT i FROM (SELECT i, m['k'] + 1 AS v FROM maps) WHERE v = 4",
    "SELECT i, v FROM maps LATERAL VIEW explode(m) AS w, v WHERE m['k'] = 4",
]


def test_queries_beyond_filters_have_the_same_rows(spark: SparkSession, frame: DataFrame) -> None:
    frame.createOrReplaceTempView("maps")
    for query in QUERIES:
        filtered = spark.sql(query)
        assert sorted(pruning.prune(filtered).collect()) == sorted(filtered.collect()), query


@pytest.mark.parametrize("padded", ["true", "false"])
def test_keys_of_fixed_length_are_as_spark_reads_them(
    spark: SparkSession, tmp_path: Path, padded: str
) -> None:
    """Spark pads what it reads as `char(3)`, unless it is told not to; footers have what was written."""
    pq.write_table(pa.table({"i": [1], "m": pa.array([[("k", 3)]], OF_INTS)}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"i": [2], "m": pa.array([[("k  ", 4)]], OF_INTS)}), tmp_path / "1.parquet")
    spark.sql(f"CREATE TABLE fixed (i bigint, m map<char(3), int>) USING parquet LOCATION '{tmp_path}'")
    try:
        with settings(spark, {"spark.sql.readSideCharPadding": padded}):
            for condition in ("m['k'] = 3", "m['k  '] = 3", "m['k  '] = 4", "m['k'] IS NULL"):
                filtered = spark.table("fixed").where(condition).select("i")
                assert sorted(pruning.prune(filtered).collect()) == sorted(filtered.collect()), condition
    finally:
        spark.sql("DROP TABLE fixed")
