"""Columns of base tables come and go: rows are those of DuckDB, and tables are what their queries say."""

from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pytest
from store_writes import log_in_tests
from warehouse_worlds import WarehouseWorld

from dynamic_tables.stores.formats import LOGS
from dynamic_tables.warehouse.events import EventKind
from dynamic_tables.warehouse.stored_tables import WarehouseTable
from pruning.errors import InputError

MINUTE = "TARGET_LAG = '1 minute'"
NAMES = ("x", "y")


def world_of(tmp_path: Path, format: str = "parquet") -> WarehouseWorld:
    log_in_tests(format)
    world = WarehouseWorld(tmp_path / "w", format=format)
    for statement in (
        "CREATE TABLE a (k INTEGER, v INTEGER)",
        "INSERT INTO a VALUES (1, 1), (2, 1), (3, 2)",
        f"CREATE DYNAMIC TABLE star {MINUTE} AS SELECT * FROM a",
        f"CREATE DYNAMIC TABLE counts {MINUTE} AS SELECT v, count(*) AS n FROM a GROUP BY v",
    ):
        world.sql(statement)
    return world


def drawn_statement(random: Random, columns: list[str]) -> str:
    """A statement for a table that has some of two more columns; they change with it."""
    k, v = random.randrange(9), random.randrange(4)
    others = [name for name in NAMES if name not in columns]
    choices = [
        f"INSERT INTO a VALUES ({', '.join([str(k)] * (2 + len(columns)))})",
        f"INSERT INTO a (k, v) VALUES ({k}, {v})",
        f"DELETE FROM a WHERE k = {k}",
        *(f"UPDATE a SET {name} = {v} WHERE k > {k}" for name in columns),
        *(f"DELETE FROM a WHERE {name} = {v}" for name in columns),
        *(f"ALTER TABLE a ADD COLUMN {name} INTEGER" for name in others),
        *(f"ALTER TABLE a DROP COLUMN {name}" for name in columns),
    ]
    statement = random.choice(choices)
    if "ADD COLUMN" in statement:
        columns.append(statement.split()[5])
    if "DROP COLUMN" in statement:
        columns.remove(statement.split()[5])
    return statement


def take_steps(random: Random, tmp_path: Path, steps: int, format: str = "parquet") -> set[str]:
    """Statements, refreshes and maintenance; return the names of columns that came again."""
    world, engine = world_of(tmp_path, format), duckdb.connect()
    engine.sql("CREATE TABLE a (k INTEGER, v INTEGER)")
    engine.sql("INSERT INTO a VALUES (1, 1), (2, 1), (3, 2)")
    columns: list[str] = []
    ever: list[str] = []
    for _ in range(steps):
        statement = drawn_statement(random, columns)
        world.sql(statement)
        engine.sql(statement)
        ever += [name for name in columns if "ADD" in statement and name == columns[-1]]
        assert world.rows("a") == sorted(engine.sql("SELECT * FROM a").fetchall(), key=repr)
        match random.randrange(6):
            case 0 | 1:
                world.drive(60)
                assert world.rows("star") == world.rows("a")
                assert not world.wrong_tables()
            case 2:
                world.warehouse.compact("a")
            case 3:
                world.reopen()
            case 4:
                world.warehouse.expire(world.now_us - 50_000_000)
            case _:
                pass
        assert not any(verdict.wrong_count for verdict in world.warehouse.verify())
    return {name for name in ever if ever.count(name) > 1}


def test_rows_are_those_of_duckdb_whatever_columns_come_and_go(tmp_path: Path) -> None:
    """WAREHOUSE-7. Also where a column comes again under the name of one that was dropped."""
    assert take_steps(Random(11), tmp_path, 30)


@pytest.mark.parametrize("format", ["delta", "iceberg"])
def test_columns_come_and_go_in_other_formats(tmp_path: Path, format: str) -> None:
    """WAREHOUSE-7."""
    take_steps(Random(11), tmp_path, 12, format)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("format", "seed"),
    [(format, seed) for format in LOGS for seed in range(10 if format == "parquet" else 5)],
)
def test_two_thousand_steps_of_columns(tmp_path: Path, format: str, seed: int) -> None:
    """WAREHOUSE-7."""
    take_steps(Random(3_000 + seed), tmp_path, 100, format)


