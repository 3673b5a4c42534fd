"""Measuring of statistics that is wrong in one way each; Spark contradicts what it gives."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from mutants.replacements import Replacement
from pruning.expressions.types import Type
from pruning.metadata.backfill import measured_files, measuring
from pruning.metadata.index import block_values
from pruning.metadata.table.schema import arrow_type

_measure, _shortened_bounds, _distinct_values = (
    measuring.measure,
    measuring.shortened_bounds,
    block_values.distinct_values,
)


def _nan_as_maximum(column: pa.ChunkedArray, type_: Type, *, rebased: bool) -> Any:
    right = _measure(column, type_, rebased=rebased)
    if right is None or not right.nan_count:
        return right
    return replace(right, max=pa.scalar(float("nan"), arrow_type(type_)))


def _null_once(column: pa.ChunkedArray, type_: Type, *, rebased: bool) -> Any:
    right = _measure(column, type_, rebased=rebased)
    return replace(right, null_count=min(right.null_count, 1)) if right else right


def _no_nan(column: pa.ChunkedArray, type_: Type, *, rebased: bool) -> Any:
    right = _measure(column, type_, rebased=rebased)
    return replace(right, nan_count=0) if right and type_.floating else right


def _exact(column: pa.ChunkedArray, type_: Type, *, rebased: bool) -> Any:
    right = _measure(column, type_, rebased=rebased)
    return replace(right, max_exact=True) if right and right.max is not None else right


def _two_zeros(column: pa.ChunkedArray, type_: Type) -> pa.Array:
    right = _distinct_values(column, type_)
    zeros = pa.array([-0.0, 0.0], right.type) if type_.floating else None
    return right if zeros is None or 0.0 not in right.to_pylist() else pa.concat_arrays([right, zeros[:1]])


def _cut_both(lower: bytes, upper: bytes, *, is_text: bool) -> tuple[bytes, bytes]:
    least, _ = _shortened_bounds(lower, lower, is_text=is_text)
    greatest, _ = _shortened_bounds(upper, upper, is_text=is_text)
    return least, greatest


MUTANTS: Mapping[str, Replacement] = {
    "NaN counts as the maximum": Replacement(measured_files, "measure", _nan_as_maximum),
    "NULL is counted once": Replacement(measured_files, "measure", _null_once),
    "NaN is not counted": Replacement(measured_files, "measure", _no_nan),
    "a shortened maximum counts as exact": Replacement(measured_files, "measure", _exact),
    "both zeros are distinct": Replacement(block_values, "distinct_values", _two_zeros),
    "an upper bound is cut, not rounded up": Replacement(measuring, "shortened_bounds", _cut_both),
    "dates of another calendar are believed": Replacement(
        block_values, "_may_be_rebased", lambda values, type_: False
    ),
    "INT96 is believed of any time": Replacement(block_values, "is_read_alike", lambda millis: True),
}

NARROW_BELIEVED = Replacement(block_values.IndexableColumn, "is_narrow", False)
