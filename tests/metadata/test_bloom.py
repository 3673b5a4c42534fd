"""Bloom filters: ours and those of three writers agree with the files' values and with DuckDB."""

import struct
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from looking_up import array, denied_in_files, holding, rows_of
from rewriting import CHUNKS, I64, META, ROW_GROUPS, rewrite

import pruning
from pruning.expressions import types
from pruning.expressions.types import Type, Value
from pruning.metadata import bloom, filters
from pruning.metadata.contents import indexable
from pruning.metadata.encodings import Encoding, encoding_of, own_encoding, parsed
from pruning.metadata.filters import DOUBTS
from pruning.metadata.footer import read_footer
from pruning.metadata.forms import Physical
from pruning.metadata.indexed_files import index_files
from pruning.metadata.memberships import FIELD, attach, value_type
from strategies import values as drawn

FILTER_OFFSET = 14
GROUP_ROWS = 50
WRITTEN_TYPES = (*(type_ for type_ in drawn.TYPES if type_ != types.BOOLEAN),)


def written(path: Path, *groups: pa.Array, **options: Any) -> Path:
    """A file of one column `x` with a filter, a row group for each array."""
    whole = pa.table({"x": pa.chunked_array(groups)})
    schema = whole.schema
    with pq.ParquetWriter(
        path, schema, bloom_filter_options={"x": {"ndv": 200, "fpp": 0.001}}, **options
    ) as out:
        for group in groups:
            out.write_table(pa.table({"x": group}, schema=schema))
    return path


def metadata_of(path: Path, *, read_data: bool = False, bytes_per_block: int = 1 << 20) -> pa.Table:
    """Block metadata with the file's own filters, or with what its data tells."""
    outcome = index_files([str(path)], columns=None, bytes_per_block=bytes_per_block, read_data=read_data)
    assert outcome.failures == {}
    return attach(pruning.collect(path, cache=False), outcome.shards)


def filtered(metadata: pa.Table, column: str = "x") -> list[bool]:
    """Per block, whether it has a filter that is believed."""
    if FIELD not in metadata.schema.names:
        return [False] * len(metadata)
    rows = metadata.column(FIELD).to_pylist()
    return [row.get(column) is not None and row[column]["filter"] is not None for row in rows]


@given(
    values=st.lists(st.integers(0, 2**64 - 1), max_size=60),
    absent=st.integers(0, 2**64 - 1),
    blocks=st.integers(1, 9),
)
@examples(4)
def test_a_filter_holds_every_hash_that_was_inserted(values: list[int], absent: int, blocks: int) -> None:
    """Whatever its size; and a value that it denies was never inserted."""
    bits = bloom.built(np.array(values, np.uint64), blocks * bloom.BLOCK_BYTES)
    lanes = pa.array([None, bits, b"", bits[:7]], pa.large_binary())
    for value in values:
        assert bloom.may_contain(lanes, np.array([1]), value).tolist() == [True]
    if not bloom.may_contain(lanes, np.array([1]), absent)[0]:
        assert absent not in values
    # What is no filter denies nothing.
    assert bloom.may_contain(lanes, np.array([2, 3]), absent).all()
    assert bloom.may_contain(lanes.slice(1), np.array([0]), absent).tolist() == [
        bool(bloom.may_contain(lanes, np.array([1]), absent)[0])
    ]


@given(values=st.sets(st.integers(0, 2**64 - 1), min_size=1, max_size=60), blocks=st.integers(1, 40))
@examples(4)
def test_a_folded_filter_holds_what_the_whole_one_held(values: set[int], blocks: int) -> None:
    """For each hash, whatever the number of blocks; and it is as small as it was to be."""
    bits = bloom.built(np.array(sorted(values), np.uint64), blocks * bloom.BLOCK_BYTES)
    for size_max in (32, 64, 256, 2_000):
        small = bloom.folded(bits, size_max)
        if small is not None:
            assert len(small) <= size_max
            lanes = pa.array([small], pa.large_binary())
            assert all(bloom.may_contain(lanes, np.array([0]), value).all() for value in values)


