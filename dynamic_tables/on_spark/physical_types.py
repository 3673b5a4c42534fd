"""Cells in columns of Spark: the type of the column for each type of cells, and the conversions.

Lists, objects and variants are columns of text, in an encoding of their own that loses nothing: Spark has no
type before release 4 for values of many types, and none that tells 1 from 1.0 and 1.00.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DecimalType,
    DoubleType,
    StringType,
    TimestampNTZType,
)

from dynamic_tables.values.cells import NAN
from dynamic_tables.values.changes import Cell, Row
from dynamic_tables.values.types import DIGITS_MAX, Kind, Type

# Kinds whose cells are columns of encoded text.
ENCODED = frozenset({Kind.ARRAY, Kind.OBJECT, Kind.VARIANT})
SIMPLE: Mapping[Kind, type[DataType]] = {
    Kind.BOOLEAN: BooleanType,
    Kind.FLOAT: DoubleType,
    Kind.TEXT: StringType,
    Kind.BINARY: BinaryType,
    Kind.DATE: DateType,
    Kind.TIMESTAMP: TimestampNTZType,
    Kind.NULL: StringType,
    **dict.fromkeys(ENCODED, StringType),
}

KIND_OF_SPARK: Mapping[str, Kind] = {
    **dict.fromkeys(("byte", "short", "integer", "long"), Kind.INTEGER),
    **dict.fromkeys(("float", "double"), Kind.FLOAT),
    **dict.fromkeys(("timestamp", "timestamp_ntz"), Kind.TIMESTAMP),
    "string": Kind.TEXT,
    "boolean": Kind.BOOLEAN,
    "date": Kind.DATE,
    "binary": Kind.BINARY,
}


def spark_type(type_: Type) -> DataType:
    """Return the type of the column that holds any cells of a type.

    A column of integers may also be of a narrower type of Spark, such as BIGINT.
    """
    simple = SIMPLE.get(type_.kind)
    return DecimalType(DIGITS_MAX, type_.scale) if simple is None else simple()


def type_of_spark(written: object) -> Type | None:
    """Return the type of the cells of a column of Spark, whose type is written as in JSON; None for others.

    >>> type_of_spark("long"), type_of_spark("decimal(10,2)"), type_of_spark({"type": "array"})
    (Type(kind=<Kind.INTEGER: 'INTEGER'>, scale=0), Type(kind=<Kind.DECIMAL: 'DECIMAL'>, scale=2), None)
    """
    if not isinstance(written, str):
        return None
    if written.startswith("decimal("):
        scale = int(written.removesuffix(")").partition(",")[2])
        return Type(Kind.DECIMAL, scale) if scale else Type(Kind.INTEGER)
    kind = KIND_OF_SPARK.get(written)
    return None if kind is None else Type(kind)


def encode(cell: Cell) -> str:
    """Return a list, an object or a variant as text; equal texts are cells that no expression tells apart."""
    return json.dumps(with_tags(cell), sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def with_tags(cell: Cell) -> object:
    """Return a cell as JSON has it; a value that JSON lacks is a list with the name of its type."""
    match cell:
        case bool() | int() | str() | None:
            return cell
        case float():
            return ["float", repr(cell)]
        case Decimal():
            return ["decimal", str(cell)]
        case bytes():
            return ["bytes", cell.hex()]
        case datetime():
            return ["time", cell.isoformat()]
        case date():
            return ["date", cell.isoformat()]
        case tuple():
            return ["list", *map(with_tags, cell)]
    return {name: with_tags(part) for name, part in cell.items()}


def decode(text: str) -> Cell:
    """Return the cell of an encoded text."""
    return without_tags(json.loads(text))


def without_tags(value: Any) -> Cell:
    """Return the cell of a value that `with_tags` made."""
    if isinstance(value, dict):
        return {name: without_tags(part) for name, part in value.items()}
    if isinstance(value, list):
        name, *parts = value
        return UNTAG[name](parts)
    plain: Cell = value  # text, an integer, a boolean or NULL
    return plain


def to_float(text: str) -> float:
    """Return a double; each NaN is the same one."""
    number = float(text)
    return number if number == number else NAN


UNTAG: Mapping[str, Callable[[list[Any]], Cell]] = {
    "float": lambda parts: to_float(parts[0]),
    "decimal": lambda parts: Decimal(parts[0]),
    "bytes": lambda parts: bytes.fromhex(parts[0]),
    "time": lambda parts: datetime.fromisoformat(parts[0]),
    "date": lambda parts: date.fromisoformat(parts[0]),
    "list": lambda parts: tuple(map(without_tags, parts)),
}


def from_spark(type_: Type) -> Callable[[Any], Cell]:
    """Return the conversion of a value that Spark's Python interface gives, which may be None, to a cell."""
    convert = FROM_SPARK.get(type_.kind)
    if convert is None:
        return lambda value: value
    return lambda value: None if value is None else convert(value)


def to_spark(type_: Type) -> Callable[[Cell], Any]:
    """Return the conversion of a cell, which may be NULL, to a value that Spark's Python interface takes."""
    convert = TO_SPARK.get(type_.kind)
    if convert is None:
        return lambda cell: cell
    return lambda cell: None if cell is None else convert(cell)


FROM_SPARK: Mapping[Kind, Callable[[Any], Cell]] = {
    Kind.INTEGER: int,
    Kind.INTERVAL: int,
    Kind.DECIMAL: Decimal,
    Kind.FLOAT: lambda value: float(value) if value == value else NAN,
    Kind.BINARY: bytes,
    **dict.fromkeys(ENCODED, decode),
}
TO_SPARK: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.INTEGER: Decimal,
    Kind.INTERVAL: Decimal,
    Kind.DECIMAL: Decimal,
    Kind.BINARY: bytearray,
    **dict.fromkeys(ENCODED, encode),
}


def row_from_spark(types: Sequence[Type]) -> Callable[[Sequence[Any]], Row]:
    """Return the conversion of the values of several columns to cells."""
    conversions = [from_spark(type_) for type_ in types]
    return lambda values: tuple([convert(value) for convert, value in zip(conversions, values, strict=True)])


def row_to_spark(types: Sequence[Type]) -> Callable[[Row], tuple[Any, ...]]:
    """Return the conversion of a row to values that Spark's Python interface takes."""
    conversions = [to_spark(type_) for type_ in types]
    return lambda row: tuple([convert(cell) for convert, cell in zip(conversions, row, strict=True)])
