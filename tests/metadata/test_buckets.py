"""Hash buckets: the hash is Spark's, and what a block's hashes have in common is found."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from looking_up import array, present

import pruning
from pruning.expressions import types
from pruning.expressions.types import Type, Value
from pruning.metadata.index.buckets import bucket_of, hashes, hashes_of
from pruning.metadata.table.memberships import FIELD
from strategies.base import values as drawn

TEXTS = [b"", b"a", b"abc", b"abcd", b"abcde", "grün".encode(), b"\xf0\x9f\x98\x80", b"0123456789abcdef" * 3]


@pytest.mark.parametrize("type_", drawn.TYPES, ids=str)
def test_hashes_are_those_of_spark(spark: Any, type_: Type) -> None:
    """Its buckets are only found where the hash is the same; both zeros have one hash."""
    pool: list[Value] = [value for value in _pool(type_) if present([value])]
    column = array(pool, type_)
    frame = spark.createDataFrame(
        pa.table({"x": column.cast(pa.binary()) if type_ == types.BINARY else column})
    )
    expected = [row[0] for row in frame.selectExpr(f"hash(cast(x AS {type_.sql}))").collect()]
    assert hashes(column, type_).tolist() == expected
    assert hashes_of(pool, type_) == expected


def _pool(type_: Type) -> list[Value]:
    if type_ in (types.STRING, types.BINARY):
        return list(TEXTS)
    if type_ == types.BOOLEAN:
        return [False, True]
    if type_.floating:
        return [0.0, -0.0, 1.5, -2.0, float("inf"), float("-inf")]
    if type_.kind is types.Kind.DECIMAL:
        limit = 10**type_.precision - 1
        units = (0, 1, -1, 127, 128, -128, -129, 255, 256, limit, -limit)
        return (
            pa.array([str(min(unit, limit)) for unit in units])
            .cast(pa.decimal128(type_.precision, 0))
            .to_pylist()
            if type_.scale == 0
            else [_scaled(unit, type_) for unit in units if abs(unit) <= limit]
        )
    assert type_.integer_range is not None
    least, greatest = (-719_162, 2_932_896) if type_ == types.DATE else type_.integer_range
    if type_ in (types.TIMESTAMP, types.TIMESTAMP_NTZ):
        least, greatest = -62_135_596_800_000_000, 253_402_300_799_999_999
    return [0, 1, -1, 42, 100, least, greatest]


def _scaled(unit: int, type_: Type) -> Value:
    from pruning.rules.sets.decimals import decimal_from_units

    return decimal_from_units(unit, type_.scale)


@given(numbers=st.lists(st.integers(-(2**31), 2**31 - 1), min_size=1, max_size=30, unique=True))
@examples(4)
def test_all_hashes_of_a_block_are_in_its_bucket(numbers: list[int]) -> None:
    """For each value: hash mod modulus is the bucket; and no greater modulus divides all differences."""
    found = bucket_of(pa.array(numbers, pa.int32()), types.INTEGER)
    each = hashes_of(numbers, types.INTEGER)
    if found is None:
        assert len(numbers) == 1 or np.gcd.reduce(np.diff(each)) == 1
        return
    assert found.modulus > 1
    assert {hash_ % found.modulus for hash_ in each} == {found.bucket}


def test_values_without_anything_in_common_have_no_bucket() -> None:
    assert bucket_of(pa.array(range(100), pa.int32()), types.INTEGER) is None
    assert bucket_of(pa.array([], pa.int32()), types.INTEGER) is None


def test_the_buckets_of_a_table_that_spark_repartitioned_are_found(spark: Any, tmp_path: Any) -> None:
    """Eight files, in which each key's hash leaves another rest; so a key is looked for in one of them."""
    root = str(tmp_path / "t")
    spark.range(20_000).selectExpr("id * 7 AS id").repartition(8, "id").write.parquet(root)
    pruning.index(root, ["id"], bytes_per_block=64)
    metadata = pruning.collect(root)
    known = metadata.column(FIELD).to_pylist()
    assert sorted(row["id"]["bucket"] % 8 for row in known) == list(range(8))
    assert all(row["id"]["modulus"] % 8 == 0 for row in known)
    verdicts = pruning.classify("id = 7 * 1234", metadata).to_pylist()
    assert verdicts.count(1) == 1
    (file,) = [file for file, verdict in zip(metadata["file"].to_pylist(), verdicts, strict=True) if verdict]
    assert 7 * 1234 in pq.read_table(file)["id"].to_pylist()
