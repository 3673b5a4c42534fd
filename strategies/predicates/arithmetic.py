"""Binary arithmetic of a wanted type, whose operands have the types that Spark's analyser gives them.

Division by a possible zero, and operations that may overflow, are drawn only in modes that the scope has.

"""

import functools
from functools import lru_cache

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from pruning.expressions.trees import Arithmetic, Cast, Expression, Literal, Mode, Operator
from pruning.expressions.types import DOUBLE, LONG, Kind, Type, decimal
from strategies.base.values import DECIMALS, decimal_of
from strategies.choices import choose
from strategies.predicates.conversions import nearest_value
from strategies.predicates.result_types import can_overflow, result_type
from strategies.predicates.scope import Fits, ScalarShape, Scope

# Decimals as people write them into a query: 3, 0.5, 12.5.
SHORT_DECIMALS = (decimal(1, 0), decimal(1, 1), decimal(3, 1))

_SUMS = (Operator.ADD, Operator.SUBTRACT)
_RINGS = (*_SUMS, Operator.MULTIPLY)
# -1 is left out: the least bigint `div` -1 overflows.
_DIVISORS = (2, 3, 10, 7, -2, -3, 1)
_FLOATING_DIVISORS = (2.0, 0.5, 10.0, -3.0, 0.1)


@functools.cache
def result_types(type_: Type) -> SearchStrategy[Type]:
    """Types that arithmetic yields from a type: decimals give other decimals, or bigints."""
    if type_.kind is not Kind.DECIMAL:
        return st.just(type_)
    others = (type_, *SHORT_DECIMALS, *DECIMALS)
    # Sums and remainders often have a column's type; products and quotients are drawn for theirs.
    operators = st.sampled_from((Operator.ADD, Operator.REMAINDER, *2 * (Operator.MULTIPLY, Operator.DIVIDE)))
    decimals = st.builds(
        lambda operator, other: result_type(operator, type_, other), operators, st.sampled_from(others)
    )
    return st.one_of(decimals, decimals, decimals, decimals, st.just(LONG))


