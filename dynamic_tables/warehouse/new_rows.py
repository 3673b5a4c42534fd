"""New rows of base tables, with the ids that they get."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql import functions as F

from dynamic_tables.on_spark import frames
from dynamic_tables.on_spark.frames import RowFrame, cell_name
from dynamic_tables.stores.arrow_rows import arrow_schema, types_of
from dynamic_tables.stores.manifests import Manifest
from dynamic_tables.values.changes import RowId
from pruning.errors import InputError


def new_id(version: int, ordinal: int) -> RowId:
    """Return the id of a row that a version inserts.

    >>> new_id(3, 0)
    '3.0'
    """
    return f"{version}.{ordinal}"


def arrow_rows(rows: pa.Table, parent: Manifest, version: int, first: int) -> pa.Table:
    """Return the rows of an Arrow table as stored, with new ids from a number on.

    Raises:
        InputError: A column is missing, or its values do not fit.
    """
    schema = arrow_schema(parent.columns)
    ids = pa.array([new_id(version, ordinal) for ordinal in range(first, first + len(rows))], pa.string())
    arrays = [ids, pa.array([version] * len(rows), pa.int64())]
    check_columns(rows.column_names, parent)
    for column, type_ in zip(parent.columns, schema.types[2:], strict=True):
        name = column.field.name
        try:
            arrays.append(rows[name].cast(type_).combine_chunks())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise InputError(f"column {name}: {str(error).splitlines()[0]}") from None
    return pa.Table.from_arrays(arrays, schema=schema)


def spark_rows(rows: Any, parent: Manifest, version: int) -> RowFrame:
    """Return the rows of a DataFrame as a frame, with new ids.

    Raises:
        InputError: A column is missing.
    """
    check_columns(rows.columns, parent)
    ids = F.concat(F.lit(f"{version}."), F.monotonically_increasing_id().cast("string"))
    cells = [
        F.col(f"`{column.field.name}`").alias(cell_name(place)) for place, column in enumerate(parent.columns)
    ]
    return RowFrame(rows.select(ids.alias(frames.ROW_ID), *cells), tuple(types_of(parent.columns)))


def check_columns(names: Iterable[str], parent: Manifest) -> None:
    """Raise InputError unless the names are those of a table's columns, in any order."""
    wanted = [column.field.name for column in parent.columns]
    if sorted(names) != sorted(wanted):
        raise InputError(f"the rows have the columns {', '.join(names)}; the table has {', '.join(wanted)}")
