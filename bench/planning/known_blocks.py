"""The metadata of millions of blocks, for skipproof, numpy, DuckDB and PyIceberg."""

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.types import LongType, NestedField, StringType

from pruning.expressions.trees import (
    Column,
)
from pruning.expressions.types import LONG, STRING
from pruning.metadata.table.schema import block_schema

A, B, S, UNIT = Column("a", LONG), Column("b", LONG), Column("s", STRING), Column("unit", STRING)
SCHEMA = {column.name: column.type for column in (A, B, S, UNIT)}
VALUES = 10_000_000
Arrays = dict[str, np.ndarray]


def block_metadata(blocks: int, seed: int = 7) -> pa.Table:
    """Return blocks clustered on `a`, not on `b`; strings of 12 characters; a tenth of them with NULLs.

    Of three blocks, one holds feet, one metres and one both.
    """
    random = np.random.default_rng(seed)
    a = np.sort(random.integers(0, VALUES, blocks))
    b = random.integers(0, VALUES, blocks)
    digits = np.char.zfill(random.integers(0, 10**9, blocks).astype("S9"), 12)
    text = pa.array(digits.tolist(), pa.binary()).cast(pa.string())
    unit = random.integers(0, 3, blocks)
    bounds = {
        "a": (pa.array(a), pa.array(a + random.integers(0, 100, blocks))),
        "b": (pa.array(b), pa.array(b + random.integers(0, 100_000, blocks))),
        "s": (text, pc.binary_join_element_wise(text, "z", "")),
        "unit": (
            pa.array(np.where(unit == 1, "metres", "feet"), pa.string()),
            pa.array(np.where(unit == 0, "feet", "metres"), pa.string()),
        ),
    }
    nulls = pa.array(np.where(random.random(blocks) < 0.1, 5, 0))
    schema = block_schema(SCHEMA)
    fields = schema.field("columns").type
    structs = [_column(fields.field(name).type, nulls, *bounds[name]) for name in bounds]
    ordinal = pa.array(np.arange(blocks))
    return pa.table(
        [
            pa.repeat("file", blocks),
            ordinal.cast(pa.int32()),
            ordinal,
            ordinal,
            ordinal,
            pa.repeat(1_000, blocks).cast(pa.int64()),
            pa.StructArray.from_arrays(structs, fields=list(fields)),
        ],
        schema=schema,
    )


def _column(type_: pa.StructType, nulls: pa.Array, lower: pa.Array, upper: pa.Array) -> pa.StructArray:
    known = {"null_count": nulls, "min": lower, "max": upper}
    parts = [known.get(field.name, pa.nulls(len(nulls), field.type)) for field in type_]
    return pa.StructArray.from_arrays(parts, fields=list(type_))


def by_hand(metadata: pa.Table) -> Arrays:
    """Return the metadata as plain numpy arrays; strings as fixed-width bytes."""
    structs = metadata.column("columns").chunk(0)
    arrays = {"nulls": structs.field("a").field("null_count").to_numpy()}
    for name in SCHEMA:
        for side in ("min", "max"):
            bound = structs.field(name).field(side).to_numpy(zero_copy_only=False)
            arrays[f"{name}_{side}"] = bound.astype("S13") if SCHEMA[name] == STRING else bound
    return arrays


def in_duckdb(metadata: pa.Table) -> duckdb.DuckDBPyConnection:
    """Return the metadata as a table `m` of DuckDB, on one thread."""
    structs = metadata.column("columns").chunk(0)
    flat = {
        f"{name}_{side}": structs.field(name).field(side) for name in SCHEMA for side in ("min", "max")
    } | {"ordinal": pa.array(np.arange(len(structs))), "nulls": structs.field("a").field("null_count")}
    connection = duckdb.connect()
    connection.execute("SET threads = 1")
    connection.register("arrow", pa.table(flat))
    connection.execute("CREATE TABLE m AS SELECT * FROM arrow")
    return connection


def data_files(metadata: pa.Table, count: int) -> list[DataFile]:
    """Return some of the blocks, from all over, as files of an Iceberg manifest."""
    step = max(1, metadata.num_rows // count)
    rows = metadata.take(pa.array(np.arange(0, step * count, step))).to_pylist()
    types = {name: StringType() if SCHEMA[name] == STRING else LongType() for name in SCHEMA}
    return [
        DataFile.from_args(
            file_path="file",
            record_count=row["row_count"],
            value_counts={i: row["row_count"] for i, _ in enumerate(SCHEMA, 1)},
            null_value_counts={i: row["columns"][name]["null_count"] for i, name in enumerate(SCHEMA, 1)},
            nan_value_counts={},
            **{
                f"{word}_bounds": {
                    i: to_bytes(types[name], row["columns"][name][side]) for i, name in enumerate(SCHEMA, 1)
                }
                for word, side in (("lower", "min"), ("upper", "max"))
            },
        )
        for row in rows
    ]


ICEBERG_SCHEMA = Schema(
    *(
        NestedField(i, name, StringType() if type_ == STRING else LongType(), required=False)
        for i, (name, type_) in enumerate(SCHEMA.items(), 1)
    )
)
