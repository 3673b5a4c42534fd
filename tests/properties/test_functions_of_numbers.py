"""PROP-10: the range of each function and cast of numbers holds Spark's own answers, value by value."""

import functools
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st

from oracles.answers.frames import rows_frame, session
from pruning.expressions.function_groups import ARRAY_FUNCTIONS, TEXT_FUNCTIONS, TIME_FUNCTIONS
from pruning.expressions.sql import to_sql
from pruning.expressions.traversal import columns
from pruning.expressions.trees import Call, Cast, Column, Expression, Function, Literal, Mode
from pruning.expressions.types import BOOLEAN, BYTE, DOUBLE, FLOAT, INTEGER, LONG, SHORT, Type, Value, decimal
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis
from pruning.rules.compile.table import RULES
from pruning.rules.interpreters import exact
from pruning.rules.program.operations import Aspect, Input
from strategies.base.tables import Table
from strategies.base.values import decimal_of, values

ROWS = 10
TYPES = {
    "b": BYTE, "h": SHORT, "i": INTEGER, "l": LONG, "f": FLOAT, "x": DOUBLE, "y": DOUBLE, "p": BOOLEAN,
    "d": decimal(10, 2), "e": decimal(20, 4), "w": decimal(38, 10),
}  # fmt: skip
COLUMNS = {name: Column(name, type_) for name, type_ in TYPES.items()}
TARGETS = (
    BYTE, SHORT, INTEGER, LONG, FLOAT, DOUBLE, BOOLEAN,
    decimal(10, 2), decimal(6, 0), decimal(12, 6), decimal(38, 20),
)  # fmt: skip
DOUBLES = (
    Function.SIGN,
    Function.SQRT,
    Function.EXP,
    Function.LN,
    Function.LOG10,
    Function.LOG2,
    Function.LOG1P,
)


def literal(value: float) -> Literal:
    """A double."""
    return Literal(value, DOUBLE)


def expressions() -> Iterator[Expression]:
    """Every function and cast, typed as Spark types them."""
    for name, target, mode in itertools.product(TYPES, TARGETS, (Mode.LEGACY, Mode.TRY)):
        if TYPES[name] != target:
            yield Cast(COLUMNS[name], target, mode)
    for name in "bhilfxde":  # longer decimals may raise
        for function in (Function.NEGATE, Function.ABS):
            yield Call(function, (COLUMNS[name],), TYPES[name], Mode.LEGACY)
    x, y = COLUMNS["x"], COLUMNS["y"]
    yield from (Call(function, (x,), DOUBLE, Mode.LEGACY) for function in DOUBLES)
    for function in (Function.FLOOR, Function.CEIL):
        yield Call(function, (x,), LONG, Mode.LEGACY)
        yield Call(function, (COLUMNS["d"],), decimal(9, 0), Mode.LEGACY)
        yield Call(function, (COLUMNS["e"], Literal(1, INTEGER)), decimal(18, 1), Mode.LEGACY)
    for function, digits in itertools.product((Function.ROUND, Function.BROUND), (-2, -1, 0, 1, 2, 5)):
        for name in "bhilfx":
            yield Call(function, (COLUMNS[name], Literal(digits, INTEGER)), TYPES[name], Mode.LEGACY)
    for function in (Function.ROUND, Function.BROUND):
        yield Call(function, (COLUMNS["d"], Literal(1, INTEGER)), decimal(10, 1), Mode.LEGACY)
        yield Call(function, (COLUMNS["e"], Literal(-1, INTEGER)), decimal(17, 0), Mode.LEGACY)
    yield Call(Function.POWER, (x, y), DOUBLE, Mode.LEGACY)
    yield Call(Function.LOG, (x, y), DOUBLE, Mode.LEGACY)
    for number in (-1.0, 0.0, 0.5, 2.0, 3.0):
        yield Call(Function.POWER, (x, literal(number)), DOUBLE, Mode.LEGACY)
        yield Call(Function.LOG, (literal(number), x), DOUBLE, Mode.LEGACY)
        yield Call(Function.POWER, (literal(number), x), DOUBLE, Mode.LEGACY)
    for function in (Function.GREATEST, Function.LEAST):
        yield Call(function, (x, y, literal(1.0)), DOUBLE, Mode.LEGACY)