def test_folding_keeps_a_filter_useful_or_gives_it_up() -> None:
    """A megabyte for a hundred values folds to what they need; a full filter is not kept."""
    hashes = bloom.hashes_of(struct.pack("<q", number) for number in range(1_100))
    small = bloom.folded(bloom.built(hashes[:100], 1 << 20), 1 << 20)
    assert small is not None
    assert len(small) <= 256
    lanes = pa.array([small], pa.large_binary())
    assert sum(bool(bloom.may_contain(lanes, np.array([0]), int(hash_))[0]) for hash_ in hashes[100:]) <= 20
    assert bloom.folded(bloom.built(hashes[:100], 1 << 20), 32) is None
    assert bloom.folded(bloom.built(hashes[:1], 96), 64) is None


def test_a_filter_of_twelve_bits_a_value_is_wrong_about_one_in_a_hundred_at_most() -> None:
    """Without this, one with all bits set would do."""
    hashes = bloom.hashes_of(struct.pack("<q", number) for number in range(2_000))
    bits = pa.array([bloom.built(hashes[:1_000], 1_504)], pa.large_binary())
    wrong = sum(bool(bloom.may_contain(bits, np.array([0]), int(hash_))[0]) for hash_ in hashes[1_000:])
    assert wrong <= 10


@given(data=st.data())
@examples(2)
def test_the_filters_of_pyarrow_deny_no_value_of_their_row_group(
    data: st.DataObject, tmp_path_factory: Any
) -> None:
    """For every type that has filters, NULL and NaN and both zeros among the values."""
    type_ = data.draw(st.sampled_from(WRITTEN_TYPES))
    pool = data.draw(drawn.pools(type_, max_size=8))
    groups = data.draw(
        st.lists(st.lists(st.none() | st.sampled_from(pool), min_size=1, max_size=8), min_size=1, max_size=3)
    )
    path = tmp_path_factory.mktemp("bloom") / "x.parquet"
    metadata = metadata_of(written(path, *(array(group, type_) for group in groups)))
    if FIELD in metadata.schema.names:
        assert denied_in_files(metadata, "x") == []


SAMPLES: dict[str, tuple[pa.DataType, Callable[[int], Any]]] = {
    "int8": (pa.int8(), lambda n: n - 60),
    "int16": (pa.int16(), lambda n: 100 * n - 5_000),
    "int32": (pa.int32(), lambda n: n * 10_000_000 - 2**31),
    "int64": (pa.int64(), lambda n: n * 10**16 - 2**62),
    "uint8": (pa.uint8(), lambda n: n + 130),
    "uint16": (pa.uint16(), lambda n: 65_535 - n),
    "uint32": (pa.uint32(), lambda n: 2**32 - 1 - n),
    "uint64": (pa.uint64(), lambda n: 2**64 - 1 - n),
    "float": (pa.float32(), lambda n: n / 4 - 3),
    "double": (pa.float64(), lambda n: n / 7 - 3),
    "string": (pa.string(), lambda n: f"wert {n} ü"),
    "binary": (pa.binary(), lambda n: bytes([n, 255 - n])),
    "fixed": (pa.binary(3), lambda n: bytes([n, 255 - n, 0])),
    "date": (pa.date32(), lambda n: n + 1_000),
    "us": (pa.timestamp("us", tz="UTC"), lambda n: n * 10**12 + 1),
    "ntz": (pa.timestamp("us"), lambda n: n * 10**12 + 1),
    "ms": (pa.timestamp("ms"), lambda n: n * 10**9 + 1),
    "decimal9": (pa.decimal128(9, 2), lambda n: Decimal(n - 60).scaleb(-2)),
    "decimal18": (pa.decimal128(18, 0), lambda n: Decimal(n * 10**15)),
    "decimal38": (pa.decimal128(38, 10), lambda n: Decimal(n - 60) * 10**17),
}


def sample(name: str, start: int) -> pa.Array:
    type_, value = SAMPLES[name]
    return pa.array([value(number) for number in range(start, start + GROUP_ROWS)], type_)


@pytest.mark.parametrize("name", SAMPLES)
def test_absent_values_are_denied_in_every_type(name: str, tmp_path: Path) -> None:
    """Each row group's filter tells its values from the other's; decimals stored as integers too."""
    for options in (
        {},
        {"store_decimal_as_integer": True},
        {"data_page_version": "2.0", "use_dictionary": False},
    ):
        path = written(tmp_path / "x.parquet", sample(name, 0), sample(name, GROUP_ROWS), **options)
        metadata = metadata_of(path)
        assert filtered(metadata) == [True, True]
        assert denied_in_files(metadata, "x") == []
        known = metadata.column(FIELD).combine_chunks()
        type_ = value_type(known.type.field("x").type)
        other = [holding(known, value, type_)[1] for value in values_of(sample(name, 0), type_)]
        assert other.count(False) > GROUP_ROWS * 0.9


