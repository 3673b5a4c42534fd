"""Types of columns, and the common type of two types."""

import enum
from dataclasses import dataclass
from decimal import Decimal

from pruning.errors import InputError


class Kind(enum.Enum):
    """The sort of values that a column has."""

    NULL = "NULL"  # only of the literal NULL
    BOOLEAN = "BOOLEAN"
    INTEGER = "INTEGER"
    DECIMAL = "DECIMAL"
    FLOAT = "FLOAT"
    TEXT = "TEXT"
    BINARY = "BINARY"
    DATE = "DATE"
    TIMESTAMP = "TIMESTAMP"
    INTERVAL = "INTERVAL"  # a length of time, in microseconds
    ARRAY = "ARRAY"
    OBJECT = "OBJECT"
    VARIANT = "VARIANT"


@dataclass(frozen=True, slots=True)
class Type:
    """A type of cells: a kind and, for decimals, the number of digits behind the point."""

    kind: Kind
    scale: int = 0

    def __str__(self) -> str:
        return f"DECIMAL(38,{self.scale})" if self.kind is Kind.DECIMAL else self.kind.value


@dataclass(frozen=True, slots=True)
class Field:
    """One column of a table or a result."""

    name: str
    type: Type


NULL = Type(Kind.NULL)
BOOLEAN = Type(Kind.BOOLEAN)
INTEGER = Type(Kind.INTEGER)
FLOAT = Type(Kind.FLOAT)
TEXT = Type(Kind.TEXT)
BINARY = Type(Kind.BINARY)
DATE = Type(Kind.DATE)
TIMESTAMP = Type(Kind.TIMESTAMP)
INTERVAL = Type(Kind.INTERVAL)
ARRAY = Type(Kind.ARRAY)
OBJECT = Type(Kind.OBJECT)
VARIANT = Type(Kind.VARIANT)

# The most digits of an exact number, and the most of them that may stand behind the point.
DIGITS_MAX = 38
SCALE_MAX = DIGITS_MAX - 1
NUMBERS = frozenset({Kind.INTEGER, Kind.DECIMAL, Kind.FLOAT})
EXACT_NUMBERS = frozenset({Kind.INTEGER, Kind.DECIMAL})
# Kinds whose values are hashable and compare in Python exactly as in SQL.
PLAIN = frozenset(Kind) - {Kind.FLOAT, Kind.ARRAY, Kind.OBJECT, Kind.VARIANT}


def decimal(scale: int) -> Type:
    """Return the type of decimals with this many digits behind the point."""
    return Type(Kind.DECIMAL, scale)


def fits(value: int | Decimal, kind: Type) -> bool:
    """Tell whether an exact number has no more digits than its type allows."""
    limit: int = 10 ** (DIGITS_MAX - kind.scale)
    return -limit < value < limit


def common_type(left: Type, right: Type) -> Type:
    """Return the type that can hold the values of both types.

    Raises:
        InputError: There is no such type; a cast has to choose one.
    """
    if left == right or right.kind is Kind.NULL:
        return left
    if left.kind is Kind.NULL:
        return right
    kinds = {left.kind, right.kind}
    if kinds <= NUMBERS:
        return FLOAT if Kind.FLOAT in kinds else decimal(max(left.scale, right.scale))
    if kinds == {Kind.DATE, Kind.TIMESTAMP}:
        return TIMESTAMP
    if Kind.VARIANT in kinds:
        return left if right.kind is Kind.VARIANT else right
    raise InputError(f"{left} and {right} have no common type: cast one of them")
