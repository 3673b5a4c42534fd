"""Ranges of `+ - * / div %` against every pair of operands: never too narrow, and narrow where it counts."""

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal

import pytest
from budget import examples
from claims import Held, claimed
from hypothesis import given
from hypothesis import strategies as st

from oracles.meaning.brute_force import evaluate
from pruning.expressions.trees import Arithmetic, Column, Expression, Literal, Mode, Operator
from pruning.expressions.types import BYTE, DOUBLE, LONG, Type, Value, decimal
from pruning.rules.families import operands

SHORT, TINY = decimal(2, 1), decimal(2, 0)
_BYTES = (-128, -127, -126, *range(-9, 10), 125, 126, 127)
_LONGS = (-(2**63), -(2**63) + 1, *range(-9, 10), 2**63 - 2, 2**63 - 1)
_DECIMALS = tuple(Decimal(units).scaleb(-1) for units in (-99, -98, *range(-25, 26, 5), -1, 1, 98, 99))
_DOUBLES = (
    -math.inf, -1.7976931348623157e308, -2.5, -1.0, -5e-324, -0.0, 0.0, 5e-324, 0.1, 1.0, 2.5, 7.0, math.inf,
)  # fmt: skip
DOMAINS: dict[Type, tuple[Value, ...]] = {
    BYTE: _BYTES,
    LONG: _LONGS,
    SHORT: tuple(sorted(_DECIMALS)),
    DOUBLE: _DOUBLES,
}
RESULTS = {
    Operator.ADD: decimal(3, 1),
    Operator.SUBTRACT: decimal(3, 1),
    Operator.MULTIPLY: decimal(5, 2),
    Operator.DIVIDE: decimal(8, 6),
    Operator.INTEGRAL_DIVIDE: LONG,
    Operator.REMAINDER: SHORT,
}
# Every operator with every type it has; decimals of the type Spark gives and of one too narrow.
CASES = [
    *((operator, BYTE, BYTE) for operator in Operator if operator.value not in ("/", "div")),
    *((operator, LONG, LONG) for operator in Operator if operator is not Operator.DIVIDE),
    *((operator, DOUBLE, DOUBLE) for operator in Operator if operator is not Operator.INTEGRAL_DIVIDE),
    *((operator, SHORT, RESULTS[operator]) for operator in Operator),
    *((operator, SHORT, TINY) for operator in Operator if operator is not Operator.INTEGRAL_DIVIDE),
]


@st.composite
def blocks(draw: st.DrawFn) -> tuple[Arithmetic, dict[str, list[Value]]]:
    """An operation on two columns, or on a column and a literal, and the values of each."""
    operator, type_, result = draw(st.sampled_from(CASES))
    domain = DOMAINS[type_]
    mode = draw(st.sampled_from([Mode.ANSI, Mode.LEGACY, Mode.TRY]))
    held: dict[str, list[Value]] = {}
    sides: list[Expression] = []
    for name in "ab":
        if not sides or draw(st.booleans()):
            ends = sorted((draw(st.integers(0, len(domain) - 1)), draw(st.integers(0, len(domain) - 1))))
            held[name] = list(domain[ends[0] : ends[1] + 1])
            sides.append(Column(name, type_))
        else:
            sides.append(Literal(draw(st.sampled_from(domain)), type_))
    if draw(st.booleans()):
        sides.reverse()
    return Arithmetic(operator, sides[0], sides[1], result, mode), held


def results(node: Expression, held: dict[str, list[Value]]) -> Iterator[Value | None]:
    """The node's value on each row that can be made of the columns' values; rows that raise have none."""
    for row in itertools.product(*held.values()):
        try:
            yield evaluate(node, dict(zip(held, row, strict=True)))
        except ArithmeticError:
            continue


@examples(10)
@given(blocks())
def test_no_result_lies_outside_the_range(block: tuple[Arithmetic, dict[str, list[Value]]]) -> None:
    claim = claimed(*block)
    for value in results(*block):
        assert claim.holds(value), (claim, value)


def bounds_of(node: Expression, held: Held) -> tuple[Value | None, Value | None]:
    claim = claimed(node, held)
    return claim.lower, claim.upper