def values_of(column: pa.Array, type_: Type) -> list[Value]:
    return [row for row in rows_of(pa.chunked_array([column]), type_) if row is not None]


@pytest.mark.parametrize(
    "name", ["int32", "int64", "uint32", "string", "float", "double", "date", "us", "ms", "decimal9"]
)
def test_probes_agree_with_duckdb(name: str, tmp_path: Path) -> None:
    """On the same filter, for values that are there and values that are not."""
    path = written(
        tmp_path / "x.parquet", sample(name, 0), sample(name, GROUP_ROWS), store_decimal_as_integer=True
    )
    known = metadata_of(path).column(FIELD).combine_chunks()
    type_ = value_type(known.type.field("x").type)
    asked = pa.concat_arrays([sample(name, 0), sample(name, 70)])
    connection = duckdb.connect()
    connection.register("asked", pa.table({"x": asked}))
    spelled = [row[0] for row in connection.execute("SELECT x FROM asked").fetchall()]
    for value, parameter in zip(values_of(asked, type_), spelled, strict=True):
        probe = (
            f"SELECT bloom_filter_excludes FROM parquet_bloom_probe('{path}', 'x', ?) ORDER BY row_group_id"
        )
        excludes = [row[0] for row in connection.execute(probe, [parameter]).fetchall()]
        assert holding(known, value, type_) == [not excluded for excluded in excludes]


def test_filters_of_duckdb_deny_no_value(tmp_path: Path) -> None:
    """It writes one for every dictionary column, but for wide decimals."""
    names = (
        "tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger", "ubigint",
        "float", "double", "decimal(4,1)", "decimal(9,2)", "decimal(18,3)", "decimal(38,4)", "hugeint",
    )  # fmt: skip
    columns = [f'cast(i // 2048 * 20 + i % 20 AS {name}) AS "{name}"' for name in names]
    columns += [
        f"cast('2020-01-01'::date + (i % 50)::int AS {name}) AS \"{name}\""
        for name in ("date", "timestamp", "timestamp_ms", "timestamptz")
    ]
    columns += [
        "'v' || (i % 50) AS varchar",
        "('v' || (i % 50))::blob AS blob",
        "CASE i % 3 WHEN 0 THEN -0.0 WHEN 1 THEN 'nan'::double END AS zero",
    ]
    path = tmp_path / "x.parquet"
    duckdb.execute(
        f"COPY (SELECT {', '.join(columns)} FROM range(6000) t(i)) TO '{path}' "
        "(FORMAT parquet, ROW_GROUP_SIZE 2048)"
    )
    metadata = metadata_of(path)
    found = metadata.column(FIELD).combine_chunks().type
    believed = [field.name for field in found if any(filtered(metadata, field.name))]
    assert len(believed) >= 20
    for name in believed:
        assert denied_in_files(metadata, name) == []
    known = metadata.column(FIELD).combine_chunks()
    assert holding(known, 5, types.INTEGER, "integer") == [True, False, False]


def test_filters_of_spark_deny_no_value(spark: Any, tmp_path: Path) -> None:
    frame = spark.range(400).selectExpr(
        "cast(id * 7 AS int) i", "id * 1000003 l", "concat('name ', id) s", "cast(id AS double) / 3 d",
        "cast(id AS float) f", "cast(id AS decimal(9,2)) small", "cast(id AS decimal(18,2)) middle",
        "cast(id AS decimal(38,2)) wide", "date_add(date'2020-01-01', cast(id AS int)) day",
        "timestamp_micros(id * 86400000001) t", "cast(cast(id AS string) AS binary) b",
    )  # fmt: skip
    writer = frame.repartition(2).write.option("parquet.bloom.filter.enabled", "true")
    writer.option("parquet.enable.dictionary", "false").option(
        "parquet.bloom.filter.expected.ndv", "300"
    ).parquet(str(tmp_path / "t"))
    believed = set()
    for path in sorted((tmp_path / "t").glob("*.parquet")):
        metadata = metadata_of(path)
        for name in frame.columns:
            if any(filtered(metadata, name)):
                believed.add(name)
                assert denied_in_files(metadata, name) == []
    assert believed >= {"i", "l", "s", "d", "f", "small", "middle", "wide", "day", "b"}


