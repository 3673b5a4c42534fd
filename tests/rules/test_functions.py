"""PRIM-2 for functions and narrowing casts, and the axioms LIBM, TEXT and NEIGHBOURS."""

import functools
import itertools
import math
import random
import sys
from decimal import Decimal, Inexact, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from budget import examples
from hypothesis import assume, given
from hypothesis import strategies as st

from pruning.expressions.trees import Function
from pruning.expressions.types import DOUBLE, FLOAT, LONG, Type, Value, decimal
from pruning.rules.families import fitting
from pruning.rules.interpreters.arrow import functions as arrow_functions
from pruning.rules.interpreters.arrow import interpreter
from pruning.rules.interpreters.solver import facts
from pruning.rules.program import functions
from pruning.rules.program.functions import ELEMENTARY, ROUNDING, Apply, Side
from pruning.rules.sets import primitives
from strategies.base.values import TYPES, values

NUMBERS = tuple(type_ for type_ in TYPES if type_.integral or type_.floating or type_.precision)
SIDES = (Side.BELOW, Side.ABOVE)
TIES = st.builds(
    lambda units, digits: (units + 0.5) / 10**digits, st.integers(-9999, 9999), st.integers(0, 6)
)


@functools.cache
def numbers(type_: Type) -> st.SearchStrategy[Value]:
    """Values that are not NaN; of doubles, ties often."""
    drawn = values(type_).filter(lambda value: value == value)
    return drawn | TIES if type_ == DOUBLE else drawn


def lanes(held: list[Value | None], type_: Type) -> pa.Array:
    cells = [int(value) if isinstance(value, bool) else value for value in held]
    return pa.array(cells, interpreter.lane_type(type_))


@examples(10)
@given(st.data())
def test_arrow_casts_as_the_exact_primitive_does(data: st.DataObject) -> None:
    source, target = data.draw(st.sampled_from(TYPES)), data.draw(st.sampled_from(NUMBERS))
    assume(source != target and primitives.keeps_order(source, target))
    held = data.draw(st.lists(st.none() | numbers(source), min_size=1, max_size=12))
    expected = [None if value is None else primitives.cast(value, source, target) for value in held]
    found = arrow_functions.cast(lanes(held, source), source, target, interpreter.lane_type(target))
    assert found.to_pylist() == expected


@examples(10)
@given(st.data(), st.sampled_from(sorted(ROUNDING, key=str)), st.sampled_from(SIDES))
def test_arrow_rounds_as_the_exact_primitive_does(
    data: st.DataObject, function: Function, side: Side
) -> None:
    source = data.draw(st.sampled_from(NUMBERS))
    whole = source.floating and function in (Function.FLOOR, Function.CEIL)
    targets = [LONG] if whole else [source, decimal(10, 2), decimal(38, 20)] if source.floating else [source]
    target = data.draw(st.sampled_from(targets))
    most = target.scale if target.precision else 18
    digits = (
        0 if whole else data.draw(st.sampled_from([0, 1, 2, -1, -3, -40, most]).filter(lambda n: n <= most))
    )
    call = Apply(function, digits, side)
    held = data.draw(st.lists(st.none() | numbers(source), min_size=1, max_size=12))
    expected = [None if value is None else functions.apply(call, (value,), source, target) for value in held]
    found = arrow_functions.apply(call, [lanes(held, source)], source, target, interpreter.lane_type(target))
    assert found.to_pylist() == expected


@examples(10)
@given(st.data(), st.sampled_from(SIDES))
def test_arrow_encloses_elementary_functions_as_the_exact_primitive_does(
    data: st.DataObject, side: Side
) -> None:
    function = data.draw(
        st.sampled_from([*ELEMENTARY, Function.SQRT, Function.SIGN, Function.POWER, Function.LOG])
    )
    count = 2 if function in (Function.POWER, Function.LOG) else 1
    pairs = data.draw(st.lists(st.tuples(*[numbers(DOUBLE)] * count), min_size=1, max_size=12))
    call = Apply(function, 0, side)
    expected = [functions.apply(call, pair, DOUBLE, DOUBLE) for pair in pairs]
    columns = [lanes(list(column), DOUBLE) for column in zip(*pairs, strict=True)]
    assert arrow_functions.apply(call, columns, DOUBLE, DOUBLE, pa.float64()).to_pylist() == expected


@given(TIES | st.floats(allow_nan=False, allow_infinity=False), st.integers(-3, 8))
def test_rounding_lies_between_its_sides_and_is_right_where_python_and_java_write_alike(
    value: float, digits: int
) -> None:
    low, high = (functions.text_units(value, digits, functions.half_up, side) for side in SIDES)
    text = functions.half_up(Fraction(repr(value)) * Fraction(10) ** digits)
    assert low <= text <= high
    assert low == high or not functions.is_plain_text(value)


@given(st.data(), st.sampled_from(NUMBERS), st.sampled_from(NUMBERS))
def test_limits_are_the_last_values_that_fit(data: st.DataObject, source: Type, target: Type) -> None:
    assume(source != target and primitives.keeps_order(source, target) and not target.floating)
    least, greatest = fitting.limits(lambda value: primitives.cast(value, source, target), source)
    value = data.draw(numbers(source))
    inside = (least is None or least <= value) and (greatest is None or value <= greatest)
    assert inside == (primitives.cast(value, source, target) is not None)


