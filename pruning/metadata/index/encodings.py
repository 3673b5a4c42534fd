"""The encoding of a column's values before a filter hashes them: plain Parquet, of one physical type.

A number has another hash if it is stored as another physical type, so a filter is believed only if the
bytes of a value are certain.
"""

import functools
import struct
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pruning.expressions.types import BYTES, Kind, Type, Value
from pruning.metadata.footers.physical_types import ColumnStorage, Converted, Physical

# From these values on, Spark reads stored values unchanged, whatever the file's calendar and the zone: dates
# from 1582-10-15 on, and instants from a day after 1900-01-01 on.
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
    """A physical type and the other properties that determine a value's bytes.

    Attributes:
        physical: Parquet's physical type.
        size_bytes: The size of values of fixed length; 0 for other types.
        unit: The number of the SQL type's units in a stored unit: 1,000 for milliseconds.
        rebased: True if Spark may shift old dates and instants on reading.
    """

    physical: Physical
    size_bytes: int = 0
    unit: int = 1
    rebased: bool = False

    @property
    def name(self) -> str:
        """The encoding as text for block metadata; `parse_encoding` reads it."""
        return f"{self.physical.name} {self.size_bytes} {self.unit} {int(self.rebased)}"

    def of(self, value: Value, type_: Type) -> tuple[bytes, ...] | None:
        """Return all bytes that a row equal to `value` may be stored as.

        None if they are unknown; empty if no stored value is read as this one.
        """
        if self.rebased and type_.kind in SAME_FROM and int(value) < SAME_FROM[type_.kind]:
            return None
        if isinstance(value, bytes):
            wrong = self.physical is Physical.FIXED_LEN_BYTE_ARRAY and len(value) != self.size_bytes
            return () if wrong else (value,)
        if isinstance(value, float):
            # The two zeros are equal, but their bytes differ.
            zeros = (0.0, -0.0) if value == 0 else (value,)
            return tuple(struct.pack(_FLOATS[self.physical], number) for number in zeros)
        return self._integer(_unscaled_integer(value), signed=self.physical is Physical.FIXED_LEN_BYTE_ARRAY)

    def _integer(self, number: int, *, signed: bool) -> tuple[bytes, ...]:
        if signed:
            bits = 8 * self.size_bytes
            fits = -(1 << (bits - 1)) <= number < 1 << (bits - 1)
            return (number.to_bytes(self.size_bytes, "big", signed=True),) if fits else ()
        stored, rest = divmod(number, self.unit)
        bits = _BITS[self.physical]
        # The upper half of the unsigned range has the bytes of negative numbers.
        fits = rest == 0 and -(1 << (bits - 1)) <= stored < 1 << bits
        return ((stored % (1 << bits)).to_bytes(bits // 8, "little"),) if fits else ()


@functools.cache
def parse_encoding(name: str) -> Encoding | None:
    """Parse the name of an encoding; None if this version does not know it."""
    try:
        physical, size_bytes, unit, rebased = name.split(" ")
        return Encoding(
            physical=Physical[physical], size_bytes=int(size_bytes), unit=int(unit), rebased=rebased == "1"
        )
    except (ValueError, KeyError):
        return None


def encoding_of(element: Any, storage: ColumnStorage, *, rebased: bool) -> Encoding | None:
    """Return the encoding that a file's filter hashes; None if values have several encodings.

    Booleans are not hashed either; decimals of varying length and INT96 have several encodings.
    """
    physical = Physical(element.type)
    kind = storage.type.kind
    if physical is Physical.FIXED_LEN_BYTE_ARRAY:
        return Encoding(physical=physical, size_bytes=element.type_length or 0)
    if physical is Physical.BYTE_ARRAY:
        return Encoding(physical=physical) if kind in BYTES else None
    if physical in (Physical.BOOLEAN, Physical.INT96):
        return None
    millis = kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ) and _in_millis(element)
    return Encoding(physical=physical, unit=_MILLIS if millis else 1, rebased=rebased and kind in SAME_FROM)


def own_encoding(type_: Type) -> Encoding | None:
    """Return the encoding that our own filters hash; None for booleans, which need no filter."""
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


def _unscaled_integer(value: Value) -> int:
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
