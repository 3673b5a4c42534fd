"""Bloom filters: ours and those of three writers agree with the files' values and with DuckDB."""

import struct
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from budget import examples
from filtered_files import GROUP_ROWS, SAMPLES, filtered, metadata_of, sample, values_of, written
from hypothesis import given
from hypothesis import strategies as st
from looking_up import array, denied_in_files, holding

from pruning.expressions import types
from pruning.metadata.index import bloom
from pruning.metadata.table.memberships import FIELD, value_type
from strategies.base import values as drawn

WRITTEN_TYPES = (*(type_ for type_ in drawn.TYPES if type_ != types.BOOLEAN),)


@given(
    values=st.lists(st.integers(0, 2**64 - 1), max_size=60),
    absent=st.integers(0, 2**64 - 1),
    blocks=st.integers(1, 9),
)
@examples(4)
def test_a_filter_holds_every_hash_that_was_inserted(values: list[int], absent: int, blocks: int) -> None:
    """Whatever its size; and a value that it denies was never inserted."""
    bits = bloom.build_filter(np.array(values, np.uint64), blocks * bloom.BLOCK_BYTES)
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
    bits = bloom.build_filter(np.array(sorted(values), np.uint64), blocks * bloom.BLOCK_BYTES)
    for size_max in (32, 64, 256, 2_000):
        small = bloom.fold_filter(bits, size_max)
        if small is not None:
            assert len(small) <= size_max
            lanes = pa.array([small], pa.large_binary())
            assert all(bloom.may_contain(lanes, np.array([0]), value).all() for value in values)


def test_folding_keeps_a_filter_useful_or_gives_it_up() -> None:
    """A megabyte for a hundred values folds to what they need; a full filter is not kept."""
    hashes = bloom.hashes_of(struct.pack("<q", number) for number in range(1_100))
    small = bloom.fold_filter(bloom.build_filter(hashes[:100], 1 << 20), 1 << 20)
    assert small is not None
    assert len(small) <= 256
    lanes = pa.array([small], pa.large_binary())
    assert sum(bool(bloom.may_contain(lanes, np.array([0]), int(hash_))[0]) for hash_ in hashes[100:]) <= 20
    assert bloom.fold_filter(bloom.build_filter(hashes[:100], 1 << 20), 32) is None
    assert bloom.fold_filter(bloom.build_filter(hashes[:1], 96), 64) is None


def test_a_filter_of_twelve_bits_a_value_is_wrong_about_one_in_a_hundred_at_most() -> None:
    """Without this, one with all bits set would do."""
    hashes = bloom.hashes_of(struct.pack("<q", number) for number in range(2_000))
    bits = pa.array([bloom.build_filter(hashes[:1_000], 1_504)], pa.large_binary())
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
