"""Warehouses whose tables are in Delta Lake or Iceberg: as in Parquet files, and other programs read them."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

# They are in the extras `delta` and `iceberg`, and among the engines.
pytest.importorskip("deltalake")
pytest.importorskip("pyiceberg")
pytest.importorskip("polars")
import pyarrow as pa
from deltalake import DeltaTable, Field, write_deltalake
from deltalake.schema import PrimitiveType
from other_readers import READERS, read_delta
from warehouse_worlds import BASES, WarehouseWorld, drawn_world, drawn_write

from dynamic_tables.stores import delta_log
from dynamic_tables.stores.iceberg_log import TABLE, catalog_of
from pruning.errors import InputError

# What PyIceberg and Polars say of their own ways.
pytestmark = [
    pytest.mark.filterwarnings("ignore:Delete operation did not match"),
    pytest.mark.filterwarnings("ignore:Iceberg scan planning"),
]
FORMATS = ("delta", "iceberg")
COUNTS = "AS SELECT v, count(*) AS n, sum(k) AS s FROM a GROUP BY v"


def cells(frame: Any) -> list[Any]:
    """The rows without their ids and versions, as whole numbers."""
    rows = [list(row.items())[2:] for row in frame.to_dicts()]
    return sorted([tuple(None if cell is None else int(cell) for _, cell in row) for row in rows], key=repr)


def world_in(tmp_path: Path, format: str) -> WarehouseWorld:
    world = WarehouseWorld(tmp_path / "w", format=format)
    for statement in (*BASES, "INSERT INTO a VALUES (1, 1), (2, NULL), (3, 1)"):
        world.sql(statement)
    world.sql(f"CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' {COUNTS}")
    return world


@pytest.mark.parametrize("format", FORMATS)
def test_tables_in_other_formats_are_what_their_queries_say(tmp_path: Path, format: str) -> None:
    """WAREHOUSE-1."""
    world = drawn_world(Random(3), tmp_path, 15, format)
    world.drive(100)
    assert not world.wrong_tables()


@pytest.mark.deep
@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("format", FORMATS)
def test_a_thousand_steps_in_other_formats(tmp_path: Path, format: str, seed: int) -> None:
    """WAREHOUSE-1."""
    world = drawn_world(Random(2_000 + seed), tmp_path, 100, format)
    world.drive(200)
    assert not world.wrong_tables()


@pytest.mark.parametrize("format", FORMATS)
def test_other_programs_read_each_version(tmp_path: Path, format: str) -> None:
    """The tables themselves, after statements, refreshes, compaction and expiry."""
    world, random = world_in(tmp_path, format), Random(5)
    for step in range(12):
        world.sql(drawn_write(random))
        world.drive(60)
        if step % 5 == 4:
            world.warehouse.compact("a")
            world.warehouse.expire(world.now_us)
        for name in ("a", "d"):
            rows = cells(READERS[format](world.warehouse.location(name)))
            assert rows == sorted(map(tuple, world.rows(name)), key=repr)
    assert not world.wrong_tables()


def test_a_commit_of_delta_lake_has_the_frontier_and_a_transaction(tmp_path: Path) -> None:
    world = world_in(tmp_path, "delta")
    place = world.warehouse.location("d")
    number = world.warehouse.account.tables["t3"].latest.number
    assert DeltaTable(place).transaction_version("skipproof") == number
    commit = DeltaTable(place).history(1)[0]
    assert commit["skipproof"]["frontier"]["data_us"] == world.warehouse.status()[0].data_us


def test_a_snapshot_of_iceberg_has_the_frontier(tmp_path: Path) -> None:
    world = world_in(tmp_path, "iceberg")
    snapshot = catalog_of(world.warehouse.location("d")).load_table(TABLE).current_snapshot()
    frontier = json.loads(snapshot.summary.additional_properties["skipproof.frontier"])
    assert frontier["data_us"] == world.warehouse.status()[0].data_us


@pytest.mark.parametrize("format", FORMATS)
def test_a_table_whose_query_changes_its_columns_is_read(tmp_path: Path, format: str) -> None:
    """A column may get another type under the same name."""
    world = world_in(tmp_path, format)
    world.sql("CREATE OR REPLACE VIEW g AS SELECT k, v AS x FROM a")
    world.sql("CREATE DYNAMIC TABLE e TARGET_LAG = '1 minute' AS SELECT * FROM g")
    world.sql("CREATE OR REPLACE VIEW g AS SELECT CAST(v AS TEXT) AS x, k + 1 AS y FROM a")
    world.drive(60)
    assert not world.wrong_tables()
    frame = READERS[format](world.warehouse.location("e"))
    assert frame.columns[2:] == ["x", "y"]
    assert sorted(frame["x"].to_list(), key=repr) == ["1", "1", None]


def append_to_delta(place: Path) -> None:
    rows = pa.table({"_row_id": ["x"], "_version": [1], "k": [9], "v": [9]})
    write_deltalake(str(place), rows, mode="append")


def append_to_iceberg(place: Path) -> None:
    rows = pa.table({"_row_id": ["x"], "_version": [1], "k": [9], "v": [9]})
    catalog_of(place).load_table(TABLE).append(rows)


WRITERS = {"delta": append_to_delta, "iceberg": append_to_iceberg}


def restore_delta(place: Path) -> None:
    table = DeltaTable(str(place))
    table.restore(table.version() - 1)


def restore_iceberg(place: Path) -> None:
    table = catalog_of(place).load_table(TABLE)
    snapshot = table.current_snapshot().parent_snapshot_id
    table.manage_snapshots().rollback_to_snapshot(snapshot).commit()


RESTORERS = {"delta": restore_delta, "iceberg": restore_iceberg}


@pytest.mark.parametrize("format", FORMATS)
def test_what_others_write_to_a_table_is_refused_until_it_is_taken_back(tmp_path: Path, format: str) -> None:
    """Its rows have no ids, and no data timestamp sees them: nothing is read or written over it."""
    world = world_in(tmp_path, format)
    WRITERS[format](world.warehouse.location("a"))
    for statement in ("SELECT * FROM a", "INSERT INTO a VALUES (4, 4)"):
        with pytest.raises(InputError, match="another program changed the table"):
            world.sql(statement)
    RESTORERS[format](world.warehouse.location("a"))
    world.sql("INSERT INTO a VALUES (4, 4)")
    world.drive(60)
    assert len(world.rows("a")) == 4
    assert not world.wrong_tables()


def foreign_commit(place: Path, *actions: dict[str, Any]) -> None:
    """A commit of another program, which is written as such programs do."""
    folder = place / "_delta_log"
    number = 1 + max(int(path.stem) for path in folder.glob("*.json"))
    lines = [{"commitInfo": {"timestamp": 1, "operation": "DELETE", "operationParameters": {}}}, *actions]
    (folder / f"{number:020}.json").write_text("\n".join(map(json.dumps, lines)))


def test_rows_that_others_delete_by_a_vector_are_not_passed_over(tmp_path: Path) -> None:
    """The file stays the same; a row of it is gone for other readers."""
    world = world_in(tmp_path, "delta")
    place = world.warehouse.location("a")
    commit = place / "_delta_log" / f"{1:020}.json"
    (added,) = [
        action["add"] for line in commit.read_text().splitlines() if "add" in (action := json.loads(line))
    ]
    vector = {"storageType": "i", "pathOrInlineDv": "wi5b=000010000siXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L"}
    vector |= {"sizeInBytes": 40, "cardinality": 1}
    removed = {"path": added["path"], "dataChange": True, "deletionTimestamp": 1}
    foreign_commit(place, {"remove": removed}, {"add": added | {"deletionVector": vector}})
    with pytest.raises(InputError, match="another program changed the table"):
        world.sql("SELECT * FROM a")


def test_columns_that_others_change_are_refused(tmp_path: Path) -> None:
    world = world_in(tmp_path, "delta")
    place = world.warehouse.location("a")
    DeltaTable(str(place)).alter.add_columns(Field("z", PrimitiveType("long")))
    with pytest.raises(InputError, match="another program changed the table"):
        world.sql("INSERT INTO a VALUES (1, 1)")


def test_demands_of_others_on_writers_are_refused(tmp_path: Path) -> None:
    """Such as that no row is ever deleted."""
    world = world_in(tmp_path, "delta")
    place = world.warehouse.location("a")
    DeltaTable(str(place)).alter.set_table_properties({"delta.appendOnly": "true"})
    with pytest.raises(InputError, match=r"delta\.appendOnly lets no row be changed or deleted"):
        world.sql("DELETE FROM a WHERE k = 1")


def test_commits_of_others_that_change_no_file_are_passed_over(tmp_path: Path) -> None:
    """As VACUUM makes them; numbers of versions and of commits differ afterwards."""
    world = world_in(tmp_path, "delta")
    place = world.warehouse.location("a")
    table = DeltaTable(str(place))
    table.alter.set_table_properties({"delta.logRetentionDuration": "interval 1 days"})
    world.sql("DELETE FROM a WHERE k = 1")
    assert DeltaTable(str(place)).version() == world.warehouse.account.tables["t1"].latest.number + 1
    world.drive(60)
    world.reopen()
    world.warehouse.expire(world.now_us)
    assert cells(read_delta(place)) == sorted(map(tuple, world.rows("a")), key=repr)
    assert not world.wrong_tables()


def test_readers_of_delta_lake_start_from_a_checkpoint(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(delta_log, "COMMITS_OF_CHECKPOINT", 3)
    world = world_in(tmp_path, "delta")
    for k in range(10, 15):
        world.sql(f"INSERT INTO a VALUES ({k}, 0)")
    place = world.warehouse.location("a")
    assert len(list((place / "_delta_log").glob("*.checkpoint.parquet"))) == 2
    assert len(read_delta(place)) == 8


def test_a_folder_that_iceberg_cannot_name_is_refused(tmp_path: Path) -> None:
    world = WarehouseWorld(tmp_path / "50 %", format="iceberg")
    world.sql(BASES[0])
    with pytest.raises(InputError, match="addresses in Iceberg cannot have"):
        world.sql("INSERT INTO a VALUES (1, 1)")
