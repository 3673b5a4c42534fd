"""Values in other types: what CAST gives, by the kind of value and the type wanted."""

import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from dynamic_tables.values.cells import NAN, ROUNDING
from dynamic_tables.values.changes import Cell
from dynamic_tables.values.errors import CastFailed
from dynamic_tables.values.types import Kind, Type, fits

TRUE_TEXTS = frozenset({"true", "t", "yes", "y", "on", "1"})
FALSE_TEXTS = frozenset({"false", "f", "no", "n", "off", "0"})


def cast(value: Cell, wanted: Type) -> Cell:
    """A value in another type; NULL stays NULL.

    Raises:
        CastFailed: The value has no counterpart there.
    """
    if value is None:
        return None
    try:
        return CASTS[wanted.kind](value, wanted)
    except (ValueError, TypeError, InvalidOperation, OverflowError):
        raise CastFailed(f"{value!r} cannot be cast to {wanted}") from None


def to_boolean(value: Any, wanted: Type) -> Cell:
    """Numbers are TRUE but for zero."""
    if isinstance(value, str):
        text = value.strip().lower()
        if text not in TRUE_TEXTS | FALSE_TEXTS:
            raise ValueError(value)
        return text in TRUE_TEXTS
    if isinstance(value, (bool, int, float, Decimal)):
        return value != 0
    raise TypeError(value)


def to_integer(value: Any, wanted: Type) -> Cell:
    """The nearest integer; halves go away from zero."""
    return int(fitting(rounded(number(value), 0), wanted))


def to_decimal(value: Any, wanted: Type) -> Cell:
    """The nearest decimal of the scale; halves go away from zero."""
    return fitting(rounded(number(value), wanted.scale), wanted)


def fitting(value: Decimal, wanted: Type) -> Decimal:
    """Return a number of the type; one with too many digits fails the cast."""
    if not fits(value, wanted):
        raise OverflowError(value)
    return value


def to_float(value: Any, wanted: Type) -> Cell:
    """The nearest double."""
    if isinstance(value, (date, bytes, tuple, Mapping)):
        raise TypeError(value)
    nearest = float(value)
    return nearest if nearest == nearest else NAN


def number(value: Any) -> Decimal:
    """A value as an exact number."""
    if isinstance(value, (bool, int, float, Decimal)):
        return Decimal(value)
    if isinstance(value, str):
        return Decimal(value.strip())
    raise TypeError(value)


def rounded(value: Decimal, scale: int) -> Decimal:
    """A number with so many digits behind the point; halves go away from zero."""
    return value.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_HALF_UP, context=ROUNDING)


def to_text(value: Any, wanted: Type) -> Cell:
    """As Snowflake shows it: dates by ISO 8601, lists and objects as JSON."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return text_of_float(value)
        case bytes():
            return value.hex().upper()
        case datetime():
            return value.isoformat(sep=" ")
        case tuple() | Mapping():
            return json.dumps(value, default=plain_json, separators=(",", ":"), sort_keys=True)
    return str(value)


def text_of_float(value: float) -> str:
    """Whole numbers without a point, as Snowflake has them."""
    return str(int(value)) if value.is_integer() and value and abs(value) < 1e15 else repr(value)


def plain_json(value: object) -> object:
    """What JSON has no word for: decimals as numbers, dates as texts."""
    if isinstance(value, Mapping):
        return dict(value)
    return float(value) if isinstance(value, Decimal) else str(value)


def to_binary(value: Any, wanted: Type) -> Cell:
    """Text is hexadecimal."""
    return value if isinstance(value, bytes) else bytes.fromhex(value)


def to_date(value: Any, wanted: Type) -> Cell:
    """The day of a time, or text by ISO 8601."""
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else datetime.fromisoformat(value.strip()).date()


def to_timestamp(value: Any, wanted: Type) -> Cell:
    """Midnight of a day, seconds since 1970, or text by ISO 8601; times carry no zone."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, str):
        told = datetime.fromisoformat(value.strip())
        return told if told.tzinfo is None else told.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, int) and not isinstance(value, bool):
        return datetime.fromtimestamp(value, tz=UTC).replace(tzinfo=None)
    raise TypeError(value)


def to_array(value: Any, wanted: Type) -> Cell:
    """A list stays; any other value becomes a list of one."""
    return value if isinstance(value, tuple) else (value,)


def to_object(value: Any, wanted: Type) -> Cell:
    """Only objects are objects."""
    if isinstance(value, Mapping):
        return value
    raise TypeError(value)


def same(value: Cell, wanted: Type) -> Cell:
    """Any value is a variant, and what has no other form stays."""
    return value


CASTS: Mapping[Kind, Callable[[Any, Type], Cell]] = {
    Kind.BOOLEAN: to_boolean,
    Kind.INTEGER: to_integer,
    Kind.DECIMAL: to_decimal,
    Kind.FLOAT: to_float,
    Kind.TEXT: to_text,
    Kind.BINARY: to_binary,
    Kind.DATE: to_date,
    Kind.TIMESTAMP: to_timestamp,
    Kind.INTERVAL: same,
    Kind.ARRAY: to_array,
    Kind.OBJECT: to_object,
    Kind.VARIANT: same,
    Kind.NULL: same,
}