def test_dropped_values_that_come_again_are_found_out(tmp_path: Path, monkeypatch: Any) -> None:
    """WAREHOUSE-7 can fail."""
    monkeypatch.setattr(WarehouseTable, "reused_names", lambda table: set())
    with pytest.raises(AssertionError):
        take_steps(Random(11), tmp_path, 30)


def test_dropped_values_stay_away_if_another_writer_is_faster(tmp_path: Path, monkeypatch: Any) -> None:
    """The table is written anew before the next change of rows, however often that is tried."""
    world = world_of(tmp_path)
    world.sql("ALTER TABLE a DROP COLUMN v")
    world.sql("ALTER TABLE a ADD COLUMN v INTEGER")
    compact, attempts = WarehouseTable.compact, [1, 2, 3]

    def compact_late(table: WarehouseTable, *arguments: Any) -> bool:
        attempts.pop()
        return not attempts and compact(table, *arguments)

    monkeypatch.setattr(WarehouseTable, "compact", compact_late)
    world.sql("INSERT INTO a VALUES (9, 9)")
    assert not attempts
    assert world.rows("a") == [(1, None), (2, None), (3, None), (9, 9)]


def test_only_tables_that_read_a_column_are_computed_anew(tmp_path: Path) -> None:
    """R-DVS-43. The others are maintained incrementally over the change."""
    world = world_of(tmp_path)
    world.sql("ALTER TABLE a ADD COLUMN x INTEGER")
    world.sql("INSERT INTO a VALUES (4, 2, 9)")
    world.drive(60)
    actions = {state.name: state.action for state in world.warehouse.status()}
    assert actions == {"main.star": "REINITIALIZE", "main.counts": "INCREMENTAL"}
    assert world.sql("SELECT * FROM star WHERE x = 9").rows == ((4, 2, 9),)
    before_us = max(event.at_us for event in world.events(EventKind.REFRESHED))
    world.sql("ALTER TABLE a DROP COLUMN x")
    world.drive(60)
    assert world.warehouse.query("SELECT * FROM a WHERE k = 4", as_of_us=before_us).rows == ((4, 2),)
    assert not world.wrong_tables()


BAD = [
    ("ALTER TABLE a ADD COLUMN K INTEGER", "two columns are called k|has a column k already"),
    ("ALTER TABLE a ADD COLUMN _row_id INTEGER", "a column cannot be called _row_id"),
    ("ALTER TABLE a DROP COLUMN z", "has no column z"),
    ("ALTER TABLE star ADD COLUMN z INTEGER", "dynamic table"),
]


@pytest.mark.parametrize(("statement", "message"), BAD)
def test_columns_that_cannot_come_or_go_are_refused(tmp_path: Path, statement: str, message: str) -> None:
    world = world_of(tmp_path)
    with pytest.raises(InputError, match=message):
        world.sql(statement)
    assert len(world.rows("a")) == 3


def test_a_statement_is_bound_again_if_the_columns_changed_meanwhile(
    tmp_path: Path, monkeypatch: Any
) -> None:
    world = world_of(tmp_path)
    other, stage = world.open(), type(world.warehouse.account.tables["t1"].files).stage

    def stage_late(files: Any, *arguments: Any) -> Any:
        staged = stage(files, *arguments)
        monkeypatch.setattr(type(files), "stage", stage)
        other.sql("ALTER TABLE a ADD COLUMN x INTEGER")
        return staged

    monkeypatch.setattr(type(world.warehouse.account.tables["t1"].files), "stage", stage_late)
    world.sql("UPDATE a SET v = 7 WHERE k = 1")
    assert world.rows("a") == [(1, 7, None), (2, 1, None), (3, 2, None)]
    with pytest.raises(InputError, match="values"):
        world.sql("INSERT INTO a VALUES (9, 9)")
