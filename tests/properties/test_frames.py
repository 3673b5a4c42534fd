"""FRAME-1 and FRAME-2: what works on a DataFrame works on what `prune` makes of it, whatever comes after."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

import pruning
from pruning.spark.jvm.gateway import dataframe
from strategies.queries.frame_chains import COLUMNS, KEYS, FrameChain, Operation, frame_chains

FILES = 4
# What the second copy of a CTE asks for, rows with NULL among them.
OTHER_COPIES = ("k > 50", "unit IS NULL", "k < 30 AND unit IS NULL")
Prune = Callable[[DataFrame], DataFrame]


@pytest.fixture(scope="module")
def table(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A catalog table of sorted files with a CHAR column; the other columns follow from `k`."""
    lake = tmp_path_factory.mktemp("chained")
    step = KEYS // FILES
    for number in range(FILES):
        keys = range(number * step, (number + 1) * step)
        rows = pa.table(
            {
                "k": pa.array(keys, pa.int32()),
                "day": pa.array([k // 10 for k in keys], pa.int32()),
                "unit": [("feet", "meters", None)[k % 3] for k in keys],
                "c": [f"a{k}".ljust(5) for k in keys],
            }
        )
        pq.write_table(rows, lake / f"{number}.parquet", row_group_size=5)
    spark.sql("DROP TABLE IF EXISTS chained")
    spark.sql(
        f"CREATE TABLE chained (k INT, day INT, unit STRING, c CHAR(5)) USING parquet LOCATION '{lake}'"
    )
    yield "chained"
    spark.sql("DROP TABLE chained")


def applied(df: DataFrame, operation: Operation) -> DataFrame:
    """The frame after one operation."""
    match operation.kind:
        case "where" if operation.naming == "frame" and operation.text.startswith("{k} <"):
            return df.where(df["k"] < operation.number)
        case "where":
            return df.where(named(operation))
        case "select" if operation.naming == "frame":
            return df.select(*(df[name] for name in operation.text.split(",")))
        case "select":
            prefix = "" if operation.naming == "bare" else f"{operation.naming}."
            return df.select(*(f"{prefix}{name}" for name in operation.text.split(",")))
        case "alias":
            return df.alias(operation.naming)
        case "view":
            df.createOrReplaceTempView(operation.naming)
            return df.sparkSession.table(operation.naming)
        case "hint":
            return df.hint(operation.text, *([2] if operation.text == "coalesce" else []))
        case "order":
            return df.orderBy(f.desc("k")).limit(operation.number)
        case "limit":
            return df.limit(0 if operation.number < 5 else 1000)
        case "self-join":
            left, right = df.alias("l"), df.alias("r")
            return left.join(right, f.col("l.k") == f.col("r.k") + 1).select("l.*")
        case "union":
            return df.union(df.where(named(operation)))
        case "cte":
            df.createOrReplaceTempView("named")
            return df.sparkSession.sql(
                f"WITH w AS (SELECT * FROM named) SELECT * FROM w WHERE {named(operation)} "
                f"UNION ALL SELECT * FROM w WHERE {OTHER_COPIES[operation.number % len(OTHER_COPIES)]}"
            )
        case _:
            return df.distinct()


def named(operation: Operation) -> str:
    prefix = "" if operation.naming in ("bare", "frame") else f"{operation.naming}."
    return operation.text.format(**{column: f"{prefix}{column}" for column in COLUMNS})


def outcome(spark: SparkSession, table: str, chain: FrameChain, prune: Prune) -> Any:
    """The columns and rows in any order; or at which operation Spark refuses, and with which error."""
    df = spark.table(table).select(*COLUMNS)
    for place, operation in enumerate((*chain.before, None, *chain.after)):
        try:
            df = prune(df) if operation is None else applied(df, operation)
        except PySparkException as error:
            return place, error.getCondition() if hasattr(error, "getCondition") else type(error).__name__
    return df.schema.simpleString(), sorted(map(repr, df.collect()))


@contextmanager
def padding(spark: SparkSession, pads: bool) -> Iterator[None]:
    spark.conf.set("spark.sql.readSideCharPadding", str(pads).lower())
    try:
        yield
    finally:
        spark.conf.unset("spark.sql.readSideCharPadding")


def analyzed_again(df: DataFrame) -> DataFrame:
    """A mutant of `prune`: the optimized plan takes the place of the user's."""
    return dataframe(df.sparkSession, df._jdf.queryExecution().optimizedPlan())


def test_operations_after_prune_give_what_they_give_without_it(spark: SparkSession, table: str) -> None:
    """FRAME-1. Each chain gives the same columns, rows and refusals; for some, the mutant does not."""
    killed = 0

    @examples(0.5)
    @given(chain=frame_chains())
    def check(chain: FrameChain) -> None:
        nonlocal killed
        with padding(spark, chain.pads):
            expected = outcome(spark, table, chain, lambda df: df)
            event("refused" if isinstance(expected[0], int) else "answered")
            assert outcome(spark, table, chain, pruning.prune) == expected
            if not killed:
                killed = outcome(spark, table, chain, analyzed_again) != expected

    check()
    assert killed, "the mutant of prune gave what Spark gives for every chain"


@examples(0.3)
@given(
    values=st.lists(st.integers(0, 59), min_size=15, max_size=15),
    file=st.integers(0, FILES - 1),
    before=st.booleans(),
    # All rows of the files that are kept pass most of these.
    bound=st.sampled_from((15, 30, 45, 20)),
)
def test_no_row_that_fails_where_comes_out_of_a_rewritten_file(
    spark, tmp_path_factory, values, file, before, bound
):
    """FRAME-2. A file is rewritten before `prune` or after it; all rows that come out satisfy WHERE."""
    lake = tmp_path_factory.mktemp("rewritten")
    for number in range(FILES):
        ids = pa.array(range(15 * number, 15 * number + 15), pa.int32())
        pq.write_table(pa.table({"k": ids}), lake / f"{number}.parquet")
    rewritten = pa.table({"k": pa.array(values, pa.int32())})
    path = str(lake)
    pruning.collect(path)
    df = spark.read.parquet(path).where(f"k >= {bound}")
    if before:
        pq.write_table(rewritten, lake / f"{file}.parquet")
    pruned = pruning.prune(df)
    if before:
        # The rewritten file is not what the frame has listed, so nothing is concluded of it.
        assert any(name.endswith(f"/{file}.parquet") for name in pruned.inputFiles())
    else:
        pq.write_table(rewritten, lake / f"{file}.parquet")
    try:
        rows = [row.k for row in pruned.collect()]
    except PySparkException:
        event("Spark notices")
        return
    assert all(k >= bound for k in rows)
