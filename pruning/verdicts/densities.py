"""Estimates of the share of a block's rows that satisfy a predicate; they only decide the reading order."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.traversal import columns
from pruning.expressions.trees import Expression
from pruning.expressions.types import STORED_BITS, Type
from pruning.metadata.table.schema import block_schema, column_fields, column_types
from pruning.metadata.table.structs import field_of, make_struct, whole
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import classify_blocks

POINTS = 16
# With more points, the estimate takes longer than it is likely to save.
POINTS_MAX = 1_000_000


def densities(predicate: Expression, metadata: pa.Table) -> np.ndarray | None:
    """Estimate the share of each block's rows on which a predicate is TRUE, in (0, 1]; shape (blocks,).

    The rules classify sample points of each block, as blocks of one row, as if values were evenly distributed
    and columns independent. A point that they cannot decide counts as TRUE, and estimates are rounded up,
    because an estimate that is too small makes a top-k read too many blocks at once.

    Returns:
        None if there are too many blocks.
    """
    count = metadata.num_rows
    if count * POINTS > POINTS_MAX:
        return None
    known_types = column_types(metadata)
    types = {name: known_types[name] for name in columns(predicate) if name in known_types}
    points = _sample_points(metadata, types)
    may_match = classify_blocks(predicate, points, refined=False).to_numpy() != Match.NONE
    hits: np.ndarray = may_match.reshape(count, POINTS).sum(axis=1)
    return (hits + 1) / (POINTS + 1)


def _sample_points(metadata: pa.Table, types: dict[str, Type]) -> pa.Table:
    """Return blocks of one row each: `POINTS` for each block, in the order of the blocks."""
    schema = block_schema(types)
    lanes = metadata.num_rows * POINTS
    blocks = pa.array(np.repeat(np.arange(metadata.num_rows), POINTS))
    rows = metadata.column("row_count").take(blocks).to_numpy()
    stored = whole(metadata.column("columns"))
    structs = [
        _column_samples(stored, name, type_, blocks, rows, ordinal)
        for ordinal, (name, type_) in enumerate(types.items())
    ]
    fields = {
        "file": pa.repeat("", lanes),
        "row_group": pa.array(np.zeros(lanes), pa.int32()),
        "row_offset": pa.array(np.zeros(lanes), pa.int64()),
        "byte_offset": pa.nulls(lanes, pa.int64()),
        "byte_count": pa.nulls(lanes, pa.int64()),
        "row_count": pa.array(np.ones(lanes), pa.int64()),
        "columns": make_struct(dict(zip(types, structs, strict=True)), lanes),
    }
    return pa.Table.from_arrays([fields[field.name] for field in schema], schema=schema)


def _column_samples(
    structs: pa.StructArray, name: str, type_: Type, blocks: pa.Array, rows: np.ndarray, ordinal: int
) -> pa.StructArray:
    """Return the metadata of a column for each point: one value or NULL; unknown if its bounds are."""
    facts = field_of(structs, name).take(blocks)
    lower, upper = (field_of(facts, side) for side in ("min", "max"))
    places = _even_fractions(len(blocks), ordinal)
    values = _interpolate(lower, upper, type_, places)
    nulls = pc.fill_null(field_of(facts, "null_count"), 0).to_numpy()
    is_null = _even_fractions(len(blocks), ordinal + 0.5) * np.maximum(rows, 1) < nulls
    is_known = pa.array(values.is_valid().to_numpy(zero_copy_only=False) | is_null)
    lanes = {
        "null_count": pc.if_else(is_known, pa.array(is_null.astype(np.int64)), None),
        "nan_count": pc.if_else(is_known, pa.scalar(0, pa.int64()), None),
        "byte_count": pa.nulls(len(blocks), pa.int64()),
        "min": pc.if_else(pa.array(is_null), None, values),
        "max": pc.if_else(pa.array(is_null), None, values),
        "min_exact": pa.repeat(False, len(blocks)),
        "max_exact": pa.repeat(False, len(blocks)),
    }
    fields = list(column_fields(type_))
    return pa.StructArray.from_arrays([lanes[field.name].cast(field.type) for field in fields], fields=fields)


def _even_fractions(count: int, seed: float) -> np.ndarray:
    """Return evenly distributed numbers in [0, 1) for a seed: multiples of an irrational number."""
    fractions: np.ndarray = (np.arange(count) * np.sqrt(2 + seed) + 0.5) % 1
    return fractions


def _interpolate(lower: pa.Array, upper: pa.Array, type_: Type, places: np.ndarray) -> pa.Array:
    """Return values at these fractions between bounds; for types without a distance, one of the bounds."""
    if type_.floating:
        low, high = (side.to_numpy(zero_copy_only=False).astype(float) for side in (lower, upper))
        with np.errstate(invalid="ignore", over="ignore"):
            values = low + (high - low) * places
        return pa.array(values, from_pandas=True).cast(lower.type)
    if type_.kind not in STORED_BITS:
        return pc.if_else(pa.array(places < 0.5), lower, upper)
    bits = pa.int32() if STORED_BITS[type_.kind] == 32 else pa.int64()
    small = lower.type.bit_width < 32
    low, high = (
        side.cast(pa.int64()) if small else side.view(bits).cast(pa.int64()) for side in (lower, upper)
    )
    width = pc.subtract(high, low).to_numpy(zero_copy_only=False).astype(float)
    step = pa.array(np.floor(np.nan_to_num(np.maximum(width, 0)) * places).astype(np.int64))
    moved = pc.add(low, step)
    return moved.cast(lower.type, safe=False) if small else moved.cast(bits, safe=False).view(lower.type)
