"""PRIM-2: each interpreter gives each operation the exact primitive's answer, lane by lane."""

import functools
import math
import sys
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import z3
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from searches import find

from pruning.expressions.trees import Function
from pruning.expressions.types import DOUBLE, FLOAT, INTEGER, LONG, Type, Value, decimal
from pruning.metadata.table.schema import arrow_type
from pruning.rules.interpreters import exact
from pruning.rules.interpreters.arrow import interpreter, kernels
from pruning.rules.interpreters.solver.interpreter import Solver
from pruning.rules.interpreters.solver.numbers import Bounded
from pruning.rules.program.builder import Builder
from pruning.rules.program.functions import Apply
from pruning.rules.program.operations import Aspect, Bound, Flag, Input, Op, Program
from pruning.rules.sets import cuts, primitives
from strategies.base.values import TYPES, neighbours, values
from strategies.choices import choose

pytestmark = pytest.mark.filterwarnings("error")  # numpy's, which a user would see

# Of two columns: the lower and the upper bound of one are in order, and the builder knows.
COLUMNS = ("left", "right")
SUMS_AND_PRODUCTS = ("add", "subtract", "multiply", "divide", "quotient", "remainder")
BINARY_OPS = ("least", "greatest", "least_known", "greatest_known", *SUMS_AND_PRODUCTS)
FLAG_OPS = ("maybe_less", "maybe_at_most", "is_known", "maybe_meets")
UNARY_OPS = ("next", "previous")
OPERATIONS = (*BINARY_OPS, *FLAG_OPS, *UNARY_OPS, "cast", "apply", "choose", "logic")
Row = tuple[bool, Value | None, Value | None]


@functools.cache
def bounds(type_: Type) -> st.SearchStrategy[Value | None]:
    """Bounds: unknown, or a value that is not NaN."""
    known = values(type_).filter(lambda value: not (isinstance(value, float) and math.isnan(value)))
    return st.none() | known


@functools.cache
@st.composite
def lanes(draw: st.DrawFn, type_: Type) -> list[Row]:
    """Rows of a flag and two bounds, often equal or neighbours."""
    rows: list[Row] = []
    for _ in range(draw(st.integers(1, 8))):
        left = draw(bounds(type_))
        near = [left] if left is None else [left, *neighbours(left, type_)]
        if draw(st.booleans()):
            right = choose(draw, [value for value in near if value is None or not is_nan(value)] or [None])
        else:
            right = draw(bounds(type_))
        rows.append((draw(st.booleans()), left, right))
    return rows


def is_nan(value: Value) -> bool:
    return isinstance(value, float) and math.isnan(value)


def program_of(operation: str, type_: Type, *, target: Type, members: list[Value]) -> Program:
    """One operation on a flag and two bounds of `type_`."""
    build = Builder()
    flag = build.flag_input(Aspect.MAY_NULL, "left", type_)
    left, right = (build.bound_input(Aspect.LOWER, name, type_) for name in COLUMNS)
    known = build.is_known(left)
    output: Flag | Bound
    match operation:
        case "cast":
            output = build.cast(left, target)
        case "apply" if type_.floating:
            output = build.apply(Apply(Function.FLOOR), left, type_=LONG)
        case "apply" if type_.integral or type_.precision:
            output = build.apply(Apply(Function.BROUND, -1), left, type_=type_)
        case "apply":
            output = known
        case "choose":
            output = build.choose(flag, left, right)
        case "logic":
            output = build.or_(build.and_(flag, known), build.not_(build.or_(flag, known)))
        case "is_known" | "next" | "previous":
            output = getattr(build, operation)(left)
        case "maybe_meets":
            output = build.maybe_meets(left, right, cuts.of_values(members, type_))
        case _:
            output = getattr(build, operation)(left, right)
    return build.program(output)


def inputs_of(type_: Type, row: Row) -> dict[Input, Any]:
    """The cells of one row by input."""
    flag, left, right = row
    return {
        Input(Aspect.MAY_NULL, "left", type_): flag,
        Input(Aspect.LOWER, "left", type_): left,
        Input(Aspect.LOWER, "right", type_): right,
    }


def columns_of(type_: Type, rows: list[Row]) -> dict[Input, pa.Array]:
    """The rows as Arrow arrays by input."""
    flags = pa.array([row[0] for row in rows], pa.bool_())
    columns = {Input(Aspect.MAY_NULL, "left", type_): flags}
    for side, name in enumerate(COLUMNS, start=1):
        cells = [
            cell.decode() if type_.kind.value == "string" and isinstance(cell, bytes) else cell
            for cell in (row[side] for row in rows)
        ]
        input_ = Input(Aspect.LOWER, name, type_)
        columns[input_] = interpreter.to_lanes(input_, storable(cells, type_))
    return columns


def storable(cells: list[Any], type_: Type) -> pa.Array:
    """The cells as block metadata keeps them: dates and timestamps by way of their integers."""
    target = arrow_type(type_)
    integers = {32: pa.int32(), 64: pa.int64()}
    if pa.types.is_temporal(target):
        return pa.array(cells, integers[target.bit_width]).view(target)
    return pa.array(cells, target)


def draw_case(data: st.DataObject) -> tuple[str, Type, Type, list[Row], list[Value]]:
    """An operation, its type, the target of a cast, rows, and the members of a list."""
    operation, type_ = data.draw(st.sampled_from(OPERATIONS)), data.draw(st.sampled_from(TYPES))
    targets = [target for target in TYPES if primitives.keeps_order(type_, target)]
    target = data.draw(st.sampled_from(targets))
    rows = data.draw(lanes(type_))
    pool = {row[1] for row in rows if row[1] is not None}
    members = data.draw(st.lists(bounds(type_), min_size=1, max_size=24))
    # Zeros of both signs are one member.
    plain = {
        0.0 if value == 0 and isinstance(value, float) else value
        for value in (*pool, *members)
        if value is not None
    }
    return operation, type_, target, rows, sorted(plain)


