"""`pruning.table` over directories of Delta Lake, of Iceberg and of Parquet files."""

import datetime
import json
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.sql import SqlCatalog

import pruning
from pruning.errors import InputError, MissingPackage
from pruning.spark.versioned import layouts

FILES, ROWS = 4, 10


@pytest.fixture(scope="module")
def delta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A table of Delta Lake with a file for each of its versions."""
    directory = tmp_path_factory.mktemp("delta table")
    log = directory / "_delta_log"
    log.mkdir()
    field = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    schema = json.dumps({"type": "struct", "fields": [field]})
    metadata = {
        "id": "table",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": schema,
        "partitionColumns": [],
        "configuration": {},
    }
    start = [{"protocol": {"minReaderVersion": 1, "minWriterVersion": 2}}, {"metaData": metadata}]
    for version in range(FILES):
        path = directory / f"{version}.parquet"
        numbers = range(version * ROWS, (version + 1) * ROWS)
        pq.write_table(pa.table({"id": pa.array(numbers, pa.int64())}), path)
        statistics = {
            "numRecords": ROWS,
            "minValues": {"id": numbers[0]},
            "maxValues": {"id": numbers[-1]},
            "nullCount": {"id": 0},
        }
        add = {
            "path": path.name,
            "partitionValues": {},
            "size": path.stat().st_size,
            "modificationTime": 0,
            "dataChange": True,
            "stats": json.dumps(statistics),
        }
        lines = [*(start if version == 0 else []), {"add": add}]
        commit = log / f"{version:020}.json"
        commit.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return directory


@pytest.fixture(scope="module")
def iceberg_table(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A table of Iceberg with four files, of which a column was renamed since."""
    directory = tmp_path_factory.mktemp("warehouse")
    catalog = SqlCatalog("c", uri=f"sqlite:///{directory}/catalog.db", warehouse=f"file://{directory}")
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", schema=pa.schema([("old", pa.int64())]))
    for version in range(FILES):
        numbers = range(version * ROWS, (version + 1) * ROWS)
        table.append(pa.table({"old": pa.array(numbers, pa.int64())}))
    with table.update_schema() as update:
        update.rename_column("old", "id")
    return table


def ids(frame: Any) -> list[int]:
    """Return the numbers in a frame, sorted."""
    return sorted(row["id"] for row in frame.collect())


def test_a_table_of_delta_lake_is_read_at_its_versions_and_pruned(spark: Any, delta: Path) -> None:
    """No footer is opened to decide: the files that are not needed are gone."""
    assert ids(pruning.table(spark, delta)) == list(range(FILES * ROWS))
    assert ids(pruning.table(spark, delta, version=1)) == list(range(2 * ROWS))
    now = datetime.datetime.now(datetime.UTC)
    assert len(ids(pruning.table(spark, delta, timestamp=now))) == FILES * ROWS
    pruned = pruning.prune(pruning.table(spark, delta).where("id = 25"))
    assert [Path(file).name for file in pruned.inputFiles()] == ["2.parquet"]
    assert ids(pruned) == [25]


def test_files_that_are_not_needed_are_not_even_looked_for(spark: Any, delta: Path, tmp_path: Path) -> None:
    (tmp_path / "_delta_log").mkdir()
    for path in (*delta.glob("_delta_log/*"), delta / "2.parquet"):
        (tmp_path / path.relative_to(delta)).write_bytes(path.read_bytes())
    assert ids(pruning.prune(pruning.table(spark, tmp_path).where("id = 25"))) == [25]


def test_a_table_of_iceberg_is_read_at_its_snapshots_and_pruned(spark: Any, iceberg_table: Any) -> None:
    """Also by the path of its metadata file; the column's name in the files is another one."""
    location = iceberg_table.location()
    first = iceberg_table.snapshots()[0].snapshot_id
    assert ids(pruning.table(spark, iceberg_table.metadata_location)) == list(range(FILES * ROWS))
    assert len(pruning.table(spark, location, version=first).collect()) == ROWS
    pruned = pruning.prune(pruning.table(spark, location).where("id = 25"))
    assert len(pruned.inputFiles()) == 1
    assert ids(pruned) == [25]


def test_a_widened_column_is_refused_where_spark_does_not_widen(
    spark: Any, delta: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by Spark 3.5, whose reader would fail on the files of before when the query runs."""
    (tmp_path / "_delta_log").mkdir()
    lines = (delta / "_delta_log" / f"{0:020}.json").read_text().splitlines()
    actions = [json.loads(line) for line in lines]
    (metadata,) = (action["metaData"] for action in actions if "metaData" in action)
    schema = json.loads(metadata["schemaString"])
    change = {"fromType": "integer", "toType": "long"}
    schema["fields"][0]["metadata"] = {"delta.typeChanges": [change]}
    metadata["schemaString"] = json.dumps(schema)
    text = "\n".join(map(json.dumps, actions))
    (tmp_path / "_delta_log" / f"{0:020}.json").write_text(text)
    monkeypatch.setattr(layouts, "_WIDENING", 99)
    with pytest.raises(InputError, match="the type of the column 'id' was widened"):
        pruning.table(spark, tmp_path)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"version": 99}, "has no version 99"),
        ({"version": "main"}, "the versions of Delta Lake are numbers"),
        ({"timestamp": 5}, "give a later time"),
        ({"version": 1, "timestamp": 5}, "are both given"),
    ],
)
def test_what_a_table_has_not_is_named(
    spark: Any, delta: Path, arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError, match=sentence):
        pruning.table(spark, delta, **arguments)


def test_a_directory_of_parquet_files_has_no_versions(spark: Any, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match="is no table of Delta Lake or Iceberg"):
        pruning.table(spark, tmp_path, version=1)


def test_a_missing_extra_is_named(spark: Any, delta: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("pruning.metadata.delta")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyroaring", None)
    with pytest.raises(MissingPackage, match=r"pip install 'skipproof\[delta\]'"):
        pruning.table(spark, delta)
