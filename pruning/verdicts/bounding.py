"""Bounds of an expression's values: block metadata in, what a technique knows of a key out."""

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
    """Where the values of a key lie in each block.

    Args:
        key: An expression of known type over the metadata's columns.
        metadata: As `pruning.metadata.table.schema` says, a row per block.
        predicate: Rows on which it is not TRUE do not matter; None where all do. Then no bound is
            called exact unless the key is a column, and counts are those of all rows.
    """
    analysis = Analysis(RULES)
    everywhere = Environment()
    matching = (
        everywhere if predicate is None else analysis.assume(canonical(predicate), everywhere, Truths.TRUE)
    )
    found = analysis.range(canonical(key), matching)
    program = analysis.build.program(found.lower, found.upper, found.may_null, found.may_nan, found.may_value)
    blocks, count = Blocks.of(metadata), metadata.num_rows
    lower, upper, *flags = run_chunk(program, blocks.inputs(program, 0, count))
    type_ = type_of(key)
    may_null, may_nan, may_value = (_lanes(flag, count, pa.bool_()) for flag in flags)
    return KeyBounds(
        type=type_,
        lower=_lanes(lower, count, lane_type(type_)),
        upper=_lanes(upper, count, lane_type(type_)),
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


def _lanes(found: pa.Array | pa.Scalar, count: int, type_: pa.DataType) -> pa.Array:
    """A lane per block, also where every lane is the same."""
    if isinstance(found, pa.Scalar):
        return pa.repeat(found, count).cast(type_) if found.is_valid else pa.nulls(count, type_)
    return found


def _flags(lanes: pa.Array) -> np.ndarray:
    flags: np.ndarray = lanes.to_numpy(zero_copy_only=False)
    return flags


def _known_as_stored(key: Expression, metadata: pa.Table) -> bool:
    return isinstance(key, Column) and column_types(metadata).get(key.name) == key.type


def _exact(key: Expression, metadata: pa.Table, blocks: Blocks, name: str) -> np.ndarray:
    part = blocks.part(key.name, name) if isinstance(key, Column) else None
    if part is None or not _known_as_stored(key, metadata):
        return np.zeros(metadata.num_rows, bool)
    return _flags(pc.fill_null(part, False))


def _counts(key: Expression, metadata: pa.Table, blocks: Blocks, name: str) -> np.ndarray:
    part = blocks.part(key.name, name) if isinstance(key, Column) else None
    if part is None or not _known_as_stored(key, metadata):
        return np.full(metadata.num_rows, _UNKNOWN)
    counts: np.ndarray = pc.fill_null(part, _UNKNOWN).to_numpy(zero_copy_only=False)
    return counts
