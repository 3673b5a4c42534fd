"""How a column's values were encoded before a filter hashed them: plain Parquet, one physical type.

Hashing the same number as another physical type gives another hash, so a filter is only believed where
it is certain which bytes a value was.
"""

import functools
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pruning.expressions.types import BYTES, Kind, Type, Value
from pruning.metadata.footers.physical_types import Converted, Form, Physical

# From these on Spark reads every stored date and instant as it is stored, in whichever calendar the file
# is and in every zone: a day after 1582-10-15, in days, and one after 1900-01-01, in microseconds.
SAME_FROM = {
    Kind.DATE: -141_427,
    Kind.TIMESTAMP: -2_208_988_800_000_000 + 86_400_000_000,
    Kind.TIMESTAMP_NTZ: -2_208_988_800_000_000 + 86_400_000_000,
}
_MILLIS = 1_000
_BITS = {Physical.INT32: 32, Physical.INT64: 64}
_FLOATS = {Physical.FLOAT: "<f", Physical.DOUBLE: "<d"}
_INT32_DIGITS, _INT64_DIGITS = 9, 18
_WIDE_DECIMAL_BYTES = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Encoding:
    """A physical type, and what else decides the bytes.

    Attributes:
        physical: Parquet's physical type.
        size_bytes: Of a value of fixed length; 0 for the others.
        unit: How many of the SQL type's units one stored unit is: 1,000 for milliseconds.
        rebased: Whether Spark may read old dates and instants as others than those stored.
    """

    physical: Physical
    size_bytes: int = 0
    unit: int = 1
    rebased: bool = False

    @property
    def name(self) -> str:
        """What block metadata keeps of it; `parsed` reads it."""
        return f"{self.physical.name} {self.size_bytes} {self.unit} {int(self.rebased)}"

    def of(self, value: Value, type_: Type) -> tuple[bytes, ...] | None:
        """Every way in which a row that equals `value` may be stored.

        None where that is not known, nothing where no stored value is read as this one.
        """
        if self.rebased and type_.kind in SAME_FROM and int(value) < SAME_FROM[type_.kind]:
            return None
        if isinstance(value, bytes):
            wrong = self.physical is Physical.FIXED_LEN_BYTE_ARRAY and len(value) != self.size_bytes
            return () if wrong else (value,)
        if isinstance(value, float):
            # Both zeros are equal, and their bytes are not.
            zeros = (0.0, -0.0) if value == 0 else (value,)
            return tuple(struct.pack(_FLOATS[self.physical], number) for number in zeros)
        return self._integer(_unscaled(value), signed=self.physical is Physical.FIXED_LEN_BYTE_ARRAY)

    def _integer(self, number: int, *, signed: bool) -> tuple[bytes, ...]:
        if signed:
            bits = 8 * self.size_bytes
            fits = -(1 << (bits - 1)) <= number < 1 << (bits - 1)
            return (number.to_bytes(self.size_bytes, "big", signed=True),) if fits else ()
        stored, rest = divmod(number, self.unit)
        bits = _BITS[self.physical]
        # Unsigned integers share the bytes of negative ones.
        fits = rest == 0 and -(1 << (bits - 1)) <= stored < 1 << bits
        return ((stored % (1 << bits)).to_bytes(bits // 8, "little"),) if fits else ()


@functools.cache
def parsed(name: str) -> Encoding | None:
    """The encoding of a name; None for one that this version does not know."""
    try:
        physical, size_bytes, unit, rebased = name.split(" ")
        return Encoding(
            physical=Physical[physical], size_bytes=int(size_bytes), unit=int(unit), rebased=rebased == "1"
        )
    except (ValueError, KeyError):
        return None


def encoding_of(element: Any, form: Form, *, rebased: bool) -> Encoding | None:
    """How the column of a schema element is hashed; None where values have no one encoding.

    Booleans are not hashed; decimals of varying length and INT96 have several encodings.
    """
    physical = Physical(element.type)
    kind = form.type.kind
    if physical is Physical.FIXED_LEN_BYTE_ARRAY:
        return Encoding(physical=physical, size_bytes=element.type_length or 0)
    if physical is Physical.BYTE_ARRAY:
        return Encoding(physical=physical) if kind in BYTES else None
    if physical in (Physical.BOOLEAN, Physical.INT96):
        return None
    millis = kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ) and _in_millis(element)
    return Encoding(physical=physical, unit=_MILLIS if millis else 1, rebased=rebased and kind in SAME_FROM)


def own_encoding(type_: Type) -> Encoding | None:
    """How our own filters hash values of a type; None for booleans, of which there are two."""
    if type_.kind is Kind.BOOLEAN:
        return None
    if type_.kind in BYTES:
        return Encoding(physical=Physical.BYTE_ARRAY)
    if type_.floating:
        return Encoding(physical=Physical.FLOAT if type_.kind is Kind.FLOAT else Physical.DOUBLE)
    if type_.kind is Kind.DECIMAL and type_.precision > _INT64_DIGITS:
        return Encoding(physical=Physical.FIXED_LEN_BYTE_ARRAY, size_bytes=_WIDE_DECIMAL_BYTES)
    narrow = type_.kind in (Kind.BYTE, Kind.SHORT, Kind.INTEGER, Kind.DATE) or (
        type_.kind is Kind.DECIMAL and type_.precision <= _INT32_DIGITS
    )
    return Encoding(physical=Physical.INT32 if narrow else Physical.INT64)


def _unscaled(value: Value) -> int:
    if isinstance(value, Decimal):
        sign, digits, _ = value.as_tuple()
        number = int("".join(map(str, digits)))
        return -number if sign else number
    return int(value)


def _in_millis(element: Any) -> bool:
    logical = element.logicalType
    if logical is not None and logical.TIMESTAMP is not None:
        unit = logical.TIMESTAMP.unit
        return bool(unit and unit.MILLIS)
    return bool(element.converted_type == Converted.TIMESTAMP_MILLIS)
