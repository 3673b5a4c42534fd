"""Columns of block metadata that no file holds: constants of a block, and columns with only bounds."""

import math
from collections.abc import Sequence

import pyarrow as pa

from pruning.errors import InputError
from pruning.expressions.types import Type, Value
from pruning.metadata.table import points
from pruning.metadata.table.memberships import without_column
from pruning.metadata.table.schema import column_fields
from pruning.metadata.table.structs import field_of, make_struct, whole


def with_constants(metadata: pa.Table, name: str, type_: Type, values: Sequence[Value | None]) -> pa.Table:
    """Return block metadata with one more column, which has one value in all rows of a block.

    An existing column of that name is replaced, as a partition value hides a column in the files.

    Args:
        metadata: Block metadata of n blocks.
        name: The column's exact name.
        type_: The column's type; a column of unknown type is left out.
        values: A value per block, as `pruning.expressions.types` holds them, None for NULL; shape (n,).
    Raises:
        InputError: there is not one value per block, or a value is not one of the type.
    """
    if len(values) != len(metadata):
        raise InputError(
            f"Column {name!r} has {len(values)} values for {len(metadata)} blocks; give one each"
        )
    return _with_column(
        metadata,
        name,
        _constant_lanes(metadata["row_count"], name, type_, values) if type_.has_bounds else None,
    )


def with_bounds(metadata: pa.Table, name: str, type_: Type, lower: Value, upper: Value) -> pa.Table:
    """Return block metadata with one more column that has only bounds and may be NULL.

    Args:
        metadata: Block metadata of n blocks.
        name: The column's exact name.
        type_: The column's type, a known one.
        lower: No row has a smaller value.
        upper: No row has a greater one.
    """
    facts = {"null_count": None, "min": lower, "max": upper, "min_exact": False, "max_exact": False}
    return _with_column(metadata, name, pa.array([facts] * len(metadata), column_fields(type_)))


def _with_column(metadata: pa.Table, name: str, lanes: pa.StructArray | None) -> pa.Table:
    """Return the metadata with a column set to these facts, or removed if they are None."""
    columns = whole(metadata.column("columns"))
    fields = {field.name: field_of(columns, field.name) for field in columns.type if field.name != name}
    if lanes is not None:
        fields[name] = lanes
    # The existing memberships and coverings describe the column that is replaced.
    metadata = points.without_column(without_column(metadata, name), name)
    place = metadata.schema.get_field_index("columns")
    return metadata.set_column(place, "columns", make_struct(fields, len(metadata)))


def _constant_lanes(
    rows: pa.ChunkedArray, name: str, type_: Type, values: Sequence[Value | None]
) -> pa.StructArray:
    lanes = [
        _constant_facts(count, type_, value) for count, value in zip(rows.to_pylist(), values, strict=True)
    ]
    try:
        return pa.array(lanes, column_fields(type_))
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"Column {name!r}: a value is not a {type_} ({error}); give values of its type"
        ) from error


def _constant_facts(rows: int, type_: Type, value: Value | None) -> dict[str, object]:
    """Return the facts about a column that has one value in each of so many rows."""
    if value is None:
        return {"null_count": rows, "nan_count": 0 if type_.floating else None}
    if isinstance(value, float) and math.isnan(value):
        return {"null_count": 0, "nan_count": rows}
    # In a block without rows, no row attains the bound.
    exact = rows > 0
    return {
        "null_count": 0,
        "nan_count": 0 if type_.floating else None,
        "min": value,
        "max": value,
        "min_exact": exact,
        "max_exact": exact,
    }
