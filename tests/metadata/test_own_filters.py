"""Our own filters: hashed many values at once as one by one, and made of blocks of any number of values."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from looking_up import array, denied_in_files, present

import pruning
from pruning.errors import InputError
from pruning.expressions import types
from pruning.expressions.types import Type, Value
from pruning.metadata.index import block_values, bloom, child_processes, indexed_files, own_filters, xxh64
from pruning.metadata.index.encodings import own_encoding
from pruning.metadata.index.own_filters import BITS_MIN, BITS_WANTED, Budget, bytes_needed, own_filter
from pruning.metadata.table.memberships import FIELD
from strategies.base import values as drawn

FILTERED = tuple(type_ for type_ in drawn.TYPES if type_ != types.BOOLEAN)


@given(
    texts=st.lists(st.binary(max_size=70)),
    skipped=st.integers(0, 3),
    copies=st.sampled_from([1, 1, xxh64._ROWS_MIN]),
)
@examples(6)
def test_many_strings_are_hashed_as_xxhash_does(texts: list[bytes], skipped: int, copies: int) -> None:
    """For strings of all lengths, few or many of one, in any slice of an array."""
    column = pa.array(texts * copies, pa.binary()).slice(skipped)
    expected = [xxhash.xxh64_intdigest(text) for text in (texts * copies)[skipped:]]
    assert xxh64.hash_bytes(column).tolist() == expected


@pytest.mark.parametrize("length", [0, 1, 3, 4, 5, 8, 12, 16, 31, 32, 33, 63, 64, 100])
def test_rows_of_every_length_are_hashed_as_xxhash_does(length: int) -> None:
    rows = np.random.default_rng(length).integers(0, 256, (xxh64._ROWS_MIN, length), np.uint8)
    assert xxh64.hash_rows(rows).tolist() == [xxhash.xxh64_intdigest(row.tobytes()) for row in rows]


@given(data=st.data(), copies=st.sampled_from([1, xxh64._ROWS_MIN]), skipped=st.integers(0, 2))
@examples(6)
def test_a_value_is_inserted_in_every_way_it_is_looked_for(
    data: st.DataObject, copies: int, skipped: int
) -> None:
    """For each type and value: the hashes inserted are those of `Encoding.of`, which lookups ask for."""
    type_ = data.draw(st.sampled_from(FILTERED))
    encoding = own_encoding(type_)
    assert encoding is not None
    pool = [value for value in data.draw(drawn.pools(type_, max_size=8)) if present([value])]
    column = block_values.distinct_values(pa.chunked_array([array(pool, type_)]), type_)
    column = pa.concat_arrays([column] * copies).slice(skipped)
    expected = [
        xxhash.xxh64_intdigest(way)
        for value in _plain(column, type_)
        for way in encoding.of(value, type_) or ()
    ]
    assert sorted(own_filters.hashes(column, type_, encoding).tolist()) == sorted(expected)


def _plain(column: pa.Array, type_: Type) -> list[Value]:
    from looking_up import rows_of

    return [value for value in rows_of(pa.chunked_array([column]), type_) if value is not None]


@pytest.mark.parametrize(("bits", "wrong_max"), [(BITS_WANTED, 30), (8, 130), (BITS_MIN, 800)])
def test_a_filter_is_as_right_as_its_bits_let_it_be(bits: int, wrong_max: int) -> None:
    """Of 4,000 absent values: one in 200 with twelve bits, one in 40 with eight, one in five with five."""
    numbers = np.random.default_rng(bits).permutation(104_000)
    values = pa.array(numbers[:100_000], pa.int64())
    found = own_filter(values, types.LONG, Budget(0, bits))
    assert found is not None
    assert len(found.bits) <= bits * 100_000 / 8 + bloom.BLOCK_BYTES
    hashes = own_filters.hashes(pa.array(numbers[100_000:]), types.LONG, found.encoding)
    lanes = pa.array([found.bits], pa.large_binary())
    assert sum(bool(bloom.may_contain(lanes, np.array([0]), int(one))[0]) for one in hashes) < wrong_max


ROWS = 70_000


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two row groups of more values than are listed, each with all bounds of the other."""
    path = tmp_path_factory.mktemp("keys") / "keys.parquet"
    numbers = np.random.default_rng(1).permutation(2 * ROWS)
    rows = {"k": numbers, "s": pa.array(np.char.add("key ", numbers.astype(str)).tolist())}
    pq.write_table(pa.table(rows), path, row_group_size=ROWS)
    return path


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Indexing without a process of its own, which takes most of the time."""
    monkeypatch.setattr(
        child_processes,
        "_run_process",
        lambda module, files, options: indexed_files.index_files(files, **options),
    )


def kept(path: Path) -> list[dict[str, Any]]:
    return list(pruning.collect(path).column(FIELD).to_pylist())


def test_keys_in_row_groups_of_ordinary_size_get_a_filter(keys: Path, spark: Any) -> None:
    """Of columns that are named, 12 bits for each value; a key is then looked for in its row group alone."""
    assert block_values.DISTINCT_MAX < ROWS
    report = pruning.index(keys, ["k", "s"])
    assert [(column.filter, column.unfitting) for column in report.columns] == [(2, 0), (2, 0)]
    assert all(len(row["k"]["filter"]) == bytes_needed(ROWS, bits=12) - 64 for row in kept(keys))
    metadata = pruning.collect(keys)
    verdicts = [pruning.classify(f"k = {key}", metadata).to_pylist() for key in range(0, 2 * ROWS, 14_000)]
    assert all(verdict in ([0, 1], [1, 0], [1, 1]) for verdict in verdicts)
    assert sum(verdict == [1, 1] for verdict in verdicts) <= 1
    assert pruning.classify("s = 'key 1' or s = 'key 1'", metadata).to_pylist().count(0) == 1


@pytest.mark.usefixtures("here")
def test_no_key_of_a_large_block_is_denied(keys: Path) -> None:
    """For every fiftieth value of each row group and column."""
    pruning.index(keys, bits_per_value=6)
    metadata = pruning.collect(keys)
    known = metadata.column(FIELD).combine_chunks()
    for name, type_ in (("k", types.LONG), ("s", types.STRING)):
        filters = known.field(name).field("filter")
        encoding = own_encoding(type_)
        assert encoding is not None
        for group in range(2):
            column = pq.ParquetFile(keys).read_row_group(group, [name])[name]
            values = block_values.distinct_values(column, type_)
            for hash_ in own_filters.hashes(values, type_, encoding)[::50]:
                assert bloom.may_contain(filters, np.array([group]), int(hash_))[0]


@pytest.mark.usefixtures("here")
def test_a_budget_for_nothing_is_said_with_what_a_filter_needs(keys: Path) -> None:
    """No filter fits; with the bytes that the line names, one does."""
    report = pruning.index(keys)
    (sentence,) = [column.shortage for column in report.columns if column.name == "k"]
    column = report.columns[0]
    assert sentence == (
        f"k: nothing fits in 1,024 bytes for 2 of 2 blocks; a filter needs {column.filter_bytes:,} bytes per "
        f"block, a good one {column.good_filter_bytes:,}"
    )
    assert str(report).count("nothing fits in 1,024 bytes") == 2
    for size, filters in (
        (column.filter_bytes - 32, 0),
        (column.filter_bytes, 2),
        (column.good_filter_bytes, 2),
    ):
        told = pruning.index(keys, ["k"], bytes_per_block=size).columns[0]
        assert (told.filter, told.unfitting, told.shortage is None) == (filters, 2 - filters, bool(filters))
        assert told.bytes_per_block <= max(size, 64)
    assert pruning.index(keys, ["k"], bits_per_value=4).columns[0].filter == 0


@pytest.mark.usefixtures("here")
def test_small_blocks_say_nothing_of_budgets_that_hold_them(tmp_path: Path) -> None:
    """A block without values needs nothing, nor does a boolean of which a bucket alone is kept."""
    path = tmp_path / "x.parquet"
    rows = {"x": pa.array([1, 2, 3]), "n": pa.nulls(3, pa.int64()), "b": [True, False, None]}
    pq.write_table(pa.table(rows), path)
    assert [column.shortage for column in pruning.index(path).columns] == [None] * 3
    short = pruning.index(path, bytes_per_block=0)
    assert [column.unfitting for column in short.columns] == [1, 0, 0]


@pytest.mark.usefixtures("here")
def test_a_files_own_filter_that_is_too_large_is_said(tmp_path: Path) -> None:
    """And kept where the column is named, or the bytes it needs are given."""
    path = tmp_path / "x.parquet"
    options = {"bloom_filter_options": {"x": {"ndv": 1_500, "fpp": 0.01}}}
    pq.write_table(pa.table({"x": list(range(1_500))}), path, **options)
    (column,) = pruning.index(path, read_data=False).columns
    assert (column.filter, column.unfitting) == (0, 1)
    assert "a filter needs" in str(column.shortage)
    needed = column.filter_bytes
    assert pruning.index(path, read_data=False, bytes_per_block=needed).columns[0].filter == 1
    assert pruning.index(path, ["x"], read_data=False).columns[0].filter == 1
    assert denied_in_files(pruning.collect(path), "x") == []


@pytest.mark.parametrize("bits", [-1, 65, float("nan"), "12", True])
def test_bits_that_are_none_are_refused(keys: Path, bits: Any) -> None:
    with pytest.raises(InputError, match="bits_per_value"):
        pruning.index(keys, bits_per_value=bits)
