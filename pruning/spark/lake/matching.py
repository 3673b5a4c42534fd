"""The columns of block metadata whose bounds hold for the values that Spark reads."""

from collections.abc import Mapping

import pyarrow as pa

from pruning.expressions.types import Type
from pruning.metadata.table.schema import column_types, columns_only


def matching_columns(metadata: pa.Table, columns: Mapping[str, Type]) -> pa.Table:
    """Return the metadata of the columns that Spark reads as they are stored, or as a wider integer.

    Other columns are left out, so that nothing is concluded from them: a string stored as binary, a timestamp
    with a zone that is read without one, a name that differs in case.

    Args:
        metadata: Block metadata.
        columns: The types that Spark gives the columns, by exact name.
    """
    return columns_only(
        metadata,
        [
            name
            for name, stored in column_types(metadata).items()
            if name in columns and reads_as_stored(stored, columns[name])
        ],
    )


def reads_as_stored(stored: Type, read: Type) -> bool:
    """Tell whether order and equality of the stored values are those of the values that Spark reads."""
    if stored == read:
        return read.has_bounds
    if not (stored.integral and read.integral):
        return False
    assert stored.integer_range is not None
    assert read.integer_range is not None
    return stored.integer_range[1] < read.integer_range[1]
