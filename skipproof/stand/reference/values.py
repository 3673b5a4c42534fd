"""The values of the small engine: Python's own, and a NaN that is ordered."""

from collections.abc import Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa

from skipproof.stand.adapters.serving import to_python
from strategies.engines.engine_values import integer_range

Value: TypeAlias = Any
Row: TypeAlias = Sequence[Value]

_UNITS_PER_US = {"ms": 1_000, "us": 1}
_NS_PER_US = 1_000
# The beginnings of the types whose JSON values are their values.
_PLAIN = ("int", "uint", "string", "boolean", "date", "timestamp")


class Nan(float):
    """A NaN that is equal to every other NaN and above every number; it keeps its sign."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Nan)

    def __ne__(self, other: object) -> bool:
        return not isinstance(other, Nan)

    def __lt__(self, other: object) -> bool:
        return False

    def __le__(self, other: object) -> bool:
        return isinstance(other, Nan)

    def __gt__(self, other: object) -> bool:
        return not isinstance(other, Nan)

    def __ge__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 1


NAN = Nan("nan")


def is_float(type_: str) -> bool:
    """Tell whether a type is floating point, so that it has NaN."""
    return type_.startswith("float")


def is_integer(type_: str) -> bool:
    """Tell whether a type is an integer type, whose values wrap around."""
    return type_.startswith(("int", "uint"))


def from_json(value: Value, type_: str) -> Value:
    """Return the value of a JSON value; dates and timestamps stay counts."""
    if value is None or type_.startswith(_PLAIN):
        return value
    python = to_python(value, type_)
    return Nan(python) if isinstance(python, float) and python != python else python


def from_arrow(cells: pa.ChunkedArray, type_: str) -> list[Value]:
    """Return the values of an Arrow column."""
    if type_ == "date":
        return list(cells.cast(pa.int32()).to_pylist())
    if type_.startswith("timestamp"):
        return list(cells.cast(pa.int64()).to_pylist())
    values: list[Value] = cells.to_pylist()
    if is_float(type_):
        return [Nan(value) if value is not None and value != value else value for value in values]
    return values


def is_answer_value(type_: str) -> bool:
    """Tell whether values of a type have the same form in an answer."""
    return is_integer(type_) or type_ in ("string", "boolean", "date")


def to_answer(value: Value, type_: str) -> Value:
    """Return a value in the form of an answer: NaN without its sign, timestamps in microseconds."""
    if value is None:
        return None
    if type_.startswith("timestamp"):
        unit = type_[len("timestamp(") :][:2]
        return value // _NS_PER_US if unit == "ns" else value * _UNITS_PER_US[unit]
    if isinstance(value, float):
        return "NaN" if isinstance(value, Nan) else _finite(value)
    if isinstance(value, Decimal):
        return format(value, "f")
    return value.hex() if isinstance(value, bytes) else value


def _finite(value: float) -> Value:
    """Return a number, or the name of an infinity."""
    infinite = {float("inf"): "Infinity", float("-inf"): "-Infinity"}
    return infinite.get(value, value)


def wrap_integer(value: int, type_: str) -> int:
    """Wrap an integer around in a type that may be too narrow for it."""
    low, high = integer_range(type_)
    return (value - low) % (high - low + 1) + low
