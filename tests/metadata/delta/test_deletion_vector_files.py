"""Deletion vectors are written byte by byte as Delta's protocol says, and other readers read them."""

import json
import tempfile
import uuid
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from budget import examples, unshrunk
from hypothesis import find, given, settings
from hypothesis import strategies as st

# The package is in the extra `delta`.
pytest.importorskip("pyroaring")
pytest.importorskip("deltalake")
from changed_delta_tables import VECTORS, deleted_by_delta_rs, rows_by_delta_rs, write_table
from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyroaring import BitMap

from mutants.metadata.delta_writing import VECTOR_MUTANTS
from pruning.errors import InputError
from pruning.metadata.delta.changed_files import delete_rows
from pruning.metadata.delta.deletion_vectors import (
    VectorDescriptor,
    decode_inline,
    decode_vector,
    encode_vector,
    inline_vector,
    table_reference,
)
from pruning.metadata.delta.file_statistics import widen_statistics
from pruning.metadata.delta.vector_files import read_vector, write_vectors

EDGES = [0, 1, 2**16 - 1, 2**16, 2**17, 2**31 - 1, 2**31, 2**32 - 1]
NEAR_EDGES = st.builds(
    lambda edge, step: min(max(edge + step, 0), 2**32 - 1), st.sampled_from(EDGES), st.integers(-3, 3)
)
# Few values, many in one block of 2^16, and runs.
SPARSE = st.lists(NEAR_EDGES | st.integers(0, 2**32 - 1), max_size=30).map(BitMap)
DENSE = st.builds(
    lambda start, step, count: BitMap(range(start, start + step * count, step)),
    st.integers(0, 2**31),
    st.integers(2, 7),
    st.integers(1, 9_000),
)
RUNS = st.lists(st.tuples(NEAR_EDGES, st.integers(1, 10_000)), max_size=4).map(
    lambda runs: (
        BitMap.union(*(BitMap(range(start, min(start + size, 2**32))) for start, size in runs))
        if runs
        else BitMap()
    )
)
POSITIONS = st.lists(SPARSE | DENSE | RUNS, min_size=1, max_size=3).map(lambda parts: BitMap.union(*parts))
# The vector of the rows 3, 4, 7, 11, 18 and 29, as the reference kernel has it in its tests.
KNOWN_ROWS = BitMap([3, 4, 7, 11, 18, 29])
KNOWN_VECTOR = VectorDescriptor(
    storage="i",
    path_or_inline="^Bg9^0rr910000000000iXQKl0rr91000f55c8Xg0@@D72lkbi5=-{L",
    offset=None,
    size_bytes=44,
    cardinality=6,
)
ROWS = 300


def test_the_vectors_and_names_of_the_protocol_are_written_alike() -> None:
    """The name is an example of Delta's protocol."""
    assert inline_vector(KNOWN_ROWS) == KNOWN_VECTOR
    assert decode_inline(KNOWN_VECTOR) == KNOWN_ROWS
    identity = uuid.UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
    reference = table_reference(identity, "ab")
    assert reference == "ab^-aqEH.-t@S}K{vb[*k^"
    descriptor = VectorDescriptor(
        storage="u", path_or_inline=reference, offset=4, size_bytes=40, cardinality=6
    )
    assert descriptor.file_name == f"ab/deletion_vector_{identity}.bin"
    assert descriptor.unique_id == f"u{reference}@4"
    assert KNOWN_VECTOR.unique_id == f"i{KNOWN_VECTOR.path_or_inline}"
    assert VectorDescriptor.from_json(descriptor.to_json()) == descriptor


@given(POSITIONS)
def test_a_vector_that_is_written_is_read_alike(positions: BitMap) -> None:
    """VECTOR-1, in memory; a reader of Delta's log gets padding after an inline vector."""
    before = BitMap(positions)
    assert decode_vector("v", encode_vector(positions) + bytes(3)) == positions == before
    assert decode_inline(inline_vector(positions)) == positions


@given(st.lists(POSITIONS.filter(bool), min_size=1, max_size=4), st.sampled_from(["", "ab"]))
def test_vectors_of_one_file_are_read_alike(vectors: list[BitMap], prefix: str) -> None:
    """VECTOR-1, in files."""
    with tempfile.TemporaryDirectory() as root:
        positions = {f"{number}.parquet": bitmap for number, bitmap in enumerate(vectors)}
        descriptors = write_vectors(root, positions, prefix=prefix, inline_bytes_max=50)
        assert {path: read_vector(root, vector) for path, vector in descriptors.items()} == positions
        files = list(Path(root).rglob("*.bin"))
        assert len(files) == any(vector.storage == "u" for vector in descriptors.values())
        assert all(file.parent == Path(root, prefix) for file in files)


