"""The state of a table is the same with a checkpoint of any form in place of the versions before it."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

# The packages are in the extra `delta`.
pytest.importorskip("pyroaring")
pytest.importorskip("deltalake")
from changed_delta_tables import WrittenTable, write_table
from deltalake import DeltaTable
from pyroaring import BitMap

from pruning.errors import InputError
from pruning.metadata.delta.commits import entry_path
from pruning.metadata.delta.table_state import read_state

NUMBER = f"{2:020}"
IDENTITY = "80a083e8-7026-4e79-81be-64bd76c43a11"


def changed_table(folder: Path) -> WrittenTable:
    """A table of two files, one with deleted rows, and a checkpoint of its version 2."""
    table = write_table(folder, pa.table({"x": range(5)}), pa.table({"x": range(3)}))
    table.commit(table.delete({table.files[0].path: BitMap([1])}))
    DeltaTable(table.root).create_checkpoint()
    return table


def keep_whole(log: Path) -> None:
    """Leave the checkpoint as delta-rs has written it."""


def split(log: Path) -> None:
    """Make it a checkpoint of two files."""
    rows = pq.read_table(log / f"{NUMBER}.checkpoint.parquet")
    for part in range(2):
        name = f"{NUMBER}.checkpoint.{part + 1:010}.{2:010}.parquet"
        pq.write_table(rows.slice(part * 2, 2 if part == 0 else None), log / name)
    os.unlink(log / f"{NUMBER}.checkpoint.parquet")


def move_to_sidecar(log: Path) -> None:
    """Make it a checkpoint of the second form, whose files are in a file beside it."""
    rows = pq.read_table(log / f"{NUMBER}.checkpoint.parquet")
    is_file = pc.or_(pc.is_valid(rows["add"]), pc.is_valid(rows["remove"]))
    (log / "_sidecars").mkdir()
    pq.write_table(rows.filter(is_file).select(["add", "remove"]), log / "_sidecars/side car.parquet")
    (entry, newest) = (Path(entry_path(str(log.parent), version)).read_text() for version in (0, 2))
    lines = [line for line in entry.splitlines() if "metaData" in line or "protocol" in line]
    assert "protocol" not in newest
    sidecar = {"path": "side%20car.parquet", "sizeInBytes": 1, "modificationTime": 0}
    lines += [json.dumps({"checkpointMetadata": {"version": 2}}), json.dumps({"sidecar": sidecar})]
    (log / f"{NUMBER}.checkpoint.{IDENTITY}.json").write_text("\n".join(lines))
    os.unlink(log / f"{NUMBER}.checkpoint.parquet")


@pytest.mark.parametrize("change", [keep_whole, split, move_to_sidecar])
def test_a_state_is_read_from_a_checkpoint(tmp_path: Path, change: Callable[[Path], None]) -> None:
    """Statistics, deletion vectors and all other fields are as in the versions' own files."""
    table, log = changed_table(tmp_path), tmp_path / "_delta_log"
    os.rename(log / f"{NUMBER}.checkpoint.parquet", tmp_path / "kept")
    expected = read_state(table.root, 2)
    assert sum(file.vector is not None for file in expected.files.values()) == 1
    os.rename(tmp_path / "kept", log / f"{NUMBER}.checkpoint.parquet")
    change(log)
    for version in range(3):
        os.unlink(entry_path(table.root, version))
    state = read_state(table.root, 2)
    assert (state.files, state.protocol, state.version) == (expected.files, expected.protocol, 2)
    assert state.metadata.schema == expected.metadata.schema
    assert state.metadata.properties == expected.metadata.properties


def test_a_checkpoint_that_is_not_complete_is_passed_over(tmp_path: Path) -> None:
    table, log = changed_table(tmp_path), tmp_path / "_delta_log"
    expected = read_state(table.root, 2)
    split(log)
    os.unlink(log / f"{NUMBER}.checkpoint.{1:010}.{2:010}.parquet")
    assert read_state(table.root, 2).files == expected.files
    assert len(read_state(table.root, 0).files) == 1


def test_a_damaged_log_is_refused(tmp_path: Path) -> None:
    table, log = changed_table(tmp_path), tmp_path / "_delta_log"
    with pytest.raises(InputError, match=r"3\.json: is not there, and version 3 needs it"):
        read_state(table.root, 3)
    (log / f"{NUMBER}.checkpoint.parquet").write_bytes(b"no Parquet")
    with pytest.raises(InputError, match=r"checkpoint\.parquet: is no checkpoint of Delta Lake"):
        read_state(table.root, 2)
    Path(entry_path(table.root, 0)).write_bytes(b'{"commitInfo":{}}\n')
    with pytest.raises(InputError, match="version 0 has no protocol or no metadata"):
        read_state(table.root, 0)
