"""The first rows of an answer, and comparing a pruned answer with the answer that skips nothing."""

import random
from collections import Counter
from decimal import Decimal
from typing import Any

import pytest

from skipproof.commands.answers import Comparison, compare, first_rows, is_open, unpaired_rows

NAN, INFINITY = float("nan"), float("inf")
# The cases of a column or two are one table, so that one query of Spark judges all of them.
SCHEMA = (
    "name string, v int, x double, y double, d decimal(9,2), b binary, m map<string,int>, "
    "n array<struct<`a.b`: map<string,array<int>>>>, s struct<m: map<string,int>>"
)
COLUMNS = ("v", "x", "y", "d", "b", "m", "n", "s")
SAME: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "order": ([{"v": 1}, {"v": 2}, {"v": 1}, {}], [{}, {"v": 2}, {"v": 1}, {"v": 1}]),
    "NaN and NULL": ([{"x": NAN}, {}], [{}, {"x": NAN}]),
    "a sum": ([{"x": 0.1 + 0.2}], [{"x": 0.3}]),
    "infinities and zeros": ([{"x": INFINITY}, {"x": -0.0}], [{"x": 0.0}, {"x": INFINITY}]),
    "large and small": ([{"x": 1e308}, {"x": 5e-324}], [{"x": 5e-324}, {"x": 1e308}]),
    "a key beside": (
        [{"v": 2, "x": 0.3}, {"v": 1, "x": 0.1 + 0.2}],
        [{"v": 2, "x": 0.3}, {"v": 1, "x": 0.3}],
    ),
    # Sorted by the first double as it is, the second ones would not be paired.
    "last bits": (
        [{"x": 0.1 + 0.2, "y": 7.0}, {"x": 0.3, "y": 5.0}, {"x": 16777217.0, "y": 1.0}],
        [{"x": 16777216.999999996, "y": 1.0}, {"x": 0.3, "y": 7.0}, {"x": 0.1 + 0.2, "y": 5.0}],
    ),
    "entries of a map": ([{"m": {"a": 1, "b": None}}, {}], [{}, {"m": {"b": None, "a": 1}}]),
    "a map in a struct in an array": ([{"n": [({"a": [1]},), None]}], [{"n": [({"a": [1]},), None]}]),
    "decimals and bytes": ([{"d": Decimal("1.5"), "b": b""}], [{"d": Decimal("1.50"), "b": b""}]),
}
DIFFERENT: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "a row lost": ([], [{"v": 1}]),
    "a row lost of two that are equal": ([{"v": 1}], [{"v": 1}, {"v": 1}]),
    "another row twice": ([{"v": 1}, {"v": 1}, {"v": 2}], [{"v": 1}, {"v": 2}, {"v": 2}]),
    "NULL and NaN": ([{}], [{"x": NAN}]),
    "NULL and zero": ([{"v": 0}], [{}]),
    "a sum that is off": ([{"x": 1.0}], [{"x": 1.001}]),
    "Infinity and a number": ([{"x": INFINITY}], [{"x": 1.0}]),
    "both Infinities": ([{"x": INFINITY}], [{"x": -INFINITY}]),
    "NaN and a number": ([{"x": NAN}], [{"x": 1.0}]),
    "a map": ([{"m": {"a": 1}}], [{"m": {"a": 2}}]),
    "a map in a struct in an array": ([{"n": [({"a": [1]},), None]}], [{"n": [({"a": [1]},)]}]),
    "a struct of NULL, and none": ([{"s": (None,)}], [{}]),
    "a double beside another key": (
        [{"v": 1, "x": 2.0}, {"v": 2, "x": 1.0}],
        [{"v": 1, "x": 1.0}, {"v": 2, "x": 2.0}],
    ),
}


def rows_of(spark: Any, cases: dict[str, Any], side: int) -> Any:
    """One side of all cases, in two partitions."""
    rows = [
        (name, *(row.get(column) for column in COLUMNS))
        for name, sides in cases.items()
        for row in sides[side]
    ]
    return spark.createDataFrame(rows, SCHEMA).repartition(2)


def test_the_same_rows_in_any_order_are_the_same(spark: Any) -> None:
    found, expected = (rows_of(spark, SAME, side) for side in (0, 1))
    comparison = compare(found, expected, open_answer=False)
    assert comparison == Comparison(same=True, rows_found=found.count(), rows_expected=found.count())


@pytest.mark.parametrize("swapped", [False, True])
def test_other_rows_are_a_difference_that_is_told(spark: Any, swapped: bool) -> None:
    found, expected = (rows_of(spark, DIFFERENT, side) for side in ((1, 0) if swapped else (0, 1)))
    pairs = unpaired_rows(found, expected).collect()
    assert {pair["found_0"] or pair["expected_0"] for pair in pairs} == set(DIFFERENT)


