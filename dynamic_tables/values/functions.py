"""The functions of expressions by name, and calls of them with their arguments cast to what they take."""

import re
from collections.abc import Mapping
from datetime import date, datetime, timedelta
from functools import lru_cache, reduce
from typing import Any

from dynamic_tables.values.arithmetic import ARITHMETIC, in_years
from dynamic_tables.values.changes import Cell
from dynamic_tables.values.comparisons import COMPARISONS
from dynamic_tables.values.errors import CastFailed
from dynamic_tables.values.expressions import Call, Case, Cast, Expression, Literal
from dynamic_tables.values.json_cells import parsed_json
from dynamic_tables.values.signatures import Resolver, Signature, Types, first, fixed
from dynamic_tables.values.types import ARRAY, BOOLEAN, INTEGER, TEXT, TIMESTAMP, VARIANT, Kind, Type, common
from pruning.errors import InputError

# Connectives whose later arguments are not always computed; `evaluation` has them.
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
# A Monday at midnight, from which weeks and shorter units are counted.
MONDAY = datetime(1970, 1, 5)
MONTHS: Mapping[str, int] = {"year": 12, "quarter": 3, "month": 1}


def truncated(unit: str, at: date) -> Cell:
    """DATE_TRUNC: the start of the unit in which a time lies; dates stay dates."""
    moment = at if isinstance(at, datetime) else datetime(at.year, at.month, at.day)
    if unit in MONTHS:
        month = (moment.month - 1) // MONTHS[unit] * MONTHS[unit] + 1
        start = datetime(moment.year, month, 1)
    else:
        start = moment - (moment - MONDAY) % timedelta(microseconds=units_us(unit))
    return start if isinstance(at, datetime) else start.date()


def units_us(unit: str) -> int:
    """How long a unit is."""
    if unit not in UNITS_US:
        raise CastFailed(f"{unit!r} is no unit of time; units are {', '.join([*MONTHS, *UNITS_US])}")
    return UNITS_US[unit]


def boundaries(unit: str, start: datetime, end: datetime) -> int:
    """DATEDIFF: how many starts of the unit lie between two times."""
    if unit in MONTHS:
        return month_count(end) // MONTHS[unit] - month_count(start) // MONTHS[unit]
    length = timedelta(microseconds=units_us(unit))
    return (end - MONDAY) // length - (start - MONDAY) // length


def month_count(at: date) -> int:
    """How many months are over since the year 0."""
    return at.year * 12 + at.month - 1


def later(unit: str, count: int, at: date) -> Cell:
    """DATEADD: so many units later; a day that the month has not becomes its last."""
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


def of_time(unit_first: int, count: int, apply: Any, result: Type | None) -> Resolver:
    """A function whose first argument names a unit, and whose last is a date or a time."""

    def resolve(types: Types) -> Signature:
        if len(types) != count:
            raise InputError(f"this function takes {count} arguments, not {len(types)}")
        moment = types[-1] if types[-1].kind is Kind.DATE else TIMESTAMP
        middle = (INTEGER,) * (count - unit_first - 1)
        return Signature(result or moment, (TEXT, *middle, moment), apply)

    return resolve


@lru_cache(maxsize=256)
def like_pattern(pattern: str) -> re.Pattern[str]:
    """What LIKE means: % is any text, _ any character."""
    parts = (".*" if sign == "%" else "." if sign == "_" else re.escape(sign) for sign in pattern)
    return re.compile("".join(parts), re.DOTALL)


def substring(text: str, start: int, length: int | None = None) -> str:
    """SUBSTR: places count from 1, or from the end if negative."""
    begin = start - 1 if start > 0 else max(len(text) + start, 0) if start else 0
    return text[begin:] if length is None else text[begin : begin + max(length, 0)]


def step_into(value: Any, step: Any) -> Cell:
    """One step of a path: a member of an object or an element of a list; NULL where there is none."""
    if isinstance(value, Mapping):
        return value.get(step) if isinstance(step, str) else None
    if isinstance(value, tuple) and isinstance(step, int):
        return value[step] if 0 <= step < len(value) else None
    return None


def stepping(types: Types) -> Signature:
    """GET and the path operators, one step."""
    step = INTEGER if types[1].kind is Kind.INTEGER else TEXT
    return Signature(VARIANT, (types[0], step), step_into)


def length_of(cell: Any) -> int:
    """LENGTH."""
    return len(cell)


def elements(cell: Any) -> Cell:
    """ARRAY_SIZE; what is no list has none."""
    return len(cell) if isinstance(cell, tuple) else None


def listed(types: Types) -> Signature:
    """ARRAY_CONSTRUCT, which keeps NULLs."""
    return Signature(ARRAY, types, lambda *cells: cells, null_aware=True)


