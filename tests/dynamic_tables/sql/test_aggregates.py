"""Aggregates of SQL: DuckDB has the same values, and changes give what full evaluation gives."""

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from fractions import Fraction
from functools import cache
from random import Random
from typing import Any

import duckdb
import pytest
from as_duckdb import same_bag
from maintaining import TABLES, deltas, evaluated, maintained, query
from random_versions import duckdb_of, random_versions

from dynamic_tables.bags.aggregate_signatures import AggregateSignature
from dynamic_tables.bags.aggregates import AGGREGATES
from dynamic_tables.sql.statements import read_statement
from dynamic_tables.values.errors import Refused
from mutants.sql.aggregates import MUTANTS
from pruning.errors import InputError

KEYS = (None, 1, 2)
NUMBERS = (None, -3, 0, 1, 1, 2, 7, 10)
DOUBLES = (None, -1.5, 0.0, 0.25, 0.1, 3.0, 1e6)
DECIMALS = (None, Decimal("0.10"), Decimal("-2.25"), Decimal("7.00"), Decimal("7.01"))
TEXTS = (None, "", "a", "b", "ab", "é")
CELLS = {
    "n": (KEYS, NUMBERS, TEXTS),
    "f": (KEYS, DOUBLES),
    "d": (KEYS, DECIMALS),
    "l": (KEYS, TEXTS),
}
# Queries, and DuckDB's where it is written in another way.
QUERIES: Mapping[str, str] = {
    "SELECT k, median(n) FROM n GROUP BY k": "SELECT k, median(n::DOUBLE) FROM n GROUP BY k",
    "SELECT k, median(f) FROM f GROUP BY k": "",
    "SELECT k, median(d)::double FROM d GROUP BY k": "SELECT k, median(d::DOUBLE) FROM d GROUP BY k",
    "SELECT k, median(DISTINCT n) FROM n GROUP BY k": (
        "SELECT k, median(DISTINCT n::DOUBLE) FROM n GROUP BY k"
    ),
    **{
        f"SELECT k, {name}({column}) FROM {column} GROUP BY k": ""
        for name in ("stddev", "stddev_samp", "stddev_pop", "variance", "var_samp", "var_pop")
        for column in ("n", "f", "d")
    },
    "SELECT k, boolor_agg(n > 1) FROM n GROUP BY k": "SELECT k, bool_or(n > 1) FROM n GROUP BY k",
    "SELECT k, booland_agg(n > 1) FROM n GROUP BY k": "SELECT k, bool_and(n > 1) FROM n GROUP BY k",
    "SELECT k, boolxor_agg(n > 1) FROM n GROUP BY k": (
        "SELECT k, CASE WHEN count(n) > 0 THEN count(CASE WHEN n > 1 THEN 1 END) = 1 END FROM n GROUP BY k"
    ),
    "SELECT k, max_by(unused, n) FROM n GROUP BY k": (
        "SELECT k, min(unused ORDER BY unused) FROM n JOIN (SELECT k AS j, max(n) AS m FROM n GROUP BY k) "
        "ON n = m AND k IS NOT DISTINCT FROM j GROUP BY k UNION ALL "
        "SELECT k, NULL FROM n GROUP BY k HAVING count(n) = 0"
    ),
    "SELECT k, min_by(n, unused) FROM n GROUP BY k": (
        "SELECT k, min(n) FROM n JOIN (SELECT k AS j, min(unused) AS m FROM n GROUP BY k) "
        "ON unused = m AND k IS NOT DISTINCT FROM j GROUP BY k UNION ALL "
        "SELECT k, NULL FROM n GROUP BY k HAVING count(unused) = 0"
    ),
    "SELECT k, listagg(x, ', ') WITHIN GROUP (ORDER BY x) FROM l GROUP BY k": (
        "SELECT k, coalesce(string_agg(x, ', ' ORDER BY x), '') FROM l GROUP BY k"
    ),
    "SELECT k, listagg(x) FROM l GROUP BY k": (
        "SELECT k, coalesce(string_agg(x, '' ORDER BY x), '') FROM l GROUP BY k"
    ),
    "SELECT k, listagg(DISTINCT x, '|') WITHIN GROUP (ORDER BY x DESC) FROM l GROUP BY k": (
        "SELECT k, coalesce(string_agg(DISTINCT x, '|' ORDER BY x DESC), '') FROM l GROUP BY k"
    ),
    **{
        f"SELECT k, listagg(unused, '|') WITHIN GROUP (ORDER BY n {order}) FROM n GROUP BY k": (
            f"SELECT k, coalesce(string_agg(unused, '|' ORDER BY n {duckdb}, unused), '') FROM n GROUP BY k"
        )
        for order, duckdb in (
            ("", "NULLS LAST"),
            ("DESC", "DESC NULLS FIRST"),
            ("NULLS FIRST", "NULLS FIRST"),
            ("DESC NULLS LAST", "DESC NULLS LAST"),
        )
    },
    "SELECT k, listagg(n, '|') WITHIN GROUP (ORDER BY unused DESC, n) FROM n GROUP BY k": (
        "SELECT k, coalesce(string_agg(n::VARCHAR, '|' ORDER BY unused DESC NULLS FIRST, n NULLS LAST), '') "
        "FROM n GROUP BY k"
    ),
}
SEEDS = 40


