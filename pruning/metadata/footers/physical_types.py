"""The storage of Parquet columns: the SQL type that Spark reads, and the form of bounds.

Source: Parquet's LogicalTypes, and the types that Spark's Parquet reader gives when it infers a schema.
A column that Spark refuses, or reads as a type that the rules do not know, has no `ColumnStorage`.
"""

import enum
from dataclasses import dataclass
from typing import Any, TypeAlias

from pruning.expressions import types
from pruning.expressions.types import Type


class Physical(enum.IntEnum):
    """Parquet's physical types, by their numbers in the format."""

    BOOLEAN = 0
    INT32 = 1
    INT64 = 2
    INT96 = 3
    FLOAT = 4
    DOUBLE = 5
    BYTE_ARRAY = 6
    FIXED_LEN_BYTE_ARRAY = 7


class Converted(enum.IntEnum):
    """Parquet's older annotations that Spark can read, by their numbers in the format."""

    UTF8 = 0
    ENUM = 4
    DECIMAL = 5
    DATE = 6
    TIMESTAMP_MILLIS = 9
    TIMESTAMP_MICROS = 10
    UINT_8 = 11
    UINT_16 = 12
    UINT_32 = 13
    UINT_64 = 14
    INT_8 = 15
    INT_16 = 16
    INT_32 = 17
    INT_64 = 18
    JSON = 19
    BSON = 20


@dataclass(frozen=True, slots=True)
class BooleanForm:
    """One byte, 0 or 1."""


@dataclass(frozen=True, slots=True)
class NumberForm:
    """One little-endian number in a layout of numpy, such as "i4".

    The values of the type are `scale` times the stored numbers from `low` to `high`; without these, all.
    """

    layout: str
    low: int | None = None
    high: int | None = None
    scale: int = 1


@dataclass(frozen=True, slots=True)
class BytesForm:
    """Any bytes, so many if there is a size, and valid UTF-8 if `utf8`."""

    size: int | None = None
    utf8: bool = False


@dataclass(frozen=True, slots=True)
class DecimalForm:
    """A signed number, big-endian unless `little`, of at least one byte, or of so many if there is a size."""

    size: int | None
    little: bool


Form: TypeAlias = BooleanForm | NumberForm | BytesForm | DecimalForm


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnStorage:
    """The SQL type that Spark reads a column as, and the form of its bounds.

    `form` is None if the order of bounds is undefined or writers are known to disagree about it. `signed`
    is True if the signed order of the deprecated bounds is the order of the values; `varying` if values are
    signed numbers in byte strings of different lengths, which writers order differently; `widest_unsigned`
    if values are unsigned numbers that use all the stored bits.
    """

    type: Type
    form: Form | None
    signed: bool = False
    varying: bool = False
    widest_unsigned: bool = False


def column_storage(element: Any) -> ColumnStorage | None:
    """Return the storage of a schema element's column; None if Spark does not read it as a known type."""
    annotation = _annotation(element)
    if annotation is None:
        return None
    physical, length = element.type, element.type_length or 0
    if annotation[0] == "decimal":
        return _decimal_storage(physical, length, precision=annotation[1], scale=annotation[2])
    if physical == Physical.FIXED_LEN_BYTE_ARRAY and annotation == ("plain",):
        return ColumnStorage(type=types.BINARY, form=BytesForm(_byte_size(length)))
    return _STORAGES.get((physical, *annotation))


def _annotation(element: Any) -> tuple[Any, ...] | None:
    """Return a schema element's annotation as a name and its parameters; None if it is unknown."""
    if element.logicalType is not None:
        return _logical_annotation(element.logicalType)
    if element.converted_type is None:
        return ("plain",)
    if element.converted_type == Converted.DECIMAL:
        return ("decimal", element.precision, element.scale or 0)
    return _CONVERTED.get(element.converted_type)


