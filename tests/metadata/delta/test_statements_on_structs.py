"""UPDATE of tables of Delta Lake whose structs have other names in the files."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_logs import WrittenLog, add, column, metadata, protocol, struct_of
from version_rows import live_rows

from pruning.dml import WriteMode, update
from pruning.metadata.delta.opening import open_delta_version


def _field(name: str, type_: pa.DataType, identity: int) -> pa.Field:
    return pa.field(name, type_, metadata={"PARQUET:field_id": str(identity)})


@pytest.mark.parametrize("mode", WriteMode)
@pytest.mark.parametrize("mapping", ["id", "name"])
def test_fields_of_structs_keep_their_names_and_ids_in_files(
    spark: Any, tmp_path: Path, mode: WriteMode, mapping: str
) -> None:
    inner = pa.struct([_field("c3", pa.int64(), 3)])
    schema = pa.schema([_field("c1", pa.int64(), 1), _field("c2", inner, 2)])
    log = WrittenLog(tmp_path)
    pq.write_table(pa.table([[1, 2], [{"c3": 10}, None]], schema=schema), tmp_path / "a.parquet")
    fields = [
        column("x", "long", physical="c1", id=1),
        column("s", struct_of(column("y", "long", physical="c3", id=3)), physical="c2", id=2),
    ]
    configuration = {
        "delta.columnMapping.mode": mapping,
        "delta.columnMapping.maxColumnId": "3",
        "delta.enableDeletionVectors": "true",
    }
    size = (tmp_path / "a.parquet").stat().st_size
    log.commit(
        protocol(3, "columnMapping", "deletionVectors"),
        metadata(*fields, configuration=configuration),
        add("a.parquet", {"numRecords": 2}, size=size),
    )
    update(spark, str(tmp_path), {"s": "named_struct('y', s.y + x)"}, "x = 1", mode=mode)
    version = open_delta_version(str(tmp_path))
    assert {(row["x"], (row["s"] or {}).get("y")) for row in live_rows(version)} == {(1, 11), (2, None)}
