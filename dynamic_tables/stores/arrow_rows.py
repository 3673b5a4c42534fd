"""Rows with ids as Arrow tables: the columns of files, and the conversions."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dynamic_tables.bags.intervals import WantedKeys
from dynamic_tables.bags.operators import Pairs
from dynamic_tables.on_spark.physical_types import ENCODED, row_from_spark, row_to_spark
from dynamic_tables.stores.manifests import Layout, StoredField
from dynamic_tables.values.expressions import Column
from dynamic_tables.values.types import DIGITS_MAX, Field, Kind, Type
from pruning.errors import InputError

# The columns that users do not see: the id of a row, and the version that inserted or deleted it.
ROW_ID, VERSION = "_row_id", "_version"
HIDDEN = frozenset({ROW_ID, VERSION})
SIMPLE = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.FLOAT: pa.float64(),
    Kind.TEXT: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.NULL: pa.string(),
    **dict.fromkeys(ENCODED, pa.string()),
}
LONG = "int64"
# Kinds of which a list of values is looked for in a column; doubles have values that are equal but not alike.
SEARCHED = frozenset({Kind.BOOLEAN, Kind.INTEGER, Kind.DECIMAL, Kind.TEXT, Kind.DATE, Kind.TIMESTAMP})


def arrow_type(type_: Type, stored: str | None = None) -> pa.DataType:
    """Return the Arrow type of a column; `stored` is `int64` for integers that are known to be short.

    >>> from dynamic_tables.values.types import INTEGER
    >>> arrow_type(INTEGER), arrow_type(INTEGER, "int64")
    (Decimal128Type(decimal128(38, 0)), DataType(int64))
    """
    if stored == LONG:
        return pa.int64()
    simple = SIMPLE.get(type_.kind)
    return pa.decimal128(DIGITS_MAX, type_.scale) if simple is None else simple


def stored_field(field: Field, *, short: bool = False) -> StoredField:
    """Return a column as it is stored; `short` is True for integers of at most 64 bits."""
    is_long = short and field.type.kind is Kind.INTEGER
    return StoredField(field, LONG if is_long else str(arrow_type(field.type)))


def types_of(columns: Sequence[StoredField]) -> list[Type]:
    """Return the types of the cells."""
    return [column.field.type for column in columns]


def arrow_schema(columns: Sequence[StoredField]) -> pa.Schema:
    """Return the schema of the files of a table."""
    cells = [(column.field.name, arrow_type(column.field.type, column.stored)) for column in columns]
    return pa.schema([(ROW_ID, pa.string()), (VERSION, pa.int64()), *cells])


def table_of(rows: Pairs, columns: Sequence[StoredField], version: int) -> pa.Table:
    """Return rows as an Arrow table.

    Raises:
        InputError: An integer does not fit its column.
    """
    convert, schema = row_to_spark(types_of(columns)), arrow_schema(columns)
    cells = [convert(row) for _, row in rows]
    versions = pa.array([version] * len(rows), pa.int64())
    arrays = [pa.array([row_id for row_id, _ in rows], pa.string()), versions]
    for place, column in enumerate(columns):
        values = [row[place] for row in cells]
        if column.stored == LONG:
            values = [None if value is None else int(value) for value in values]
        try:
            arrays.append(pa.array(values, schema.types[place + 2]))
        except (OverflowError, pa.ArrowInvalid):
            name = column.field.name
            raise InputError(f"a number does not fit column {name}, which has 64 bits: use DECIMAL") from None
    return pa.Table.from_arrays(arrays, schema=schema)


def in_layout(rows: pa.Table, there: Layout, wanted: Layout) -> pa.Table:
    """Return stored rows with other columns: NULL where they have none.

    Args:
        rows: The rows of a file.
        there: The columns of the version that the file is of; the file may lack some, and have dropped ones.
        wanted: The columns to return.
    """
    schema = arrow_schema(list(wanted.values()))
    arrays: list[Any] = [rows[ROW_ID], rows[VERSION]]
    for (number, column), type_ in zip(wanted.items(), schema.types[2:], strict=True):
        has_it = number in there and column.field.name in rows.column_names
        arrays.append(rows[column.field.name] if has_it else pa.nulls(len(rows), type_))
    return pa.Table.from_arrays(arrays, schema=schema)


def versioned_rows(table: pa.Table, types: Sequence[Type]) -> list[tuple[str, int, Any]]:
    """Return the rows of an Arrow table, each with its id and version."""
    convert = row_from_spark(types)
    columns = [column.to_pylist() for column in table.columns]
    return [(row[0], row[1], convert(row[2:])) for row in zip(*columns, strict=True)]


def wanted_rows(table: pa.Table, wanted: WantedKeys, columns: Sequence[StoredField]) -> pa.Table:
    """Return the rows that may have a wanted key or id; each part of a key is tested for itself."""
    if not wanted.keys:
        return table.filter(is_member(table[ROW_ID], wanted.row_ids))
    mask = None
    for place, part in enumerate(wanted.expressions):
        if isinstance(part, Column) and part.type.kind in SEARCHED:
            column = table[columns[part.index].field.name]
            members = is_member(column, {key[place] for key in wanted.keys})
            mask = members if mask is None else pc.and_(mask, members)
    if mask is None:
        return table
    if wanted.row_ids:
        mask = pc.or_(mask, is_member(table[ROW_ID], wanted.row_ids))
    return table.filter(mask)


def is_member(column: pa.ChunkedArray, values: Collection[Any]) -> pa.ChunkedArray:
    """Return for each cell of a column if it is among some values, of which one may be NULL."""
    members = pc.is_in(column, value_set=pa.array(representable(values, column.type), column.type))
    return pc.or_(members, pc.is_null(column)) if None in values else members


def representable(values: Iterable[Any], type_: pa.DataType) -> list[Any]:
    """Return the values that a column of a type can have."""
    scalars = []
    for value in values:
        if value is None:
            continue
        try:
            whole = int(value) if pa.types.is_integer(type_) and value == int(value) else value
            scalars.append(pa.scalar(whole, type_).as_py())
        except (OverflowError, pa.ArrowInvalid, pa.ArrowTypeError, ValueError):
            continue
    return scalars
