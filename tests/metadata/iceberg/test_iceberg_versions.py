"""`open_iceberg_version` over tables that PyIceberg writes: versions, evolution, partitions, added files."""

import json
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from needs import needs_package
from pyiceberg.types import LongType, StringType
from version_rows import live_rows, problem_of_blocks

from pruning.errors import InputError
from pruning.metadata.iceberg.layouts import ABSENT_PREFIX
from pruning.metadata.iceberg.opening import open_iceberg_version
from pruning.metadata.versioned.table_version import TableVersion


@pytest.fixture
def catalog(tmp_path: Path) -> Iterator[Any]:
    """A catalog of PyIceberg in SQLite."""
    needs_package("sqlalchemy")
    from pyiceberg.catalog.sql import SqlCatalog

    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=f"file://{tmp_path}/lake")
    catalog.create_namespace("d")
    yield catalog
    catalog.engine.dispose()


def folder_of(table: Any) -> str:
    return str(table.location())


def texts(version: TableVersion) -> list[str]:
    """Return the live rows as sorted texts."""
    return sorted(map(str, live_rows(version)))


NUMBERS = pa.table({"id": pa.array([1, 2, 3], pa.int32()), "s": ["a", "b", None]})


def test_a_version_is_that_of_a_snapshot_a_tag_a_branch_or_a_time(catalog: Any) -> None:
    table = catalog.create_table("d.t", NUMBERS.schema)
    table.append(NUMBERS)
    first = table.current_snapshot()
    table.manage_snapshots().create_tag(first.snapshot_id, "tagged").commit()
    with table.update_schema() as update:
        update.add_column("z", LongType())
    table.append(NUMBERS)
    table.manage_snapshots().create_branch(first.snapshot_id, "old").commit()
    folder = folder_of(table)
    now = open_iceberg_version(folder)
    assert (now.version, len(live_rows(now))) == (table.current_snapshot().snapshot_id, 6)
    assert texts(open_iceberg_version(folder, version="main")) == texts(now)
    # A snapshot and a tag have the schema of their time, a branch has the table's.
    for version in (first.snapshot_id, str(first.snapshot_id), "tagged"):
        early = open_iceberg_version(folder, version=version)
        assert texts(early) == sorted(map(str, NUMBERS.to_pylist()))
    branch = open_iceberg_version(folder, version="old")
    assert (branch.version, live_rows(branch)[0].keys()) == (first.snapshot_id, {"id", "s", "z"})
    at = open_iceberg_version(folder, timestamp_us=first.timestamp_ms * 1000 + 999)
    assert at.version == first.snapshot_id
    with pytest.raises(InputError, match="has no snapshot at"):
        open_iceberg_version(folder, timestamp_us=first.timestamp_ms * 1000 - 1)
    with pytest.raises(InputError, match="its branches and tags are: main, old, tagged"):
        open_iceberg_version(folder, version="nowhere")
    with pytest.raises(InputError, match="has no snapshot 5"):
        open_iceberg_version(folder, version=5)


def test_a_table_without_snapshots_has_no_rows(catalog: Any) -> None:
    version = open_iceberg_version(folder_of(catalog.create_table("d.t", NUMBERS.schema)))
    assert (version.version, version.files.paths, version.partition_columns) == (None, (), ())
    assert version.blocks(frozenset({"id"})).num_rows == 0
    assert len(version.layouts) == 1


def test_columns_are_read_by_their_ids(catalog: Any) -> None:
    table = catalog.create_table("d.t", NUMBERS.schema)
    table.append(NUMBERS)
    with table.update_schema() as update:
        update.rename_column("id", "number")
        update.update_column("id", LongType())
        update.delete_column("s")
    with table.update_schema() as update:
        update.add_column("s", StringType())
    table.append(pa.table({"number": pa.array([2**40], pa.int64()), "s": ["new"]}))
    version = open_iceberg_version(folder_of(table))
    assert texts(version) == sorted(
        map(str, [{"number": number, "s": None} for number in (1, 2, 3)] + [{"number": 2**40, "s": "new"}])
    )
    types = [[field["type"] for field in json.loads(layout)["fields"]] for layout in version.layouts]
    assert sorted(types) == [["integer", "string"], ["long", "string"]]
    assert problem_of_blocks(version, ("number", "s")) is None
    # The second call reads no footer again.
    for path in version.files.paths:
        Path(path.removeprefix("file://")).unlink()
    assert open_iceberg_version(folder_of(table)).layouts == version.layouts


def test_a_column_that_was_only_added_needs_no_footer(catalog: Any) -> None:
    table = catalog.create_table("d.t", NUMBERS.schema)
    table.append(NUMBERS)
    with table.update_schema() as update:
        update.add_column("z", LongType())
    for path in Path(folder_of(table).removeprefix("file://")).glob("data/*"):
        path.unlink()
    version = open_iceberg_version(folder_of(table))
    assert [field["name"] for field in json.loads(version.layouts[0])["fields"]] == ["id", "s", "z"]
    assert version.blocks(frozenset({"z"}))["columns"].to_pylist()[0]["z"]["null_count"] == 3


