"""The functions of expressions by name, and the building of calls with correctly typed arguments."""

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import lru_cache, reduce
from typing import Any

from dynamic_tables.values.arithmetic import ARITHMETIC, with_year_check
from dynamic_tables.values.changes import Cell
from dynamic_tables.values.comparisons import COMPARISONS
from dynamic_tables.values.errors import CastFailed
from dynamic_tables.values.expressions import Call, Case, Cast, Expression, Literal
from dynamic_tables.values.json_cells import parse_json
from dynamic_tables.values.lengths import LIMITS
from dynamic_tables.values.signatures import Resolver, Signature, Types, fixed_types, one_argument
from dynamic_tables.values.time_parts import TIME_PARTS
from dynamic_tables.values.types import (
    ARRAY,
    BOOLEAN,
    INTEGER,
    TEXT,
    TIMESTAMP,
    VARIANT,
    Kind,
    Type,
    common_type,
)
from pruning.errors import InputError

# Connectives that need not compute all their arguments; `evaluation` compiles them.
LAZY = frozenset({"and", "or", "coalesce"})
UNITS_US: Mapping[str, int] = {
    "week": 604_800_000_000,
    "day": 86_400_000_000,
    "hour": 3_600_000_000,
    "minute": 60_000_000,
    "second": 1_000_000,
    "millisecond": 1_000,
    "microsecond": 1,
}
# The kinds of values that may have members or elements.
NESTED = frozenset({Kind.ARRAY, Kind.OBJECT, Kind.VARIANT, Kind.NULL})
# A Monday at midnight, from which weeks and shorter units are counted.
MONDAY = datetime(1970, 1, 5)
MONTHS: Mapping[str, int] = {"year": 12, "quarter": 3, "month": 1}


def truncate_time(unit: str, at: date) -> Cell:
    """DATE_TRUNC: return the start of the unit that contains a time; a date gives a date."""
    moment = at if isinstance(at, datetime) else datetime(at.year, at.month, at.day)
    if unit in MONTHS:
        month = (moment.month - 1) // MONTHS[unit] * MONTHS[unit] + 1
        start = datetime(moment.year, month, 1)
    else:
        start = moment - (moment - MONDAY) % timedelta(microseconds=units_us(unit))
    return start if isinstance(at, datetime) else start.date()


def units_us(unit: str) -> int:
    """Return the length of a unit in microseconds."""
    if unit not in UNITS_US:
        raise CastFailed(f"{unit!r} is no unit of time; units are {', '.join([*MONTHS, *UNITS_US])}")
    return UNITS_US[unit]


def count_boundaries(unit: str, start: datetime, end: datetime) -> int:
    """DATEDIFF: count the unit boundaries between two times."""
    if unit in MONTHS:
        return month_count(end) // MONTHS[unit] - month_count(start) // MONTHS[unit]
    length = timedelta(microseconds=units_us(unit))
    return (end - MONDAY) // length - (start - MONDAY) // length


def month_count(at: date) -> int:
    """Return the number of months since the start of year 0."""
    return at.year * 12 + at.month - 1


def add_units(unit: str, count: int, at: date) -> Cell:
    """DATEADD: add units to a date or time; a day past the month's end becomes its last day."""
    if unit in MONTHS:
        year, month = divmod(month_count(at) + count * MONTHS[unit], 12)
        for day in range(at.day, 27, -1):
            try:
                return at.replace(year=year, month=month + 1, day=day)
            except ValueError:
                continue
        return at.replace(year=year, month=month + 1)
    moved = timedelta(microseconds=count * units_us(unit))
    if isinstance(at, datetime) or moved % timedelta(days=1):
        return (at if isinstance(at, datetime) else datetime(at.year, at.month, at.day)) + moved
    return at + moved


def time_function(unit_first: int, count: int, apply: Any, result: Type | None) -> Resolver:
    """Return the resolver of a function of a unit's name, maybe a count, and a date or time."""

    def resolve(types: Types) -> Signature:
        if len(types) != count:
            raise InputError(f"this function takes {count} arguments, not {len(types)}")
        moment = types[-1] if types[-1].kind is Kind.DATE else TIMESTAMP
        middle = (INTEGER,) * (count - unit_first - 1)
        return Signature(result or moment, (TEXT, *middle, moment), apply)

    return resolve


