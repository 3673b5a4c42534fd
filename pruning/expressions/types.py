"""The SQL types that the rules know, and the Python representation of their values.

======================  =============================================================
type                    value in a `Literal`, a bound or a row (None is SQL's NULL)
======================  =============================================================
boolean                 bool
tinyint ... bigint      int, inside the type's range
float, double           float; a `float` is exactly representable in 32 bits
decimal(p, s)           decimal.Decimal with exactly s fractional digits
string, binary          bytes; a string's are its UTF-8 bytes, as they are stored
date                    int, days since 1970-01-01 (proleptic Gregorian)
timestamp               int, microseconds since 1970-01-01 00:00:00 UTC
timestamp_ntz           int, microseconds since 1970-01-01 00:00:00, no zone
void                    None
unknown                 never held: an expression of unknown type has no known bounds
======================  =============================================================

A string under a collation other than Spark's default is `unknown`: the order of its bytes
says nothing about the order of its values.
"""

import enum
from dataclasses import dataclass
from decimal import Decimal
from typing import TypeAlias

Value: TypeAlias = bool | int | float | Decimal | bytes


class Kind(enum.Enum):
    """The family of a type; its value is the name Spark SQL gives it."""

    BOOLEAN = "boolean"
    BYTE = "tinyint"
    SHORT = "smallint"
    INTEGER = "int"
    LONG = "bigint"
    FLOAT = "float"
    DOUBLE = "double"
    DECIMAL = "decimal"
    STRING = "string"
    BINARY = "binary"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_NTZ = "timestamp_ntz"
    NULL = "void"
    UNKNOWN = "unknown"


INTEGRAL_BITS = {Kind.BYTE: 8, Kind.SHORT: 16, Kind.INTEGER: 32, Kind.LONG: 64}
# Dates and timestamps are integers with a unit; these are the widths Spark stores them in.
STORED_BITS = INTEGRAL_BITS | {Kind.DATE: 32, Kind.TIMESTAMP: 64, Kind.TIMESTAMP_NTZ: 64}
FLOATING = frozenset({Kind.FLOAT, Kind.DOUBLE})
BYTES = frozenset({Kind.STRING, Kind.BINARY})
DECIMAL_PRECISION_MAX = 38


@dataclass(frozen=True, slots=True)
class Type:
    """A SQL type. `precision` and `scale` belong to decimals; `name` is Spark's for an unknown type."""

    kind: Kind
    precision: int = 0
    scale: int = 0
    name: str = ""

    @property
    def sql(self) -> str:
        """The type's name in Spark SQL."""
        if self.kind is Kind.DECIMAL:
            return f"decimal({self.precision},{self.scale})"
        return self.name if self.kind is Kind.UNKNOWN and self.name else self.kind.value

    @property
    def integral(self) -> bool:
        """True if values are the integers from `integer_range`, with SQL's arithmetic."""
        return self.kind in INTEGRAL_BITS

    @property
    def floating(self) -> bool:
        """True if values are IEEE 754 numbers, so that NaN and infinities occur."""
        return self.kind in FLOATING

    @property
    def has_bounds(self) -> bool:
        """True if values of this type can be bounded at all."""
        return self.kind not in (Kind.UNKNOWN, Kind.NULL)

    @property
    def integer_range(self) -> tuple[int, int] | None:
        """The least and greatest stored values if values are stored as integers, else None."""
        bits = STORED_BITS.get(self.kind)
        return None if bits is None else (-(1 << (bits - 1)), (1 << (bits - 1)) - 1)

    def __str__(self) -> str:
        return self.sql


BOOLEAN = Type(Kind.BOOLEAN)
BYTE = Type(Kind.BYTE)
SHORT = Type(Kind.SHORT)
INTEGER = Type(Kind.INTEGER)
LONG = Type(Kind.LONG)
FLOAT = Type(Kind.FLOAT)
DOUBLE = Type(Kind.DOUBLE)
STRING = Type(Kind.STRING)
BINARY = Type(Kind.BINARY)
DATE = Type(Kind.DATE)
TIMESTAMP = Type(Kind.TIMESTAMP)
TIMESTAMP_NTZ = Type(Kind.TIMESTAMP_NTZ)
NULL = Type(Kind.NULL)


def decimal(precision: int, scale: int) -> Type:
    """Return decimal(precision, scale); 1 <= precision <= 38, 0 <= scale <= precision.

    Raises:
        ValueError: the precision or the scale is out of range.
    """
    if not (1 <= precision <= DECIMAL_PRECISION_MAX and 0 <= scale <= precision):
        raise ValueError(f"decimal({precision},{scale}): precision is 1..38 and scale 0..precision")
    return Type(Kind.DECIMAL, precision, scale)


def unknown(name: str = "") -> Type:
    """Return a type that the rules know nothing of; `name` is Spark's name for it."""
    return Type(Kind.UNKNOWN, name=name)