def concatenated(types: Types) -> Signature:
    """CONCAT and ||; NULL if any argument is."""
    return Signature(TEXT, (TEXT,) * len(types), lambda *texts: "".join(texts))


def joined(types: Types) -> Signature:
    """Return CONCAT_WS: the first argument between the others; NULL if any argument is."""
    if len(types) < 2:
        raise InputError("CONCAT_WS takes a separator and at least one text")
    return Signature(TEXT, (TEXT,) * len(types), lambda separator, *texts: separator.join(texts))


def part_of_time(name: str) -> Resolver:
    """YEAR, MONTH and so on."""
    return fixed(INTEGER, TIMESTAMP, apply=lambda at: getattr(at, name))


FUNCTIONS: Mapping[str, Resolver] = {
    **COMPARISONS,
    **ARITHMETIC,
    **{name: part_of_time(name) for name in ("year", "month", "day", "hour", "minute", "second")},
    "date_trunc": of_time(1, 2, truncated, None),
    "dateadd": of_time(1, 3, in_years(later), None),
    "datediff": lambda types: Signature(INTEGER, (TEXT, TIMESTAMP, TIMESTAMP), boundaries),
    "upper": fixed(TEXT, TEXT, apply=str.upper),
    "lower": fixed(TEXT, TEXT, apply=str.lower),
    "trim": fixed(TEXT, TEXT, apply=lambda text: text.strip(" ")),
    "ltrim": fixed(TEXT, TEXT, apply=lambda text: text.lstrip(" ")),
    "rtrim": fixed(TEXT, TEXT, apply=lambda text: text.rstrip(" ")),
    "length": first(length_of, result=INTEGER),
    "substr": fixed(TEXT, TEXT, INTEGER, INTEGER, apply=substring, optional=1),
    "left": fixed(TEXT, TEXT, INTEGER, apply=lambda text, count: text[: max(count, 0)]),
    "right": fixed(TEXT, TEXT, INTEGER, apply=lambda text, count: text[-count:] if count > 0 else ""),
    "replace": fixed(TEXT, TEXT, TEXT, TEXT, apply=str.replace),
    "concat": concatenated,
    "concat_ws": joined,
    "startswith": fixed(BOOLEAN, TEXT, TEXT, apply=str.startswith),
    "endswith": fixed(BOOLEAN, TEXT, TEXT, apply=str.endswith),
    "contains": fixed(BOOLEAN, TEXT, TEXT, apply=str.__contains__),
    "like": fixed(
        BOOLEAN, TEXT, TEXT, apply=lambda text, like: like_pattern(like).fullmatch(text) is not None
    ),
    "split": fixed(ARRAY, TEXT, TEXT, apply=lambda text, by: tuple(text.split(by) if by else [text])),
    "parse_json": fixed(VARIANT, TEXT, apply=parsed_json),
    "array_size": first(elements, result=INTEGER),
    "array_construct": listed,
    "get": stepping,
}


def connective(types: Types, name: str) -> Types:
    """What the arguments of a lazy function are cast to."""
    return (BOOLEAN,) * len(types) if name != "coalesce" else (reduce(common, types),) * len(types)


def call(name: str, *arguments: Expression) -> Call:
    """A call with its arguments cast to what the function takes.

    Raises:
        InputError: There is no such function, or not of these types.
    """
    types = tuple(argument.type for argument in arguments)
    if name in LAZY:
        wanted = connective(types, name)
        return Call(name, casts(arguments, wanted), wanted[0])
    if name not in FUNCTIONS:
        raise InputError(f"there is no function {name.upper()}")
    signature = FUNCTIONS[name](types)
    return Call(name, casts(arguments, signature.arguments), signature.result)


def casts(arguments: tuple[Expression, ...], wanted: Types) -> tuple[Expression, ...]:
    """Arguments in the types wanted."""
    return tuple(as_type(argument, kind) for argument, kind in zip(arguments, wanted, strict=True))


def as_type(expression: Expression, wanted: Type) -> Expression:
    """An expression in a type: itself if it has that already."""
    if expression.type == wanted or wanted.kind is Kind.NULL:
        return expression
    if isinstance(expression, Literal) and expression.value is None:
        return Literal(None, wanted)
    return Cast(expression, wanted)


def case(branches: tuple[tuple[Expression, Expression], ...], otherwise: Expression) -> Case:
    """A CASE whose values have one type."""
    wanted = reduce(common, (then.type for _, then in branches), otherwise.type)
    typed = tuple((as_type(when, BOOLEAN), as_type(then, wanted)) for when, then in branches)
    return Case(typed, as_type(otherwise, wanted), wanted)