def check_deletions(folder: Path, first: BitMap, second: BitMap, inline_bytes_max: int) -> None:
    """Delete rows twice from a table of two files, and compare what delta-rs reads."""
    table = write_table(folder, *(pa.table({"x": range(ROWS * k, ROWS * k + ROWS)}) for k in range(2)))
    live = set(range(2 * ROWS))
    deleted = {file.path: BitMap() for file in table.files}
    for positions in (first, second):
        file = table.files[len(positions) % 2]
        start = int(rows_start(file.statistics))
        table.commit(table.delete({file.path: positions}, inline_bytes_max=inline_bytes_max))
        deleted[file.path] |= positions
        live -= {start + position for position in positions}
        assert rows_by_delta_rs(table) == sorted(live)
        assert deleted_by_delta_rs(table) == {path: rows for path, rows in deleted.items() if rows}
        # A reader that takes the later removal for one of a file without a vector still has the file.
        assert len(table.state.files) == 2
        for current in table.files:
            vector = current.vector
            assert vector is None or read_vector(table.root, vector) == deleted[current.path]


def rows_start(statistics: str | None) -> int:
    """Return the least value of `x` in a file."""
    least: int = json.loads(statistics or "")["minValues"]["x"]
    return least


SOME_ROWS = st.sets(st.integers(0, ROWS - 1), min_size=1, max_size=ROWS // 3).map(BitMap)


def test_the_hard_vectors_are_drawn() -> None:
    """Positions that are negative as 32-bit numbers with a sign, full blocks, and rows deleted twice."""
    reach = unshrunk(500)
    assert find(
        POSITIONS, lambda rows: bool(rows) and rows.min() < 2**16 and rows.max() >= 2**31, settings=reach
    )
    assert find(POSITIONS, lambda rows: len(rows) > 2**12 and len(rows) < rows.max() // 2, settings=reach)
    assert find(POSITIONS, lambda rows: 2**31 - 1 in rows and 2**31 in rows, settings=reach)
    pairs = st.tuples(SOME_ROWS, SOME_ROWS)
    assert find(
        pairs, lambda pair: bool(pair[0] & pair[1]) and not len(pair[0] ^ pair[1]) % 2, settings=reach
    )


@settings(examples(0.06))
@given(SOME_ROWS, SOME_ROWS, st.sampled_from([0, 10_000]))
def test_rows_that_are_deleted_are_gone_for_delta_rs(first: BitMap, second: BitMap, inline: int) -> None:
    """VECTOR-1; the second deletion may be of the same file and of the same rows."""
    with tempfile.TemporaryDirectory() as folder:
        check_deletions(Path(folder), first, second, inline)


def test_delta_rs_reads_large_vectors(tmp_path: Path) -> None:
    """Beyond the first 2^16 rows, with blocks of all three forms."""
    table = write_table(tmp_path, pa.table({"x": range(200_000)}))
    positions = BitMap(range(5, 60_000, 3)) | BitMap(range(65_530, 131_080)) | BitMap([199_999])
    (file,) = table.files
    table.commit(table.delete({file.path: positions}))
    assert deleted_by_delta_rs(table) == {file.path: positions}
    assert rows_by_delta_rs(table, "SELECT count(*) FROM t") == [200_000 - len(positions)]


def test_a_file_that_loses_its_last_row_is_removed(tmp_path: Path) -> None:
    table = write_table(tmp_path, pa.table({"x": range(4)}), pa.table({"x": range(10, 12)}))
    file = next(file for file in table.files if rows_start(file.statistics) == 10)
    table.commit(table.delete({file.path: BitMap([0])}))
    assert rows_by_delta_rs(table) == [0, 1, 2, 3, 11]
    changes = table.delete({file.path: BitMap([0, 1])})
    assert (changes.added, changes.deleted_rows) == ((), 1)
    table.commit(changes)
    assert rows_by_delta_rs(table) == [0, 1, 2, 3]
    nothing = table.delete({kept.path: BitMap() for kept in table.files})
    assert (nothing.added, nothing.removed, nothing.protocol) == ((), (), None)


def test_a_table_that_asks_for_vectors_first_gets_a_protocol_that_has_them(tmp_path: Path) -> None:
    """Features that its earlier protocol implied are listed from then on."""
    table = write_table(tmp_path, pa.table({"x": range(4)}), properties={})
    (file,) = table.files
    with pytest.raises(InputError, match="enableDeletionVectors is not true; rewrite the files"):
        table.delete({file.path: BitMap([1])})
    entry = Path(tmp_path, "_delta_log", f"{0:020}.json")
    lines = [json.loads(line) for line in entry.read_text().splitlines()]
    for line in lines:
        if "protocol" in line:
            line["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
        if "metaData" in line:
            line["metaData"]["configuration"] = VECTORS
    entry.write_text("\n".join(map(json.dumps, lines)))
    table.commit(table.delete({file.path: BitMap([1])}))
    assert rows_by_delta_rs(table) == [0, 2, 3]
    assert DeltaTable(table.root).protocol().reader_features == ["columnMapping", "deletionVectors"]
    assert set(DeltaTable(table.root).protocol().writer_features or ()) == {
        "appendOnly", "invariants", "checkConstraints", "changeDataFeed", "generatedColumns",
        "columnMapping", "deletionVectors",
    }  # fmt: skip
    assert table.delete({file.path: BitMap([2])}).protocol is None


def test_statistics_of_a_file_with_deleted_rows_are_wide(tmp_path: Path) -> None:
    """A column whose live rows are all NULL says so by the count of all rows."""
    table = write_table(tmp_path, pa.table({"x": range(4), "y": pa.array([1, None, None, None])}))
    (file,) = table.files
    table.commit(table.delete({file.path: BitMap([0])}))
    (file,) = table.files
    assert json.loads(file.statistics or "") == {
        "numRecords": 4,
        "minValues": {"x": 0, "y": 1},
        "maxValues": {"x": 3, "y": 1},
        "nullCount": {"x": 0, "y": 3},
        "tightBounds": False,
    }
    tight = '{"numRecords":4,"nullCount":{"y":3,"s":{"z":3}},"minValues":{"d":1.50},"tightBounds":true}'
    assert widen_statistics(tight, 1) == (
        '{"numRecords":4,"nullCount":{"y":4,"s":{"z":4}},"minValues":{"d":1.50},"tightBounds":false}'
    )


def test_deletions_that_cannot_be_are_refused(tmp_path: Path) -> None:
    table = write_table(tmp_path, pa.table({"x": range(4)}))
    (file,) = table.files
    with pytest.raises(InputError, match="has 4 rows, and row 4 is to be deleted"):
        table.delete({file.path: BitMap([4])})
    with pytest.raises(InputError, match="do not say how many rows it has; rewrite it"):
        delete_rows(
            table.root,
            [(replace(file, statistics=None), BitMap([1]))],
            table.state.protocol,
            table.state.metadata,
        )
    with pytest.raises(InputError, match="no row of it is deleted"):
        write_vectors(table.root, {file.path: BitMap()})
    assert list(tmp_path.glob("*.bin")) == []


def test_damaged_vectors_are_refused(tmp_path: Path) -> None:
    (vector,) = write_vectors(str(tmp_path), {"f": BitMap(range(0, 90, 2))}).values()
    (path,) = tmp_path.glob("*.bin")
    content = path.read_bytes()
    damages = {
        "does not have its": content[:-1],
        "is damaged, by its checksum": content[:30] + b"~" + content[31:],
        "it has 45 rows, and the log says 44": None,
        "cannot be read": b"",
    }
    for message, damaged in damages.items():
        path.write_bytes(content if damaged is None else damaged)
        if not damaged and damaged is not None:
            path.unlink()
        wrong = replace(vector, cardinality=44) if damaged is None else vector
        with pytest.raises(InputError, match=message):
            read_vector(str(tmp_path), wrong)
    for message, data in {
        "is not complete": b"1234",
        "begins with": bytes(12),
        "rows beyond the first 2\\^32": encode_vector(KNOWN_ROWS).replace(
            bytes([1] + [0] * 11), bytes([2] + [0] * 11)
        ),
        "is damaged": encode_vector(KNOWN_ROWS)[:-5],
    }.items():
        with pytest.raises(InputError, match=message):
            decode_vector("v", data)
    with pytest.raises(InputError, match="which locate none"):
        VectorDescriptor.from_json({"storageType": "u", "pathOrInlineDv": "x"})
    with pytest.raises(InputError, match="names no file in the table's directory"):
        _ = replace(vector, path_or_inline="no Z85, surely____").file_name


@pytest.mark.parametrize("mutant", VECTOR_MUTANTS)
def test_a_mutant_of_deletions_is_found_out(
    mutant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(*VECTOR_MUTANTS[mutant])
    with pytest.raises((AssertionError, InputError, DeltaError)):
        check_deletions(tmp_path, BitMap([1, 5, 7]), BitMap([2]), 0)
