"""The statistics of files in the struct of a checkpoint."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.metadata.delta.columns import DeltaField
from pruning.metadata.delta.statistics import (
    LOWER,
    NULLS,
    ROWS,
    TIGHT,
    UPPER,
    FieldStatistics,
    FileStatistics,
    counts_of,
)
from pruning.metadata.footers.thrift_lanes import Mask
from pruning.metadata.table.schema import arrow_type
from pruning.metadata.table.structs import field_of, has_field


def struct_statistics(parsed: pa.StructArray, fields: Sequence[DeltaField]) -> FileStatistics:
    """Return statistics of these fields from a struct array of the shape (files,)."""
    tight = inside(parsed, (TIGHT,))
    is_tight = np.ones(len(parsed), np.bool_)
    if tight is not None:
        is_tight = pc.fill_null(tight, True).to_numpy(zero_copy_only=False).astype(np.bool_)
    return FileStatistics(
        row_counts=counts_of(inside(parsed, (ROWS,)), len(parsed)),
        is_tight=is_tight,
        fields=tuple(_of_field(parsed, field) for field in fields),
    )


def _of_field(parsed: pa.StructArray, field: DeltaField) -> FieldStatistics:
    lower, lower_is_garbled = _bounds(parsed, LOWER, field)
    upper, upper_is_garbled = _bounds(parsed, UPPER, field)
    return FieldStatistics(
        null_counts=counts_of(inside(parsed, (NULLS, *field.path)), len(parsed)),
        lower=lower,
        upper=upper,
        is_garbled=lower_is_garbled | upper_is_garbled,
    )


def _bounds(parsed: pa.StructArray, side: str, field: DeltaField) -> tuple[pa.Array, Mask]:
    """Return bounds in the type of block metadata, and where one is there that has no such value."""
    values, bound = inside(parsed, (side, *field.path)), arrow_type(field.type)
    if values is None:
        return pa.nulls(len(parsed), bound), np.zeros(len(parsed), np.bool_)
    try:
        cast = values.cast(bound) if _is_wider(bound, values.type) else pa.nulls(len(values), bound)
    except pa.ArrowInvalid:
        cast = pa.nulls(len(values), bound)
    is_lost: Mask = pc.and_(values.is_valid(), cast.is_null()).to_numpy(zero_copy_only=False)
    return cast, is_lost


def inside(struct: pa.StructArray, path: Sequence[str]) -> pa.Array | None:
    """Return the field at a path in a struct; None if there is none."""
    values: pa.Array = struct
    for name in path:
        if not pa.types.is_struct(values.type) or not has_field(values, name):
            return None
        values = field_of(values, name)
    return values


def _is_wider(bound: pa.DataType, stored: pa.DataType) -> bool:
    """Tell whether a column may have been widened from a stored type to that of a bound."""
    of = pa.types
    if of.is_timestamp(bound):
        is_time = of.is_timestamp(stored) and (stored.tz is None or bound.tz is not None)
        return is_time or bool(of.is_date(stored))
    wider = (
        of.is_integer(stored) and (of.is_integer(bound) or of.is_decimal(bound) or of.is_float64(bound)),
        of.is_floating(stored) and of.is_floating(bound) and bound.bit_width >= stored.bit_width,
        of.is_decimal(stored) and of.is_decimal(bound),
        of.is_large_string(stored) and of.is_string(bound),
        stored == bound,
    )
    return any(wider)