# --- what is not believed ---


def _evidence(path: Path, **changes: Any) -> filters.Evidence:
    """What speaks for a sound filter, but for the changes."""
    footer = read_footer(str(path))
    column = indexable(footer, None)["x"]
    offset = footer.row_groups[0].chunks[0].filter_offset
    with open(path, "rb") as data, pa.PythonFile(data) as handle:
        header, bits = filters._read(handle, offset)
    sound = {
        "column": column, "bounded": True, "shared": False, "header": header, "bits": bits, "values": 50,
        "encoding": encoding_of(column.leaf.element, column.form, rebased=False),
    }  # fmt: skip
    return filters.Evidence(**{**sound, **changes})


class _Header:
    """A header with other contents."""

    def __init__(self, header: Any, **changes: Any) -> None:
        for name in ("numBytes", "algorithm", "hash", "compression"):
            setattr(self, name, changes.get(name, getattr(header, name)))


def doubted(name: str, path: Path) -> filters.Evidence:
    """Evidence that only the doubt of this name speaks against."""
    header = _evidence(path).header
    narrow = indexable(read_footer(str(written(path.with_name("narrow.parquet"), sample("int8", 0)))), None)[
        "x"
    ]
    changes: dict[str, dict[str, Any]] = {
        "no header": {"header": None},
        "another algorithm": {"header": _Header(header, hash=None)},
        "not whole": {"bits": b"\1" * 16},
        "no one encoding": {"encoding": None},
        "shared filter": {"shared": True},
        "empty filter": {"bits": bytes(header.numBytes)},
        "numbers outside of the type": {"column": narrow, "bounded": False},
    }
    return _evidence(path, **changes[name])


@pytest.mark.parametrize("name", [doubt.name for doubt in DOUBTS])
def test_each_doubt_takes_a_filter_away(name: str, tmp_path: Path) -> None:
    """Alone, so that each is needed."""
    path = written(tmp_path / "x.parquet", sample("int32", 0))
    assert filters.believed_filter(_evidence(path)) is not None
    evidence = doubted(name, path)
    assert [doubt.name for doubt in DOUBTS if doubt.applies(evidence)] == [name]
    assert filters.believed_filter(evidence) is None


def _chunk(footer: dict[int, Any], row_group: int) -> dict[int, Any]:
    return footer[ROW_GROUPS][1][1][row_group][CHUNKS][1][1][0][META][1]


