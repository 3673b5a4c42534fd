"""The axioms that proofs of `* / div %` use are true: each instance, of numbers instead of terms."""

import math
from fractions import Fraction

import pytest
import z3
from budget import examples
from hypothesis import example, given
from hypothesis import strategies as st

from pruning.rules.interpreters.solver import products
from pruning.rules.interpreters.solver.products import Monotonicity, Operate
from pruning.rules.sets import primitives

INTEGRAL = (products.product, products.whole, products.half_up, products.remainder)
REAL = (products.product, products.ratio, products.rest)
SMALL = st.integers(-12, 12)
NUMBERS = st.lists(st.tuples(SMALL | st.integers(-(2**64), 2**64), SMALL), min_size=2, max_size=4)


def all_hold(monotony: Monotonicity) -> bool:
    return all(z3.is_true(z3.simplify(axiom)) for axiom in monotony.axioms() if not divides_by_zero(axiom))


def divides_by_zero(axiom: z3.ExprRef) -> bool:
    """Whether a premise spares the instance; what a quotient by zero is nobody says."""
    return z3.is_true(z3.simplify(axiom.arg(0) == z3.BoolVal(False)))


@examples(0.5)
@given(NUMBERS)
@example([(0, 0), (1, -1), (-1, 1)])
@example([(-7, 2), (7, -2), (-5, 3)])
def test_the_axioms_of_products_hold_of_numbers(numbers: list[tuple[int, int]]) -> None:
    """PRODUCT and QUOTIENT, of integers and of rationals."""
    monotony = Monotonicity()
    for left, right in numbers:
        for operate in INTEGRAL:
            monotony.of(operate, z3.IntVal(left), z3.IntVal(right))
        monotony.of(products.nearest, z3.IntVal(left), z3.IntVal(100))
    assert all_hold(monotony)
    rational = Monotonicity()
    for left, right in numbers:
        for operate in REAL:
            rational.of(operate, z3.RealVal(Fraction(left, 4)), z3.RealVal(Fraction(right, 3)))
    assert all_hold(rational)


@pytest.mark.parametrize("operate", [products.product, products.ratio, products.whole, products.remainder])
def test_an_axiom_is_stated_of_each_operation(operate: Operate) -> None:
    """Without this, the axioms could hold because there is none."""
    monotony = Monotonicity()
    integers = operate is not products.ratio
    make = z3.IntVal if integers else z3.RealVal
    monotony.of(operate, make(7), make(2))
    monotony.of(operate, make(-7), make(3))
    assert monotony.axioms()


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_rounding_keeps_floats_and_none_lies_below_the_smallest(value: float) -> None:
    """KEPT and SMALLEST, in both widths."""
    narrow = primitives.to_float32(value)
    assert primitives.to_float32(narrow) == narrow
    assert float(Fraction(value)) == value
    assert value == 0 or abs(value) >= 2.0**-1074
    assert narrow == 0 or abs(narrow) >= 2.0**-149
    assert math.nextafter(0.0, 1.0) == 2.0**-1074


@given(st.integers(-(2**53), 2**53))
def test_doubles_hold_integers_of_53_bits(number: int) -> None:
    """KEPT, of integers."""
    assert int(float(number)) == number