@functools.cache
def numbers(type_: Type) -> st.SearchStrategy[Value | None]:
    """Values, NULL, and numbers near ties, near 1 and near the limits of the narrower types."""
    if type_ == FLOAT:
        return st.none() | values(type_) | st.integers(-400, 400).map(lambda eighths: eighths / 8)
    if type_ == DOUBLE:
        ties = st.builds(
            lambda units, digits: (units + 0.5) / 10**digits, st.integers(-999, 999), st.integers(0, 3)
        )
        limits = st.sampled_from([2.0**63, 2.0**31, 2147483647.5, -2147483648.5, 127.5, 128.0, -129.0])
        return st.none() | values(type_) | ties | limits | st.floats(0, 30)
    if type_.precision:
        limit = 10**type_.precision - 1
        units = [
            sign * (10**type_.scale * 2**bits) + step
            for sign in (1, -1)
            for bits in (7, 31, 63)
            for step in (-1, 0, 1)
        ]
        near = st.sampled_from([unit for unit in units if abs(unit) <= limit])
        return st.none() | values(type_) | near.map(lambda unit: decimal_of(unit, type_.scale))
    return st.none() | values(type_)


def answers(spark: Any, table: Table, asked: Sequence[Expression]) -> list[list[Any]]:
    """Spark's value of each expression on each row."""
    with session(spark, ansi=False):
        frame = rows_frame(spark, table)
        found = frame.selectExpr(*(f"{to_sql(node)} AS c{place}" for place, node in enumerate(asked)))
        kinds = [field.dataType.simpleString() for field in found.schema]
        assert kinds == [node.type.sql for node in asked]
        rows = found.collect()
    return [[row[place] for row in rows] for place in range(len(asked))]


def inputs(node: Expression, rows: Sequence[dict[str, Any]], *, unknown: bool) -> dict[Input, Any]:
    """What exact block metadata tells of some rows; `unknown`: without bounds."""
    cells: dict[Input, Any] = {Input(Aspect.HAS_ROWS, "", None): True}
    for name, type_ in columns(node).items():
        held = [row[name] for row in rows]
        plain = [value for value in held if value is not None and value == value]
        known = bool(plain) and not unknown
        cells[Input(Aspect.LOWER, name, type_)] = min(plain) if known else None
        cells[Input(Aspect.UPPER, name, type_)] = max(plain) if known else None
        cells[Input(Aspect.MAY_NULL, name, type_)] = None in held
        cells[Input(Aspect.MAY_NAN, name, type_)] = any(
            value is not None and value != value for value in held
        )
        cells[Input(Aspect.MAY_VALUE, name, type_)] = bool(plain)
    return cells


def encloses(known: tuple[Any, ...], answer: Any) -> bool:
    """Whether a range (lower, upper, may be NULL, NaN, a value) holds an answer."""
    lower, upper, may_null, may_nan, may_value = known
    if answer is None:
        return bool(may_null)
    if isinstance(answer, float) and math.isnan(answer):
        return bool(may_nan)
    return bool(may_value) and (lower is None or lower <= answer) and (upper is None or answer <= upper)


ASKED = tuple(expressions())


@examples(0.3)
@given(st.data())
def test_ranges_hold_the_answers_of_spark(spark: Any, data: st.DataObject) -> None:
    """Of every single row, of neighbours, and of all of them, with bounds and without."""
    drawn = {
        name: data.draw(st.lists(numbers(type_), min_size=ROWS, max_size=ROWS))
        for name, type_ in TYPES.items()
    }
    rows = [dict(zip(TYPES, row, strict=True)) for row in zip(*drawn.values(), strict=True)]
    asked = data.draw(st.lists(st.sampled_from(ASKED), min_size=40, max_size=40, unique=True))
    table = Table(tuple(COLUMNS.values()), (tuple(zip(*drawn.values(), strict=True)),))
    pairs = [[place, (place + 1) % ROWS] for place in range(ROWS)]
    groups = [([place], False) for place in range(ROWS)] + [(pair, False) for pair in pairs]
    groups += [(list(range(ROWS)), unknown) for unknown in (False, True)]
    for node, found in zip(asked, answers(spark, table, asked), strict=True):
        analysis = Analysis(RULES)
        known = analysis.range(node, Environment())
        program = analysis.build.program(
            known.lower, known.upper, known.may_null, known.may_nan, known.may_value
        )
        for group, unknown in groups:
            cells = inputs(node, [rows[place] for place in group], unknown=unknown)
            claimed = exact.run(program, cells)
            for place in group:
                assert encloses(claimed, found[place]), (to_sql(node), rows[place], claimed, found[place])


@pytest.mark.parametrize(
    "function", sorted(set(Function) - ARRAY_FUNCTIONS - TEXT_FUNCTIONS - TIME_FUNCTIONS, key=str)
)
def test_every_function_is_asked(function: Function) -> None:
    assert any(isinstance(node, Call) and node.function is function for node in ASKED)
