"""Values for engines' questions, a list of them for each type: simple ones first, then those that show bugs.

Some values of a type make a cluster: they are close to each other, or differ in something that is often
wrong, so that a table and a question should have several of them. They are JSON as in
`strategies.engines.questions`. Sources: the classes NAN, NEGZERO, STR, TRUNC, DECIMAL, TS, OVERFLOW and
UINT of published pruning bugs.

"""

from decimal import Decimal
from functools import cache
from typing import Any

from strategies.engines.questions import Json

INTEGERS = ("int32", "int64", "int8", "int16")
# A type is drawn by its family, so that none is rare for being the only one of its family. Families occur as
# often as there are functions and statistics of their own to go wrong; so do types within one. Parquet holds
# decimals as bytes, which have an order of their own: up to 16 of them, where readers branch by their number.
TYPE_FAMILIES = (
    *[INTEGERS] * 5,
    *[("string",)] * 5,
    *[("float64", "float64", "float32")] * 6,
    *[("timestamp(us)", "date", "timestamp(ms)", "timestamp(us)", "timestamp(ns)", "timestamp(us,UTC)")] * 3,
    *[("decimal(9,2)", "decimal(5,2)", "decimal(15,6)", "decimal(25,9)", *["decimal(38,10)"] * 2)] * 3,
    *[("uint64", "uint32", "uint16", "uint8")] * 2,
    ("binary",),
    ("boolean",),
)
TYPES = tuple(dict.fromkeys(type_ for family in TYPE_FAMILIES for type_ in family))

