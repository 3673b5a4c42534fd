"""Tables that others write: a warehouse follows them through whatever their writers do."""

import shutil
from collections import Counter
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

# They are in the extras `delta` and `iceberg`.
pytest.importorskip("pyroaring")
pytest.importorskip("deltalake")
pytest.importorskip("pyiceberg")
from deltalake import DeltaTable, write_deltalake
from pyiceberg.catalog.sql import SqlCatalog
from warehouse_worlds import WarehouseWorld

from dynamic_tables.warehouse import attached_tables
from dynamic_tables.warehouse.events import EventKind
from pruning.errors import InputError

# What PyIceberg and Polars say of their own ways.
pytestmark = [pytest.mark.filterwarnings("ignore:Delete operation did not match")]

COUNTS = (
    "CREATE DYNAMIC TABLE d TARGET_LAG = '1 minute' AS SELECT v, count(*) AS n, sum(k) AS s FROM a GROUP BY v"
)


def rows_of(random: Random, count: int) -> pa.Table:
    """Few different rows, so that equal ones are frequent."""
    return pa.table(
        {
            "k": pa.array([random.choice((None, 1, 2, 3)) for _ in range(count)], pa.int64()),
            "v": pa.array([random.choice((None, "x", "y")) for _ in range(count)], pa.string()),
        }
    )


class DeltaWriter:
    """A table of Delta Lake."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.oldest = 0  # the oldest version whose files are all there
        write_deltalake(directory, rows_of(Random(0), 5))

    def rows(self) -> pa.Table:
        return DeltaTable(self.directory).to_pyarrow_table()

    def step(self, random: Random) -> None:
        table = DeltaTable(self.directory)
        match random.randrange(6):
            case 0 | 1:
                write_deltalake(self.directory, rows_of(random, 3), mode="append")
            case 2:
                table.delete(f"k = {random.randrange(4)}")
            case 3:
                table.update(updates={"k": "2"}, predicate="v = 'x'")
            case 4 if self.oldest < table.version():
                table.restore(random.randrange(self.oldest, table.version()))
            case _:
                table.optimize.compact()
                self.oldest = DeltaTable(self.directory).version()
                DeltaTable(self.directory).vacuum(0, dry_run=False, enforce_retention_duration=False)


class IcebergWriter:
    """A table of Iceberg."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self.catalog = SqlCatalog("c", uri=f"sqlite:///{directory}/c.db", warehouse=f"file://{directory}")
        self.catalog.create_namespace("s")
        rows = rows_of(Random(0), 5)
        self.table = self.catalog.create_table("s.t", rows.schema)
        self.table.append(rows)
        self.directory = Path(self.table.location().removeprefix("file://"))

    def rows(self) -> pa.Table:
        return self.table.scan().to_arrow()

    def step(self, random: Random) -> None:
        match random.randrange(4):
            case 0 | 1:
                self.table.append(rows_of(random, 3))
            case 2:
                self.table.delete(f"k == {random.randrange(4)}")
            case _:
                self.table.overwrite(rows_of(random, 6))