def test_drawn_bags_are_compared_as_python_counts_them(spark: Any) -> None:
    """Of few values, so that equal rows, NULL and NaN, and the two spellings of 0.3 meet."""
    draws = random.Random(0)
    keys, doubles = [None, 0, 1], [None, NAN, 0.3, 0.1 + 0.2, -0.0, 0.0, INFINITY]
    bags: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {}
    for number in range(300):
        found = [{"v": draws.choice(keys), "x": draws.choice(doubles)} for _ in range(draws.randrange(6))]
        expected = draws.sample(found, len(found))
        if number % 2 and expected:
            expected[draws.randrange(len(expected))] = {"v": draws.choice(keys), "x": draws.choice(doubles)}
        bags[str(number)] = found, expected

    def count_rows(rows: list[dict[str, Any]]) -> Counter[str]:
        """NaN is equal to NaN, 0.0 to -0.0, and sums are equal up to rounding."""
        return Counter(
            repr((row["v"], None if row["x"] is None else round(row["x"], 9) + 0.0)) for row in rows
        )

    differ = {name for name, (found, expected) in bags.items() if count_rows(found) != count_rows(expected)}
    assert 75 < len(differ) < 150
    pairs = unpaired_rows(*(rows_of(spark, bags, side) for side in (0, 1))).collect()
    assert {pair["found_0"] or pair["expected_0"] for pair in pairs} == differ


@pytest.mark.parametrize(
    ("found", "expected", "difference"),
    [
        ((1, 2), (1, 1, 2), "(1,) was expected and not found; 2 rows instead of 3"),
        ((1, 3), (1,), "(3,) was found and not expected; 2 rows instead of 1"),
        ((1.5,), (1.0,), "found (1.5,) where (1.0,) was expected"),
    ],
)
def test_a_difference_shows_a_row(
    spark: Any, found: tuple[Any, ...], expected: tuple[Any, ...], difference: str
) -> None:
    sides = [spark.createDataFrame([(value,) for value in values], ["a"]) for values in (found, expected)]
    comparison = compare(*sides, open_answer=False)
    assert not comparison.same
    assert comparison.difference == difference


def test_columns_of_other_types_are_a_difference(spark: Any) -> None:
    found, expected = spark.createDataFrame([("1",)], "a string"), spark.createDataFrame([(1,)], "a int")
    assert compare(found, expected, open_answer=False).difference == (
        "columns of string were found where int were expected"
    )


def test_columns_of_one_name_are_compared_each(spark: Any) -> None:
    found, expected = spark.sql("SELECT 1 AS a, 2 AS a"), spark.sql("SELECT 1 AS a, 3 AS a")
    assert compare(found, found, open_answer=False).same
    assert not compare(found, expected, open_answer=False).same


def test_an_open_answer_may_have_other_rows_but_not_fewer(spark: Any) -> None:
    found, expected = spark.sql("SELECT 1 AS a"), spark.sql("SELECT 2 AS a")
    other = compare(found, expected, open_answer=True)
    assert other.same
    assert other.open
    assert not compare(found.where("a > 1"), expected, open_answer=True).same


@pytest.mark.parametrize(
    ("sql", "limit", "rows", "row_count"),
    [
        ("SELECT id FROM range(0, 1000, 1, 4) ORDER BY id DESC", 3, [999, 998, 997], 1000),
        ("SELECT id FROM range(0, 1000, 1, 4) WHERE id % 100 = 7", 3, [7, 107, 207], 10),
        ("SELECT id FROM range(0, 1000, 1, 4) WHERE id % 100 = 7 LIMIT 2", 3, [7, 107], 2),
        ("SELECT id FROM range(5)", 0, [], 5),
        ("SELECT id FROM range(5) WHERE false", 3, [], 0),
        ("SELECT id FROM range(5) WHERE id > 9 ORDER BY id", 3, [], 0),
        ("SELECT 1", 3, [1], 1),
        ("SELECT a, a FROM VALUES (1), (2) AS t(a)", 1, [1], 2),
    ],
)
def test_the_first_rows_come_in_order_and_all_are_counted(
    spark: Any, sql: str, limit: int, rows: list[int], row_count: int
) -> None:
    first, count = first_rows(spark.sql(sql), limit)
    assert ([row[0] for row in first], count) == (rows, row_count)


def test_rows_that_are_not_shown_are_computed_too(spark: Any) -> None:
    from pyspark.errors import PySparkException

    with pytest.raises(PySparkException, match="is not true"):
        first_rows(spark.sql("SELECT assert_true(id < 50) FROM range(100)"), 1)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT id FROM range(9) WHERE id > 3", False),
        ("SELECT count(*) FROM range(9)", False),
        ("SELECT id FROM range(9) LIMIT 3", True),
        ("SELECT count(*) FROM (SELECT id FROM range(9) LIMIT 3)", True),
        ("SELECT id FROM range(9) WHERE id > (SELECT max(id) FROM (SELECT id FROM range(9) LIMIT 2))", True),
        ("SELECT id FROM range(9) WHERE rand() < 0.5", True),
    ],
)
def test_limit_and_randomness_leave_an_answer_open(spark: Any, sql: str, expected: bool) -> None:
    assert is_open(spark.sql(sql)) is expected
