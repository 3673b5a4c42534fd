"""The columns of block metadata whose bounds hold for the values that Spark reads."""

from collections.abc import Mapping

import pyarrow as pa

from pruning.expressions.types import Type
from pruning.metadata.table.schema import column_types, columns_only, reads_as_stored


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
