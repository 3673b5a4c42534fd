"""Files of one column `x` with Bloom filters, and what is known of them."""

from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from looking_up import rows_of

import pruning
from pruning.expressions.types import Type, Value
from pruning.metadata.index.indexed_files import index_files
from pruning.metadata.table.memberships import FIELD, attach

GROUP_ROWS = 50


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
    outcome = index_files(
        [str(path)], columns=None, points=(), bytes_per_block=bytes_per_block, read_data=read_data
    )
    assert outcome.failures == {}
    return attach(pruning.collect(path, cache=False), outcome.shards)


def filtered(metadata: pa.Table, column: str = "x") -> list[bool]:
    """Per block, whether it has a filter that is believed."""
    if FIELD not in metadata.schema.names:
        return [False] * len(metadata)
    rows = metadata.column(FIELD).to_pylist()
    return [row.get(column) is not None and row[column]["filter"] is not None for row in rows]


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


def values_of(column: pa.Array, type_: Type) -> list[Value]:
    return [row for row in rows_of(pa.chunked_array([column]), type_) if row is not None]
