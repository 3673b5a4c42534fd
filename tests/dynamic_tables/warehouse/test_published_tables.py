"""Copies of dynamic tables in Delta Lake and Iceberg: other programs read what the table holds."""

from pathlib import Path
from random import Random
from typing import Any

import pytest

# They are in the extras `delta` and `iceberg`, and among the engines.
pytest.importorskip("deltalake")
pytest.importorskip("pyiceberg")
pytest.importorskip("polars")
from deltalake import DeltaTable
from other_readers import READERS
from warehouse_worlds import BASES, WarehouseWorld, drawn_write

from dynamic_tables.stores import published_tables
from dynamic_tables.stores.published_tables import DeltaCopy, IcebergCopy, open_copy
from dynamic_tables.warehouse.events import EventKind
from pruning.errors import InputError

# What PyIceberg and Polars say of their own ways.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Delete operation did not match"),
    pytest.mark.filterwarnings("ignore:Iceberg scan planning"),
]

COUNTS = (
    "CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT v, count(*) AS n, sum(k) AS s FROM a GROUP BY v"
)


def rows_of(frame: Any) -> list[Any]:
    return sorted([tuple(row[name] for name in ("v", "n", "s")) for row in frame.to_dicts()], key=repr)


def exact(rows: list[Any]) -> list[Any]:
    return sorted([tuple(None if cell is None else int(cell) for cell in row) for row in rows], key=repr)


def published_world(tmp_path: Path, format: str) -> WarehouseWorld:
    world = WarehouseWorld(tmp_path / "w")
    for statement in (*BASES, "INSERT INTO a VALUES (1, 1), (2, NULL)", COUNTS):
        world.sql(statement)
    world.warehouse.publish("d", tmp_path / "copy", format)
    return world


@pytest.mark.parametrize("changes_max", [1_000, 0])
@pytest.mark.parametrize("format", READERS)
def test_other_programs_read_what_a_table_holds(
    tmp_path: Path, monkeypatch: Any, format: str, changes_max: int
) -> None:
    """PUBLISH-1. By changes of rows, or of whole versions; through compaction and expiry."""
    monkeypatch.setattr(published_tables, "CHANGES_MAX", changes_max)
    world, random = published_world(tmp_path, format), Random(5)
    for step in range(10):
        world.sql(drawn_write(random))
        world.sql(f"INSERT INTO a VALUES ({step}, {step % 3})")
        world.refresh("main.d")
        if step % 4 == 3:
            world.warehouse.compact("d")
            world.warehouse.expire(world.now_us)
            world.reopen()
        frame = READERS[format](tmp_path / "copy")
        assert exact(rows_of(frame)) == exact(world.rows("d"))
        assert sorted(frame["_row_id"].to_list()) == sorted(world.warehouse.contents("d"))
    assert not [event for event in world.events(EventKind.PUBLISHED) if "message" in event.body]


@pytest.mark.parametrize("format", READERS)
def test_a_copy_that_could_not_be_written_catches_up(tmp_path: Path, monkeypatch: Any, format: str) -> None:
    """The table is refreshed all the same, and the log says what happened."""
    world = published_world(tmp_path, format)
    kind = {"delta": DeltaCopy, "iceberg": IcebergCopy}[format]
    change = kind.change

    def fail(*arguments: Any) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(kind, "change", fail)
    world.sql("INSERT INTO a VALUES (7, 1)")
    world.refresh("main.d")
    event = world.events(EventKind.PUBLISHED)[-1]
    assert event.body["message"] == "OSError: the disk is full"
    assert exact(rows_of(READERS[format](tmp_path / "copy"))) != exact(world.rows("d"))
    monkeypatch.setattr(kind, "change", change)
    world.drive(2)
    assert exact(rows_of(READERS[format](tmp_path / "copy"))) == exact(world.rows("d"))


@pytest.mark.parametrize("format", READERS)
def test_a_copy_never_goes_back(tmp_path: Path, monkeypatch: Any, format: str) -> None:
    """Of two writers that bring a copy from one version to the next, the second fails."""
    world = published_world(tmp_path, format)
    first, second = (open_copy(format, str(tmp_path / "copy")) for _ in range(2))
    files = world.warehouse.account.tables["t3"].files
    old = files.latest()
    rows = published_tables.all_rows(files, old)
    if isinstance(second, IcebergCopy):
        stale = second.table()  # as it was before the other's commit
        monkeypatch.setattr(second, "table", lambda: stale)
    world.sql("INSERT INTO a VALUES (7, 1)")
    world.refresh("main.d")
    assert first.version() == files.latest().number
    with pytest.raises(Exception, match=r"(?i)conflict|transaction|requirement|changed"):
        second.overwrite(rows, old)
    assert exact(rows_of(READERS[format](tmp_path / "copy"))) == exact(world.rows("d"))


@pytest.mark.parametrize("format", READERS)
def test_a_copy_gets_the_columns_of_a_changed_query(tmp_path: Path, format: str) -> None:
    """One column goes, one comes, and one has another type under its name."""
    world = WarehouseWorld(tmp_path / "w")
    for statement in (
        *BASES,
        "INSERT INTO a VALUES (1, 2)",
        "CREATE VIEW g AS SELECT k, v AS x FROM a",
        "CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT * FROM g",
    ):
        world.sql(statement)
    world.warehouse.publish("d", tmp_path / "copy", format)
    world.sql("CREATE OR REPLACE VIEW g AS SELECT CAST(v AS TEXT) AS x, v AS y FROM a")
    world.drive(60)
    (row,) = READERS[format](tmp_path / "copy").drop("_row_id").to_dicts()
    assert (row["x"], int(row["y"]), len(row)) == ("2", 2, 2)


def test_a_copy_is_given_up(tmp_path: Path) -> None:
    world = published_world(tmp_path, "delta")
    world.warehouse.publish("d", tmp_path / "copy", "")
    world.sql("INSERT INTO a VALUES (7, 1)")
    world.refresh("main.d")
    assert DeltaTable(tmp_path / "copy").version() == 0
    with pytest.raises(InputError, match="the format is orc; it is one of delta, iceberg"):
        world.warehouse.publish("d", tmp_path / "copy", "orc")
    with pytest.raises(InputError, match="only dynamic tables are maintained"):
        world.warehouse.publish("a", tmp_path / "copy")
