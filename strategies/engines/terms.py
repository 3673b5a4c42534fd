"""Draw the operands of conditions and the keys of orders: columns, and expressions of them.

Each operand has a pool of its own values, from which constants beside it are chosen; half of them are its
value at the pivot row. What engines do beyond the range of a type, with shifted negative numbers, or with
times that nanoseconds cannot count differs, and is an error in some; such calls are drawn only over values
that are none of these. A column's sum, difference or product with a constant alone may overflow, and its sign
may change where that does not fit.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise, product
from typing import TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from strategies.choices import choose
from strategies.engines.capabilities import ConditionScope, Operand
from strategies.engines.engine_rows import ValuePool
from strategies.engines.engine_values import INTEGERS, integer_range, order, values
from strategies.engines.functions import (
    DATE_PARTS,
    FLOAT_ARITHMETIC,
    TRUNCATIONS,
    meaning,
    result_type,
    units_per_day,
)
from strategies.engines.questions import Call, Column, Json, Literal, Term

_FLOATS = ("float32", "float64")
COMPARISONS = ("=", "!=", "<", "<=", ">", ">=")
_NANOSECONDS_MAX = 2**63 // 1_000 - 1
_EXACT_MAX = 2**53
# The draws of a function that is to change the order of some values.
_ATTEMPTS = 4
_ONE_IN_FOUR: st.SearchStrategy[bool] = st.sampled_from((False, False, False, True))
_TWO_IN_THREE: st.SearchStrategy[bool] = st.sampled_from((False, True, True))
# DuckDB rounds nanoseconds to the next microsecond before it takes a time apart.
_PLAIN_TIMES = ("date", "timestamp(us)", "timestamp(ms)")


_Apply: TypeAlias = Callable[[DrawFn, ConditionScope, Operand], Operand | None]


def operand(draw: DrawFn, scope: ConditionScope, *, often: bool = False) -> Operand:
    """Draw the shared function half of the time; else a column, or one time in three an expression of it.

    Args:
        often: Draw an expression wherever the engine has them.
    """
    if scope.shared is not None and draw(st.booleans()):
        return scope.shared
    inner = column(scope, choose(draw, sorted(scope.pools)))
    if scope.has_functions("expression") and choose(draw, (True,) if often else (False, False, True)):
        for _ in range(choose(draw, (1, 1, 2))):
            inner = function_of(draw, scope, inner)
    return inner


def column(scope: ConditionScope, name: str) -> Operand:
    """Return a column as an operand."""
    return Operand(Column(name, scope.pools[name].type), scope.pools[name], lambda row: row.get(name))


def function_of(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand:
    """Draw a function of an operand; the operand itself if the function would have an error."""
    own = _own_calls(scope, inner.pool.type)
    general = [apply for functions, apply in _CALLS_OF_ANY_TYPE if scope.has_functions(*functions)]
    # There are few functions of any type: without a preference they would be drawn most.
    if not own and draw(st.booleans()):
        return inner
    prefers_own = bool(own) and not (bool(general) and draw(_ONE_IN_FOUR))
    possible = own if prefers_own else general
    return (choose(draw, possible)(draw, scope, inner) if possible else None) or inner


def _own_calls(scope: ConditionScope, type_: str) -> list[_Apply]:
    """Return the functions that the engine has of a type, without those of any type."""
    return [apply for functions, types, apply in _CALLS if type_ in types and scope.has_functions(*functions)]


def shared_operand(draw: DrawFn, scope: ConditionScope) -> Operand | None:
    """Draw a function of a column, if possible one that does not keep the order of the column's values.

    None if no column's type has functions of its own, and mostly if the column is floating point.
    """
    names = [name for name in sorted(scope.pools) if _own_calls(scope, scope.pools[name].type)]
    if not names:
        return None
    name = choose(draw, names)
    inner = column(scope, name)
    # Of floating point most goes wrong in NaN and zeros of the columns themselves.
    if inner.pool.type in _FLOATS and draw(_TWO_IN_THREE):
        return None
    values_ = sorted(set(inner.pool.values), key=lambda value: order(value, inner.pool.type))
    shared = None
    for _ in range(_ATTEMPTS):
        shared = choose(draw, _own_calls(scope, inner.pool.type))(draw, scope, inner) or shared
        # Of floating point, rounding matters as much as another order.
        if shared is not None and (
            inner.pool.type in _FLOATS or not _keeps_order(shared, [{name: value} for value in values_])
        ):
            return shared
    return shared


def _keeps_order(operand: Operand, rows: Sequence[Mapping[str, Json]]) -> bool:
    """Tell whether the values of an operand rise from row to row, or stay."""
    results = [operand.value_at(row) for row in rows]
    type_ = operand.pool.type
    return None not in results and all(order(x, type_) <= order(y, type_) for x, y in pairwise(results))


def constant(draw: DrawFn, scope: ConditionScope, operand: Operand) -> Literal:
    """Draw a value of an operand as a constant, of the two zeros either."""
    value = value_of(draw, scope, operand)
    if operand.pool.type.startswith("float") and value == 0:
        value = choose(draw, (0.0, -0.0))
    return Literal(value, operand.pool.type)


def value_of(draw: DrawFn, scope: ConditionScope, operand: Operand) -> Json:
    """Draw a value that an operand may have, half of the time the one at the pivot.

    Of an expression a quarter are its least or greatest value: an engine that is wrong about the bounds of a
    function skips mostly the rows at them.
    """
    at_pivot = operand.value_at(scope.pivot)
    if at_pivot is not None and draw(st.booleans()):
        return at_pivot
    pool = operand.pool
    if isinstance(operand.term, Column) or draw(st.booleans()):
        return choose(draw, pool.values)
    extreme = choose(draw, (min, max))
    return extreme(pool.values, key=lambda value: order(value, pool.type))


def _strict(function: str, *operands: Operand) -> Operand | None:
    """Return a call, or None if a value would not fit its type."""
    first = operands[0].pool.type
    evaluate, type_ = meaning(function, first), result_type(function, first)
    combinations = list(product(*(part.pool.values for part in operands)))
    results = [evaluate(*some) for some in combinations]
    if type_ in INTEGERS and not _fit(results, type_):
        return None
    if type_ in _FLOATS and any(map(_becomes_infinite, combinations, results)):
        return None
    term = Call(function, tuple(part.term for part in operands), type_)

    def value_at(row: Mapping[str, Json]) -> Json:
        parts = [part.value_at(row) for part in operands]
        return None if None in parts else evaluate(*parts)

    return Operand(term, _pool(type_, results), value_at)


def _fit(results: list[Json], type_: str) -> bool:
    low, high = integer_range(type_)
    return all(low <= result <= high for result in results)


def _becomes_infinite(operands: Sequence[Json], result: Json) -> bool:
    """Tell whether a result is infinite, or none, though no operand is."""
    return isinstance(result, str) and not any(isinstance(value, str) for value in operands)


def _pool(type_: str, results: list[Json]) -> ValuePool:
    """Return a pool of distinct values; values of the type if there is none."""
    return ValuePool(type_, tuple({repr(result): result for result in results}.values()) or values(type_)[:2])


def _with_constant(value: Json, type_: str) -> Operand:
    return Operand(Literal(value, type_), ValuePool(type_, (value,)), lambda row: value)


def _arithmetic(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand | None:
    """Draw arithmetic with a small constant, on either side, or with a column of the type."""
    type_ = inner.pool.type
    operator = choose(draw, [symbol for symbol in ("+", "-", "*") if scope.has_functions(symbol)])
    alike = [name for name, pool in scope.pools.items() if pool.type == type_]
    small = _with_constant(choose(draw, (1, 2, 3)), type_)
    shape = choose(draw, ("constant", "constant", "constant", "reversed", "column"))
    if shape == "column" and alike and scope.has_functions("column comparison"):
        return _strict(operator, inner, column(scope, choose(draw, alike)))
    if shape == "reversed":
        return _strict(operator, small, inner)
    return _strict(operator, inner, small) or _overflowing(draw, operator, inner, small.term)


def _float_arithmetic(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand | None:
    """Draw arithmetic of floating point with a small constant, mostly on the right, or another sign."""
    type_ = inner.pool.type
    possible = [symbol for symbol in FLOAT_ARITHMETIC if scope.has_functions(symbol)]
    # A quotient is rounded most.
    quotients = ["/"] * 2 if "/" in possible and type_ == "float64" else []
    function = choose(draw, [*(symbol for symbol in possible if symbol != "/"), *quotients])
    if function in ("negate", "abs"):
        return _strict(function, inner)
    # Some engines multiply by the reciprocal of a divisor, which is exact of powers of two alone.
    is_exact = function == "/" and not scope.has_functions("rounded quotient")
    small = _with_constant(choose(draw, (1.0, 2.0, 0.5) if is_exact else (1.0, 2.0, 0.5, 3.0)), type_)
    is_reversed = function != "/" and draw(_ONE_IN_FOUR)
    return _strict(function, *((small, inner) if is_reversed else (inner, small)))


def _overflowing(draw: DrawFn, function: str, inner: Operand, *others: Term) -> Operand | None:
    """Draw half of the time a call of a column although some value does not fit its type."""
    if not isinstance(inner.term, Column) or not draw(st.booleans()):
        return None
    return Operand(Call(function, (inner.term, *others), inner.pool.type), inner.pool)


def _remainder(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand | None:
    return _strict("%", inner, _with_constant(choose(draw, (2, 1, 3, 10)), inner.pool.type))


def _quotient(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand | None:
    return _strict("//", inner, _with_constant(choose(draw, (2, 1, 3, 10)), inner.pool.type))


def _sign(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand | None:
    """Draw a negation, or an absolute value, which keeps no order where the signs differ.

    The least integer has no negative, so that negation of some operands overflows: these are negated more.
    """
    low, high = min(inner.pool.values), max(inner.pool.values)
    overflows = low == integer_range(inner.pool.type)[0]
    keeps_order = low >= 0 or high <= 0
    function = choose(
        draw, ("negate", "abs") if overflows or keeps_order else ("negate", "abs", "abs", "abs")
    )
    return _strict(function, inner) or _overflowing(draw, function, inner)


def _shift(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand | None:
    operator = choose(draw, (">>", "<<"))
    by = _with_constant(choose(draw, (1, 2, 3)), "int32")
    if operator == "<<" and min(inner.pool.values) < 0:
        # Most columns have negative numbers, whose absolute values are shifted.
        absolute = _strict("abs", inner) if scope.has_functions("abs") else None
        return None if absolute is None else _strict(operator, absolute, by)
    return _strict(operator, inner, by)


def _text(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand | None:
    return _strict(choose(draw, ("lower", "upper", "length")), inner)


def _substring(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand | None:
    start, count = choose(draw, (1, 1, 1, 2, 3)), choose(draw, (1, 2, 3, 16, 0))
    return _strict("substring", inner, _with_constant(start, "int32"), _with_constant(count, "int32"))


def _concatenation(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand | None:
    other = _with_constant(choose(draw, ("a", "", "b", "%")), "string")
    return _strict("concat", *(choose(draw, ((inner, other), (other, inner)))))


def _date_part(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand | None:
    """Draw a part of a date, two times in three as a text, which patterns are of."""
    part = _strict(choose(draw, DATE_PARTS), inner)
    if part is None or not scope.has_functions("cast") or not draw(_TWO_IN_THREE):
        return part
    return _cast_to(part, "cast", "string")


def _truncation(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand | None:
    """Draw a truncation; some engines count in nanoseconds for it."""
    times = {"us": 1, "ms": 1_000, "ns": 1}[inner.pool.type[len("timestamp(") :][:2]]
    unit = choose(draw, TRUNCATIONS)
    if inner.pool.type == "timestamp(ns)":
        # The start of the first year that nanoseconds can count is before their range.
        near = [value for value in inner.pool.values if abs(value) > 2**63 - 366 * 86_400 * 10**9]
        return None if near else _strict(unit, inner)
    year_us = 366 * 86_400 * 10**6
    beyond = [value for value in inner.pool.values if abs(value * times) > _NANOSECONDS_MAX - year_us]
    return None if beyond else _strict(unit, inner)


def _coalesce(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand:
    other = constant(draw, scope, inner)

    def value_at(row: Mapping[str, Json]) -> Json:
        value = inner.value_at(row)
        # None of a column is NULL; of what is computed, it may be another value that is not computed here.
        return other.value if value is None and isinstance(inner.term, Column) else value

    return Operand(Call("coalesce", (inner.term, other), inner.pool.type), inner.pool, value_at)


def _nullif(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand:
    other, type_ = constant(draw, scope, inner), inner.pool.type

    def value_at(row: Mapping[str, Json]) -> Json:
        value = inner.value_at(row)
        if value is None or order(value, type_) == order(other.value, type_):
            return None
        return value

    return Operand(Call("nullif", (inner.term, other), type_), inner.pool, value_at)


def _if(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand:
    """Draw a choice between an operand and a constant, either of which may come first."""
    symbols = [symbol for symbol in COMPARISONS if scope.has_functions(symbol)]
    tested = column(scope, choose(draw, sorted(scope.pools)))
    test = Call(choose(draw, symbols), (tested.term, constant(draw, scope, tested)))
    other = constant(draw, scope, inner)
    branches = choose(draw, ((inner.term, other), (other, inner.term)))
    return Operand(Call("if", (test, *branches), inner.pool.type), inner.pool)


def _cast(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand | None:
    """Draw a cast of integers; only TRY_CAST is of values that the type does not hold."""
    kind = choose(draw, [kind for kind in ("try cast", "cast") if scope.has_functions(kind)])
    target = choose(draw, ("int64", "float64", *("string",) * 14, "int32", "int8", "int16"))
    return _cast_to(inner, kind, target)


def _narrow_cast(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand | None:
    """Draw a TRY_CAST that is NULL for some values and, if possible, keeps others."""
    results = {
        target: [_cast_integer(value, target) for value in inner.pool.values]
        for target in ("int32", "int16", "int8")
    }
    some_null = [target for target, cells in results.items() if None in cells]
    targets = [target for target in some_null if set(results[target]) != {None}] or some_null
    return _cast_to(inner, "try cast", choose(draw, targets)) if targets else None


def _cast_to(inner: Operand, kind: str, target: str) -> Operand | None:
    """Return a cast of integers, None if it is no TRY_CAST and a value does not fit."""
    results = [_cast_integer(value, target) for value in inner.pool.values]
    if kind == "cast" and None in results:
        return None
    pool = _pool(target, [result for result in results if result is not None])

    def value_at(row: Mapping[str, Json]) -> Json:
        value = inner.value_at(row)
        return None if value is None else _cast_integer(value, target)

    return Operand(Call(kind, (inner.term,), target), pool, value_at)


def _cast_integer(value: int, target: str) -> Json:
    """Return an integer as a value of another type, None if that does not hold it."""
    if target == "string":
        return str(value)
    if target == "float64":
        return float(value) if abs(value) <= _EXACT_MAX else None
    low, high = integer_range(target)
    return value if low <= value <= high else None


def _date(draw: DrawFn, scope: ConditionScope, inner: Operand) -> Operand:
    per_day = units_per_day(inner.pool.type)
    days = [count // per_day for count in inner.pool.values]

    def value_at(row: Mapping[str, Json]) -> Json:
        count = inner.value_at(row)
        return None if count is None else count // per_day

    return Operand(Call("cast", (inner.term,), "date"), _pool("date", days), value_at)


# For each call: the functions that it needs, and the types that it applies to.
_CALLS: tuple[tuple[tuple[str, ...], tuple[str, ...], _Apply], ...] = (
    *[(("+",), INTEGERS, _arithmetic)] * 2,
    *[(("%",), INTEGERS, _remainder)] * 2,
    *[(("//",), INTEGERS, _quotient)] * 2,
    *[(("negate", "abs"), INTEGERS, _sign)] * 4,
    (("<<", ">>"), INTEGERS, _shift),
    *[(("cast",), INTEGERS, _cast)] * 12,
    *[(("cast", "try cast"), INTEGERS, _narrow_cast)] * 12,
    (("float arithmetic", "+", "-", "*"), _FLOATS, _float_arithmetic),
    *[(("lower", "upper", "length"), ("string",), _text)] * 2,
    *[(("substring",), ("string",), _substring)] * 2,
    (("concat",), ("string",), _concatenation),
    *[(DATE_PARTS, _PLAIN_TIMES, _date_part)] * 4,
    (TRUNCATIONS, _PLAIN_TIMES[1:], _truncation),
    *[(("cast", "cast to date"), _PLAIN_TIMES[1:], _date)] * 4,
)
_CALLS_OF_ANY_TYPE: tuple[tuple[tuple[str, ...], _Apply], ...] = (
    (("coalesce",), _coalesce),
    (("nullif",), _nullif),
    (("if",), _if),
)
