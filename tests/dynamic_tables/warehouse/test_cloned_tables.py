"""Clones of stored tables share files with their originals, and nothing else (R-DVS-46)."""

from pathlib import Path
from typing import Any

import pytest
from crashing import Crash, crash_at
from store_writes import log_in_tests
from warehouse_worlds import WarehouseWorld

from dynamic_tables.stores.formats import LOGS
from dynamic_tables.warehouse.accounts import WarehouseAccount
from dynamic_tables.warehouse.database import Database
from dynamic_tables.warehouse.events import EventKind
from pruning.errors import InputError

COUNTS = "TARGET_LAG = '1 minute' AS SELECT v, count(*) AS n FROM a GROUP BY v"


def world_of(tmp_path: Path, format: str = "parquet") -> WarehouseWorld:
    log_in_tests(format)
    world = WarehouseWorld(tmp_path / "w", format=format)
    for statement in (
        "CREATE TABLE s.a (k INTEGER, v INTEGER)",
        "INSERT INTO s.a VALUES (1, 1), (2, 1), (3, 2)",
        "DELETE FROM s.a WHERE k = 2",
        f"CREATE DYNAMIC TABLE s.d {COUNTS}",
        "CREATE DYNAMIC TABLE s.e TARGET_LAG = '1 minute' AS SELECT n FROM d",
        "ALTER TABLE s.a ADD COLUMN x INTEGER",
        "INSERT INTO s.a VALUES (4, 2, 7)",
    ):
        world.sql(statement)
    return world


def actions_of(world: WarehouseWorld, name: str) -> set[str]:
    """The actions of a table's refreshes that found changes."""
    identity = world.warehouse.account.catalog.state.get(name).identity
    events = [event for event in world.events(EventKind.REFRESHED) if event.identity == identity]
    return {event.body["action"] for event in events} - {"NO_DATA"}


@pytest.mark.parametrize("format", LOGS)
def test_a_clone_of_a_base_table_has_rows_of_its_own(tmp_path: Path, format: str) -> None:
    world = world_of(tmp_path, format)
    before = world.rows("s.a")
    world.sql("CREATE TABLE s.b CLONE s.a")
    world.sql("DELETE FROM s.a WHERE k = 1")
    world.sql("INSERT INTO s.b VALUES (5, 5, 5)")
    assert world.rows("s.b") == sorted([*before, (5, 5, 5)], key=repr)
    assert world.rows("s.a") == [row for row in before if row[0] != 1]
    world.sql("DROP TABLE s.e")
    world.warehouse.expire(world.now_us)
    world.reopen()
    assert len(world.rows("s.b")) == 4


@pytest.mark.parametrize("format", LOGS)
def test_a_clone_of_a_dynamic_table_goes_on_where_its_original_was(tmp_path: Path, format: str) -> None:
    """It is suspended; once resumed, it is refreshed incrementally."""
    world = world_of(tmp_path, format)
    world.sql("CREATE DYNAMIC TABLE s.c CLONE s.d")
    assert world.rows("s.c") == [(1, 1), (2, 1)]
    world.drive(60)
    assert world.rows("s.d") == [(1, 1), (2, 2)]
    assert world.rows("s.c") == [(1, 1), (2, 1)]
    world.sql("ALTER DYNAMIC TABLE s.c RESUME")
    world.drive(60)
    assert world.rows("s.c") == [(1, 1), (2, 2)]
    assert actions_of(world, "s.c") == {"INCREMENTAL"}
    assert not world.wrong_tables()


@pytest.mark.parametrize("format", LOGS)
def test_tables_of_a_cloned_schema_read_each_other(tmp_path: Path, format: str) -> None:
    """Also by a process that did not make the frontiers; versions that are not needed stay behind."""
    world = world_of(tmp_path, format)
    world.drive(60)
    world.sql("INSERT INTO s.a VALUES (6, 1, 1)")
    world.reopen()
    world.sql("CREATE SCHEMA t CLONE s")
    assert len(list(world.warehouse.location("t.a").glob("data/*"))) < 6
    world.sql("INSERT INTO t.a VALUES (7, 9, 9)")
    for name in ("t.d", "t.e"):
        world.sql(f"ALTER DYNAMIC TABLE {name} RESUME")
    world.drive(60)
    assert world.rows("t.d") == [(1, 2), (2, 2), (9, 1)]
    assert world.rows("s.d") == [(1, 2), (2, 2)]
    assert actions_of(world, "t.d") == actions_of(world, "t.e") == {"INCREMENTAL"}
    assert not world.wrong_tables()


@pytest.mark.parametrize("format", LOGS)
def test_a_clone_whose_statement_was_not_saved_leaves_nothing(tmp_path: Path, format: str) -> None:
    """The next table gets its identity, and none of its rows."""
    world = world_of(tmp_path, format)
    with pytest.raises(Crash), crash_at([(Database, "commit")], 0, after=False):
        world.sql("CREATE TABLE s.b CLONE s.a")
    world.reopen()
    world.sql("CREATE TABLE s.c (z INTEGER)")
    assert world.rows("s.c") == []
    world.sql("CREATE TABLE s.b CLONE s.a")
    assert world.rows("s.b") == world.rows("s.a")


def test_files_that_are_left_would_be_found_out(tmp_path: Path, monkeypatch: Any) -> None:
    """The test before can fail."""
    monkeypatch.setattr("dynamic_tables.warehouse.accounts.shutil.rmtree", lambda *_, **__: None)
    with pytest.raises((AssertionError, KeyError, InputError)):
        test_a_clone_whose_statement_was_not_saved_leaves_nothing(tmp_path, "parquet")


def test_a_frontier_without_the_clones_would_be_found_out(tmp_path: Path, monkeypatch: Any) -> None:
    """A cloned table would go on from its original's sources."""
    monkeypatch.setattr(
        WarehouseAccount, "cloned_frontier", lambda account, identity, frontier, clones: frontier
    )
    with pytest.raises(AssertionError):
        test_tables_of_a_cloned_schema_read_each_other(tmp_path, "parquet")


def test_a_clone_is_not_published_where_its_original_is(tmp_path: Path) -> None:
    log_in_tests("delta")
    world = world_of(tmp_path)
    world.warehouse.publish("s.d", tmp_path / "copy", "delta")
    world.sql("CREATE DYNAMIC TABLE s.c CLONE s.d")
    world.sql("ALTER DYNAMIC TABLE s.c RESUME")
    world.drive(60)
    places = {event.identity for event in world.events(EventKind.PUBLISHED)}
    assert places == {world.warehouse.account.catalog.state.get("s.d").identity}