def _logical_annotation(logical: Any) -> tuple[Any, ...] | None:
    if logical.DECIMAL is not None:
        return ("decimal", logical.DECIMAL.precision, logical.DECIMAL.scale or 0)
    if logical.INTEGER is not None:
        return ("integer", logical.INTEGER.bitWidth, logical.INTEGER.isSigned)
    if logical.TIMESTAMP is not None:
        unit = logical.TIMESTAMP.unit
        name = "millis" if unit and unit.MILLIS else "micros" if unit and unit.MICROS else "other"
        return ("timestamp", name, logical.TIMESTAMP.isAdjustedToUTC)
    for name in ("STRING", "ENUM", "JSON", "BSON", "DATE"):
        if getattr(logical, name) is not None:
            return (name.lower(),)
    return None


def is_comparable(element: Any) -> bool:
    """Tell whether Spark's Parquet reader compares the stored bounds with constants of the SQL type.

    It does not for unsigned numbers, nor for texts that are not annotated as strings. Decimals and
    timestamps without a zone count as not compared, because not every release since Spark 3.5 compares them.
    """
    annotation = _annotation(element)
    return annotation is not None and (element.type, *annotation) in _COMPARABLE


_COMPARABLE: frozenset[tuple[Any, ...]] = frozenset(
    {
        (Physical.INT32, "plain"),
        (Physical.INT32, "integer", 8, True),
        (Physical.INT32, "integer", 16, True),
        (Physical.INT32, "integer", 32, True),
        (Physical.INT32, "date"),
        (Physical.INT64, "plain"),
        (Physical.INT64, "integer", 64, True),
        (Physical.INT64, "timestamp", "micros", True),
        (Physical.INT64, "timestamp", "millis", True),
        (Physical.FLOAT, "plain"),
        (Physical.DOUBLE, "plain"),
        (Physical.BYTE_ARRAY, "string"),
    }
)

_CONVERTED: dict[int, tuple[Any, ...]] = {
    Converted.UTF8: ("string",),
    Converted.ENUM: ("enum",),
    Converted.DATE: ("date",),
    Converted.TIMESTAMP_MILLIS: ("timestamp", "millis", True),
    Converted.TIMESTAMP_MICROS: ("timestamp", "micros", True),
    Converted.UINT_8: ("integer", 8, False),
    Converted.UINT_16: ("integer", 16, False),
    Converted.UINT_32: ("integer", 32, False),
    Converted.UINT_64: ("integer", 64, False),
    Converted.INT_8: ("integer", 8, True),
    Converted.INT_16: ("integer", 16, True),
    Converted.INT_32: ("integer", 32, True),
    Converted.INT_64: ("integer", 64, True),
    Converted.JSON: ("json",),
    Converted.BSON: ("bson",),
}


def _decimal_storage(
    physical: int, length: int, *, precision: int | None, scale: int
) -> ColumnStorage | None:
    """Return the storage of a decimal; None if Spark refuses the physical type or its precision for it."""
    digits = min(_digits_max(physical, length), types.DECIMAL_PRECISION_MAX)
    if precision is None or not 1 <= precision <= digits or not 0 <= scale <= precision:
        return None
    integer = physical in (Physical.INT32, Physical.INT64)
    size = _value_bytes(physical, length)
    return ColumnStorage(
        type=types.decimal(precision, scale),
        form=DecimalForm(size, little=integer),
        signed=integer,
        varying=size is None,
    )


def _value_bytes(physical: int, length: int) -> int | None:
    if physical == Physical.FIXED_LEN_BYTE_ARRAY:
        return _byte_size(length)
    return _INTEGER_BYTES.get(physical)


def _byte_size(length: int) -> int:
    """Return the size that a schema element claims; -1, which no bound has, if it is not a possible one."""
    return length if 0 <= length <= _LENGTH_MAX else -1


_LENGTH_MAX = (1 << 31) - 1


_INTEGER_BYTES: dict[int, int] = {Physical.INT32: 4, Physical.INT64: 8}
_DIGITS: dict[int, int] = {Physical.INT32: 9, Physical.INT64: 18, Physical.BYTE_ARRAY: 38}
_DECIMAL_BYTES_MAX = 17  # enough for 38 digits; longer values need not be counted exactly