@pytest.mark.parametrize("offset", [4, 10**6, 2**62, 0, -5])
def test_an_offset_that_leads_to_no_filter_denies_nothing(offset: int, tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", sample("int32", 0))
    rewrite(path, lambda footer: _chunk(footer, 0).__setitem__(FILTER_OFFSET, (I64, offset)))
    assert filtered(metadata_of(path)) == [False]


def test_a_filter_that_two_row_groups_claim_is_believed_of_neither(tmp_path: Path) -> None:
    path = written(tmp_path / "x.parquet", sample("int32", 0), sample("int32", GROUP_ROWS))
    first = read_footer(str(path)).row_groups[0].chunks[0].filter_offset
    rewrite(path, lambda footer: _chunk(footer, 1).__setitem__(FILTER_OFFSET, (I64, first)))
    assert filtered(metadata_of(path)) == [False, False]


def test_the_length_that_a_footer_gives_is_not_looked_at(tmp_path: Path) -> None:
    """Some writers count the filter's header, some do not."""
    path = written(tmp_path / "x.parquet", sample("int32", 0), sample("int32", GROUP_ROWS))
    for length in (0, 1, 10**9):
        rewrite(path, lambda footer, length=length: _chunk(footer, 0).__setitem__(15, (5, length)))
        assert filtered(metadata_of(path)) == [True, True]
        assert denied_in_files(metadata_of(path), "x") == []


ENCODINGS: list[tuple[Encoding, Type, Value, Any]] = [
    (Encoding(physical=Physical.INT32), types.INTEGER, -1, (b"\xff\xff\xff\xff",)),
    (Encoding(physical=Physical.INT32), types.LONG, 2**32 - 1, (b"\xff\xff\xff\xff",)),
    (Encoding(physical=Physical.INT32), types.LONG, 2**32, ()),
    (Encoding(physical=Physical.INT64), types.decimal(20, 0), Decimal(2**64 - 1), (b"\xff" * 8,)),
    (Encoding(physical=Physical.INT64), types.decimal(20, 0), Decimal(2**64), ()),
    (Encoding(physical=Physical.INT64, unit=1_000), types.TIMESTAMP, 5_000, (b"\5" + bytes(7),)),
    (Encoding(physical=Physical.INT64, unit=1_000), types.TIMESTAMP, 5_001, ()),
    (Encoding(physical=Physical.INT64, unit=1_000), types.TIMESTAMP, -1_000, (b"\xff" * 8,)),
    (Encoding(physical=Physical.INT32, rebased=True), types.DATE, -141_428, None),
    (Encoding(physical=Physical.INT32, rebased=True), types.DATE, 0, (bytes(4),)),
    (Encoding(physical=Physical.INT64, rebased=True), types.TIMESTAMP, -2_208_988_800_000_000, None),
    (
        Encoding(physical=Physical.FIXED_LEN_BYTE_ARRAY, size_bytes=2),
        types.decimal(4, 2),
        Decimal("-0.01"),
        (b"\xff\xff",),
    ),
    (
        Encoding(physical=Physical.FIXED_LEN_BYTE_ARRAY, size_bytes=1),
        types.decimal(4, 2),
        Decimal("12.80"),
        (),
    ),
    (Encoding(physical=Physical.FIXED_LEN_BYTE_ARRAY, size_bytes=2), types.BINARY, b"abc", ()),
    (Encoding(physical=Physical.FIXED_LEN_BYTE_ARRAY, size_bytes=2), types.BINARY, b"ab", (b"ab",)),
    (Encoding(physical=Physical.FLOAT), types.FLOAT, -0.0, (bytes(4), b"\0\0\0\x80")),
    (Encoding(physical=Physical.BYTE_ARRAY), types.STRING, b"a", (b"a",)),
]


@pytest.mark.parametrize(("encoding", "type_", "value", "expected"), ENCODINGS)
def test_values_are_encoded_as_the_file_stores_them(
    encoding: Encoding, type_: Type, value: Value, expected: Any
) -> None:
    assert encoding.of(value, type_) == expected
    assert parsed(encoding.name) == encoding


def test_the_name_of_an_encoding_that_is_not_known_names_none() -> None:
    assert own_encoding(types.BOOLEAN) is None
    for text in ("INT32", "INT31 0 1 0", "", "INT32 0 1 0 x"):
        assert parsed(text) is None


# --- broken twins ---

_read, _of = filters._read, Encoding.of


def _widened(element: Any, form: Any, *, rebased: bool) -> Encoding:
    return Encoding(physical=Physical.INT64)


def _one_zero(self: Encoding, value: Value, type_: Type) -> Any:
    found = _of(self, value, type_)
    return found[:1] if found else found


def loses(path: Path) -> bool:
    metadata = metadata_of(path)
    return FIELD in metadata.schema.names and denied_in_files(metadata, "x") != []


def test_a_hash_of_the_widened_type_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "x.parquet", sample("int32", 0))
    assert not loses(path)
    monkeypatch.setattr(filters, "encoding_of", _widened)
    assert loses(path)


def test_the_filter_of_another_row_group_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "x.parquet", sample("int32", 0), sample("int32", GROUP_ROWS))
    assert not loses(path)
    first = read_footer(str(path)).row_groups[0].chunks[0].filter_offset
    monkeypatch.setattr(filters, "_read", lambda handle, _: _read(handle, first))
    assert loses(path)


def test_probing_one_zero_only_is_killed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "x.parquet", pa.array([-0.0, 1.0]), pa.array([0.0, 2.0]))
    assert not loses(path)
    monkeypatch.setattr(Encoding, "of", _one_zero)
    assert loses(path)


def test_milliseconds_taken_for_microseconds_are_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "x.parquet", sample("ms", 0))
    assert not loses(path)
    monkeypatch.setattr(filters, "encoding_of", _widened)
    assert loses(path)


def test_unsigned_numbers_taken_for_signed_ones_are_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path / "x.parquet", sample("uint32", 0))
    assert not loses(path)

    def signed(self: Encoding, value: Value, type_: Type) -> Any:
        return () if isinstance(value, int) and value >= 2**31 else _of(self, value, type_)

    monkeypatch.setattr(Encoding, "of", signed)
    assert loses(path)