@given(st.floats(allow_nan=False, allow_infinity=False, width=32), st.sampled_from((FLOAT, DOUBLE)))
def test_neighbours_leave_nothing_between(value: float, type_: Type) -> None:
    """Axiom NEIGHBOURS."""
    beside = facts.neighbours(value, type_)
    assert beside == sorted(set(beside))
    middles = [(float(low) + float(high)) / 2 for low, high in itertools.pairwise(beside)]
    narrow = primitives.to_float32 if type_ == FLOAT else float
    assert all(narrow(middle) in beside for middle in middles)


@pytest.mark.parametrize("function", [*ELEMENTARY, Function.POWER, Function.LOG])
def test_spark_lies_between_the_sides_of_an_elementary_function(spark: Any, function: Function) -> None:
    """Axiom LIBM, on 20,000 numbers over the whole range, and near 1."""
    numbers_of = "(rand(7) - 0.5) * pow(10, (rand(8) - 0.5) * 600)"
    frame = spark.range(20_000).selectExpr(
        f"CASE WHEN id % 3 = 0 THEN 1 + {numbers_of} * 1e-12 WHEN id % 3 = 1 THEN rand(9) * 700 "
        f"ELSE {numbers_of} END AS x",
        "rand(10) * 20 AS b",
    )
    count = 2 if function in (Function.POWER, Function.LOG) else 1
    operands = ("b", "x") if count == 2 else ("x",)
    rows = frame.selectExpr(*operands, f"{function.value}({', '.join(operands)}) AS answer").collect()
    kept = [row for row in rows if row.answer is not None and not math.isnan(row.answer)]
    assert len(kept) > 5_000
    columns = [lanes([row[place] for row in kept], DOUBLE) for place in range(count)]
    low, high = (
        arrow_functions.apply(Apply(function, 0, side), columns, DOUBLE, DOUBLE, pa.float64()).to_pylist()
        for side in SIDES
    )
    wrong = [
        (row, below, above)
        for row, below, above in zip(kept, low, high, strict=True)
        if not below <= row.answer <= above
    ]
    assert wrong == []
    for row in [row for row in kept[::25] if row[0] > 0 and math.isfinite(row.answer)]:
        truth = true_value(function, *(Decimal(row[place]) for place in range(count)))
        assert within_half_the_margin(row.answer, truth), row


def within_half_the_margin(found: float, truth: Decimal) -> bool:
    """Whether a library's value is as near to the true one as the axiom says; infinite ones are."""
    if math.isinf(found):
        return abs(Fraction(truth)) > Fraction(sys.float_info.max)
    exact = Fraction(truth)
    margin = abs(exact) * Fraction(functions.LIBM_RELATIVE) + Fraction(functions.LIBM_ABSOLUTE)
    return abs(Fraction(found) - exact) <= margin / 2


def true_value(function: Function, first: Decimal, second: Decimal | None = None) -> Decimal:
    """The value to 50 digits, by arithmetic that rounds correctly."""
    with localcontext() as context:
        context.prec = 50 + 20
        context.traps[Inexact] = False
        match function:
            case Function.EXP:
                return first.exp()
            case Function.LOG10:
                return first.log10()
            case Function.LOG2:
                return first.ln() / Decimal(2).ln()
            case Function.LOG1P:
                context.prec = 700  # so that 1 + x keeps x
                return (1 + first).ln()
            case Function.LOG:
                assert second is not None
                return second.ln() / first.ln()
            case Function.POWER:
                assert second is not None
                return (second * first.ln()).exp() if first else Decimal(0)
            case _:
                assert function is Function.LN
                return first.ln()


@pytest.mark.parametrize("function", [Function.EXP, Function.LN, Function.LOG10, Function.LOG2])
def test_numpy_lies_within_half_the_margin_of_the_true_value(function: Function) -> None:
    """Axiom LIBM, the half of it that is ours."""
    chance = random.Random(11)
    for _ in range(500):
        number = chance.uniform(0, 700) if function is Function.EXP else 10 ** chance.uniform(-300, 300)
        found = float(functions.ELEMENTARY[function][0](np.float64(number)))
        truth = true_value(function, Decimal(number))
        assert within_half_the_margin(found, truth), number


def test_java_writes_short_decimals_as_python_does(spark: Any) -> None:
    """Axiom TEXT, on 60,000 doubles of up to 15 digits."""
    places = ", ".join(f"'1e{exponent}'" for exponent in range(-15, 15))
    rows = (
        spark.range(60_000)
        .selectExpr(
            "CAST(CAST(floor(rand(3) * pow(10, 1 + id % 15)) AS string) || "
            f"substring(element_at(array({places}), CAST(1 + id % 30 AS int)), 2) AS double) AS x"
        )
        .selectExpr("x", "CAST(x AS string) AS text")
        .collect()
    )
    plain = [row for row in rows if functions.is_plain_text(row.x)]
    assert len(plain) > 20_000
    assert [row for row in plain if Decimal(row.text) != Decimal(repr(row.x))] == []