def differs_from_duckdb(text: str, seed: int) -> bool:
    """Tell whether a query has other rows in DuckDB; TRUE and 1 are the same here."""
    version = random_versions(Random(seed), CELLS, count=1)[0]
    theirs = connection_of(seed).execute(QUERIES[text] or text).fetchall()
    ours = [tuple(as_number(cell) for cell in row) for row in evaluated(text, version)]
    return not same_bag(ours, [tuple(as_number(cell) for cell in row) for row in theirs])


@cache
def connection_of(seed: int) -> duckdb.DuckDBPyConnection:
    """A connection to DuckDB with the first version of a seed."""
    return duckdb_of(random_versions(Random(seed), CELLS, count=1)[0])


def as_number(cell: Any) -> Any:
    """A number as a double, whatever its type is."""
    return float(cell) if isinstance(cell, (int, float, Decimal)) else cell


@pytest.mark.parametrize("text", QUERIES)
def test_aggregates_are_those_of_duckdb(text: str) -> None:
    assert not [seed for seed in range(SEEDS) if differs_from_duckdb(text, seed)]


@pytest.mark.parametrize("text", QUERIES)
def test_aggregates_are_maintained(text: str) -> None:
    assert query(text).incremental
    for seed in range(SEEDS):
        deltas(text, *random_versions(Random(seed), CELLS))