def _integral(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    left, right = scope.scalar(draw, scope, type_, leaves - 1), scope.scalar(draw, scope, type_, 1)
    return _with_drawn_mode(draw, choose(draw, _RINGS), left, right, type_, scope.overflowing)


def _small(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    """Combine a narrower column and a small number: no value can overflow, so any mode will do."""
    left = Cast(choose(draw, scope.narrower(type_)), type_, scope.session)
    right = Literal(draw(st.integers(-3, 3)), type_)
    return _with_drawn_mode(draw, choose(draw, _RINGS), left, right, type_, scope.harmless)


def _floating(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    left, right = scope.scalar(draw, scope, type_, leaves - 1), scope.scalar(draw, scope, type_, 1)
    return _with_drawn_mode(draw, choose(draw, _RINGS), left, right, type_, scope.harmless)


def _decimal(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    operator, left, right = choose(draw, _decimal_operands(scope, type_))
    overflows = can_overflow(operator, left, right)
    if operator in (Operator.DIVIDE, Operator.REMAINDER):
        return _division(draw, scope, operator, (left, right), type_, leaves)
    modes = scope.overflowing if overflows else scope.harmless
    operands = scope.scalar(draw, scope, left, leaves - 1), scope.scalar(draw, scope, right, 1)
    return _with_drawn_mode(draw, operator, *operands, type_, modes)


def _remainder(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    return _division(draw, scope, Operator.REMAINDER, (type_, type_), type_, leaves)


def _quotient(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    return _division(draw, scope, Operator.DIVIDE, (type_, type_), type_, leaves)


def _integral_quotient(draw: DrawFn, scope: Scope, type_: Type, leaves: int) -> Expression:
    operands = choose(draw, ((LONG, LONG), *_whole_operands(scope)))
    return _division(draw, scope, Operator.INTEGRAL_DIVIDE, operands, type_, leaves)


def _division(
    draw: DrawFn, scope: Scope, operator: Operator, operands: tuple[Type, Type], type_: Type, leaves: int
) -> Expression:
    """Divide by a constant that is not zero, or by anything in a mode in which zero is allowed."""
    left, right = operands
    risky = scope.modes_of(operator, scope.overflowing)
    overflows = left.kind is Kind.DECIMAL and can_overflow(operator, left, right)
    dividend = scope.scalar(draw, scope, left, leaves - 1)
    if risky and (overflows or draw(st.booleans())):
        zero = Literal(nearest_value(0.0, right), right)
        divisor = choose(draw, (None, None, None, zero)) or scope.scalar(draw, scope, right, 1)
        return _with_drawn_mode(draw, operator, dividend, divisor, type_, risky)
    modes = scope.modes_of(operator, scope.harmless)
    return _with_drawn_mode(draw, operator, dividend, draw(divisors(right)), type_, modes)


@functools.cache
def divisors(type_: Type) -> SearchStrategy[Literal]:
    """Numbers of a type that are neither zero nor, where that could overflow, minus one."""
    if type_.floating:
        numbers = [nearest_value(number, type_) for number in _FLOATING_DIVISORS]
    else:
        fitting = [nearest_value(float(number), type_) for number in _DIVISORS]
        numbers = [value for value in fitting if value is not None]
        if not numbers:
            numbers = [decimal_of(digits, type_.scale) for digits in _DIVISORS if abs(digits) < 10]
    return st.sampled_from(numbers).map(lambda value: Literal(value, type_))


def _with_drawn_mode(
    draw: DrawFn,
    operator: Operator,
    left: Expression,
    right: Expression,
    type_: Type,
    modes: tuple[Mode, ...],
) -> Expression:
    return Arithmetic(operator, left, right, type_, choose(draw, modes))


def _decimal_operands(scope: Scope, type_: Type) -> tuple[tuple[Operator, Type, Type], ...]:
    """Return operators and operand types that give a decimal of the wanted type; one is a column's."""
    own = tuple(dict.fromkeys(column.type for column in scope.of_kind(Kind.DECIMAL)))
    return tuple(
        (operator, left, right)
        for operator, left, right in _decimal_results(own, type_)
        if operator is not Operator.REMAINDER
        or not can_overflow(operator, left, right)
        or scope.modes_of(operator, scope.overflowing)
    )


@lru_cache(maxsize=1024)
def _decimal_results(own: tuple[Type, ...], type_: Type) -> tuple[tuple[Operator, Type, Type], ...]:
    others = (*own, *SHORT_DECIMALS, *DECIMALS)
    pairs = [pair for left in own for right in others for pair in ((left, right), (right, left))]
    return tuple(
        (operator, left, right)
        for left, right in dict.fromkeys(pairs)
        for operator in (*_RINGS, Operator.DIVIDE, Operator.REMAINDER)
        if result_type(operator, left, right) == type_
    )


def _whole_operands(scope: Scope) -> list[tuple[Type, Type]]:
    """Return pairs of decimal types, a column's first, whose `div` may be drawn."""
    own = [column.type for column in scope.of_kind(Kind.DECIMAL)]
    return [
        (left, right)
        for left in own
        for right in (left, *SHORT_DECIMALS)
        if scope.may_raise or not can_overflow(Operator.INTEGRAL_DIVIDE, left, right)
    ]


# The weights: integers have four shapes, decimals one.
WEIGHTS: dict[ScalarShape, int] = {_decimal: 4}
SHAPES: dict[ScalarShape, Fits] = {
    _integral: lambda scope, type_: type_.integral,
    _small: lambda scope, type_: bool(scope.narrower(type_)),
    _floating: lambda scope, type_: type_.floating,
    _decimal: lambda scope, type_: type_.kind is Kind.DECIMAL and bool(_decimal_operands(scope, type_)),
    _remainder: lambda scope, type_: type_.integral or type_.floating,
    _quotient: lambda scope, type_: type_ == DOUBLE,
    _integral_quotient: lambda scope, type_: type_ == LONG,
}