@lru_cache(maxsize=256)
def like_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a LIKE pattern: % matches any text, _ any character."""
    parts = (".*" if sign == "%" else "." if sign == "_" else re.escape(sign) for sign in pattern)
    return re.compile("".join(parts), re.DOTALL)


def substring(text: str, start: int, length: int | None = None) -> str:
    """SUBSTR: positions count from 1, or from the end if negative."""
    begin = start - 1 if start > 0 else max(len(text) + start, 0) if start else 0
    return text[begin:] if length is None else text[begin : begin + max(length, 0)]


def get_member(value: Any, step: Any) -> Cell:
    """Return a member of an object or an element of a list; NULL where there is none."""
    if isinstance(value, Mapping):
        return value.get(step) if isinstance(step, str) else None
    if isinstance(value, tuple) and isinstance(step, int):
        return value[step] if 0 <= step < len(value) else None
    return None


def path_step(types: Types) -> Signature:
    """Resolve GET and the path operators, which take one step."""
    if types[0].kind not in NESTED:
        raise InputError(f"a path leads into an ARRAY, an OBJECT or a VARIANT, not into {types[0]}")
    step = INTEGER if types[1].kind is Kind.INTEGER else TEXT
    return Signature(VARIANT, (types[0], step), get_member)


def text_length(cell: Any) -> int:
    """LENGTH: return the number of characters."""
    return len(cell)


def element_count(cell: Any) -> Cell:
    """ARRAY_SIZE: return the number of elements; NULL for what is no list."""
    return len(cell) if isinstance(cell, tuple) else None


def array_construct(types: Types) -> Signature:
    """Resolve ARRAY_CONSTRUCT, which keeps NULLs."""
    return Signature(ARRAY, types, lambda *cells: cells, null_aware=True)


def concat(types: Types) -> Signature:
    """Resolve CONCAT and ||; the result is NULL if any argument is."""
    return Signature(TEXT, (TEXT,) * len(types), lambda *texts: "".join(texts))


def concat_ws(types: Types) -> Signature:
    """Resolve CONCAT_WS: join the later arguments by the first; the result is NULL if any argument is."""
    if len(types) < 2:
        raise InputError("CONCAT_WS takes a separator and at least one text")
    return Signature(TEXT, (TEXT,) * len(types), lambda separator, *texts: separator.join(texts))


FUNCTIONS: Mapping[str, Resolver] = {
    **COMPARISONS,
    **ARITHMETIC,
    **TIME_PARTS,
    **LIMITS,
    "date_trunc": time_function(1, 2, truncate_time, None),
    "dateadd": time_function(1, 3, with_year_check(add_units), None),
    "datediff": lambda types: Signature(INTEGER, (TEXT, TIMESTAMP, TIMESTAMP), count_boundaries),
    "upper": fixed_types(TEXT, TEXT, apply=str.upper),
    "lower": fixed_types(TEXT, TEXT, apply=str.lower),
    "trim": fixed_types(TEXT, TEXT, apply=lambda text: text.strip(" ")),
    "ltrim": fixed_types(TEXT, TEXT, apply=lambda text: text.lstrip(" ")),
    "rtrim": fixed_types(TEXT, TEXT, apply=lambda text: text.rstrip(" ")),
    "length": one_argument(text_length, result=INTEGER),
    "substr": fixed_types(TEXT, TEXT, INTEGER, INTEGER, apply=substring, optional=1),
    "left": fixed_types(TEXT, TEXT, INTEGER, apply=lambda text, count: text[: max(count, 0)]),
    "right": fixed_types(TEXT, TEXT, INTEGER, apply=lambda text, count: text[-count:] if count > 0 else ""),
    "replace": fixed_types(TEXT, TEXT, TEXT, TEXT, apply=str.replace),
    "concat": concat,
    "concat_ws": concat_ws,
    "startswith": fixed_types(BOOLEAN, TEXT, TEXT, apply=str.startswith),
    "endswith": fixed_types(BOOLEAN, TEXT, TEXT, apply=str.endswith),
    "contains": fixed_types(BOOLEAN, TEXT, TEXT, apply=str.__contains__),
    "like": fixed_types(
        BOOLEAN, TEXT, TEXT, apply=lambda text, like: like_pattern(like).fullmatch(text) is not None
    ),
    "split": fixed_types(ARRAY, TEXT, TEXT, apply=lambda text, by: tuple(text.split(by) if by else [text])),
    "parse_json": fixed_types(VARIANT, TEXT, apply=parse_json),
    "array_size": one_argument(element_count, result=INTEGER),
    "array_construct": array_construct,
    "get": path_step,
}


def lazy_argument_types(types: Types, name: str) -> Types:
    """Return the types to which the arguments of a lazy function are cast."""
    return (BOOLEAN,) * len(types) if name != "coalesce" else (reduce(common_type, types),) * len(types)


def call(name: str, *arguments: Expression) -> Call:
    """Build a call whose arguments are cast to the types that the function takes.

    Raises:
        InputError: There is no such function, or none for these types.
    """
    types = tuple(argument.type for argument in arguments)
    if name in LAZY:
        wanted = lazy_argument_types(types, name)
        return Call(name, cast_arguments(arguments, wanted), wanted[0])
    if name not in FUNCTIONS:
        raise InputError(f"there is no function {name.upper()}")
    signature = FUNCTIONS[name](types)
    return Call(name, cast_arguments(arguments, signature.arguments), signature.result)


def cast_arguments(arguments: tuple[Expression, ...], wanted: Types) -> tuple[Expression, ...]:
    """Cast each argument to the type wanted of it."""
    return tuple(as_type(argument, kind) for argument, kind in zip(arguments, wanted, strict=True))


def as_type(expression: Expression, wanted: Type) -> Expression:
    """Cast an expression to a type, unless it has that type already."""
    if expression.type == wanted or wanted.kind is Kind.NULL:
        return expression
    if isinstance(expression, Literal) and expression.value is None:
        return Literal(None, wanted)
    return Cast(expression, wanted)


def case(branches: tuple[tuple[Expression, Expression], ...], otherwise: Expression) -> Case:
    """Build a CASE whose values are cast to one common type."""
    wanted = reduce(common_type, (then.type for _, then in branches), otherwise.type)
    typed = tuple((as_type(when, BOOLEAN), as_type(then, wanted)) for when, then in branches)
    return Case(typed, as_type(otherwise, wanted), wanted)
