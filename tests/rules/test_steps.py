"""TIME-3 and TIME-4: steps of dates and times are Spark's, and lanes are the exact steps."""

from typing import Any

import pyarrow as pa
import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from time_nodes import DAY, drawn, field_of, fields, increasing, operand, values_of
from times import HOUR, ZONES, days, instants

from oracles.answers.frames import arrow_frame
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Expression
from pruning.expressions.types import DATE, INTEGER, LONG, STRING, TIMESTAMP, TIMESTAMP_NTZ, Type
from pruning.rules.interpreters import exact
from pruning.rules.interpreters.arrow import functions, interpreter
from pruning.rules.program.builder import Builder
from pruning.rules.program.functions import Apply, Side
from pruning.rules.program.operations import Aspect, Input
from pruning.rules.time.cycles import CYCLES, OF_TIME
from pruning.rules.time.steps import DAYS_MAX, Action, Step

SAMPLE = 3  # each so many-th instant: of those beside transitions, each distance has its turn
SIDES = (Side.BELOW, Side.VALUE, Side.ABOVE)


@pytest.mark.parametrize("name", [zone for zone in ZONES if zone != "Pacific/Apia"])
def test_spark_computes_what_the_steps_do(spark: Any, deep: bool, name: str) -> None:
    """TIME-3. In one query a zone: at and around transitions, and where calendars turn."""
    chosen = instants(name)[:: 1 if deep else SAMPLE]
    held = {"t": chosen, "d": days(), "n": chosen}
    held["d"] = sorted({*held["d"], *(instant // DAY for instant in held["t"] if abs(instant) < 2**60)})
    size = max(map(len, held.values()))
    padded = {key: values + [0] * (size - len(values)) for key, values in held.items()}
    padded["d"] = [day if abs(day) < DAYS_MAX else 0 for day in padded["d"]]
    types = {"t": pa.timestamp("us", "UTC"), "d": pa.date32(), "n": pa.timestamp("us")}
    stored = {"t": pa.int64(), "d": pa.int32(), "n": pa.int64()}
    table = pa.table({key: pa.array(padded[key], stored[key]).view(types[key]) for key in types})
    rising = increasing(name)
    nodes: dict[str, Expression] = {**rising, **fields(name)}
    spark.conf.set("spark.sql.session.timeZone", name)
    try:
        frame = arrow_frame(spark, table, {"t": TIMESTAMP, "d": DATE, "n": TIMESTAMP_NTZ})
        computed = frame.selectExpr(*(f"{to_sql(node)} AS `{key}`" for key, node in nodes.items()))
        answers = pa.Table.from_batches(computed._collect_as_arrow())
    finally:
        spark.conf.unset("spark.sql.session.timeZone")
    compared = 0
    for key, node in nodes.items():
        column = padded[operand(node).name if key in rising else node.operands[0].name]
        theirs = integers(answers.column(key))
        ours = [values_of(node, x) if key in rising else [field_of(node, x)] for x in column]
        wrong = [
            (x, mine, answer)
            for x, mine, answer in zip(column, ours, theirs, strict=True)
            if mine and answer not in mine
        ]
        assert wrong == [], (key, len(wrong), wrong[:3])
        compared += sum(map(bool, ours))
    assert compared > 20_000


def integers(column: pa.ChunkedArray) -> list[Any]:
    """Dates and times as their integers, texts as bytes."""
    array = column.combine_chunks()
    if pa.types.is_temporal(array.type):
        return array.view(pa.int32() if pa.types.is_date32(array.type) else pa.int64()).to_pylist()
    return [cell.encode() if isinstance(cell, str) else cell for cell in array.to_pylist()]


def sought(name: str) -> list[tuple[Step, Type, Type]]:
    """The steps of each field."""
    wanted = frozenset({1, 5, 31, 53})
    found: list[tuple[Step, Type, Type]] = []
    for field, cycle in CYCLES.items():
        source = TIMESTAMP if field in OF_TIME else DATE
        for action in (Action.NEXT, Action.PREVIOUS, Action.FIELD, Action.CYCLE):
            target = source if action in (Action.NEXT, Action.PREVIOUS) else LONG
            step = Step(action, zone=name, field=field, wanted=wanted & frozenset(cycle.values))
            found.append((step, source, target))
    return found


def some_steps(name: str) -> list[tuple[Step, Type, Type]]:
    """Each kind of step, with the type it is of and the type it gives."""
    units = [(Step(Action.UNIT_START, unit=unit), DATE, DATE) for unit in ("WEEK", "MON", "QUARTER", "YEAR")]
    return [
        (Step(Action.LOCAL, zone=name), TIMESTAMP, TIMESTAMP_NTZ),
        (Step(Action.INSTANT, zone=name), TIMESTAMP_NTZ, TIMESTAMP),
        (Step(Action.MIDNIGHT, zone=name), DATE, TIMESTAMP),
        (Step(Action.TRUNCATE, HOUR, zone=name), TIMESTAMP, TIMESTAMP),
        (Step(Action.FLOOR, 1_000), TIMESTAMP, TIMESTAMP),
        (Step(Action.INDEX, DAY), TIMESTAMP_NTZ, DATE),
        (Step(Action.UNIT_INSTANT, unit="MONTH", zone=name), TIMESTAMP, TIMESTAMP),
        (Step(Action.INDEX, 1_000_000), TIMESTAMP, LONG),
        (Step(Action.SHIFT, -7), DATE, DATE),
        (Step(Action.REFLECT, 9), DATE, INTEGER),
        (Step(Action.LAST_DAY), DATE, DATE),
        (Step(Action.PLUS_MONTHS, -1), DATE, DATE),
        (Step(Action.LOCAL_MONTHS, 1), TIMESTAMP_NTZ, TIMESTAMP_NTZ),
        (Step(Action.DAYS_LATER, -1, zone=name), TIMESTAMP, TIMESTAMP),
        (Step(Action.MONTHS_LATER, 7, zone=name), TIMESTAMP, TIMESTAMP),
        (Step(Action.QUOTIENT, HOUR), TIMESTAMP_NTZ, LONG),
        (Step(Action.MONTHS_SINCE, 2_591_999_999_999), TIMESTAMP_NTZ, LONG),
        (Step(Action.EVEN_DAY), DATE, LONG),
        (Step(Action.TIMES, 1_000_000), LONG, TIMESTAMP),
        (Step(Action.YEAR), DATE, INTEGER),
        (Step(Action.TEXT, unit="yyyy-MM-dd"), TIMESTAMP_NTZ, STRING),
        *units,
        *sought(name),
    ]


@examples(10)
@given(st.data(), st.sampled_from(ZONES), st.sampled_from(SIDES))
def test_arrow_steps_as_the_exact_step_does(data: st.DataObject, name: str, side: Side) -> None:
    """TIME-4."""
    step, source, target = data.draw(st.sampled_from(some_steps(name)))
    event(step.action.name)
    held = data.draw(st.lists(st.none() | drawn(source, name), min_size=1, max_size=12))
    call, lane_type = Apply(step, side=side), interpreter.lane_type(target)
    build = Builder()
    program = build.program(build.apply(call, build.bound_input(Aspect.LOWER, "x", source), type_=target))
    column = Input(Aspect.LOWER, "x", source)
    assert program.inputs == (column,)
    expected = [exact.run(program, {column: value})[0] for value in held]
    lanes = pa.array(held, interpreter.lane_type(source))
    found = functions.apply(call, [lanes], source, target, lane_type)
    assert found.type == lane_type
    assert found.to_pylist() == expected


def test_every_action_has_lanes() -> None:
    assert {step.action for step, _, _ in some_steps("UTC")} == set(Action)
