"""Functions of a wanted type, whose operands have the types that Spark's analyser gives them."""

import functools
from functools import lru_cache

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from pruning.expressions.trees import (
    Arithmetic,
    Call,
    Case,
    Cast,
    Compare,
    Comparison,
    Expression,
    Function,
    Literal,
    Mode,
    Operator,
)
from pruning.expressions.types import DOUBLE, INTEGER, LONG, Kind, Type
from strategies.base.values import DECIMALS
from strategies.choices import choose
from strategies.predicates.arithmetic import divisors
from strategies.predicates.result_types import rounded_type, rounding_can_overflow, whole_type
from strategies.predicates.scope import Fits, ScalarShape, Scope, is_numeric

# Numbers of digits after the point; 0 is the default of ROUND.
_DIGITS = (0, 1, -1, 2, -2, 3, -4)
# Spark 4 rounds the negation of longer decimals; earlier releases do not.
_NEGATED_DIGITS_MAX = 34
_ELEMENTARY = (
    Function.SIGN,
    Function.SQRT,
    Function.EXP,
    Function.LN,
    Function.LOG10,
    Function.LOG2,
    Function.LOG1P,
)
_BASES = (2.0, 10.0, 0.5, 2.718281828459045, 1.0, 0.0)
_EXPONENTS = (2.0, 0.5, 3.0, -1.0, 0.0, 1.0, float("nan"))


@functools.cache
def result_types(type_: Type) -> SearchStrategy[Type]:
    """Types that functions yield from a type."""
    if type_.kind is Kind.DECIMAL:
        rounded = st.sampled_from(_DIGITS).map(lambda digits: rounded_type(type_, digits))
        return rounded | st.just(whole_type(type_))
    return st.sampled_from((DOUBLE, LONG)) if is_numeric(type_) else st.just(type_)


