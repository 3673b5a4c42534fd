"""Bounds of an expression's values in each block, computed from block metadata."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.trees import Column, Expression, type_of
from pruning.metadata.table.schema import column_types
from pruning.metadata.views.lanes import Blocks
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis
from pruning.rules.compile.canonical import canonical
from pruning.rules.compile.table import RULES
from pruning.rules.interpreters.arrow.interpreter import lane_type, run_chunk
from pruning.rules.sets.truths import Truths
from pruning.techniques.plan.keys import KeyBounds

_UNKNOWN = -1


def key_bounds(key: Expression, metadata: pa.Table, *, predicate: Expression | None = None) -> KeyBounds:
    """Return bounds of a key's values in each block.

    Args:
        key: An expression of known type over the metadata's columns.
        metadata: As `pruning.metadata.table.schema` describes, a row per block.
        predicate: Only rows on which it is TRUE need be bounded; None means all rows. Bounds are called
            exact only if the key is a column, and counts are always those of all rows.
    """
    analysis = Analysis(RULES)
    everywhere = Environment()
    matching = (
        everywhere if predicate is None else analysis.assume(canonical(predicate), everywhere, Truths.TRUE)
    )
    key_range = analysis.range(canonical(key), matching)
    program = analysis.build.program(
        key_range.lower, key_range.upper, key_range.may_null, key_range.may_nan, key_range.may_value
    )
    blocks, count = Blocks.of(metadata), metadata.num_rows
    lower, upper, *flags = run_chunk(program, blocks.inputs(program, 0, count))
    type_ = type_of(key)
    may_null, may_nan, may_value = (_as_lanes(flag, count, pa.bool_()) for flag in flags)
    return KeyBounds(
        type=type_,
        lower=_as_lanes(lower, count, lane_type(type_)),
        upper=_as_lanes(upper, count, lane_type(type_)),
        may_null=_flags(may_null),
        may_nan=_flags(may_nan),
        may_value=_flags(may_value),
        lower_exact=_exact(key, metadata, blocks, "min_exact"),
        upper_exact=_exact(key, metadata, blocks, "max_exact"),
        null_counts=_counts(key, metadata, blocks, "null_count"),
        nan_counts=_counts(key, metadata, blocks, "nan_count")
        if type_.floating
        else np.zeros(count, np.int64),
    )


def _as_lanes(lanes: pa.Array | pa.Scalar, count: int, type_: pa.DataType) -> pa.Array:
    """Return an array with a lane per block; a scalar is repeated."""
    if isinstance(lanes, pa.Scalar):
        return pa.repeat(lanes, count).cast(type_) if lanes.is_valid else pa.nulls(count, type_)
    return lanes


def _flags(lanes: pa.Array) -> np.ndarray:
    flags: np.ndarray = lanes.to_numpy(zero_copy_only=False)
    return flags


def _is_stored_column(key: Expression, metadata: pa.Table) -> bool:
    return isinstance(key, Column) and column_types(metadata).get(key.name) == key.type


def _exact(key: Expression, metadata: pa.Table, blocks: Blocks, name: str) -> np.ndarray:
    part = blocks.part(key.name, name) if isinstance(key, Column) else None
    if part is None or not _is_stored_column(key, metadata):
        return np.zeros(metadata.num_rows, bool)
    return _flags(pc.fill_null(part, False))


def _counts(key: Expression, metadata: pa.Table, blocks: Blocks, name: str) -> np.ndarray:
    part = blocks.part(key.name, name) if isinstance(key, Column) else None
    if part is None or not _is_stored_column(key, metadata):
        return np.full(metadata.num_rows, _UNKNOWN)
    counts: np.ndarray = pc.fill_null(part, _UNKNOWN).to_numpy(zero_copy_only=False)
    return counts
