"""Evaluation of expressions over rows; SQL's three truth values are True, False and None."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, TypeAlias

from skipproof.stand.adapters.serving import Unsupported
from skipproof.stand.reference.values import Nan, Row, Value, from_json, is_integer, wrap_integer
from strategies.engines.engine_values import integer_range
from strategies.engines.questions import Json

# The position and the type of each column.
Schema: TypeAlias = Mapping[str, tuple[int, str]]
Evaluate: TypeAlias = Callable[[Row], Value]

COMPARISONS: dict[str, Callable[[Value, Value], bool]] = {
    "=": lambda x, y: bool(x == y),
    "!=": lambda x, y: bool(x != y),
    "<": lambda x, y: bool(x < y),
    "<=": lambda x, y: bool(x <= y),
    ">": lambda x, y: bool(x > y),
    ">=": lambda x, y: bool(x >= y),
}
ARITHMETIC = ("+", "-", "*", "%")
_ROWS_WITHOUT_CACHE = 100


def compile_term(term: Json, schema: Schema) -> Evaluate:
    """Return a function that evaluates an expression for a row.

    Raises:
        Unsupported: the engine has no such function.
    """
    if "column" in term:
        return itemgetter(schema[term["column"]][0])
    if "literal" in term:
        value = from_json(term["literal"], term["type"])
        return lambda row: value
    parts = [compile_term(part, schema) for part in term["of"]]
    call = function(term, schema)
    if len(parts) == 1:
        (only,) = parts
        return lambda row: call(only(row))
    if len(parts) == 2:
        first, second = parts
        return lambda row: call(first(row), second(row))
    return lambda row: call(*(part(row) for part in parts))


def function(term: Json, schema: Schema) -> Callable[..., Value]:
    """Return the function of a call, which takes the values of its operands."""
    name = term["call"]
    if name in COMPARISONS:
        compare = COMPARISONS[name]
        return lambda x, y: None if x is None or y is None else compare(x, y)
    if name in ARITHMETIC:
        type_ = type_of(term, schema)
        return lambda x, y: None if x is None or y is None else compute_integer(name, x, y, type_)
    if name == "abs":
        type_ = type_of(term, schema)
        return lambda x: None if x is None else compute_integer("*", x, -1 if x < 0 else 1, type_)
    if name in ("cast", "try cast"):
        return lambda x: None if x is None else cast(x, term["type"], fails=name == "cast")
    if name not in _FUNCTIONS:
        raise Unsupported("the function " + name)
    return _FUNCTIONS[name]


def type_of(term: Json, schema: Schema) -> str:
    """Return the type of an expression."""
    if "column" in term:
        return schema[term["column"]][1]
    if "type" in term:
        return str(term["type"])
    if term["call"] in (*ARITHMETIC, "abs", "coalesce"):
        return type_of(term["of"][0], schema)
    return type_of(term["of"][1], schema) if term["call"] == "if" else "boolean"


def columns_of(term: Json) -> frozenset[str]:
    """Return the columns that an expression names."""
    return frozenset(_columns_of(term))


def _columns_of(term: Json) -> Iterator[str]:
    """Yield the columns that an expression names."""
    if "column" in term:
        yield term["column"]
    for part in term.get("of", ()):
        yield from _columns_of(part)


def compute_integer(name: str, x: int, y: int, type_: str) -> int | None:
    """Compute with integers, which wrap around; the remainder has the sign of the dividend.

    Raises:
        Unsupported: the type is no integer.
    """
    if not is_integer(type_):
        raise Unsupported("arithmetic of " + type_)
    if name == "%":
        return None if y == 0 else (abs(x) % abs(y)) * (-1 if x < 0 else 1)
    return wrap_integer({"+": x + y, "-": x - y, "*": x * y}[name], type_)


def cast(value: Value, type_: str, *, fails: bool) -> Value:
    """Cast an integer to another type; if it does not fit, it wraps around, or is NULL for TRY_CAST.

    Raises:
        Unsupported: there is no such cast.
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise Unsupported("casts to " + type_)
    if type_ == "string":
        return str(value)
    if type_ == "float64":
        return float(value)
    low, high = integer_range(type_)
    if low <= value <= high:
        return value
    return wrap_integer(value, type_) if fails else None


