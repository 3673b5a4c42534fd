"""PRIM-1 and PRIM-2 for `+ - * / div %`: exact by fractions, and the same in Arrow, lane by lane."""

import functools
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from searches import find

from pruning.expressions.types import BYTE, DOUBLE, FLOAT, INTEGER, LONG, SHORT, Type, Value, decimal
from pruning.rules.interpreters import exact
from pruning.rules.interpreters.arrow import interpreter
from pruning.rules.program import exact_arithmetic
from pruning.rules.program.builder import Builder
from pruning.rules.program.exact_arithmetic import ARITHMETIC
from pruning.rules.program.operations import Aspect, Input, Op, Program
from strategies.base.values import decimal_of, values
from strategies.choices import choose

NUMBERS = (BYTE, SHORT, INTEGER, LONG, FLOAT, DOUBLE)
# Operands and result: short, long, of one scale and of two, with room for the result and without.
_DIGITS = (
    ((5, 2), (5, 2), (9, 4)),
    ((12, 2), (7, 4), (20, 6)),
    ((18, 0), (18, 18), (38, 18)),
    ((38, 0), (38, 38), (38, 6)),
    ((38, 10), (38, 10), (38, 6)),
    ((38, 38), (38, 38), (38, 37)),
    ((10, 2), (12, 4), (6, 1)),
    ((3, 1), (38, 10), (4, 4)),
)
DECIMALS = tuple(tuple(decimal(*digits) for digits in case) for case in _DIGITS)
EXACT = (Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.DIVIDE, Op.QUOTIENT, Op.REMAINDER)
ON_FLOATS = (Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.DIVIDE, Op.REMAINDER)
ON_INTEGERS = (Op.ADD, Op.SUBTRACT, Op.MULTIPLY, Op.QUOTIENT, Op.REMAINDER)
CASES = [
    *((op, type_, type_, type_) for type_ in (FLOAT, DOUBLE) for op in ON_FLOATS),
    *((op, type_, type_, type_) for type_ in (BYTE, SHORT, INTEGER, LONG) for op in ON_INTEGERS),
    *((Op.QUOTIENT, BYTE, BYTE, LONG), (Op.QUOTIENT, INTEGER, INTEGER, LONG)),
    *((op, left, right, target) for left, right, target in DECIMALS for op in EXACT if op is not Op.QUOTIENT),
    *((Op.QUOTIENT, left, right, LONG) for left, right, _ in DECIMALS),
]
Pair = tuple[Value | None, Value | None]


def nan(value: Value | None) -> bool:
    return isinstance(value, float) and math.isnan(value)


@functools.cache
def numbers(type_: Type) -> st.SearchStrategy[Value]:
    """Values of a type of numbers that are not NaN, small ones often."""
    drawn = values(type_).filter(lambda value: not nan(value))
    if type_.scale or type_.precision:
        limit = 10**type_.precision - 1
        small = st.integers(-min(limit, 200), min(limit, 200))
        return drawn | small.map(lambda digits: decimal_of(digits, type_.scale))
    return drawn | st.integers(-12, 12).map(lambda value: float(value) if type_.floating else value)


@st.composite
def cases(draw: st.DrawFn) -> tuple[Op, Type, Type, Type, list[Pair]]:
    """An operation, the types of its operands and its result, and lanes of operands, some unknown."""
    op, left, right, target = choose(draw, CASES)
    return op, left, right, target, draw(pairs(left, right))


@functools.cache
def pairs(left: Type, right: Type) -> st.SearchStrategy[list[Pair]]:
    """Lanes of two operands of these types."""
    return st.lists(st.tuples(st.none() | numbers(left), st.none() | numbers(right)), min_size=1, max_size=6)


def by_fractions(op: Op, left: Value, right: Value) -> Fraction | None:
    """The exact result; None over zero."""
    one, other = Fraction(left), Fraction(right)
    if op is Op.ADD:
        return one + other
    if op is Op.SUBTRACT:
        return one - other
    if op is Op.MULTIPLY:
        return one * other
    if other == 0:
        return None
    whole = Fraction(math.trunc(one / other))
    return {Op.DIVIDE: one / other, Op.QUOTIENT: whole, Op.REMAINDER: one - other * whole}[op]


def in_type(number: Fraction | None, type_: Type) -> Fraction | None:
    """The value of an integer or decimal type nearest to a number, halves away from zero; if it fits."""
    if number is None:
        return None
    units = abs(number) * 10**type_.scale
    rounded = Fraction(math.floor(units + Fraction(1, 2)), 10**type_.scale) * (-1 if number < 0 else 1)
    if type_.integer_range is not None:
        return rounded if type_.integer_range[0] <= rounded <= type_.integer_range[1] else None
    return rounded if abs(rounded) * 10**type_.scale < 10**type_.precision else None


@examples(10)
@given(cases())
def test_integers_and_decimals_are_exact_then_rounded_half_up(
    case: tuple[Op, Type, Type, Type, list[Pair]],
) -> None:
    op, left, _, target, pairs = case
    if left.floating:
        return
    for one, other in pairs:
        if one is not None and other is not None:
            expected = in_type(by_fractions(op, one, other), target)
            actual = ARITHMETIC[op](one, other, target)
            assert (actual is None) == (expected is None), (op, one, other, actual, expected)
            assert actual is None or Fraction(actual) == expected


