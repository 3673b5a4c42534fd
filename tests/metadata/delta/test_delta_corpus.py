"""Tables of Delta Lake that other projects wrote: files, rows and bounds of them."""

from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from delta_logs import WrittenLog, add, column, inline, metadata, protocol, stored_vectors
from needs import CORPUS, needs_corpus

from pruning.metadata.delta.opening import open_delta_version
from pruning.metadata.versioned.table_version import TableVersion

TABLES = ("delta-1.2.1-only-struct-stats", "delta-stats-optional", "table_with_edge_timestamps")


def open_table(name: str, version: int | None = None) -> TableVersion:
    return open_delta_version(str(CORPUS / "tables" / f"delta-rs__{name}"), version=version)


@needs_corpus
@pytest.mark.parametrize("name", TABLES)
def test_bounds_and_counts_of_foreign_tables_hold_of_their_rows(name: str) -> None:
    table = open_table(name)
    columns = frozenset(pq.read_schema(table.files.paths[0]).names)
    for block in table.blocks(columns).select(["file", "row_count", "columns"]).to_pylist():
        rows = pq.read_table(block["file"], coerce_int96_timestamp_unit="us")
        for name_, facts in block["columns"].items():
            values = rows[name_].to_pylist() if name_ in rows.column_names else None
            if values is None:
                continue
            assert facts["null_count"] in (None, values.count(None))
            present = [comparable(value) for value in values if value is not None]
            assert all(facts["min"] is None or comparable(facts["min"]) <= value for value in present)
            assert all(facts["max"] is None or value <= comparable(facts["max"]) for value in present)


def comparable(value: Any) -> Any:
    """Return a value that compares with others of its column, whether or not it has a zone."""
    return value.replace(tzinfo=None) if isinstance(value, datetime) else value


@needs_corpus
def test_a_checkpoint_of_structs_agrees_with_the_commits_after_it() -> None:
    table = open_table("delta-1.2.1-only-struct-stats")
    blocks = table.blocks(frozenset({"integer", "decimal", "new_column"}))
    assert (table.version, blocks["row_count"].to_pylist()) == (12, [1] * 12)
    columns = blocks["columns"].to_pylist()
    assert sorted(column["integer"]["min"] for column in columns) == list(range(12))
    assert {column["decimal"]["max"] for column in columns} == {Decimal("-5.67800")}


@needs_corpus
def test_a_file_without_statistics_is_read_as_unknown() -> None:
    blocks = open_table("delta-stats-optional").blocks(frozenset({"integer"}))
    assert blocks["rows_deleted"].to_pylist() == [False, True]
    assert blocks["columns"].to_pylist()[1]["integer"]["max"] is None


@needs_corpus
def test_times_at_the_edge_of_years_are_read() -> None:
    (first, second) = (
        open_table("table_with_edge_timestamps").blocks(frozenset({"BIG_DATE"}))["columns"].to_pylist()
    )
    assert first["BIG_DATE"]["max"].replace(tzinfo=None) == datetime(9999, 12, 31, 0, 0, 0, 999)
    assert second["BIG_DATE"]["min"].day == 30


def test_deletion_vectors_agree_with_those_of_delta_rs(tmp_path: Path) -> None:
    """The table is our own, because delta-rs writes none."""
    deltalake = pytest.importorskip("deltalake")
    log = WrittenLog(tmp_path / "t")
    stored = stored_vectors(log.root, [[1, 8], [2]], prefix="x")
    files = []
    for name, vector in zip("abcd", [*stored, inline([0, 9]), None], strict=True):
        pq.write_table(pa.table({"v": range(10)}), log.root / name)
        size = (log.root / name).stat().st_size
        options = {} if vector is None else {"deletionVector": vector}
        files.append(add(name, {"numRecords": 10}, size=size, **options))
    log.commit(protocol(3, "deletionVectors"), metadata(column("v")), *files)
    ours = open_delta_version(str(log.root))
    theirs = pa.table(deltalake.DeltaTable(str(log.root)).deletion_vectors())
    masks = {Path(row["filepath"]).name: row["selection_vector"] for row in theirs.to_pylist()}
    for path, rows in zip(ours.files.paths, ours.deleted_rows.positions(range(4)), strict=True):
        kept = masks.get(Path(path).name, [])
        assert [place for place, is_kept in enumerate(kept) if not is_kept] == list(rows)
    assert ours.blocks(frozenset())["row_count"].to_pylist() == [8, 9, 8, 10]
