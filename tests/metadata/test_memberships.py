"""What is kept of a block's values: nothing that a block holds is ever denied, and much else is."""

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from looking_up import Rows, array, denied, excluded, holding, looked_at, memberships, present, told

from mutants.metadata.memberships import MUTANTS
from pruning.expressions import types
from pruning.expressions.types import Type, Value
from pruning.metadata.index import buckets, own_filters
from pruning.metadata.index.membership_query import PROBES_MAX, MembershipIndex, listed_values, may_hold
from pruning.metadata.index.own_filters import Budget
from pruning.rules.sets import cuts
from strategies.base import values as drawn

# From nothing but the layout to a dictionary of everything.
BUDGETS = (0, 64, 96, 110, 128, 200, 1_024, 1 << 20)
PARTS = ("dictionary", "filter", "rare", "bucket")

SOME_TYPES = (
    types.INTEGER, types.LONG, types.DOUBLE, types.FLOAT, types.STRING, types.BINARY, types.DATE,
    types.TIMESTAMP, types.BYTE, types.decimal(9, 2), types.decimal(18, 0), types.decimal(38, 10),
)  # fmt: skip


@st.composite
def tables(draw: st.DrawFn) -> tuple[Type, list[Rows], tuple[Value, ...]]:
    """A type, blocks of few shared values with NULL and NaN between them, and values to ask for."""
    type_ = draw(drawn.types())
    pool = draw(drawn.pools(type_, max_size=12))
    blocks = draw(st.lists(st.lists(st.none() | st.sampled_from(pool), max_size=12), max_size=4))
    return type_, blocks, (*pool, draw(drawn.values(type_)))


@given(table=tables(), bytes_per_block=st.sampled_from(BUDGETS))
@examples(4)
def test_a_value_that_a_block_holds_is_never_denied(
    table: tuple[Type, list[Rows], tuple[Value, ...]], bytes_per_block: int
) -> None:
    """For each value v of each block: the block may hold v."""
    type_, blocks, _ = table
    known = memberships(blocks, type_, bytes_per_block)
    for part in PARTS:
        event(f"{part}: {any(told(known, part))}")
    assert denied(known, blocks, type_) == []


@given(table=tables(), bytes_per_block=st.sampled_from(BUDGETS), data=st.data())
@examples(4)
def test_a_set_with_a_value_of_the_block_is_never_denied(
    table: tuple[Type, list[Rows], tuple[Value, ...]], bytes_per_block: int, data: st.DataObject
) -> None:
    """For each set of values that meets the block's: the block may hold one; whichever blocks are asked."""
    type_, blocks, pool = table
    ends = [value for value in pool if present([value])]
    if not blocks or not ends:
        return
    first, last = (data.draw(st.sampled_from(ends)) for _ in range(2))
    asked = data.draw(
        st.sampled_from(
            [
                cuts.between(first, last, type_) if first <= last else cuts.of_values([first, last], type_),
                cuts.complement(cuts.of_values([first], type_)),
                cuts.above(first, type_, inclusive=False),
                cuts.FULL,
                cuts.EMPTY,
            ]
        )
    )
    index = MembershipIndex(memberships(blocks, type_, bytes_per_block))
    start = data.draw(st.integers(0, len(blocks)))
    may = index.may_hold("x", type_, asked, start, len(blocks) - start).to_pylist()
    for rows, flag in zip(blocks[start:], may, strict=True):
        assert flag or not any(asked.holds(value) for value in present(rows))


def many(type_: Type, count: int, *, seed: int = 3) -> list[Value]:
    """So many distinct values of a type, in no order."""
    chance = random.Random(seed)
    whole = chance.sample(range(1, 30 * count), count)
    if type_ in (types.STRING, types.BINARY):
        return [b"value %d" % number for number in whole]
    if type_.floating:
        return [float(number) for number in whole]
    if type_.kind is types.Kind.DECIMAL:
        return pa.array(whole, pa.int64()).cast(pa.decimal128(38, type_.scale)).to_pylist()
    return [number % 100 if type_ == types.BYTE else number for number in whole]


def spread(type_: Type, blocks: int = 6, size: int = 40) -> list[Rows]:
    """Blocks of distinct values, with one that all of them hold, NULL, and an empty block."""
    values = many(type_, blocks * size)
    common = values[0]
    found: list[Rows] = [
        [common, None, *values[place * size : (place + 1) * size]] for place in range(blocks)
    ]
    return [*found, []]


@pytest.mark.parametrize("type_", SOME_TYPES, ids=str)
@pytest.mark.parametrize("budget", BUDGETS)
def test_values_of_every_type_are_found_and_absent_ones_are_not(type_: Type, budget: int) -> None:
    """Without this, nothing might ever be excluded."""
    blocks = spread(type_)
    known = memberships(blocks, type_, budget)
    assert denied(known, blocks, type_) == []
    if budget == BUDGETS[-1]:
        for place, rows in enumerate(blocks[:-1]):
            for value in present(rows) - present(blocks[0] if place else blocks[1]):
                holders = [value in present(other) for other in blocks]
                assert holding(known, value, type_) == holders


@pytest.mark.parametrize(("part", "budget"), [("dictionary", 1_024), ("filter", 128), ("rare", 96)])
def test_each_source_is_reached_and_excludes(part: str, budget: int) -> None:
    """What the budget leaves room for; rare values where many are frequent."""
    type_ = types.LONG
    common = many(type_, 60)
    blocks: list[Rows] = (
        [[*common, 10_000 + place] for place in range(40)] if part == "rare" else spread(type_)
    )
    known = memberships(blocks, type_, budget)
    assert any(told(known, part))
    assert not any(told(known, other)[0] for other in PARTS[:3] if other != part)
    sought = 10_007 if part == "rare" else present(blocks[3]) - present(blocks[0])
    value = sought if isinstance(sought, int) else sorted(sought)[0]
    assert excluded(known, value, type_) >= len(blocks) // 2
    assert denied(known, blocks, type_) == []


