"""Plans of Iceberg are remembered as long as their table is the same."""

from collections.abc import Callable
from typing import Any

import pytest

import pruning
from pruning.metadata.iceberg.remembered import BoundedMemory
from pruning.spark.iceberg import tables

CONDITIONS = ["x > 25", "x > 15", "s = 'a\" and not(x'", "IF(x > y, x, y) = 12", "y IS NULL", "true"]


@pytest.fixture
def plans(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of files of the plans that Iceberg makes during a test, which starts without any."""
    made: list[int] = []
    read = tables.read_facts

    def count(answer: bytes) -> Any:
        facts = read(answer)
        made.append(len(facts.files))
        return facts

    monkeypatch.setattr(tables, "read_facts", count)
    monkeypatch.setattr(tables, "_REMEMBERED", BoundedMemory(tables.REMEMBERED_FILES_MAX))
    return made


@pytest.fixture
def table(iceberg: Any, new_name: Callable[[], str]) -> str:
    """A table of four files of ten rows each."""
    name = new_name()
    iceberg.sql(f"CREATE TABLE {name} (x BIGINT, y INT, s STRING) USING iceberg")
    for first in range(0, 40, 10):
        rows = iceberg.range(first, first + 10, 1, 1).selectExpr("id AS x", "0 AS y", "'a' AS s")
        rows.writeTo(name).append()
    return name


def answers(spark: Any, table: str) -> dict[str, list[Any]]:
    """Return the rows of each condition, pruned."""
    frames = {condition: spark.sql(f"SELECT x FROM {table} WHERE {condition}") for condition in CONDITIONS}
    return {
        condition: sorted(row.x for row in pruning.prune(frame).collect())
        for condition, frame in frames.items()
    }


def test_a_plan_is_made_once_until_the_table_changes(iceberg: Any, table: str, plans: list[int]) -> None:
    """By the filter that Iceberg has planned with; a commit, also one without rows, is another table."""
    before = answers(iceberg, table)
    assert before["x > 25"] == list(range(26, 40))
    assert plans == [2, 3, 0, 4, 0, 4]
    assert answers(iceberg, table) == before
    assert len(plans) == 6
    iceberg.sql(f"INSERT INTO {table} VALUES (100, NULL, 'b')")
    assert {condition: rows[-1:] for condition, rows in answers(iceberg, table).items()} == {
        **{condition: rows[-1:] for condition, rows in before.items()},
        "x > 25": [100],
        "x > 15": [100],
        "y IS NULL": [100],
        "true": [100],
    }
    assert len(plans) == 12
    iceberg.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('write.metadata.metrics.default' = 'full')")
    answers(iceberg, table)
    assert len(plans) == 18


def test_the_files_that_iceberg_has_planned_are_read_without_a_second_plan(
    iceberg: Any, table: str, plans: list[int]
) -> None:
    """Also where no rule of ours excludes more; other queries are left as they are."""
    frame = iceberg.table(table).where("x = 25")
    pruned = pruning.prune(frame)
    assert pruned is not frame
    assert (
        "scan-task-set-id"
        in pruned._jdf.queryExecution().analyzed().collectLeaves().apply(0).options().keySet()
    )
    assert [row.x for row in pruned.collect()] == [25]
    grouped = iceberg.sql(f"SELECT x, count(*) FROM {table} WHERE x = 25 GROUP BY x")
    assert pruning.prune(grouped) is grouped
    whole = iceberg.table(table).where("x >= 0")
    assert pruning.prune(whole) is whole
    assert plans == [1, 4]


def test_more_files_than_the_limit_are_planned_each_time(
    iceberg: Any, table: str, plans: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of plans below the limit, the one that was used last stays."""
    monkeypatch.setattr(tables, "_REMEMBERED", BoundedMemory(3))
    for _ in range(2):
        pruning.prune(iceberg.sql(f"SELECT x FROM {table} WHERE IF(x > y, x, y) = 12"))
        pruning.prune(iceberg.sql(f"SELECT x FROM {table} WHERE x > 25"))
    assert plans == [4, 2, 4]


def test_a_memory_that_forgets_the_filter_loses_rows(
    iceberg: Any, table: str, plans: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without this, the tests above could pass with one plan for all queries of a table."""
    content = BoundedMemory.content

    def forgetful(memory: Any, key: Any, weight: Any, load: Any) -> Any:
        return content(memory, "one", weight, load)

    monkeypatch.setattr(BoundedMemory, "content", forgetful)
    assert answers(iceberg, table)["x > 15"] != list(range(16, 40))
