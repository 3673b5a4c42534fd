"""Columns of block metadata that no file holds: constants of a block, and values with bounds alone."""

import math
from collections.abc import Sequence

import pyarrow as pa

from pruning.errors import InputError
from pruning.expressions.types import Type, Value
from pruning.metadata.table import points
from pruning.metadata.table.memberships import without
from pruning.metadata.table.schema import column_fields
from pruning.metadata.table.structs import field_of, made_of, whole


def with_constants(metadata: pa.Table, name: str, type_: Type, values: Sequence[Value | None]) -> pa.Table:
    """Block metadata with one more column, which holds one value in all rows of a block.

    A column of that name is replaced: a partition value hides a column that the files have too.

    Args:
        metadata: Block metadata of n blocks.
        name: The column's exact name.
        type_: Its type; nothing is known of a column of unknown type, which is left out.
        values: A value per block, as `pruning.expressions.types` holds them, None for NULL; shape (n,).
    Raises:
        InputError: there is not one value per block, or a value is not one of the type.
    """
    if len(values) != len(metadata):
        raise InputError(
            f"Column {name!r} has {len(values)} values for {len(metadata)} blocks; give one each"
        )
    return _with_column(
        metadata, name, _constant(metadata["row_count"], name, type_, values) if type_.known else None
    )


def with_bounds(metadata: pa.Table, name: str, type_: Type, lower: Value, upper: Value) -> pa.Table:
    """Return block metadata with one more column, of which only bounds are known; it may be NULL.

    Args:
        metadata: Block metadata of n blocks.
        name: The column's exact name.
        type_: Its type, a known one.
        lower: No row has a smaller value.
        upper: No row has a greater one.
    """
    facts = {"null_count": None, "min": lower, "max": upper, "min_exact": False, "max_exact": False}
    return _with_column(metadata, name, pa.array([facts] * len(metadata), column_fields(type_)))


def _with_column(metadata: pa.Table, name: str, lanes: pa.StructArray | None) -> pa.Table:
    """The metadata with what is known of a column; with nothing known of it, where that is None."""
    columns = whole(metadata.column("columns"))
    fields = {field.name: field_of(columns, field.name) for field in columns.type if field.name != name}
    if lanes is not None:
        fields[name] = lanes
    # What is known of values is of the column that is replaced.
    metadata = points.without(without(metadata, name), name)
    place = metadata.schema.get_field_index("columns")
    return metadata.set_column(place, "columns", made_of(fields, len(metadata)))


def _constant(
    rows: pa.ChunkedArray, name: str, type_: Type, values: Sequence[Value | None]
) -> pa.StructArray:
    lanes = [_facts(count, type_, value) for count, value in zip(rows.to_pylist(), values, strict=True)]
    try:
        return pa.array(lanes, column_fields(type_))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"Column {name!r}: a value is not a {type_} ({error}); give values of its type"
        ) from error


def _facts(rows: int, type_: Type, value: Value | None) -> dict[str, object]:
    """What is known of a column that is `value` in each of so many rows."""
    if value is None:
        return {"null_count": rows, "nan_count": 0 if type_.floating else None}
    if isinstance(value, float) and math.isnan(value):
        return {"null_count": 0, "nan_count": rows}
    # No row attains a bound where there are no rows.
    exact = rows > 0
    return {
        "null_count": 0,
        "nan_count": 0 if type_.floating else None,
        "min": value,
        "max": value,
        "min_exact": exact,
        "max_exact": exact,
    }