# The least and greatest of the results, of blocks that hold every value between their bounds.
TIGHT = [
    (Operator.MULTIPLY, (-3, 5), (-7, 2), (-35, 21)),
    (Operator.MULTIPLY, (2, 5), (-7, -3), (-35, -6)),
    (Operator.MULTIPLY, (2, 127), (3, 4), (6, 127)),  # beyond 127 it raises
    (Operator.MULTIPLY, (-128, 3), (-2, -2), (-6, 127)),
    (Operator.REMAINDER, (13, 15), (10, 10), (3, 5)),
    (Operator.REMAINDER, (8, 12), (10, 10), (0, 9)),
    (Operator.REMAINDER, (-15, -13), (10, 10), (-5, -3)),
    (Operator.REMAINDER, (-3, 4), (-10, -10), (-3, 4)),
    (Operator.REMAINDER, (-128, -127), (-128, -128), (-127, 0)),
    (Operator.REMAINDER, (-3, 100), (-5, 7), (-3, 6)),
]


@pytest.mark.parametrize(("operator", "left", "right", "expected"), TIGHT)
def test_ranges_of_tinyint_are_as_narrow_as_can_be(
    operator: Operator, left: tuple[int, int], right: tuple[int, int], expected: tuple[int, int]
) -> None:
    other: Expression = Column("b", BYTE) if right[0] < right[1] else Literal(right[0], BYTE)
    node = Arithmetic(operator, Column("a", BYTE), other, BYTE)
    held: dict[str, list[Value]] = {
        name: list(range(low, high + 1)) for name, (low, high) in (("a", left), ("b", right))
    }
    assert bounds_of(node, held) == expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ((-7, 20), (0, 5), (-7, 20)),
        ((10, 20), (-5, 5), (-20, 20)),
        ((10, 20), (2, 5), (2, 10)),
        ((-20, -10), (2, 5), (-10, -2)),
        ((10, 20), (-5, -2), (-10, -2)),
        ((10, 20), (7, 7), (1, 2)),
    ],
)
def test_integral_quotients_are_as_narrow_as_can_be(
    left: tuple[int, int], right: tuple[int, int], expected: tuple[int, int]
) -> None:
    node = Arithmetic(Operator.INTEGRAL_DIVIDE, Column("a", LONG), Column("b", LONG), LONG, Mode.LEGACY)
    held: dict[str, list[Value]] = {"a": list(left), "b": list(right)}
    assert bounds_of(node, held) == expected


@pytest.mark.parametrize(
    ("operator", "mode", "divisors", "may_null"),
    [
        (Operator.INTEGRAL_DIVIDE, Mode.LEGACY, (0, 5), True),
        (Operator.INTEGRAL_DIVIDE, Mode.LEGACY, (1, 5), False),
        (Operator.INTEGRAL_DIVIDE, Mode.ANSI, (0, 5), False),
        (Operator.REMAINDER, Mode.TRY, (-5, 0), True),
        (Operator.REMAINDER, Mode.TRY, (-5, -1), False),
        (Operator.REMAINDER, Mode.ANSI, (-5, 5), False),
    ],
)
def test_only_a_possible_zero_divisor_gives_null(
    operator: Operator, mode: Mode, divisors: tuple[int, int], may_null: bool
) -> None:
    node = Arithmetic(operator, Column("a", LONG), Column("b", LONG), LONG, mode)
    assert claimed(node, {"a": [1, 9], "b": list(divisors)}).may_null is may_null


@pytest.mark.parametrize("operator", [Operator.INTEGRAL_DIVIDE, Operator.REMAINDER])
def test_only_zero_as_divisor_leaves_no_value(operator: Operator) -> None:
    node = Arithmetic(operator, Column("a", LONG), Literal(0, LONG), LONG, Mode.LEGACY)
    claim = claimed(node, {"a": [1, 9]})
    assert (claim.may_null, claim.may_nan, claim.may_value) == (True, False, False)


@pytest.mark.parametrize("operator", list(Operator))
def test_decimals_within_the_type_spark_gives_never_overflow(operator: Operator) -> None:
    """Without this, the rules could call each decimal result NULL under LEGACY and still be right."""
    node = Arithmetic(operator, Column("a", SHORT), Column("b", SHORT), RESULTS[operator], Mode.LEGACY)
    held: dict[str, list[Value]] = {name: [Decimal("0.1"), Decimal("9.9")] for name in "ab"}
    assert None not in bounds_of(node, held)
    assert claimed(node, held).may_null is False


def test_the_limits_of_the_widest_decimal_are_exact() -> None:
    """Python's own arithmetic would round them to 28 digits, beyond the type."""
    widest = decimal(38, 10)
    assert operands.number(10**38 - 1, widest) == Decimal((0, (9,) * 38, -10))