_SMALL = (0, 1, 2, 3, 5, 7)
_DOUBLES = (
    0.0, 1.0, 2.0, 3.0, 5.0, "NaN", -1.0, -0.0, "-NaN", "Infinity", "-Infinity", 0.1, 5e-324, 1e308,
    -1e308, 9007199254740992.0,
)  # fmt: skip
_FLOATS = (
    0.0, 1.0, 2.0, 3.0, 5.0, "NaN", -1.0, -0.0, "-NaN", "Infinity", "-Infinity", 0.5, 2.0**-149,
    16777216.0, -(2.0**100),
)  # fmt: skip
# Neighbours after truncation to 16, 32 and 64 characters, and after the last character.
_TEXTS = (
    "a", "b", "", "c", "aa", "ab", "A", "a ", " ", "a%", "a_b", "%", "_", "a\\b", "\t", "\x7f", "é", "中",
    "\ud7ff", "\ue000", "\U0001f600", "\U0010ffff", "a" * 16, "a" * 16 + "b", "a" * 17, "a" * 33, "b" * 64,
    "b" * 64 + "c", "\ud7ff" * 16 + "a", "\U0010ffff" * 17, "'", '"', "foo", "foobar", "z" * 300,
)  # fmt: skip
# Wildcards twice, because patterns of them are few; so are texts of both cases.
_TEXT_CLUSTERS = (
    *[("a%", "a_b", "a\\b", "a", "ab", "axb", "%", "_")] * 2,
    ("foo", "foobar", "foo_bar", "foo%", "fop"),
    ("a" * 16, "a" * 16 + "b", "a" * 17, "a" * 33, "b" * 64, "b" * 64 + "c"),
    # Longer than the bounds that writers keep: cut, or left out if the last character has no next one.
    ("\x7f" * 257, "é" * 130, "a" * 5_000, "a" * 5_000 + "b", "z" * 300, "a"),
    ("\U0010ffff" * 17, "\U0010ffff", "\ud7ff" * 16 + "a", "\ud7ff", "a" * 17),
    ("\ud7ff", "\ue000", "\U0001f600", "\U0010ffff", "é", "a"),
    ("a", "A", "a ", " ", "", "\t", "'"),
    *[("a", "A", "b", "B", "aB", "Ab")] * 2,
    ("ab", "ba", "aa", "bb", "abc", "b", "ca"),
)
# Integers small enough for arithmetic, of both signs and of one digit and two.
_INTEGER_CLUSTER = (0, 1, -1, 2, -2, 3, -3, 5, -7, 10)
# Days beside the ends of months and years.
_DAY_CLUSTER = (0, 30, 31, 58, 59, 364, 365, -1, -31, -32)
_FLOAT_CLUSTERS = (
    ("NaN", 1.0, 0.0, -0.0), ("NaN", "-NaN", 1.0), (0.0, -0.0, 1.0),
    ("NaN", "Infinity", "-Infinity", 1.0),
)  # fmt: skip
_BYTES = ("61", "62", "", "00", "7f", "80", "ff", "ffff", "61ff", "6100", "eda080", "61" * 16, "61" * 17)
_DAYS = (0, 1, 2, 3, -1, 19_000, 19_001, -25_567, -141_428, -719_162, 2_932_896)
_US = (
    0, 1, 1_000, 2_000_000, -1, -999, -1_001, 1_500, 1_577_836_800_000_001, 1_577_836_800_000_999,
    1_577_836_800_000_000, -2_208_988_800_000_001, -62_135_596_800_000_000, 253_402_300_799_999_999,
    4_294_967_296_000_000,
)  # fmt: skip
_NS_MAX = 2**63 - 1
_DAY = {"ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


@cache
def values(type_: str) -> tuple[Json, ...]:
    """Return the values of a type; none is NULL.

    Raises:
        ValueError: the type is none of `TYPES`.
    """
    word, _, inside = type_.partition("(")
    if word.startswith(("int", "uint")):
        return _integers(word)
    fixed = {
        "boolean": (False, True), "float32": _FLOATS, "float64": _DOUBLES, "string": _TEXTS,
        "binary": _BYTES, "date": _DAYS,
    }  # fmt: skip
    if word in fixed:
        return fixed[word]
    if word == "decimal":
        precision, scale = (int(part) for part in inside.rstrip(")").split(","))
        return _decimals(precision, scale)
    if word == "timestamp":
        return _timestamps(inside[:2])
    raise ValueError(f"no values of the type {type_}; there are {', '.join(TYPES)}")


@cache
def clusters(type_: str) -> tuple[tuple[Json, ...], ...]:
    """Return the clusters of a type, those that are wanted more twice; the first is all its values."""
    word = type_.partition("(")[0]
    all_values = values(type_)
    if word == "string":
        return all_values, *_TEXT_CLUSTERS
    if word.startswith("float"):
        return all_values, *_FLOAT_CLUSTERS
    if word.startswith("uint"):
        high = integer_range(type_)[1]
        return all_values, (0, 1, high // 2, high // 2 + 1, high)
    if word.startswith("int"):
        low, high = integer_range(type_)
        return all_values, _INTEGER_CLUSTER, (high, low, high - 1, low + 1, 0, -1)
    if word == "date":
        return all_values, _DAY_CLUSTER, _DAY_CLUSTER, _at_limits(all_values)
    if word == "decimal":
        return all_values, tuple(
            value for value in all_values if value.lstrip("-") in _with_both_signs(all_values)
        )
    if word == "timestamp":
        day = _DAY[type_.partition("(")[2][:2]]
        near_midnight = (0, day, day + 1, day // 2, -1, -day)
        days = tuple(day * at for at in _DAY_CLUSTER)
        return all_values, *(near_midnight, days) * 2, _at_limits(all_values)
    return (all_values,)


def _at_limits(moments: tuple[Json, ...]) -> tuple[Json, ...]:
    """Return the first and the last of some dates or times, their neighbours, and the start of 1970."""
    first, last = min(moments), max(moments)
    return (last, first, last - 1, first + 1, 0)


def _with_both_signs(numbers: tuple[str, ...]) -> set[str]:
    """Return the numbers that are there with both signs, without the sign."""
    return {number.removeprefix("-") for number in numbers if number.startswith("-")}


def order(value: Json, type_: str) -> Any:
    """Return a key that sorts values of a type, NaN above every number; NULL has none."""
    if type_.startswith("float"):
        return (True, 0.0) if value in ("NaN", "-NaN") else (False, float(value))
    if type_.startswith("decimal"):
        return Decimal(value)
    return value.encode("utf-8", "surrogatepass") if type_ == "string" else value


def neighbours(value: Json, type_: str) -> tuple[Json, ...]:
    """Return values just below and above one, or a shorter and a longer text; none for other types."""
    if type_.startswith(("int", "uint")):
        low, high = integer_range(type_)
        return tuple(near for near in (value - 1, value + 1) if low <= near <= high)
    if type_ == "date" or type_.startswith("timestamp"):
        all_values = values(type_)
        return tuple(near for near in (value - 1, value + 1) if min(all_values) <= near <= max(all_values))
    if type_ == "string":
        return (value[:-1], value + "a") if value else ("a",)
    return ()


def more_values(value: Json, type_: str, count: int) -> tuple[Json, ...]:
    """Return up to so many distinct values of a type near a value; few of types with few values."""
    if type_.startswith(("int", "uint")):
        low, high = integer_range(type_)
        first = max(low, min(value, high - count))
        return tuple(range(first, min(first + count, high) + 1))
    if type_ == "date" or type_.startswith("timestamp"):
        first = max(min(values(type_)), min(value, max(values(type_)) - count))
        return tuple(range(first, first + count + 1))
    if type_ == "string":
        return tuple(f"{value[:20]}{number}" for number in range(count))
    if type_ == "binary":
        return tuple(f"{number:04x}" for number in range(count))
    if type_.startswith("decimal"):
        scale = int(type_.rstrip(")").partition(",")[2])
        return tuple(_decimal(digits, scale) for digits in range(count))
    return tuple(number / 2 for number in range(count)) if type_.startswith("float") else ()


@cache
def integer_range(type_: str) -> tuple[int, int]:
    """Return the least and the greatest value of an integer type."""
    bits = int(type_.lstrip("uint"))
    return (0, 2**bits - 1) if type_.startswith("u") else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def _integers(word: str) -> tuple[Json, ...]:
    low, high = integer_range(word)
    signed = (-1, -2) if low else ()
    middle = (high // 2 + 1, high // 2)
    return (*_SMALL, *signed, high, high - 1, *middle, *((low, low + 1) if low else ()))


def _decimals(precision: int, scale: int) -> tuple[Json, ...]:
    limit = 10**precision - 1
    digits = (0, 1, 2, 10**scale, 3 * 10**scale, -1, -(10**scale), limit, -limit, limit - 1)
    return tuple(_decimal(digits_, scale) for digits_ in digits)


def _decimal(digits: int, scale: int) -> str:
    padded = str(abs(digits)).rjust(scale + 1, "0")
    text = f"{padded[:-scale]}.{padded[-scale:]}" if scale else padded
    return f"-{text}" if digits < 0 else text


def _timestamps(unit: str) -> tuple[Json, ...]:
    if unit == "ms":
        return tuple(dict.fromkeys(value // 1_000 for value in _US))
    if unit == "ns":
        return tuple(value * 1_000 + 1 for value in _US if abs(value) < _NS_MAX // 1_000 - 1)
    return _US