def _magnitude(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    function = choose(draw, (Function.NEGATE, Function.ABS))
    return Call(function, (_far_from_limits(draw, scope, type_, leaves),), type_, scope.session)


def _rounding(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    function = choose(draw, (Function.ROUND, Function.BROUND))
    digits = Literal(choose(draw, _DIGITS), INTEGER)
    return Call(function, (_far_from_limits(draw, scope, type_, leaves), digits), type_, scope.session)


def _decimal_rounding(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    source, digits = choose(draw, _rounding_sources(scope, type_))
    functions = (Function.ROUND, Function.BROUND, Function.FLOOR, Function.CEIL)
    function = choose(draw, functions)
    operands = (scope.scalar(draw, scope, source, leaves - 1), Literal(digits, INTEGER))
    mode = scope.session if function in (Function.ROUND, Function.BROUND) else Mode.ANSI
    return Call(function, operands, type_, mode)


def _whole_decimal(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    function = choose(draw, (Function.FLOOR, Function.CEIL))
    source = choose(draw, _whole_sources(scope, type_))
    return Call(function, (scope.scalar(draw, scope, source, leaves - 1),), type_)


def _whole(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    """Draw FLOOR or CEIL of a double, which raises beyond bigint in an ANSI session since Spark 4.3."""
    function = choose(draw, (Function.FLOOR, Function.CEIL))
    if Mode.ANSI in scope.modes and (not _bounded_columns(scope) or draw(st.booleans())):
        return Call(function, (scope.scalar(draw, scope, DOUBLE, leaves - 1),), type_)
    operand: Expression = Cast(choose(draw, _bounded_columns(scope)), DOUBLE, scope.session)
    if draw(st.booleans()):
        operand = Arithmetic(Operator.DIVIDE, operand, draw(divisors(DOUBLE)), DOUBLE, scope.session)
    return Call(function, (operand,), type_)


def _elementary(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    function = choose(draw, _ELEMENTARY)
    return Call(function, (scope.scalar(draw, scope, DOUBLE, leaves - 1),), type_)


def _logarithm(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    number = scope.scalar(draw, scope, DOUBLE, leaves - 1)
    return Call(Function.LOG, (_parameter(draw, scope, _BASES), number), type_)


def _power(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    number = scope.scalar(draw, scope, DOUBLE, leaves - 1)
    return Call(Function.POWER, (number, _parameter(draw, scope, _EXPONENTS)), type_)


def _parameter(draw: DrawFn, scope: Scope, usual: tuple[float, ...]) -> Expression:
    if choose(draw, (True, True, False)):
        return Literal(choose(draw, usual), DOUBLE)
    return scope.scalar(draw, scope, DOUBLE, 1)


def _extreme(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    function = choose(draw, (Function.GREATEST, Function.LEAST))
    count = draw(st.integers(2, min(3, leaves)))
    first = scope.scalar(draw, scope, type_, leaves - count + 1)
    return Call(function, (first, *(scope.scalar(draw, scope, type_, 1) for _ in range(count - 1))), type_)


def _null_if(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    """Draw `NULLIF(x, y)` as Spark writes it, with x twice."""
    value = scope.scalar(draw, scope, type_, (leaves - 1) // 2)
    other = scope.scalar(draw, scope, type_, 1)
    return Case(((Compare(Comparison.EQUAL, value, other), Literal(None, type_)),), value)


def _far_from_limits(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    """Draw an operand that may be negated or rounded in the scope's modes."""
    if type_.integral and not scope.may_raise:
        return Cast(choose(draw, scope.narrower(type_)), type_, scope.session)
    return scope.scalar(draw, scope, type_, leaves - 1)


def _bounded_columns(scope: Scope) -> tuple[Expression, ...]:
    """Return the columns whose values are bigints with room to spare."""
    return scope.of_kind(Kind.BYTE, Kind.SHORT, Kind.INTEGER)


def _rounding_sources(scope: Scope, type_: Type) -> tuple[tuple[Type, int], ...]:
    """Return the decimal types, and the digits to which they are rounded, that give the wanted type."""
    own = tuple(dict.fromkeys(column.type for column in scope.of_kind(Kind.DECIMAL)))
    # Decimals of too many digits raise in every mode.
    return tuple(
        (source, digits)
        for source, digits in _rounding_results(own, type_)
        if Mode.ANSI in scope.modes or not rounding_can_overflow(source, digits)
    )


@lru_cache(maxsize=1024)
def _rounding_results(own: tuple[Type, ...], type_: Type) -> tuple[tuple[Type, int], ...]:
    return tuple(
        (source, digits)
        for source in own or DECIMALS
        for digits in _DIGITS
        if rounded_type(source, digits) == type_
    )


def _whole_sources(scope: Scope, type_: Type) -> tuple[Type, ...]:
    own = dict.fromkeys(column.type for column in scope.of_kind(Kind.DECIMAL))
    return tuple(source for source in own if whole_type(source) == type_)


def _keeps_its_limits(scope: Scope, type_: Type) -> bool:
    return type_.floating or (type_.integral and (scope.may_raise or bool(scope.narrower(type_))))


def _negatable(scope: Scope, type_: Type) -> bool:
    if type_.kind is Kind.DECIMAL:
        return type_.precision <= _NEGATED_DIGITS_MAX
    return _keeps_its_limits(scope, type_)


SHAPES: dict[ScalarShape, Fits] = {
    _magnitude: _negatable,
    _rounding: _keeps_its_limits,
    _decimal_rounding: lambda scope, type_: (
        type_.kind is Kind.DECIMAL and bool(_rounding_sources(scope, type_))
    ),
    _whole_decimal: lambda scope, type_: type_.kind is Kind.DECIMAL and bool(_whole_sources(scope, type_)),
    _whole: lambda scope, type_: (
        type_ == LONG and (Mode.ANSI in scope.modes or bool(_bounded_columns(scope)))
    ),
    _elementary: lambda scope, type_: type_ == DOUBLE,
    _logarithm: lambda scope, type_: type_ == DOUBLE,
    _power: lambda scope, type_: type_ == DOUBLE,
    _extreme: lambda scope, type_: True,
    _null_if: lambda scope, type_: True,
}
LEAVES_MIN: dict[ScalarShape, int] = {_null_if: 3}
