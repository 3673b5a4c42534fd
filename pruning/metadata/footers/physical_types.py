"""How a Parquet column is stored: the SQL type Spark reads it as, and what its bounds' bytes mean.

Source: Parquet's LogicalTypes, and the types Spark's Parquet reader gives where it infers a schema.
A column that Spark refuses, or reads as a type the rules do not know, has no form.
"""

import enum
import struct
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

from pruning.expressions import types
from pruning.expressions.types import Type, Value


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
    """Parquet's older annotations, by their numbers in the format; those that Spark can read."""

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


class Unreadable(ValueError):
    """Bytes that cannot be a bound of the column's type."""


Decode = Callable[[bytes], Value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What a column is read as, and how one of its bounds is.

    `decode` raises Unreadable; it is None where the order of bounds is undefined or writers are
    known to disagree about it. `signed` says that the deprecated bounds' signed order is the order
    of the values; `varying` that values are signed numbers in byte strings of different lengths, which
    writers order differently; `widest_unsigned` that values are unsigned numbers of all the bits stored.
    """

    type: Type
    decode: Decode | None
    signed: bool = False
    varying: bool = False
    widest_unsigned: bool = False


def form_of(element: Any) -> Form | None:
    """How the column of a schema element is stored; None where Spark does not read it as a known type."""
    annotation = _annotation(element)
    if annotation is None:
        return None
    physical, length = element.type, element.type_length or 0
    if annotation[0] == "decimal":
        return _decimal(physical, length, precision=annotation[1], scale=annotation[2])
    if physical == Physical.FIXED_LEN_BYTE_ARRAY and annotation == ("plain",):
        return Form(type=types.BINARY, decode=_fixed(length))
    return _FORMS.get((physical, *annotation))


def _annotation(element: Any) -> tuple[Any, ...] | None:
    """A schema element's annotation as a name and its parameters; None for one that is not known."""
    if element.logicalType is not None:
        return _logical(element.logicalType)
    if element.converted_type is None:
        return ("plain",)
    if element.converted_type == Converted.DECIMAL:
        return ("decimal", element.precision, element.scale or 0)
    return _CONVERTED.get(element.converted_type)


def _logical(logical: Any) -> tuple[Any, ...] | None:
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
    """Return whether Spark's Parquet reader compares the stored bounds with constants of the SQL type.

    Not of unsigned numbers, nor of texts that are not annotated as strings. Decimals and timestamps without a
    zone are left out, as not every release from Spark 3.5 on compares them.
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


def _number(layout: str, *, bits: int | None = None, scale: int = 1) -> Decode:
    """Bounds that are one little-endian number; `bits` is the range that values of the type keep to."""
    unpack, size = struct.Struct("<" + layout), struct.calcsize("<" + layout)
    low, high = _range(layout, bits)

    def decode(raw: bytes) -> Value:
        if len(raw) != size:
            raise Unreadable(f"{len(raw)} bytes instead of {size}")
        (number,) = unpack.unpack(raw)
        if low is not None and not low <= number * scale <= high:
            raise Unreadable(f"{number} is outside the type's range")
        value: Value = number * scale
        return value

    return decode


def _range(layout: str, bits: int | None) -> tuple[int | None, int]:
    if bits is None:
        return None, 0
    return (0, (1 << bits) - 1) if layout.isupper() else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def _boolean(raw: bytes) -> Value:
    if raw not in (b"\0", b"\1"):
        raise Unreadable("a boolean is one byte, 0 or 1")
    return raw == b"\1"


def _binary(raw: bytes) -> Value:
    return raw


def _string(raw: bytes) -> Value:
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        raise Unreadable("not UTF-8") from error
    return raw


def _fixed(length: int) -> Decode:
    def decode(raw: bytes) -> Value:
        if len(raw) != length:
            raise Unreadable(f"{len(raw)} bytes instead of {length}")
        return raw

    return decode


def _decimal(physical: int, length: int, *, precision: int | None, scale: int) -> Form | None:
    """A decimal; None where Spark refuses the precision for the physical type, or the type altogether."""
    digits = min(_digits(physical, length), types.DECIMAL_PRECISION_MAX)
    if precision is None or not 1 <= precision <= digits or not 0 <= scale <= precision:
        return None
    integer = physical in (Physical.INT32, Physical.INT64)
    size = _size(physical, length)
    limit = 10**precision

    def decode(raw: bytes) -> Value:
        if not raw or (size is not None and len(raw) != size):
            raise Unreadable(f"{len(raw)} bytes instead of {size}")
        unscaled = int.from_bytes(raw, "little" if integer else "big", signed=True)
        if not -limit < unscaled < limit:
            raise Unreadable(f"{unscaled} has more than {precision} digits")
        return Decimal(unscaled).scaleb(-scale, _EXACT)

    return Form(type=types.decimal(precision, scale), decode=decode, signed=integer, varying=size is None)


def _size(physical: int, length: int) -> int | None:
    sizes: dict[int, int] = {Physical.INT32: 4, Physical.INT64: 8, Physical.FIXED_LEN_BYTE_ARRAY: length}
    return sizes.get(physical)


_EXACT = Context(prec=types.DECIMAL_PRECISION_MAX)
_DIGITS: dict[int, int] = {Physical.INT32: 9, Physical.INT64: 18, Physical.BYTE_ARRAY: 38}
_DECIMAL_BYTES_MAX = 17  # longer ones hold more than 38 digits as well


def _digits(physical: int, length: int) -> int:
    """How many decimal digits every value of a physical type has room for; 0 for what holds no decimals."""
    if physical != Physical.FIXED_LEN_BYTE_ARRAY:
        return _DIGITS.get(physical, 0)
    bits = 8 * min(length, _DECIMAL_BYTES_MAX) - 1
    return len(str((1 << bits) - 1)) - 1 if bits > 0 else 0


def _signed(type_: Type, layout: str, *, bits: int | None = None, scale: int = 1) -> Form:
    return Form(type=type_, decode=_number(layout, bits=bits, scale=scale), signed=True)


def _unsigned(type_: Type, bits: int) -> Form:
    return Form(type=type_, decode=_number("I", bits=bits), widest_unsigned=bits == _STORED_BITS)


_STORED_BITS = 32


def _bytes(type_: Type, decode: Decode) -> Form:
    return Form(type=type_, decode=decode)


_INT8, _INT16 = _signed(types.BYTE, "i", bits=8), _signed(types.SHORT, "i", bits=16)
_INT32, _INT64 = _signed(types.INTEGER, "i"), _signed(types.LONG, "q")
_TEXT = _bytes(types.STRING, _string)
_MILLIS_TO_MICROS = 1000

# physical type, annotation and its parameters -> how it is stored
_FORMS: dict[tuple[Any, ...], Form] = {
    (Physical.BOOLEAN, "plain"): Form(type=types.BOOLEAN, decode=_boolean, signed=True),
    (Physical.FLOAT, "plain"): _signed(types.FLOAT, "f"),
    (Physical.DOUBLE, "plain"): _signed(types.DOUBLE, "d"),
    (Physical.INT32, "plain"): _INT32,
    (Physical.INT32, "integer", 8, True): _INT8,
    (Physical.INT32, "integer", 16, True): _INT16,
    (Physical.INT32, "integer", 32, True): _INT32,
    # Spark widens unsigned integers so that they fit.
    (Physical.INT32, "integer", 8, False): _unsigned(types.SHORT, 8),
    (Physical.INT32, "integer", 16, False): _unsigned(types.INTEGER, 16),
    (Physical.INT32, "integer", 32, False): _unsigned(types.LONG, 32),
    (Physical.INT32, "date"): _signed(types.DATE, "i"),
    (Physical.INT64, "plain"): _INT64,
    (Physical.INT64, "integer", 64, True): _INT64,
    # Writers are known to have ordered these as signed integers.
    (Physical.INT64, "integer", 64, False): Form(type=types.decimal(20, 0), decode=None),
    (Physical.INT64, "timestamp", "micros", True): _signed(types.TIMESTAMP, "q"),
    (Physical.INT64, "timestamp", "micros", False): _signed(types.TIMESTAMP_NTZ, "q"),
    (Physical.INT64, "timestamp", "millis", True): _signed(
        types.TIMESTAMP, "q", bits=64, scale=_MILLIS_TO_MICROS
    ),
    (Physical.INT64, "timestamp", "millis", False): _signed(
        types.TIMESTAMP_NTZ, "q", bits=64, scale=_MILLIS_TO_MICROS
    ),
    # Parquet defines no order for these.
    (Physical.INT96, "plain"): Form(type=types.TIMESTAMP, decode=None),
    (Physical.BYTE_ARRAY, "plain"): _bytes(types.BINARY, _binary),
    (Physical.BYTE_ARRAY, "bson"): _bytes(types.BINARY, _binary),
    (Physical.BYTE_ARRAY, "string"): _TEXT,
    (Physical.BYTE_ARRAY, "enum"): _TEXT,
    (Physical.BYTE_ARRAY, "json"): _TEXT,
}
