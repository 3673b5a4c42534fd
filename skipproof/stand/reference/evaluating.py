"""Evaluation of expressions over rows; SQL's three truth values are True, False and None."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import Any, TypeAlias

from skipproof.stand.adapters.serving import Unsupported
from skipproof.stand.reference.values import (
    Nan,
    Row,
    Value,
    from_json,
    is_float,
    is_integer,
    wrap_integer,
)
from strategies.engines.engine_values import integer_range
from strategies.engines.functions import (
    ARITHMETIC,
    FLOAT_ARITHMETIC,
    INTEGER_ARITHMETIC,
    STRICT,
    meaning,
    result_type,
    units_per_day,
)
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
    if term["call"] == "in" and all("literal" in member for member in term["of"][1:]):
        return _compile_list(term, schema)
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
    if name in STRICT:
        return _strict(name, type_of(term["of"][0], schema))
    if name in ("cast", "try cast"):
        source = type_of(term["of"][0], schema)
        return lambda x: None if x is None else cast(x, source, term["type"], fails=name == "cast")
    if name not in _FUNCTIONS:
        raise Unsupported("the function " + name)
    return _FUNCTIONS[name]


def type_of(term: Json, schema: Schema) -> str:
    """Return the type of an expression."""
    if "column" in term:
        return schema[term["column"]][1]
    if "type" in term:
        return str(term["type"])
    if term["call"] in STRICT or term["call"] in ("coalesce", "nullif"):
        return result_type(term["call"], type_of(term["of"][0], schema))
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


def _strict(name: str, first: str) -> Callable[..., Value]:
    """Return a function that is NULL where an operand is; integers wrap around.

    Raises:
        Unsupported: arithmetic that the type has not; the function raises it for a quotient by 0.0.
    """
    own = INTEGER_ARITHMETIC if is_integer(first) else FLOAT_ARITHMETIC if is_float(first) else ()
    if name in ARITHMETIC and name not in own:
        raise Unsupported(f"{name} of {first}")
    compute, type_ = meaning(name, first), result_type(name, first)
    if name not in ARITHMETIC:
        return lambda *values: None if None in values else compute(*values)

    def compute_number(*values: Value) -> Value:
        if name == "/" and values[1] == 0:
            raise Unsupported("quotients by 0.0")
        result = None if None in values else compute(*values)
        if result is None:
            return None
        return wrap_integer(result, type_) if is_integer(type_) else from_json(result, type_)

    return compute_number


def _compile_list(term: Json, schema: Schema) -> Evaluate:
    """Return a function that evaluates IN with a list of constants."""
    value = compile_term(term["of"][0], schema)
    members = frozenset(from_json(member["literal"], member["type"]) for member in term["of"][1:])
    absent = None if None in members else False

    def evaluate(row: Row) -> Value:
        tested = value(row)
        return None if tested is None else tested in members or absent

    return evaluate


def cast(value: Value, source: str, type_: str, *, fails: bool) -> Value:
    """Cast an integer to another type, or a timestamp to its date.

    An integer that does not fit wraps around, or is NULL for TRY_CAST.

    Raises:
        Unsupported: there is no such cast.
    """
    if source.startswith("timestamp") and type_ == "date":
        return meaning("truncate to day", source)(value) // units_per_day(source)
    if not is_integer(source) or not (is_integer(type_) or type_ in ("string", "float64")):
        raise Unsupported(f"casts of {source} to {type_}")
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
    "nullif": lambda x, y: None if x is None or (y is not None and x == y) else x,
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
