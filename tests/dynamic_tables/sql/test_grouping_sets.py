"""ROLLUP, CUBE and GROUPING SETS: DuckDB has the same groups; those without a grand total are maintained."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import cache
from random import Random

import duckdb
import pytest
from as_duckdb import same_bag
from maintaining import TABLES, deltas, evaluated, query
from random_versions import duckdb_of, random_versions

from dynamic_tables.sql import groups
from dynamic_tables.sql.statements import read_statement
from dynamic_tables.values.errors import Refused
from mutants.sql.grouping_sets import MUTANTS
from pruning.errors import InputError

CELLS = {
    "n": ((None, 1, 2), (None, 0, 1), (None, "a", "b")),
    "d": ((None, 1, 2), (None, Decimal("0.50"), Decimal("1.25"))),
}
MAINTAINED = (
    "SELECT k, n, count(*), grouping(k), grouping(n), grouping_id(k, n) FROM n "
    "GROUP BY GROUPING SETS ((k, n), k, (n))",
    "SELECT k, unused, count(n) FROM n GROUP BY k, ROLLUP (unused)",
    "SELECT k, n, unused, sum(n) FROM n GROUP BY k, CUBE (n, unused)",
    "SELECT k, n, unused, sum(n) FROM n GROUP BY k, ROLLUP (n, unused) "
    "HAVING grouping(n) = 1 OR count(*) > 1",
    "SELECT k + 1, sum(n) FROM n GROUP BY GROUPING SETS (k + 1, (k + 1, n))",
    "SELECT k, n, min(unused) FROM n GROUP BY GROUPING SETS ((k, n), (k, n), k)",
    "SELECT k, n, count(*) FROM n GROUP BY (k, n)",
    "SELECT n.k, d, sum(n) FROM n JOIN d ON n.k = d.k GROUP BY GROUPING SETS (n.k, d)",
    "SELECT k, rank() OVER (PARTITION BY grouping(k) ORDER BY count(*)) FROM n GROUP BY GROUPING SETS (k, n)",
    "SELECT a.k, b.k AS j, a.c FROM (SELECT k, n, count(*) AS c FROM n GROUP BY GROUPING SETS (k, n)) a "
    "FULL JOIN d b ON a.k = b.k",
    "SELECT n, sum(c) FROM (SELECT k, n, count(*) AS c FROM n GROUP BY GROUPING SETS (k, n)) a GROUP BY n",
    "SELECT grouping(k), k FROM n GROUP BY k",
)
WITH_TOTAL = (
    "SELECT k, n, count(*), sum(n) FROM n GROUP BY ROLLUP (k, n)",
    "SELECT k, n, count(*), grouping(k, n) FROM n GROUP BY CUBE (k, n)",
    "SELECT k, n, unused, count(*) FROM n GROUP BY ROLLUP ((k, n), unused)",
    "SELECT k, count(*) FROM n GROUP BY GROUPING SETS (ROLLUP (k), ())",
    "SELECT count(*) FROM n GROUP BY ()",
)
SEEDS = 20


@cache
def connection_of(seed: int) -> duckdb.DuckDBPyConnection:
    """A connection to DuckDB with the first version of a seed; the tables of the first seed are empty."""
    return duckdb_of(version_of(seed))


def version_of(seed: int) -> Mapping[str, Mapping[str, tuple[object, ...]]]:
    """The first version of a seed."""
    return random_versions(Random(seed), CELLS, count=1)[0] if seed else {name: {} for name in CELLS}


def differs_from_duckdb(text: str, seed: int) -> bool:
    """Tell whether a query has other rows in DuckDB."""
    theirs = connection_of(seed).execute(text).fetchall()
    return not same_bag(evaluated(text, version_of(seed)), theirs)


@pytest.mark.parametrize("text", [*MAINTAINED, *WITH_TOTAL])
def test_groups_are_those_of_duckdb(text: str) -> None:
    """Also of no rows, of which there is a grand total and no other group."""
    assert not [seed for seed in range(SEEDS) if differs_from_duckdb(text, seed)]


@pytest.mark.parametrize("text", MAINTAINED)
def test_groups_are_maintained(text: str) -> None:
    assert query(text).incremental
    for seed in range(SEEDS):
        deltas(text, *random_versions(Random(seed), CELLS))


@pytest.mark.parametrize("mistake", MUTANTS)
def test_comparison_with_duckdb_kills_each_mutant(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mutant: Callable[..., object] = MUTANTS[mistake]
    monkeypatch.setattr(groups, "union_of_groups", mutant)
    texts = (*MAINTAINED, *WITH_TOTAL)
    assert any(differs_from_duckdb(text, seed) for seed in range(SEEDS) for text in texts)


def test_a_grand_total_is_no_incremental_query() -> None:
    """R-DVS-22: it is an aggregate without GROUP BY. FULL computes it."""
    for text in WITH_TOTAL[:-1]:
        options = "TARGET_LAG = '5 minutes' WAREHOUSE = wh REFRESH_MODE = INCREMENTAL"
        named = text.replace("count(*)", "count(*) AS c").replace("sum(n)", "sum(n) AS s")
        with pytest.raises(Refused, match="such as the grand total of ROLLUP or CUBE, cannot be maintained"):
            read_statement(f"CREATE DYNAMIC TABLE b {options} AS {named}", TABLES.get)


def test_numbers_stand_for_items_of_the_select_list() -> None:
    texts = [
        f"SELECT k, n, count(*) AS c FROM n GROUP BY {keys}" for keys in ("ROLLUP (1, 2)", "ROLLUP (k, n)")
    ]
    assert len({query(text).fingerprint for text in texts}) == 1


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("grouping(n) FROM n GROUP BY k", r"n in GROUPING\(n\) is not in GROUP BY"),
        ("grouping(n) FROM n", r"n in GROUPING\(n\) is not in GROUP BY"),
        ("n FROM n GROUP BY ROLLUP (k)", "n is neither in GROUP BY nor in an aggregate"),
        ("1 FROM n GROUP BY CUBE (k, n, unused, k + 1, k + 2, k + 3, k + 4, k + 5)", "more than 128"),
        ("1 FROM n GROUP BY CUBE (k, n, k + 1, k + 2), CUBE (k, n, k + 1, k + 2)", "more than 128"),
    ],
)
def test_grouping_sets_that_cannot_be_are_refused(text: str, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        query(f"SELECT {text}")
