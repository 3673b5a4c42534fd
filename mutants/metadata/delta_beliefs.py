"""Beliefs about the statistics in Delta's log that are wrong in one way each."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from mutants.replacements import Replacement
from pruning.expressions.types import Type
from pruning.metadata.delta import blocks, bounds, json_forms, json_statistics
from pruning.metadata.delta.blocks import RowCounts
from pruning.metadata.delta.columns import DeltaField
from pruning.metadata.delta.statistics import FieldStatistics
from pruning.metadata.footers.thrift_lanes import Mask, Numbers
from pruning.metadata.table.structs import make_typed_struct

_believed_bounds, _believed_null_counts = bounds.believed_bounds, blocks.believed_null_counts
_column, _constant, _row_counts = blocks._column, blocks._constant, blocks.row_counts


def _unchanged(values: Any) -> Any:
    return values


def _no_nan(lower: pa.Array, upper: pa.Array) -> Mask:
    return np.zeros(len(lower), np.bool_)


def _exact_decimal(value: Any, type_: Type, is_upper: bool) -> Decimal:
    return Decimal(value).quantize(Decimal(1).scaleb(-type_.scale), context=json_forms._WIDE)


def _decimal_by_float(value: Any, type_: Type, is_upper: bool) -> Decimal:
    return _exact_decimal(float(value), type_, is_upper)


def _with_counts(change: Callable[[RowCounts], RowCounts]) -> Callable[..., RowCounts]:
    return lambda statistics, vectors: change(_row_counts(statistics, vectors))


def _tight(counts: RowCounts) -> RowCounts:
    return replace(counts, is_exact=counts.is_counted)


def _written(counts: RowCounts) -> RowCounts:
    return replace(counts, live=np.where(counts.is_counted, counts.written, 1))


def _always_counted(counts: RowCounts) -> RowCounts:
    return replace(counts, is_counted=np.ones(len(counts.live), np.bool_))


def _top_level(nulls: Numbers, counts: RowCounts, has_bound: Mask, *, is_nested: bool) -> Numbers:
    return _believed_null_counts(nulls, counts, has_bound, is_nested=False)


def _was_never_float(statistics: FieldStatistics, field: DeltaField) -> tuple[pa.Array, pa.Array]:
    return _believed_bounds(statistics, replace(field, was_float=False))


def _exact(statistics: Any, field: DeltaField, counts: RowCounts, struct: pa.StructType) -> pa.StructArray:
    column = _column(statistics, field, counts, struct)
    lanes = [column.field(part.name) for part in struct]
    lanes[-2:] = [lanes[3].is_valid(), lanes[4].is_valid()]
    return make_typed_struct(lanes, struct, len(column))


def _constant_of_no_row(values: Any, field: DeltaField, counts: RowCounts, struct: pa.StructType) -> Any:
    return _constant(values, field, replace(counts, live=np.maximum(counts.live, 1)), struct)


MUTANTS: Mapping[str, Replacement] = {
    "a cut upper bound is a whole text": Replacement(bounds, "_text_above", _unchanged),
    "replaced bytes are characters in a lower bound": Replacement(bounds, "_lowest_texts", _unchanged),
    "a highest time has no microseconds": Replacement(bounds, "_highest_times", _unchanged),
    "a lowest time is rounded down": Replacement(bounds, "_lowest_times", _unchanged),
    "offsets have no seconds": Replacement(json_forms, "_MINUTE", timedelta()),
    "NaN is a bound": Replacement(bounds, "_has_nan", _no_nan),
    "decimals have all their digits": Replacement(json_statistics, "decimal_bound", _exact_decimal),
    "decimals are read as floats": Replacement(json_statistics, "decimal_bound", _decimal_by_float),
    "counts are tight beside a deletion vector": Replacement(blocks, "row_counts", _with_counts(_tight)),
    "deleted rows are counted": Replacement(blocks, "row_counts", _with_counts(_written)),
    "an unknown number of rows is one": Replacement(blocks, "row_counts", _with_counts(_always_counted)),
    "NULLs of structs are counted": Replacement(blocks, "believed_null_counts", _top_level),
    "widened floats are doubles": Replacement(blocks, "believed_bounds", _was_never_float),
    "bounds are exact": Replacement(blocks, "_column", _exact),
    "a partition without rows has its value": Replacement(blocks, "_constant", _constant_of_no_row),
}