class ParquetWriter:
    """A directory of Parquet files."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.number = 0
        directory.mkdir()
        self.write(rows_of(Random(0), 5))

    def write(self, rows: pa.Table) -> None:
        self.number += 1
        pq.write_table(rows, self.directory / f"{self.number}.parquet")

    def rows(self) -> pa.Table:
        return pa.concat_tables(pq.read_table(path) for path in self.directory.glob("*.parquet"))

    def step(self, random: Random) -> None:
        paths = sorted(self.directory.glob("*.parquet"))
        match random.randrange(4):
            case 0 | 1:
                self.write(rows_of(random, 3))
            case 2:
                pq.write_table(rows_of(random, 4), random.choice(paths))
            case _ if len(paths) > 1:
                random.choice(paths).unlink()


WRITERS: dict[str, Callable[[Path], Any]] = {
    "delta": DeltaWriter,
    "iceberg": IcebergWriter,
    "parquet": ParquetWriter,
}


def bag(rows: pa.Table) -> Counter[Any]:
    return Counter((row["k"], row["v"]) for row in rows.select(["k", "v"]).to_pylist())


def attached_world(tmp_path: Path, kind: str) -> tuple[WarehouseWorld, Any]:
    writer = WRITERS[kind](tmp_path / "lake")
    world = WarehouseWorld(tmp_path / "w")
    world.warehouse.attach("a", writer.directory)
    world.sql(COUNTS)
    return world, writer


@pytest.mark.parametrize("compared_max", [1_000, 3])
@pytest.mark.parametrize("kind", WRITERS)
def test_tables_follow_what_others_write(
    tmp_path: Path, monkeypatch: Any, kind: str, compared_max: int
) -> None:
    """ATTACH-1. Appends, changes, versions that are restored, compacted and removed; with equal rows."""
    monkeypatch.setattr(attached_tables, "COMPARED_MAX", compared_max)
    world, writer = attached_world(tmp_path, kind)
    random = Random(7)
    for _ in range(12):
        for _ in range(random.randrange(1, 3)):
            writer.step(random)
        world.refresh("main.d")
        assert Counter(world.sql("SELECT k, v FROM a").rows) == bag(writer.rows())
        assert not world.wrong_tables()
        sums = {row[0]: row[1] for row in world.rows("d")}
        assert sums == Counter(v for _, v in bag(writer.rows()).elements())
    actions = [event.body["action"] for event in world.events(EventKind.REFRESHED)]
    assert "INCREMENTAL" in actions


def test_files_that_both_versions_have_are_not_read(tmp_path: Path, monkeypatch: Any) -> None:
    world, writer = attached_world(tmp_path, "delta")
    write_deltalake(writer.directory, rows_of(Random(1), 3), mode="append")
    read = []
    rows = attached_tables.LakeVersion.file_rows

    def counted_rows(version: Any, place: int, path: str) -> Any:
        read.append(path)
        return rows(version, place, path)

    monkeypatch.setattr(attached_tables.LakeVersion, "file_rows", counted_rows)
    world.refresh("main.d")
    assert len(read) == 1
    world.refresh("main.d")
    assert len(read) == 1
    assert world.events(EventKind.REFRESHED)[-1].body["action"] == "NO_DATA"


def test_a_maintenance_of_others_changes_nothing(tmp_path: Path) -> None:
    """Compaction writes the same rows to other files (trap 29)."""
    world, writer = attached_world(tmp_path, "delta")
    for seed in range(3):
        write_deltalake(writer.directory, rows_of(Random(seed), 3), mode="append")
    world.refresh("main.d")
    DeltaTable(writer.directory).optimize.compact()
    world.refresh("main.d")
    assert world.events(EventKind.REFRESHED)[-1].body["action"] == "NO_DATA"


def test_a_source_that_cannot_be_read_fails_refreshes(tmp_path: Path) -> None:
    """Old rows are never taken for those of a new data timestamp."""
    world, writer = attached_world(tmp_path, "delta")
    shutil.move(writer.directory, tmp_path / "away")
    before = world.rows("d")
    with pytest.raises(InputError, match="what others write could not be read"):
        world.warehouse.refresh("d")
    assert world.rows("d") == before
    (event,) = world.events(EventKind.UNREADABLE)[:1]
    assert "lake" in event.body["message"]
    shutil.move(tmp_path / "away", writer.directory)
    world.refresh("main.d")
    assert not world.wrong_tables()


def test_other_columns_are_refused(tmp_path: Path) -> None:
    world, writer = attached_world(tmp_path, "delta")
    more = pa.table({"k": [1], "v": ["x"], "w": [2.0]})
    write_deltalake(writer.directory, more, mode="append", schema_mode="merge")
    with pytest.raises(InputError, match="could not be read"):
        world.warehouse.refresh("d")
    (event,) = world.events(EventKind.UNREADABLE)[:1]
    assert (
        "has other columns now (k INTEGER, v TEXT, w FLOAT): attach it under another name"
        in event.body["message"]
    )


def test_bad_sources_and_writes_get_one_sentence(tmp_path: Path) -> None:
    world, _ = attached_world(tmp_path, "parquet")
    with pytest.raises(InputError, match=r"main\.a is written by others"):
        world.sql("DELETE FROM a")
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match="no Parquet file is in this directory"):
        world.warehouse.attach("b", tmp_path / "empty")
    with pytest.raises(InputError, match="local disk so far"):
        attached_tables.open_lake_version("s3://bucket/table")
    with pytest.raises(InputError, match=r"there is a main\.a already"):
        world.warehouse.attach("a", tmp_path / "lake")
    two = tmp_path / "two"
    two.mkdir()
    pq.write_table(pa.table({"k": [1]}), two / "1.parquet")
    pq.write_table(pa.table({"k": ["x"]}), two / "2.parquet")
    with pytest.raises(InputError, match=r"its schema is not that of 1\.parquet"):
        world.warehouse.attach("b", two)


def test_partitions_types_and_deleted_rows_of_delta(tmp_path: Path) -> None:
    """Columns of nested types are left out; values of partitions are rows' cells."""
    rows = pa.table(
        {
            "p": ["x", "y"],
            "i": pa.array([1, 2], pa.int16()),
            "f": pa.array([0.5, float("nan")], pa.float32()),
            "d": pa.array([Decimal("1.50"), None], pa.decimal128(10, 2)),
            "t": pa.array([datetime(2020, 1, 1, tzinfo=UTC)] * 2, pa.timestamp("us", "UTC")),
            "day": pa.array([date(2020, 1, 1)] * 2),
            "b": pa.array([b"1", b"2"]),
            "nested": pa.array([[1], [2]]),
        }
    )
    write_deltalake(tmp_path / "t", rows, partition_by=["p"])
    world = WarehouseWorld(tmp_path / "w")
    world.warehouse.attach("a", tmp_path / "t")
    first, second = world.sql("SELECT p, i, f, d, t, day, b FROM a ORDER BY p").rows
    assert first == ("x", 1, 0.5, Decimal("1.50"), datetime(2020, 1, 1), date(2020, 1, 1), b"1")
    assert (second[0], second[3]) == ("y", None)
    assert second[2] != second[2]
    assert world.sql("SELECT * FROM a").columns == ("p", "i", "f", "d", "t", "day", "b")
