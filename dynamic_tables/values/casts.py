"""CAST: how a value of each kind becomes a value of another type."""

import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from dynamic_tables.values.cells import NAN, ROUNDING
from dynamic_tables.values.changes import Cell
from dynamic_tables.values.errors import CastFailed
from dynamic_tables.values.types import Kind, Type, fits

TRUE_TEXTS = frozenset({"true", "t", "yes", "y", "on", "1"})
DASHED_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
FALSE_TEXTS = frozenset({"false", "f", "no", "n", "off", "0"})


def cast(value: Cell, wanted: Type) -> Cell:
    """Convert a value to another type; NULL stays NULL.

    Raises:
        CastFailed: The value has no counterpart in that type.
    """
    if value is None:
        return None
    try:
        return CASTS[wanted.kind](value, wanted)
    except (ValueError, TypeError, InvalidOperation, OverflowError):
        raise CastFailed(f"{value!r} cannot be cast to {wanted}") from None


def to_boolean(value: Any, wanted: Type) -> Cell:
    """Convert to BOOLEAN: a number is TRUE unless it is zero."""
    if isinstance(value, str):
        text = value.strip().lower()
        if text not in TRUE_TEXTS | FALSE_TEXTS:
            raise ValueError(value)
        return text in TRUE_TEXTS
    if isinstance(value, (bool, int, float, Decimal)):
        return value != 0
    raise TypeError(value)


def to_integer(value: Any, wanted: Type) -> Cell:
    """Convert to the nearest integer; halves go away from zero."""
    return int(check_digits(round_to_scale(to_exact_number(value), 0), wanted))


def to_decimal(value: Any, wanted: Type) -> Cell:
    """Convert to the nearest decimal of the scale; halves go away from zero."""
    return check_digits(round_to_scale(to_exact_number(value), wanted.scale), wanted)


def check_digits(value: Decimal, wanted: Type) -> Decimal:
    """Return the number, zero without a sign, if its digits fit the type; raise OverflowError if not."""
    if not fits(value, wanted):
        raise OverflowError(value)
    return value or abs(value)


def to_float(value: Any, wanted: Type) -> Cell:
    """Convert to the nearest double."""
    if isinstance(value, (date, bytes, tuple, Mapping)):
        raise TypeError(value)
    nearest = float(value)
    return nearest if nearest == nearest else NAN


def to_exact_number(value: Any) -> Decimal:
    """Convert a number, a boolean or text to an exact number."""
    if isinstance(value, (bool, int, float, Decimal)):
        return Decimal(value)
    if isinstance(value, str):
        return Decimal(value.strip())
    raise TypeError(value)


def round_to_scale(value: Decimal, scale: int) -> Decimal:
    """Round to `scale` digits behind the point; halves go away from zero."""
    return value.quantize(Decimal(1).scaleb(-scale), rounding=ROUND_HALF_UP, context=ROUNDING)


def to_text(value: Any, wanted: Type) -> Cell:
    """Convert to text as Snowflake does: dates by ISO 8601, lists and objects as JSON."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case float():
            return float_text(value)
        case bytes():
            return value.hex().upper()
        case datetime():
            return value.isoformat(sep=" ")
        case tuple() | Mapping():
            return json.dumps(value, default=json_value, separators=(",", ":"), sort_keys=True)
    return str(value)


def float_text(value: float) -> str:
    """Return the text of a double; whole numbers have no point, as in Snowflake."""
    return str(int(value)) if value.is_integer() and value and abs(value) < 1e15 else repr(value)


def json_value(value: object) -> object:
    """Convert a value that JSON has no form for: decimals become numbers, dates become text."""
    if isinstance(value, Mapping):
        return dict(value)
    return float(value) if isinstance(value, Decimal) else str(value)


def to_binary(value: Any, wanted: Type) -> Cell:
    """Convert hexadecimal text to bytes."""
    return value if isinstance(value, bytes) else bytes.fromhex(value)


def to_date(value: Any, wanted: Type) -> Cell:
    """Convert a time, or text by ISO 8601, to its day."""
    if isinstance(value, datetime):
        return value.date()
    return value if isinstance(value, date) else moment_of(value).date()


def moment_of(value: Any) -> datetime:
    """Read text by ISO 8601, with dashes between year, month and day; digits alone would be seconds."""
    if not isinstance(value, str):
        raise TypeError(value)
    text = value.strip()
    if DASHED_DAY.match(text) is None:
        raise ValueError(value)
    return datetime.fromisoformat(text)


def to_timestamp(value: Any, wanted: Type) -> Cell:
    """Convert a day to its midnight, seconds since 1970, or text by ISO 8601; the result has no zone."""
    if isinstance(value, datetime):
        return value
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    if isinstance(value, str):
        moment = moment_of(value)
        return moment if moment.tzinfo is None else moment.astimezone(UTC).replace(tzinfo=None)
    if isinstance(value, int) and not isinstance(value, bool):
        return datetime.fromtimestamp(value, tz=UTC).replace(tzinfo=None)
    raise TypeError(value)


def to_array(value: Any, wanted: Type) -> Cell:
    """Convert to a list: a list stays, any other value becomes a list of one."""
    return value if isinstance(value, tuple) else (value,)


def to_object(value: Any, wanted: Type) -> Cell:
    """Return an object unchanged; nothing else can be cast to OBJECT."""
    if isinstance(value, Mapping):
        return value
    raise TypeError(value)


def unchanged_cell(value: Cell, wanted: Type) -> Cell:
    """Return the value unchanged: any value is a VARIANT, and an INTERVAL is cast from nothing else."""
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
    Kind.INTERVAL: unchanged_cell,
    Kind.ARRAY: to_array,
    Kind.OBJECT: to_object,
    Kind.VARIANT: unchanged_cell,
    Kind.NULL: unchanged_cell,
}