@examples(10)
@given(cases())
def test_finite_floats_are_the_nearest_to_the_exact_result(
    case: tuple[Op, Type, Type, Type, list[Pair]],
) -> None:
    """No neighbour in the type is nearer; a remainder is exact."""
    op, type_, _, _, pairs = case
    if not type_.floating:
        return
    for one, other in pairs:
        if one is None or other is None or not (math.isfinite(one) and math.isfinite(other)):
            continue
        exactly, actual = by_fractions(op, one, other), ARITHMETIC[op](one, other, type_)
        assert (actual is None) == (exactly is None)
        if exactly is None or actual is None or math.isinf(actual):
            continue
        error = abs(Fraction(actual) - exactly)
        bits, least = (24, 2.0**-149) if type_ == FLOAT else (53, 2.0**-1074)
        spacing = max(Fraction(least), abs(Fraction(actual)) / 2 ** (bits - 1))
        assert error <= spacing / 2 if op is not Op.REMAINDER else error == 0


@pytest.mark.parametrize(
    ("op", "left", "right", "result"),
    [
        (Op.MULTIPLY, 0.0, math.inf, None),
        (Op.MULTIPLY, -math.inf, 2.0, -math.inf),
        (Op.MULTIPLY, 1e300, -1e300, -math.inf),
        (Op.DIVIDE, math.inf, -math.inf, None),
        (Op.DIVIDE, 5.0, -math.inf, 0.0),
        (Op.DIVIDE, 5.0, -0.0, None),
        (Op.DIVIDE, 1.0, 5e-324, math.inf),
        (Op.REMAINDER, math.inf, 2.0, None),
        (Op.REMAINDER, -5.0, math.inf, -5.0),
        (Op.REMAINDER, -7.5, 2.0, -1.5),
        (Op.REMAINDER, 7.5, -2.0, 1.5),
        (Op.REMAINDER, 1.0, 0.0, None),
    ],
)
def test_doubles_at_the_edges(op: Op, left: float, right: float, result: float | None) -> None:
    assert ARITHMETIC[op](left, right, DOUBLE) == result


@pytest.mark.parametrize(
    ("operate", "left", "right", "result"),
    [
        (exact_arithmetic.quotient, -7, 2, -3),
        (exact_arithmetic.remainder, -7, 2, -1),
        (exact_arithmetic.remainder, 7, -2, 1),
        (exact_arithmetic.quotient, -(2**63), -1, None),
        (exact_arithmetic.remainder, -(2**63), -1, 0),
        (exact_arithmetic.multiply, 2**32, 2**31, None),
        (exact_arithmetic.multiply, -(2**32), 2**31, -(2**63)),
    ],
)
def test_bigints_at_the_edges(operate: Callable[..., Any], left: int, right: int, result: int | None) -> None:
    assert operate(left, right, LONG) == result


def program_of(op: Op, left: Type, right: Type, target: Type) -> Program:
    """One operation on two inputs."""
    build = Builder()
    operands = (build.bound_input(Aspect.LOWER, name, type_) for name, type_ in (("a", left), ("b", right)))
    return build.program(getattr(build, op.name.lower())(*operands, target))


def lanes_of(pairs: list[Pair], side: int, type_: Type) -> pa.Array:
    return pa.array([pair[side] for pair in pairs], interpreter.lane_type(type_))


@examples(10)
@given(cases())
def test_arrow_agrees_with_the_exact_primitives_on_operands_of_two_types(
    case: tuple[Op, Type, Type, Type, list[Pair]],
) -> None:
    """PRIM-2, for operands whose types and scales differ."""
    op, left, right, target, pairs = case
    event(op.name)
    program = program_of(op, left, right, target)
    inputs = Input(Aspect.LOWER, "a", left), Input(Aspect.LOWER, "b", right)
    expected = [exact.run(program, dict(zip(inputs, pair, strict=True)))[0] for pair in pairs]
    chunk = {input_: lanes_of(pairs, side, input_.type or left) for side, input_ in enumerate(inputs)}
    (actual,) = interpreter.run_chunk(program, chunk)
    assert actual.type == interpreter.lane_type(target)
    assert actual.to_pylist() == expected


@examples(4)
@given(cases())
def test_arrow_agrees_where_one_operand_is_constant(case: tuple[Op, Type, Type, Type, list[Pair]]) -> None:
    op, left, right, target, pairs = case
    build = Builder()
    column = build.bound_input(Aspect.LOWER, "a", left)
    constant = pairs[0][1]
    program = build.program(getattr(build, op.name.lower())(column, build.bound(constant, right), target))
    input_ = Input(Aspect.LOWER, "a", left)
    expected = [exact.run(program, {input_: one})[0] for one, _ in pairs]
    (actual,) = interpreter.run_chunk(program, {input_: lanes_of(pairs, 0, left)})
    lanes = actual.to_pylist() if isinstance(actual, pa.Array) else [actual.as_py()] * len(pairs)
    assert lanes == expected


def test_a_slice_of_decimals_is_read_from_its_offset() -> None:
    """A chunk is a slice of a column, whose buffers begin earlier."""
    type_ = decimal(5, 2)
    program = program_of(Op.MULTIPLY, type_, type_, decimal(9, 4))
    column = pa.array([Decimal("1.00"), Decimal("2.00"), None, Decimal("-3.50")], pa.decimal128(5, 2))[1:]
    inputs = {Input(Aspect.LOWER, name, type_): column for name in "ab"}
    (actual,) = interpreter.run_chunk(program, inputs)
    assert actual.to_pylist() == [Decimal("4.0000"), None, Decimal("12.2500")]


@pytest.mark.parametrize("op", EXACT)
def test_decimals_wider_than_64_bits_are_reached(op: Op) -> None:
    """Without this, the integers of Python would never run."""
    wide = st.sampled_from([case for case in CASES if case[0] is op and case[1].precision > 18])
    drawn = find(wide.flatmap(lambda case: numbers(case[1])), lambda value: not -(2**64) <= value <= 2**64)
    assert drawn is not None