def test_a_bucket_excludes_where_nothing_else_fits() -> None:
    numbers = list(range(5_000))
    rests = np.mod(buckets.hashes(pa.array(numbers, pa.int32()), types.INTEGER).astype(np.int64), 8)
    blocks = [
        [number for number, rest in zip(numbers, rests, strict=True) if rest == place] for place in range(8)
    ]
    known = memberships(blocks, types.INTEGER, 64)
    assert told(known, "bucket") == [True] * 8
    assert not any(told(known, "dictionary") + told(known, "filter") + told(known, "rare"))
    assert [excluded(known, number, types.INTEGER) for number in range(50)] == [7] * 50


@pytest.mark.parametrize("budget", [0, 64, 100, 128, 256, 1_024, 4_096])
@pytest.mark.parametrize("type_", SOME_TYPES, ids=str)
def test_no_block_takes_more_than_its_bound(type_: Type, budget: int) -> None:
    """On average, over blocks that share values and blocks that do not."""
    blocks = spread(type_, blocks=20)
    known = memberships(blocks, type_, budget)
    assert known.nbytes / len(blocks) <= max(budget, own_filters.LAYOUT_BYTES)


def test_wider_integers_are_looked_for_among_narrower_ones() -> None:
    """By dictionary, filter and bucket alike; a value that does not fit is in no block."""
    blocks = spread(types.INTEGER)
    for budget in BUDGETS:
        known = memberships(blocks, types.INTEGER, budget)
        assert denied(known, blocks, types.LONG) == []
    known = memberships(blocks, types.INTEGER, 1 << 20)
    assert excluded(known, 2**40, types.LONG) == len(blocks)
    assert excluded(known, 5, types.STRING) == 0


POINTS: list[tuple[Type, Any, Any]] = [
    (types.INTEGER, cuts.of_values([3, 1, 2], types.INTEGER), (1, 2, 3)),
    (types.BOOLEAN, cuts.of_values([False], types.BOOLEAN), (False,)),
    (types.BOOLEAN, cuts.FULL, (False, True)),
    (types.STRING, cuts.of_values([b"", b"a", b"a\0"], types.STRING), (b"", b"a", b"a\0")),
    (types.STRING, cuts.with_prefix(b"a", types.STRING), None),
    (types.STRING, cuts.above(b"a", types.STRING, inclusive=True), None),
    (types.DOUBLE, cuts.of_values([-0.0, 1.5], types.DOUBLE), (0.0, 1.5)),
    (types.DOUBLE, cuts.between(1.0, 1.5, types.DOUBLE), None),
    (types.DOUBLE, cuts.above(1.0, types.DOUBLE, inclusive=False), None),
    (types.DOUBLE, cuts.above(float("inf"), types.DOUBLE, inclusive=True), (float("inf"),)),
    (types.DOUBLE, cuts.below(float("-inf"), types.DOUBLE, inclusive=True), (float("-inf"),)),
    (types.LONG, cuts.between(1, PROBES_MAX, types.LONG), tuple(range(1, PROBES_MAX + 1))),
    (types.LONG, cuts.between(0, PROBES_MAX, types.LONG), None),
    (types.LONG, cuts.above(2**63 - 2, types.LONG, inclusive=True), (2**63 - 2, 2**63 - 1)),
    (types.LONG, cuts.FULL, None),
    (types.LONG, cuts.EMPTY, ()),
]


@pytest.mark.parametrize(("type_", "asked", "expected"), POINTS)
def test_few_values_are_named(type_: Type, asked: cuts.Cuts, expected: Any) -> None:
    assert listed_values(asked, type_) == expected


@given(table=tables())
def test_the_values_of_a_set_are_those_it_was_made_of(
    table: tuple[Type, list[Rows], tuple[Value, ...]],
) -> None:
    type_, _, pool = table
    values = sorted(present(pool))
    assert listed_values(cuts.of_values(values, type_), type_) == tuple(values)


def battery() -> Iterator[tuple[Type, list[Rows], int]]:
    """Tables of which every source tells something, under some budget."""
    common = many(types.LONG, 60)
    for budget in (64, 96, 128, 1_024):
        yield types.LONG, [[*common, 10_000 + place] for place in range(40)], budget
        yield types.DOUBLE, [[-0.0, 1.0], [0.0], [float("nan"), None]], budget
        for type_ in (types.INTEGER, types.STRING):
            yield type_, spread(type_, blocks=3), budget
    rests = np.mod(buckets.hashes(pa.array(range(400), pa.int32()), types.INTEGER).astype(np.int64), 4)
    yield types.INTEGER, [np.flatnonzero(rests == place).tolist() for place in range(4)], 64


def loses() -> bool:
    """Whether some value of the battery's blocks is denied."""
    return any(
        denied(memberships(blocks, type_, budget), blocks, type_) for type_, blocks, budget in battery()
    )


def test_the_battery_loses_nothing() -> None:
    assert not loses()


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_killed(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[mutant])
    assert loses()


def test_rows_become_arrays_of_every_type() -> None:
    """The property would say little of a type whose values were lost on the way."""
    for type_ in drawn.TYPES:
        assert len(looked_at([None], type_, Budget()).values or []) == 0
        assert array([None], type_).null_count == 1
    assert may_hold(memberships([[1]], types.INTEGER, 0), "y", types.INTEGER, cuts.EMPTY).to_pylist() == [
        True
    ]
