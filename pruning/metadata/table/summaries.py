"""Summaries of groups of blocks: the rows of several blocks are those of one larger block ([M] 5.8).

So a summary has the schema of block metadata, and any program that classifies blocks classifies groups too.

Claim     Each statistic of a summary is true of the rows of its group's blocks together.
Premises  The statistics of the blocks are true; NULL is "unknown".
Proof     (1) Counts add up, where all of them are known and the sum fits its type for sure.
          (2) The least minimum bounds the values of all blocks that have one. A block without one has no
              value if it has no rows, or if its NULLs and NaNs are all of its rows; else the group has none.
          (3) The group attains its minimum if a block does that has the same one. Alike for the maximum.
Unsound   for `row_offset` and `byte_offset`, which are of no group: 0 and unknown.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pruning.metadata.table.schema import block_schema, column_types
from pruning.metadata.table.structs import field_of, make_typed_struct, whole

_INT64_MAX = (1 << 63) - 1


def summarize(metadata: pa.Table, sizes: Sequence[int]) -> pa.Table:
    """Return a summary of each group.

    Args:
        metadata: Block metadata.
        sizes: The number of blocks of each group; the groups follow each other and are all blocks.
    Returns:
        A row for each group, as block metadata; its file is "", and its row group the ordinal.
    """
    columns_field = metadata.schema.field("columns")
    schema = block_schema({}).set(block_schema({}).get_field_index("columns"), columns_field)
    groups = [_with_rows(part) for part in _slices(metadata, sizes)]
    rows = [_total(group["row_count"]) for group in groups]
    names = list(column_types(metadata))
    columns = [
        _summaries_of_column(
            [(field_of(whole(group["columns"]), name), whole(group["row_count"])) for group in groups],
            columns_field.type.field(place).type,
        )
        for place, name in enumerate(names)
    ]
    locators: list[Any] = [
        pa.repeat("", len(groups)),
        pa.array(range(len(groups)), pa.int32()),
        pa.repeat(pa.scalar(0, pa.int64()), len(groups)),
        pa.nulls(len(groups), pa.int64()),
        pa.array([_total(group["byte_count"]) for group in groups], pa.int64()),
        pa.array([_INT64_MAX if count is None else count for count in rows], pa.int64()),
        make_typed_struct(columns, columns_field.type, len(groups)),
    ]
    return pa.Table.from_arrays(locators, schema=schema)


def _slices(metadata: pa.Table, sizes: Sequence[int]) -> Iterator[pa.Table]:
    start = 0
    for size in sizes:
        yield metadata.slice(start, size)
        start += size


def _with_rows(group: pa.Table) -> pa.Table:
    """Return the blocks of a group that have rows, in one chunk."""
    has_rows = pc.greater(group["row_count"], 0)
    return (group if pc.all(has_rows).as_py() else group.filter(has_rows)).combine_chunks()


def _total(counts: pa.Array | pa.ChunkedArray) -> int | None:
    """Return the sum of counts; None if one is unknown, or the sum may be too large."""
    if counts.null_count or len(counts) == 0:
        return None if counts.null_count else 0
    if pc.max(counts).as_py() > _INT64_MAX // len(counts):
        return None
    total: int = pc.sum(counts).as_py()
    return total


def _summaries_of_column(
    groups: Sequence[tuple[pa.StructArray, pa.Array]], type_: pa.StructType
) -> pa.StructArray:
    """Return the summaries of a column.

    Args:
        groups: Of each group, the column's statistics and the rows of the blocks.
        type_: The type of its statistics.
    """
    bound = type_.field("min").type
    stored = _ordered(pa.nulls(0, bound)).type
    lanes: dict[str, list[Any]] = {field.name: [] for field in type_}
    for statistics, rows in groups:
        for name in ("null_count", "nan_count", "byte_count"):
            lanes[name].append(_total(field_of(statistics, name)))
        may_hold = _may_hold_values(statistics, rows)
        for name, extreme in (("min", pc.min), ("max", pc.max)):
            bounds = _ordered(field_of(statistics, name))
            is_known = not pc.any(pc.and_(may_hold, bounds.is_null())).as_py()
            value = extreme(bounds) if is_known else pa.scalar(None, stored)
            attains = pc.and_kleene(field_of(statistics, f"{name}_exact"), pc.equal(bounds, value))
            lanes[name].append(value.as_py())
            lanes[f"{name}_exact"].append(True if pc.any(attains).as_py() else None)
    arrays = [
        pa.array(lanes[field.name], stored).view(bound)
        if field.name in ("min", "max")
        else pa.array(lanes[field.name], field.type)
        for field in type_
    ]
    return make_typed_struct(arrays, type_, len(groups))


def _may_hold_values(statistics: pa.StructArray, rows: pa.Array) -> pa.BooleanArray:
    """Return the blocks that may hold a value besides NULL and NaN."""
    nans = pc.fill_null(field_of(statistics, "nan_count"), 0)
    return pc.fill_null(pc.not_equal(pc.add(field_of(statistics, "null_count"), nans), rows), True)


def _ordered(bounds: pa.Array) -> pa.Array:
    """Return bounds as values that Python has, in an array that can be viewed as one of their type again."""
    if pa.types.is_string(bounds.type):
        return bounds.view(pa.binary())
    if pa.types.is_date32(bounds.type):
        return bounds.view(pa.int32())
    return bounds.view(pa.int64()) if pa.types.is_timestamp(bounds.type) else bounds
