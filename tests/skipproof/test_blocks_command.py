"""The command `skipproof blocks`: the system table, a query on it, and the times that can be asked for."""

import contextlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pruning.metadata.store.past import complete_looks
from skipproof.commands import block_tables


@pytest.fixture
def table(tmp_path: Path, run: Any) -> Path:
    """A directory that was shown when it had one file, and again when it had two."""
    for number in range(2):
        rows = pa.table({"a": list(range(10 * number, 10 * number + 10)), "b": ["x"] * 10})
        pq.write_table(rows, tmp_path / f"{number}.parquet", row_group_size=5)
        run("blocks", str(tmp_path))
    return tmp_path


def rows_of(out: str) -> list[dict[str, Any]]:
    """Return the rows of an answer in JSON."""
    answer = json.loads(out)
    return [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]


def test_rows_are_printed_for_people_and_programs(run: Any, table: Path) -> None:
    status, out, errors = run("blocks", str(table), "--columns", "a, b", "--rows", "3")
    assert (status, errors) == (0, "")
    assert "8 rows, the first 3 of them shown" in out
    _, out, _ = run("blocks", str(table), "--columns", "a", "--json")
    assert [(row["row_group"], row["min"], row["max"]) for row in rows_of(out)] == [
        (0, "0", "4"),
        (1, "5", "9"),
        (0, "10", "14"),
        (1, "15", "19"),
    ]


def test_a_query_on_the_table(run: Any, table: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the tests' session: the command would end it."""
    monkeypatch.setattr(block_tables, "spark_session", lambda: contextlib.nullcontext(spark))
    sql = "SELECT column, sum(row_count) AS n FROM blocks GROUP BY column ORDER BY column"
    status, out, _ = run("blocks", str(table), "--sql", sql, "--json")
    assert status == 0
    assert rows_of(out) == [{"column": "a", "n": 20}, {"column": "b", "n": 20}]
    status, _, errors = run("blocks", str(table), "--sql", "CREATE TABLE t AS SELECT 1")
    assert status == 2
    assert "only statements that read are run" in errors


def test_the_past_is_shown_and_can_be_asked_for(run: Any, table: Path) -> None:
    first, second = complete_looks(table)
    status, out, _ = run("blocks", str(table), "--looks", "--json")
    assert status == 0
    assert [(row["time"], row["files"], row["added"]) for row in rows_of(out)] == [
        (str(first.time), 1, 1),
        (str(second.time), 2, 1),
    ]
    _, out, _ = run("blocks", str(table), "--looks", "--rows", "1", "--json")
    assert [row["files"] for row in rows_of(out)] == [2]
    _, out, _ = run("blocks", str(table), "--as-of", str(first.time), "--columns", "a", "--json")
    assert len(rows_of(out)) == 2
    status, _, errors = run("blocks", str(table), "--as-of", "2020-01-01")
    assert status == 2
    assert "the first time that can be told is" in errors