@pytest.mark.parametrize(("name", "mistake"), MUTANTS)
def test_comparisons_kill_each_mutant(name: str, mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Either DuckDB has other rows, or the changes of some interval give other rows."""
    compute = MUTANTS[name, mistake]

    def resolve(argument: Any) -> AggregateSignature:
        right = AGGREGATES_BEFORE[name](argument)
        return AggregateSignature(right.result, right.argument, compute)

    monkeypatch.setitem(AGGREGATES, name, resolve)
    texts = [text for text in QUERIES if f"function='{name}'" in repr(query(text).relation)]
    assert any(
        differs_from_duckdb(text, seed) or is_lost(text, seed) for seed in range(SEEDS) for text in texts
    )


AGGREGATES_BEFORE = dict(AGGREGATES)


def is_lost(text: str, seed: int) -> bool:
    """Tell whether changes give other rows than full evaluation."""
    try:
        deltas(text, *random_versions(Random(seed), CELLS))
    except AssertionError:
        return True
    return False


def compute_of(name: str) -> Callable[[Sequence[float]], Any]:
    """The computation of an aggregate of doubles."""
    return AGGREGATES[name](TABLES["f"].fields[1].type).compute


def test_a_median_of_exact_numbers_has_three_digits_more() -> None:
    rows = {
        "n": {"1": (1, 1, None), "2": (1, 2, None)},
        "d": {"1": (1, Decimal("0.01")), "2": (1, Decimal(0))},
    }
    for text, value in (
        ("SELECT median(n) AS v FROM n", "1.500"),
        ("SELECT median(d) AS v FROM d", "0.00500"),
    ):
        assert [str(cell) for row in evaluated(text, rows) for cell in row] == [value]


@pytest.mark.parametrize(
    ("cells", "value"),
    [
        ([1e308, 1.7e308], 1.35e308),
        ([5e-324, 1.5e-323], 1e-323),
        ([math.inf, 1.0], math.inf),
        ([-0.0], 0.0),
        ([1.0, math.nan, 2.0], 2.0),
    ],
)
def test_the_median_of_extreme_doubles_is_right(cells: list[float], value: float) -> None:
    assert repr(compute_of("median")(cells)) == repr(value)


def test_spreads_are_computed_exactly() -> None:
    """Of large numbers that differ little, doubles give nothing, or a negative variance."""
    cells = [1e15 + 0.25, 1e15 + 0.5, 1e15 + 0.75]
    assert compute_of("var_samp")(cells) == 0.0625
    assert compute_of("stddev_samp")(cells) == 0.25
    assert compute_of("stddev_pop")([1e-200, 3e-200]) == 1e-200
    assert compute_of("stddev_pop")([-1.5e308, 1.5e308]) == 1.5e308
    assert math.isnan(compute_of("var_pop")([1.0, math.inf]))
    random = Random(1)
    for _ in range(100):
        drawn_cells = [
            random.uniform(-1, 1) * 10 ** random.randint(-9, 9) for _ in range(random.randint(2, 5))
        ]
        mean = sum(map(Fraction, drawn_cells)) / len(drawn_cells)
        exact = sum((Fraction(cell) - mean) ** 2 for cell in drawn_cells) / len(drawn_cells)
        assert compute_of("var_pop")(drawn_cells) == float(exact)


def test_a_sample_of_one_has_no_spread() -> None:
    text = "SELECT stddev(n), variance(n), stddev_pop(n), var_pop(n) FROM n GROUP BY k"
    assert evaluated(text, {"n": {"1": (1, 5, None)}}) == [(None, None, 0.0, 0.0)]


def test_rows_that_tie_are_told_apart_by_their_values() -> None:
    """The result does not depend on their order, so that it can be maintained."""
    text = "SELECT k, max_by(x, k) AS v FROM l GROUP BY k"
    before, after = {"1": (1, "b"), "2": (1, "a")}, {"2": (1, "a"), "3": (1, None), "1": (1, "b")}
    assert maintained(text, {"l": before}, {"l": after}) == evaluated(text, {"l": before}) == [(1, "a")]


def test_a_variant_is_taken_from_the_row_with_the_greatest_key() -> None:
    text = "SELECT max_by(payload, k) AS v, min_by(payload, k) AS w FROM e GROUP BY 1 = 1"
    rows = {"1": (1, None, {"a": 1}), "2": (2, None, (1, "x")), "3": (2, None, "y"), "4": (None, None, 0)}
    assert evaluated(text, {"e": rows}) == [((1, "x"), {"a": 1})]
    deltas(text, {"e": rows}, {"e": dict(reversed(rows.items()))}, {"e": {"3": rows["3"]}})


def test_texts_of_no_rows_are_an_empty_text() -> None:
    """LISTAGG is not NULL of no values, as other aggregates are."""
    text = "SELECT listagg(x, ',') AS v FROM l"
    assert evaluated(text, {"l": {}}) == evaluated(text, {"l": {"1": (1, None)}}) == [("",)]


def test_aggregates_are_window_functions_too() -> None:
    text = (
        "SELECT x, listagg(x, ',') WITHIN GROUP (ORDER BY x DESC) OVER (PARTITION BY k) AS v, "
        "median(k) OVER (PARTITION BY k) AS m FROM l"
    )
    rows = {"1": (1, "a"), "2": (1, "b")}
    assert evaluated(text, {"l": rows}) == [("a", "b,a", 1), ("b", "b,a", 1)]
    deltas(text, {"l": rows}, {"l": {"1": (1, "a")}}, {"l": {"1": (1, "c"), "3": (2, "a")}})


def test_dates_have_an_order() -> None:
    rows = {"1": (None, date(2025, 1, 1), True), "2": (None, date(2025, 1, 2), False)}
    assert evaluated("SELECT max_by(flag, day) AS v FROM m", {"m": rows}) == [(False,)]


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("median(x)", "MEDIAN takes numbers, not TEXT"),
        ("stddev(x)", "STDDEV takes numbers, not TEXT"),
        ("max_by(x, parse_json(x))", "MAX_BY takes a key that has an order, not VARIANT"),
        ("listagg(x) WITHIN GROUP (ORDER BY parse_json(x))", "LISTAGG is ordered by what has an order"),
    ],
)
def test_arguments_of_the_wrong_type_are_refused(text: str, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        query(f"SELECT {text} AS v FROM l")


@pytest.mark.parametrize(
    ("text", "construct"),
    [
        ("max_by(x, k, 3)", r"the argument 3 is not supported in MAX_BY\(...\)"),
        ("listagg(x, x)", "a separator of LISTAGG that is no text in quotes"),
        ("listagg(DISTINCT x) WITHIN GROUP (ORDER BY k)", "LISTAGG of distinct texts in the order of"),
        ("array_agg(x)", "the aggregate ARRAY_AGG"),
        ("hash_agg(x)", "the aggregate HASH_AGG"),
        ("count(DISTINCT x, k)", r"DISTINCT of several columns is not supported in COUNT\(...\)"),
    ],
)
def test_other_aggregates_are_refused_by_name(text: str, construct: str) -> None:
    with pytest.raises(Refused, match=f"^{construct}"):
        query(f"SELECT {text} AS v FROM l GROUP BY k")


@pytest.mark.parametrize("name", ["median", "stddev", "var_pop"])
def test_grouping_by_a_rounded_aggregate_is_no_incremental_query(name: str) -> None:
    """R-DVS-29. Its last digits are those of an engine."""
    text = f"SELECT DISTINCT s FROM (SELECT k, {name}(f) AS s FROM f GROUP BY k)"
    options = "TARGET_LAG = '5 minutes' WAREHOUSE = wh REFRESH_MODE = INCREMENTAL"
    with pytest.raises(Refused, match="DISTINCT of a floating-point aggregate"):
        read_statement(f"CREATE DYNAMIC TABLE b {options} AS {text}", TABLES.get)