def _digits_max(physical: int, length: int) -> int:
    """Return the decimal digits that a physical type always has room for; 0 if it cannot hold decimals."""
    if physical != Physical.FIXED_LEN_BYTE_ARRAY:
        return _DIGITS.get(physical, 0)
    bits = 8 * min(length, _DECIMAL_BYTES_MAX) - 1
    return len(str((1 << bits) - 1)) - 1 if bits > 0 else 0


def _signed_storage(type_: Type, layout: str, *, bits: int | None = None) -> ColumnStorage:
    limits = (None, None) if bits is None else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
    return ColumnStorage(type=type_, form=NumberForm(layout, *limits), signed=True)


def _unsigned_storage(type_: Type, bits: int) -> ColumnStorage:
    form = NumberForm("u4", 0, (1 << bits) - 1)
    return ColumnStorage(type=type_, form=form, widest_unsigned=bits == _STORED_BITS)


def _millis_storage(type_: Type) -> ColumnStorage:
    limit = ((1 << 63) - 1) // _MILLIS_TO_MICROS
    return ColumnStorage(type=type_, form=NumberForm("i8", -limit, limit, _MILLIS_TO_MICROS), signed=True)


_STORED_BITS = 32
_MILLIS_TO_MICROS = 1000

_INT8, _INT16 = _signed_storage(types.BYTE, "i4", bits=8), _signed_storage(types.SHORT, "i4", bits=16)
_INT32, _INT64 = _signed_storage(types.INTEGER, "i4"), _signed_storage(types.LONG, "i8")
_TEXT = ColumnStorage(type=types.STRING, form=BytesForm(utf8=True))
_BYTES = ColumnStorage(type=types.BINARY, form=BytesForm())

# (physical type, annotation and its parameters) -> storage
_STORAGES: dict[tuple[Any, ...], ColumnStorage] = {
    (Physical.BOOLEAN, "plain"): ColumnStorage(type=types.BOOLEAN, form=BooleanForm(), signed=True),
    (Physical.FLOAT, "plain"): _signed_storage(types.FLOAT, "f4"),
    (Physical.DOUBLE, "plain"): _signed_storage(types.DOUBLE, "f8"),
    (Physical.INT32, "plain"): _INT32,
    (Physical.INT32, "integer", 8, True): _INT8,
    (Physical.INT32, "integer", 16, True): _INT16,
    (Physical.INT32, "integer", 32, True): _INT32,
    # Spark widens unsigned integers so that they fit.
    (Physical.INT32, "integer", 8, False): _unsigned_storage(types.SHORT, 8),
    (Physical.INT32, "integer", 16, False): _unsigned_storage(types.INTEGER, 16),
    (Physical.INT32, "integer", 32, False): _unsigned_storage(types.LONG, 32),
    (Physical.INT32, "date"): _signed_storage(types.DATE, "i4"),
    (Physical.INT64, "plain"): _INT64,
    (Physical.INT64, "integer", 64, True): _INT64,
    # Some writers are known to order unsigned 64-bit integers as signed ones.
    (Physical.INT64, "integer", 64, False): ColumnStorage(type=types.decimal(20, 0), form=None),
    (Physical.INT64, "timestamp", "micros", True): _signed_storage(types.TIMESTAMP, "i8"),
    (Physical.INT64, "timestamp", "micros", False): _signed_storage(types.TIMESTAMP_NTZ, "i8"),
    (Physical.INT64, "timestamp", "millis", True): _millis_storage(types.TIMESTAMP),
    (Physical.INT64, "timestamp", "millis", False): _millis_storage(types.TIMESTAMP_NTZ),
    # Parquet defines no order for INT96.
    (Physical.INT96, "plain"): ColumnStorage(type=types.TIMESTAMP, form=None),
    (Physical.BYTE_ARRAY, "plain"): _BYTES,
    (Physical.BYTE_ARRAY, "bson"): _BYTES,
    (Physical.BYTE_ARRAY, "string"): _TEXT,
    (Physical.BYTE_ARRAY, "enum"): _TEXT,
    (Physical.BYTE_ARRAY, "json"): _TEXT,
}
