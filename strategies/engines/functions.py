"""The functions of the language that compute a value: the types of their results, and their meaning.

A meaning is over values that are not NULL, in JSON; integers are exact, so that a result may exceed its type.
Floating-point results are rounded as IEEE 754 says. The drawing uses a meaning to choose constants near the
results, and the reference to evaluate.
"""

from collections.abc import Callable
from ctypes import c_float
from datetime import date
from math import copysign, isinf, isnan
from operator import add, lshift, mul, neg, rshift, sub, truediv

from strategies.engines.questions import Json

INTEGER_ARITHMETIC = ("+", "-", "*", "%", "//", "<<", ">>", "negate", "abs")
# Quotients are of float64 alone: Spark divides float32 as float64.
FLOAT_ARITHMETIC = ("+", "-", "*", "/", "negate", "abs")
ARITHMETIC = (*INTEGER_ARITHMETIC, "/")
TEXT_FUNCTIONS = ("lower", "upper", "length", "substring", "concat")
DATE_PARTS = ("year", "month", "day")
TRUNCATIONS = ("truncate to year", "truncate to month", "truncate to day")
TIME_FUNCTIONS = (*DATE_PARTS, *TRUNCATIONS)
# Functions that are NULL where an operand is.
STRICT = frozenset({*ARITHMETIC, *TEXT_FUNCTIONS, *TIME_FUNCTIONS})
# The arguments of these functions after the first are constants that are no values of columns.
PARAMETERISED = frozenset({"substring", "<<", ">>"})
# The types of results that are not the type of the first operand; every engine's own type holds their values.
_RESULT_TYPES = {"length": "int32", "year": "int16", "month": "int8", "day": "int8"}
_DAY_ZERO = date(1970, 1, 1).toordinal()
_PER_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


def result_type(function: str, first: str) -> str:
    """Return the type of a call from the type of its first operand."""
    return _RESULT_TYPES.get(function, first)


def meaning(function: str, type_: str) -> Callable[..., Json]:
    """Return the meaning of a strict function whose first operand has a type."""
    if function in TIME_FUNCTIONS:
        return _time_meaning(function, type_)
    if function in FLOAT_ARITHMETIC and type_.startswith("float"):
        return _float_meaning(function, type_)
    return _MEANINGS[function]


def units_per_day(type_: str) -> int:
    """Return the number of units of a date's or a timestamp's count in one day."""
    return 1 if type_ == "date" else _PER_DAY[type_[len("timestamp(") :][:2]]


def _quotient(x: int, y: int) -> int | None:
    """Return the quotient rounded toward zero, NULL by 0."""
    return None if y == 0 else abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


def _remainder(x: int, y: int) -> int | None:
    """Return the remainder, with the sign of the dividend, NULL by 0."""
    return None if y == 0 else abs(x) % abs(y) * (-1 if x < 0 else 1)


_MEANINGS: dict[str, Callable[..., Json]] = {
    "+": add,
    "-": sub,
    "*": mul,
    "%": _remainder,
    "//": _quotient,
    "<<": lshift,
    ">>": rshift,
    "negate": neg,
    "abs": abs,
    "lower": str.lower,
    "upper": str.upper,
    "length": len,
    "substring": lambda text, start, count: text[start - 1 : start - 1 + count],
    "concat": add,
}


def _float_meaning(function: str, type_: str) -> Callable[..., Json]:
    """Return the meaning of arithmetic of floating point; one operation in float64, rounded, is exact.

    A quotient by 0.0, which engines take for NULL, infinity or an error, is NaN.
    """
    compute = truediv if function == "/" else _MEANINGS[function]

    def evaluate(*values: Json) -> Json:
        operands = [float(value) for value in values]
        if function == "/" and operands[1] == 0:
            return "NaN"
        result = compute(*operands)
        if type_ == "float32":
            result = c_float(result).value
        if isnan(result):
            return "NaN" if copysign(1.0, result) > 0 else "-NaN"
        return ("Infinity" if result > 0 else "-Infinity") if isinf(result) else result

    return evaluate


def _time_meaning(function: str, type_: str) -> Callable[[int], int]:
    """Return the meaning of a function of dates or timestamps, which are counts since 1970."""
    per_day = units_per_day(type_)

    def evaluate(count: int) -> int:
        day = date.fromordinal(count // per_day + _DAY_ZERO)
        if function in DATE_PARTS:
            return int(getattr(day, function))
        starts = {
            "truncate to year": day.replace(month=1, day=1),
            "truncate to month": day.replace(day=1),
            "truncate to day": day,
        }
        return (starts[function].toordinal() - _DAY_ZERO) * per_day

    return evaluate