def conjunction(*values: Value) -> bool | None:
    """Return AND in the logic of three values."""
    return False if False in values else None if None in values else True


def disjunction(*values: Value) -> bool | None:
    """Return OR in the logic of three values."""
    return True if True in values else None if None in values else False


def _in(value: Value, *members: Value) -> bool | None:
    """Return IN in the logic of three values."""
    if value is None:
        return None
    if any(member is not None and value == member for member in members):
        return True
    return None if None in members else False


def _between(value: Value, low: Value, high: Value) -> bool | None:
    """Return BETWEEN in the logic of three values."""
    above = None if value is None or low is None else bool(value >= low)
    below = None if value is None or high is None else bool(value <= high)
    return conjunction(above, below)


def _is_not_distinct(x: Value, y: Value) -> bool:
    """Return IS NOT DISTINCT FROM."""
    return x is y if x is None or y is None else bool(x == y)


def _like(text: str | None, pattern: str | None) -> bool | None:
    """Return LIKE, or NULL for NULL."""
    return None if text is None or pattern is None else bool(matcher(pattern).fullmatch(text))


@cache
def matcher(pattern: str) -> re.Pattern[str]:
    """Return the regular expression of a LIKE pattern."""
    parts = (
        re.escape(text) if literal else {"%": ".*", "_": "."}[text]
        for text, literal in pattern_characters(pattern)
    )
    return re.compile("".join(parts), re.DOTALL)


def pattern_characters(pattern: str) -> list[tuple[str, bool]]:
    """Return the characters of a LIKE pattern, each with whether it is literal and not a wildcard."""
    characters, at = [], 0
    while at < len(pattern):
        escaped = pattern[at] == "\\" and at + 1 < len(pattern)
        at += escaped
        characters.append((pattern[at], escaped or pattern[at] not in "%_"))
        at += 1
    return characters


def _coalesce(*values: Value) -> Value:
    """Return the first value that is not NULL."""
    return next((value for value in values if value is not None), None)


_FUNCTIONS: dict[str, Callable[..., Value]] = {
    "and": conjunction,
    "or": disjunction,
    "not": lambda value: None if value is None else not value,
    "is null": lambda value: value is None,
    "is not null": lambda value: value is not None,
    "is true": lambda value: value is True,
    "is nan": lambda value: None if value is None else isinstance(value, Nan),
    "is not distinct from": _is_not_distinct,
    "is distinct from": lambda x, y: not _is_not_distinct(x, y),
    "in": _in,
    "between": _between,
    "like": _like,
    "starts with": lambda text, start: None if text is None or start is None else text.startswith(start),
    "coalesce": _coalesce,
    "if": lambda condition, yes, no: yes if condition is True else no,
}


def filter_rows(rows: Sequence[Row], where: Json, schema: Schema) -> list[Row]:
    """Return the rows for which a condition is true."""
    if where is None:
        return list(rows)
    holds: Callable[[Row], Any] = compile_term(where, schema)
    positions = sorted(schema[name][0] for name in columns_of(where))
    if len(rows) < _ROWS_WITHOUT_CACHE or not positions:
        return [row for row in rows if holds(row) is True]
    # Many rows have few distinct values in the columns of a condition, so its results are cached.
    decisive, verdicts, kept_rows = itemgetter(*positions), dict[Value, bool](), []
    for row in rows:
        key = decisive(row)
        if key not in verdicts:
            verdicts[key] = holds(row) is True
        if verdicts[key]:
            kept_rows.append(row)
    return kept_rows
