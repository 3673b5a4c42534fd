"""Bags and fingerprints tell answers apart where SQL does, and only there."""

import math

import pytest
from pyspark.sql import DataFrame, SparkSession

from oracles.answers.rows import bag, bag_difference, fingerprint

SCHEMA = "a int, b int, x double"
ROWS = [(1, 2, 0.5), (1, 2, 0.5), (None, 3, math.nan)]


def _frame(spark: SparkSession, rows: list[tuple[object, ...]], schema: str = SCHEMA) -> DataFrame:
    return spark.createDataFrame(rows, schema)


def test_a_bag_holds_every_nan_and_both_zeros_as_one() -> None:
    assert bag([(math.nan, -0.0)]) == bag([(-math.nan, 0.0)])


def test_a_bag_keeps_numbers_of_different_types_and_copies_apart() -> None:
    assert bag([(1,)]) != bag([(True,)])
    assert bag([(1,)]) != bag([(1,), (1,)])
    assert bag([("NaN",)]) != bag([(math.nan,)])


@pytest.mark.parametrize("exact", [False, True])
def test_the_order_of_rows_makes_no_difference(spark: SparkSession, exact: bool) -> None:
    assert bag_difference(_frame(spark, ROWS), _frame(spark, ROWS[::-1]), exact=exact) is None


@pytest.mark.parametrize("exact", [False, True])
def test_nan_and_minus_zero_make_no_difference(spark: SparkSession, exact: bool) -> None:
    one = _frame(spark, [(1, 2, math.nan), (1, 2, -0.0)])
    other = _frame(spark, [(1, 2, -math.nan), (1, 2, 0.0)])
    assert bag_difference(one, other, exact=exact) is None


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize(
    "others",
    [ROWS[1:], [*ROWS, ROWS[2]], [(1, 2, 0.5), (None, 3, math.nan), (None, 3, math.nan)], []],
    ids=["one copy lost", "one too many", "copies of another row", "all lost"],
)
def test_rows_lost_or_repeated_always_make_a_difference(
    spark: SparkSession, others: list[tuple[object, ...]], exact: bool
) -> None:
    found = bag_difference(_frame(spark, others), _frame(spark, ROWS), exact=exact)
    assert found is not None
    assert found.missing or found.extra


def test_a_difference_names_the_rows(spark: SparkSession) -> None:
    found = bag_difference(_frame(spark, [(1, 2, 0.5)]), _frame(spark, [(4, 5, 0.5)]))
    assert str(found) == "missing: (4, 5, 0.5); extra: (1, 2, 0.5)"


def test_a_null_that_changes_its_column_makes_a_difference(spark: SparkSession) -> None:
    """Spark's own hash passes over NULLs, so that these two rows hash alike."""
    assert fingerprint(_frame(spark, [(None, 1, 0.5)])) != fingerprint(_frame(spark, [(1, None, 0.5)]))


def test_columns_of_the_same_name_are_compared(spark: SparkSession) -> None:
    twice = spark.sql("SELECT 1 AS a, 2 AS a")
    assert bag_difference(twice, twice) is None
    assert bag_difference(twice, spark.sql("SELECT 2 AS a, 1 AS a")) is not None


def test_answers_of_other_types_are_refused(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        bag_difference(spark.sql("SELECT 1"), spark.sql("SELECT 1L"))


def test_maps_are_refused(spark: SparkSession) -> None:
    with pytest.raises(ValueError, match="column m is a map<int,int>"):
        fingerprint(spark.sql("SELECT map(1, 2) AS m"))
