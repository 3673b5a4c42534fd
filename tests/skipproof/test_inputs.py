"""Tables and queries as the user names them."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pruning.errors import InputError
from skipproof.commands.inputs import NamedTable, query_over


@pytest.fixture
def numbers(tmp_path: Path) -> NamedTable:
    path = tmp_path / "numbers.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3]}), path)
    return NamedTable.parse(f"numbers={path}")


@pytest.mark.parametrize("text", ["numbers", "numbers=", "=.", "1a=.", "a b=.", "a=no/such/file", ""])
def test_a_table_that_cannot_be_meant_is_refused_by_its_own_text(text: str) -> None:
    with pytest.raises(InputError) as refusal:
        NamedTable.parse(text)
    assert str(refusal.value).startswith(f"--table {text}: ")


def test_a_query_sees_the_tables_by_their_names(spark: Any, numbers: NamedTable) -> None:
    found = query_over(spark, [numbers], "WITH b AS (SELECT a FROM numbers) SELECT sum(a) FROM b").collect()
    assert [tuple(row) for row in found] == [(6,)]


@pytest.mark.parametrize(
    "sql",
    [
        "DROP VIEW numbers",
        "CREATE TABLE made USING parquet AS SELECT * FROM numbers",
        "CREATE TEMPORARY VIEW made AS SELECT * FROM numbers",
        "INSERT INTO numbers VALUES (4)",
        "SET spark.sql.ansi.enabled=false",
        "DELETE FROM numbers",
        "EXPLAIN SELECT * FROM numbers",
        "SHOW TABLES",
    ],
)
def test_statements_that_do_more_than_read_are_refused(spark: Any, numbers: NamedTable, sql: str) -> None:
    with pytest.raises(InputError, match="is not a query"):
        query_over(spark, [numbers], sql)


def test_a_name_given_twice_is_refused(spark: Any, numbers: NamedTable) -> None:
    with pytest.raises(InputError, match="given twice"):
        query_over(spark, [numbers, numbers], "SELECT 1")