def test_partitions_by_transforms_bound_their_columns(catalog: Any) -> None:
    from pyiceberg.transforms import DayTransform, IdentityTransform, TruncateTransform

    rows = pa.table(
        {
            "day": [date(2024, 1, 1), date(2024, 1, 1), date(2024, 3, 1)],
            "at": [datetime(2024, 1, 1, 5), datetime(2024, 1, 2, 5), datetime(2024, 1, 2, 9)],
            "s": ["abc", "abd", "xyz"],
            "d": [Decimal("1.50"), Decimal("1.70"), None],
        }
    )
    table = catalog.create_table("d.t", rows.schema)
    table.append(rows)
    with table.update_spec() as update:
        update.add_field("day", IdentityTransform())
        update.add_field("at", DayTransform())
        update.add_field("s", TruncateTransform(2))
        update.add_field("d", IdentityTransform())
    table.append(rows)
    folder = folder_of(table)
    both = open_iceberg_version(folder)
    assert both.partition_columns == ()
    assert texts(both) == sorted(map(str, rows.to_pylist() * 2))
    assert problem_of_blocks(both, ("day", "s", "d")) is None
    table.delete()
    table.append(rows)
    alone = open_iceberg_version(folder)
    assert alone.partition_columns == ("day", "d")
    assert texts(alone) == sorted(map(str, rows.to_pylist()))
    assert problem_of_blocks(alone, ("day", "s", "d")) is None


def test_added_files_are_read_by_the_name_mapping(catalog: Any, tmp_path: Path) -> None:
    table = catalog.create_table("d.t", NUMBERS.schema)
    path = str(tmp_path / "added.parquet")
    pq.write_table(NUMBERS, path)
    table.add_files([path])
    folder = folder_of(table)
    assert texts(open_iceberg_version(folder)) == sorted(map(str, NUMBERS.to_pylist()))
    with table.update_schema() as update:
        update.rename_column("id", "number")
    version = open_iceberg_version(folder)
    assert {row["number"] for row in live_rows(version)} == {1, 2, 3}
    assert problem_of_blocks(version, ("number",)) is None
    with table.transaction() as change:
        change.remove_properties("schema.name-mapping.default")
    with pytest.raises(InputError, match="no field ids, and the table has no name mapping"):
        open_iceberg_version(folder)


def test_the_path_of_a_metadata_file_opens_its_version(catalog: Any) -> None:
    table = catalog.create_table("d.t", NUMBERS.schema)
    table.append(NUMBERS)
    earlier = table.metadata_location
    table.append(NUMBERS)
    opened = open_iceberg_version(earlier)
    assert (len(live_rows(opened)), opened.notes) == (3, ())
    newest = open_iceberg_version(folder_of(table))
    assert len(live_rows(newest)) == 6
    # A directory does not tell which file the catalog names.
    assert table.metadata_location.rpartition("/")[2] in newest.notes[0]


def test_footers_are_read_where_a_schema_is_missing(catalog: Any) -> None:
    """Expired schemas may be removed from the metadata, and with them the earlier names of columns."""
    table = catalog.create_table("d.t", NUMBERS.schema)
    table.append(NUMBERS)
    with table.update_schema() as update:
        update.rename_column("id", "number")
    path = Path(table.metadata_location.removeprefix("file://"))
    document = json.loads(path.read_text())
    document["schemas"] = [schema for schema in document["schemas"] if schema["schema-id"] == 1]
    path.write_text(json.dumps(document))
    assert sorted(row["number"] for row in live_rows(open_iceberg_version(str(path)))) == [1, 2, 3]


def test_nested_fields_are_read_by_their_ids(catalog: Any) -> None:
    rows = pa.table(
        {
            "s": [{"x": 1, "y": "a"}],
            "l": [[{"q": 1}]],
            "m": pa.array([[("k", {"v": 5})]], pa.map_(pa.string(), pa.struct([("v", pa.int64())]))),
        }
    )
    table = catalog.create_table("d.t", rows.schema)
    table.append(rows)
    with table.update_schema() as update:
        update.rename_column(("s", "x"), "renamed")
        update.add_column(("s", "x2"), LongType())
        update.rename_column(("l", "element", "q"), "r")
        update.rename_column(("m", "value", "v"), "w")
    expected = {"s": {"renamed": 1, "y": "a", "x2": None}, "l": [{"r": 1}], "m": {"k": {"w": 5}}}
    version = open_iceberg_version(folder_of(table))
    assert live_rows(version) == [expected]
    # The name tells that the file lacks the field.
    assert f'"{ABSENT_PREFIX}' in version.layouts[0]
    metadata = version.blocks(frozenset({"s"})).to_pylist()
    assert metadata[0]["columns"]["`s`.`renamed`"]["null_count"] == 0


def test_files_of_the_first_format_version_are_read_by_their_footers(catalog: Any) -> None:
    """Its metadata may not know that a column had another name before."""
    table = catalog.create_table("d.t", NUMBERS.schema, properties={"format-version": "1"})
    table.append(NUMBERS)
    with table.update_schema() as update:
        update.rename_column("id", "number")
    table.append(NUMBERS.rename_columns(["number", "s"]))
    path = Path(table.metadata_location.removeprefix("file://"))
    document = json.loads(path.read_text())
    current = next(
        schema for schema in document["schemas"] if schema["schema-id"] == document["current-schema-id"]
    )
    for key in ("schemas", "current-schema-id", "partition-specs", "default-spec-id"):
        del document[key]
    document["schema"], document["partition-spec"] = current, []
    path.write_text(json.dumps(document))
    version = open_iceberg_version(str(path))
    assert sorted(row["number"] for row in live_rows(version)) == [1, 1, 2, 2, 3, 3]
    assert problem_of_blocks(version, ("number", "s")) is None