def same(left: Any, right: Any) -> bool:
    """Equal cells; zeros of both signs are one value."""
    return (left is None) == (right is None) and (left is None or left == right)


@examples(10)
@given(st.data())
def test_arrow_agrees_with_the_exact_primitives_on_each_lane(data: st.DataObject) -> None:
    """For each operation, type and lane, unknown where and only where the exact answer is."""
    operation, type_, target, rows, members = draw_case(data)
    program = program_of(operation, type_, target=target, members=members)
    if not program.inputs:
        return
    event(operation)
    expected = [exact.run(program, inputs_of(type_, row))[0] for row in rows]
    chunk = interpreter.run_chunk(program, columns_of(type_, rows))
    actual = chunk[0].to_pylist() if isinstance(chunk[0], pa.Array) else [chunk[0].as_py()] * len(rows)
    assert len(actual) == len(expected)
    assert all(same(left, right) for left, right in zip(actual, expected, strict=True)), (actual, expected)


@examples(10)
@given(st.data())
def test_z3_agrees_with_the_exact_primitives(data: st.DataObject) -> None:
    """On exact values; sums of floats are left to the axiom ROUNDING."""
    operation, type_, target, rows, members = draw_case(data)
    rounds = (operation in SUMS_AND_PRODUCTS and type_.floating) or (operation == "cast" and target.floating)
    program = program_of(operation, type_, target=target, members=members)
    if rounds or not program.inputs:
        return
    solver = Solver()
    cells = {
        input_: solver_cell(solver, input_, value) for input_, value in inputs_of(type_, rows[0]).items()
    }
    (actual,) = solver.run(program, cells)
    (expected,) = exact.run(program, inputs_of(type_, rows[0]))
    prover = z3.Solver()
    prover.add(*solver.theory.axioms())
    if isinstance(actual, Bounded):
        output = program.operations[program.outputs[0]].type
        assert output is not None
        wanted = actual.known == z3.BoolVal(expected is not None)
        if expected is not None:
            constant = solver.theory.constant(expected, output)
            wanted = z3.And(wanted, actual.number.at_most(constant), constant.at_most(actual.number))
        prover.add(*solver.theory.axioms(), z3.Not(wanted))
    else:
        prover.add(actual != z3.BoolVal(bool(expected)))
    assert prover.check() == z3.unsat, (operation, type_, rows[0], expected)


def solver_cell(solver: Solver, input_: Input, value: Any) -> Any:
    """A cell as a term."""
    if input_.aspect is Aspect.MAY_NULL:
        return z3.BoolVal(value)
    assert input_.type is not None
    if value is None:
        return Bounded(z3.BoolVal(False), solver.theory.variable(input_.column, input_.type))
    return Bounded(z3.BoolVal(True), solver.theory.constant(value, input_.type))


@pytest.mark.parametrize("operation", OPERATIONS)
def test_each_operation_is_reached_with_a_known_answer(operation: str) -> None:
    """Without this, the interpreters could agree because every answer is unknown."""
    type_ = DOUBLE if operation == "divide" else next(type_ for type_ in TYPES if type_.integral)
    known = {"cast": TYPES[1]}.get(operation, type_)
    program = program_of(operation, type_, target=known, members=[1, 5])
    find(lanes(type_), lambda rows: exact.run(program, inputs_of(type_, rows[0]))[0] is not None)


def test_each_operation_of_a_program_is_exercised() -> None:
    """Constants aside, no operation is left out of the table above."""
    constants = {Op.FLAG, Op.FLAG_INPUT, Op.BOUND, Op.UNKNOWN, Op.BOUND_INPUT}
    members: list[Value] = list(range(0, 40, 2))  # too many to compare with one by one
    programs = [
        program_of(operation, type_, target=TYPES[1], members=members)
        for operation in OPERATIONS
        for type_ in (INTEGER, DOUBLE)
    ]
    used = {step.op for program in programs for step in program.operations}
    assert used - constants == set(Op) - constants


@pytest.mark.parametrize(("sign", "digits"), [(1, 0), (-1, 1)])
def test_a_decimal_of_38_digits_steps_out_of_its_type(sign: int, digits: int) -> None:
    """Python's own minus would round the type's limit to 28 digits and let the step stay inside."""
    widest = decimal(38, 0)
    limit = Decimal((digits, (9,) * 38, 0))
    bound = pa.array([limit], pa.decimal128(38, 0))
    assert kernels.step(bound, widest, sign=sign).to_pylist() == [None]
    assert kernels.step(bound, widest, sign=-sign).null_count == 0


def test_a_decimal_that_shifts_beyond_what_arrow_holds_has_no_place() -> None:
    """38 digits before the point would need 76 with 38 more behind it."""
    whole, fraction = decimal(38, 0), decimal(38, 38)
    bound = pa.array([Decimal((0, (9,) * 38, 0)), Decimal(1), Decimal(0)], pa.decimal128(38, 0))
    assert kernels.cast(bound, whole, fraction, pa.decimal128(38, 38)).to_pylist() == [None, None, 0]


@pytest.mark.parametrize(
    ("type_", "greatest"), [(FLOAT, float(np.finfo(np.float32).max)), (DOUBLE, sys.float_info.max)]
)
def test_only_infinity_is_beyond_the_greatest_float(type_: Type, greatest: float) -> None:
    beyond = cuts.above(greatest, type_, inclusive=False)
    upper = pa.array([greatest, math.inf], arrow_type(type_))
    assert kernels.maybe_meets(upper, upper, beyond).to_pylist() == [False, True]
