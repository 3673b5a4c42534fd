"""VALUES as a relation: DuckDB has the same rows, and queries over them and tables are maintained."""

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from functools import cache
from random import Random
from typing import Any

import duckdb
import pytest
from as_duckdb import same_bag
from maintaining import TABLES, deltas, evaluated, query
from random_versions import duckdb_of, random_versions

from dynamic_tables.bags.bag_backend import BagBackend
from dynamic_tables.maintenance.algebra import ConstantRows
from dynamic_tables.sql.definitions import SqlDefinition, bind_definition, bind_view
from dynamic_tables.sql.statements import CreateTableAs, read_statement
from dynamic_tables.sql.writes import read_write
from dynamic_tables.values.errors import DuplicateRowId, Refused
from mutants.sql.constants import MUTANTS
from pruning.errors import InputError

CELLS = {"l": ((None, 1, 2, 3), (None, "a", "b", "c"))}
CODES = "(VALUES (1, 'one'), (2, 'two'), (2, 'zwei'), (NULL, 'none')) AS v (k, name)"
# Queries that DuckDB has in the same words.
QUERIES = (
    f"SELECT l.k, x, name FROM l JOIN {CODES} ON l.k = v.k",
    f"SELECT l.k, x, name FROM l LEFT JOIN {CODES} ON l.k = v.k",
    f"SELECT l.k, x, name FROM l RIGHT JOIN {CODES} ON l.k = v.k AND x <> 'a'",
    f"SELECT l.k, x, name FROM {CODES} FULL JOIN l ON l.k = v.k",
    f"SELECT l.k, name FROM l, {CODES}",
    f"SELECT name, count(x) FROM {CODES} LEFT JOIN l ON l.k = v.k GROUP BY name",
    f"SELECT DISTINCT k FROM (SELECT k FROM l UNION ALL SELECT k FROM {CODES}) u",
    f"SELECT k, x FROM l UNION SELECT k, name FROM {CODES}",
    f"WITH c AS (SELECT k, upper(name) AS name FROM {CODES}) SELECT x, name FROM l JOIN c ON l.k = c.k",
    f"SELECT k, name, rank() OVER (PARTITION BY k ORDER BY name) FROM {CODES}",
    "SELECT x FROM l JOIN (VALUES (1.50), (2)) AS v (d) ON l.k = v.d",
    "SELECT x FROM l, (VALUES (1)) AS v (n)",
)
SEEDS = 20


@cache
def connection_of(seed: int) -> duckdb.DuckDBPyConnection:
    """A connection to DuckDB with the first version of a seed."""
    return duckdb_of(random_versions(Random(seed), CELLS, count=1)[0])


@pytest.mark.parametrize("text", QUERIES)
def test_rows_are_those_of_duckdb(text: str) -> None:
    for seed in range(SEEDS):
        ours = evaluated(text, random_versions(Random(seed), CELLS, count=1)[0])
        assert same_bag(ours, connection_of(seed).execute(text).fetchall())


@pytest.mark.parametrize("text", QUERIES)
def test_queries_over_values_are_maintained(text: str) -> None:
    assert query(text).incremental
    for seed in range(SEEDS):
        deltas(text, *random_versions(Random(seed), CELLS))


@pytest.mark.parametrize("mistake", MUTANTS)
def test_changes_kill_each_mutant(mistake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    backend: BagBackend = MUTANTS[mistake]
    monkeypatch.setattr("maintaining.BagBackend", lambda: backend)
    with pytest.raises((AssertionError, DuplicateRowId)):
        test_all_are_maintained()


def test_all_are_maintained() -> None:
    """Each query, over the versions of one seed."""
    for text in QUERIES:
        deltas(text, *random_versions(Random(1), CELLS))


def constants(text: str) -> ConstantRows:
    """The constant rows that a query reads."""
    relation: Any = query(f"SELECT * FROM {text}").relation
    while not isinstance(relation, ConstantRows):
        relation = relation.child
    return relation


@pytest.mark.parametrize(
    ("text", "rows", "types"),
    [
        ("VALUES (1, 'a'), (2, 'b')", ((1, "a"), (2, "b")), "INTEGER TEXT"),
        ("VALUES (1), (2.50), (NULL)", ((Decimal("1.00"),), (Decimal("2.50"),), (None,)), "DECIMAL(38,2)"),
        ("VALUES (DATE '2025-01-02', 1 + 2 * 3)", ((date(2025, 1, 2), 7),), "DATE INTEGER"),
        ("VALUES (NULL, TRUE)", ((None, True),), "NULL BOOLEAN"),
        ("VALUES (1), (1e1)", ((1.0,), (10.0,)), "FLOAT"),
    ],
)
def test_columns_have_the_common_type_of_their_cells(text: str, rows: object, types: str) -> None:
    relation = constants(text)
    assert relation.rows == rows
    assert " ".join(str(field.type) for field in relation.fields) == types
    names = [f"column{place}" for place, _ in enumerate(types.split(), 1)]
    assert [field.name for field in relation.fields] == names


def test_columns_that_nothing_reads_are_left_out() -> None:
    relation = constants(f"(SELECT name FROM {CODES}) q")
    assert relation.rows == (("one",), ("two",), ("zwei",), ("none",))


def test_a_view_of_values_is_read() -> None:
    view = bind_view(SqlDefinition(f"SELECT * FROM {CODES}"), TABLES.get)
    names: Mapping[str, Any] = {**TABLES, "codes": view}
    bound = bind_definition(SqlDefinition("SELECT x, name FROM l JOIN codes USING (k)"), names.get)
    assert BagBackend().full(bound, {"L": {"1": (1, "a")}}) == {"j1:1v0": ("a", "one")}


def test_values_fill_tables() -> None:
    write = read_write("INSERT INTO l SELECT * FROM VALUES (1, 'a'), (2, 'b')", TABLES.get)
    assert write is not None
    assert write.new_query is not None
    assert list(BagBackend().full(write.new_query, {}).values()) == [(1, "a"), (2, "b")]
    assert isinstance(
        read_statement("CREATE TABLE t AS SELECT * FROM VALUES (1) v (a)", {}.get), CreateTableAs
    )


def test_a_dynamic_table_reads_a_table() -> None:
    """Without one it would never be refreshed."""
    text = "CREATE DYNAMIC TABLE b TARGET_LAG = '5 minutes' WAREHOUSE = wh AS SELECT * FROM VALUES (1)"
    with pytest.raises(Refused, match="a query that reads no table is not supported in a dynamic table"):
        read_statement(text, {}.get)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("VALUES (1), (2, 3)", "the rows of VALUES have 1 and 2 columns"),
        ("VALUES (1), ('a')", "no common type"),
        ("VALUES (k)", "there is no column k"),
        ("VALUES (1 / 0)", "VALUES: division by zero"),
        ("VALUES (random())", r"RANDOM\(\) is volatile"),
        ("VALUES ((SELECT 1))", "a scalar subquery"),
        ("VALUES (1) AS v (a, b)", "2 names are given for 1 columns"),
    ],
)
def test_values_that_cannot_be_are_refused(text: str, wrong: str) -> None:
    with pytest.raises(InputError, match=wrong):
        query(f"SELECT * FROM {text}")
