"""TOPK-1, TOPK-2: the blocks read hold the answer, and blocks that cannot are not read."""

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from budget import examples, unshrunk
from hypothesis import event, given
from hypothesis import strategies as st
from searches import find
from top_k_cases import (
    ORDERS,
    POOLS,
    TopKCase,
    at_least_as_good,
    compare,
    is_nan,
    loses_rows,
    run,
    top_k_cases,
    without_equals,
)

from mutants.row_limits import ROWS_COUNT_TWICE, TOP_K_MERGE_FORGETS, UNKNOWN_HOLDS_NOTHING
from pruning.expressions.trees import Column
from pruning.expressions.types import DOUBLE, LONG, Type, Value
from pruning.rules.sets.truths import Match
from pruning.techniques.plan.keys import KeyBounds
from pruning.techniques.topk.arrangements import Arrangement
from pruning.techniques.topk.boundary import Boundary, strictest
from pruning.techniques.topk.orders import SortOrder
from pruning.techniques.topk.topk import TopK
from pruning.verdicts.classification import classify_blocks
from strategies.base.metadata import exact_facts, to_metadata
from strategies.base.tables import Table
from strategies.base.values import pools

SEARCH = unshrunk(20_000)


@examples(8)
@given(top_k_cases())
def test_the_blocks_read_hold_the_answer_whoever_reads_them(case: TopKCase) -> None:
    """TOPK-1. The best `wanted` keys are among them, with all that tie where the query keeps ties."""
    event(f"{case.arrangement.name}, ties {'stay' if case.keeps_ties else 'may go'}")
    assert not loses_rows(case)


@examples(4)
@given(top_k_cases())
def test_the_boundary_is_the_worst_of_the_wanted_keys_that_were_read(case: TopKCase) -> None:
    """TOPK-2. At least as many rows as wanted are no worse; a held one is the last of the answer."""
    read, machine = run(case)
    boundary = machine.boundary
    if boundary is not None and case.wanted and not case.distinct:
        good = at_least_as_good(case.keys(range(len(case.blocks))), boundary.value, case.order)
        assert len(good) >= case.wanted
        if boundary.held:
            held = at_least_as_good(case.keys(read), boundary.value, case.order)
            assert len(held) >= case.wanted


@examples(2)
@given(top_k_cases())
def test_what_is_needed_is_what_would_be_read_at_the_end(case: TopKCase) -> None:
    machine = case.machine()
    assert set(machine.next_blocks().tolist()) <= set(machine.needed_blocks.tolist())
    machine.observe(np.arange(len(case.blocks)), [])
    assert not len(machine.needed_blocks)


def live(case: TopKCase) -> int:
    """Blocks that the filter left."""
    return int(np.count_nonzero((case.matches != Match.NONE) & (case.row_counts > 0)))


def skips(case: TopKCase) -> bool:
    """Whether the boundary spares a block."""
    return len(run(case)[0]) < live(case)


def boundary_of(case: TopKCase) -> Value | str | None:
    """The boundary's value at the end."""
    boundary = run(case)[1].boundary
    return "none" if boundary is None else boundary.value


@pytest.mark.parametrize(
    ("type_", "hard"),
    [
        (LONG, lambda case: not case.upfront),
        (LONG, lambda case: not case.keeps_ties and not skips(replace(case, keeps_ties=True))),
        (LONG, lambda case: boundary_of(case) is None),
        (DOUBLE, lambda case: is_nan(boundary_of(case))),
        (LONG, lambda case: case.distinct),
        (LONG, lambda case: not skips(replace(case, upfront=frozenset()))),
        (LONG, lambda case: {1, 2} <= set(case.worker_of)),
    ],
    ids=["observed", "ties go", "NULL boundary", "NaN boundary", "groups", "upfront", "workers"],
)
def test_the_cases_reach_scans_that_skip(type_: Type, hard: Callable[[TopKCase], bool]) -> None:
    """Without this, the property could hold because every block is read."""
    find(
        top_k_cases(types=[type_]),
        lambda case: case.wanted > 0 and skips(case) and hard(case),
        settings=SEARCH,
    )


def known_as(case: TopKCase, **changes: np.ndarray) -> TopKCase:
    """The case with other bounds, as a mistaken reader would see them."""
    return replace(case, bounds=replace(case.bounds, **changes))


def never(case: TopKCase) -> np.ndarray:
    """A flag that no block has."""
    return np.zeros(len(case.blocks), bool)


@pytest.mark.parametrize(
    ("type_", "broken"),
    [
        (LONG, lambda case, start: replace(case, keeps_ties=False).machine(start)),
        (LONG, lambda case, start: case.machine(start and replace(start, held=True))),
        (DOUBLE, lambda case, start: known_as(case, may_nan=never(case)).machine(start)),
        (LONG, lambda case, start: known_as(case, may_null=never(case)).machine(start)),
        (
            LONG,
            lambda case, start: replace(
                case, order=replace(case.order, nulls_first=not case.order.nulls_first)
            ).machine(start),
        ),
        (LONG, lambda case, start: replace(case, wanted=max(0, case.wanted - 1)).machine(start)),
    ],
    ids=[
        "ties go though the query keeps them",
        "ties go before rows are held",
        "NaN forgotten",
        "NULL forgotten",
        "NULL at the other end",
        "offset forgotten",
    ],
)
def test_a_mutant_that_loses_rows_is_seen(
    type_: Type, broken: Callable[[TopKCase, Boundary | None], TopK]
) -> None:
    find(
        top_k_cases(types=[type_]),
        lambda case: loses_rows(case, lambda start: broken(case, start)),
        settings=SEARCH,
    )


def test_groups_that_are_counted_by_rows_are_seen() -> None:
    find(
        top_k_cases(types=[LONG], ties=[(True, True)]),
        lambda case: loses_rows(case, lambda start: replace(case, distinct=False).machine(start)),
        settings=SEARCH,
    )


def test_unknown_bounds_that_hold_nothing_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*UNKNOWN_HOLDS_NOTHING)
    find(top_k_cases(types=[LONG]), loses_rows, settings=SEARCH)


def test_a_merge_that_forgets_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*TOP_K_MERGE_FORGETS)
    find(top_k_cases(types=[LONG]), loses_rows, settings=SEARCH)


def test_a_row_that_counts_twice_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*ROWS_COUNT_TWICE)
    find(top_k_cases(types=[LONG]), loses_rows, settings=SEARCH)


@examples(4)
@given(st.data())
def test_the_condition_is_true_of_the_rows_on_the_right_side(data: st.DataObject) -> None:
    """TOPK-3. With ties of each row that is not worse than the boundary, without of each that is better."""
    type_ = data.draw(st.sampled_from(list(POOLS)))
    keys: list[Value | None] = [*data.draw(pools(type_)), None, *([math.nan] if type_.floating else [])]
    value, order = data.draw(st.sampled_from(keys)), data.draw(st.sampled_from(ORDERS))
    ties = data.draw(st.booleans())
    key = Column("key", type_)
    table = Table((key,), tuple(((key,),) for key in keys))
    condition = Boundary(value, held=True).condition(key, order, ties=ties)
    verdicts = classify_blocks(condition, to_metadata(table, exact_facts(table))).to_pylist()
    for row, verdict in zip(keys, verdicts, strict=True):
        event(f"{'boundary' if value is None else 'row' if row is None else 'no'} NULL")
        sign = compare(row, value, order)
        kept = sign <= 0 if ties else sign < 0
        assert verdict == (Match.ALL if kept else Match.NONE)


def sorted_blocks(blocks: int, rows: int, *, overlap: float = 0.0) -> tuple[np.ndarray, KeyBounds]:
    """Keys of blocks that follow each other, a part of each in the next one's range; shape (blocks, rows)."""
    keys = np.arange(blocks)[:, None] * round(rows * (1 - overlap)) + np.arange(rows)
    yes, none = np.ones(blocks, bool), np.zeros(blocks, np.int64)
    return keys, KeyBounds(
        type=LONG,
        lower=pa.array(keys.min(axis=1)),
        upper=pa.array(keys.max(axis=1)),
        may_null=~yes,
        may_nan=~yes,
        may_value=yes,
        lower_exact=yes,
        upper_exact=yes,
        null_counts=none,
        nan_counts=none,
    )


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize(("overlap", "blocks_max"), [(0.0, 1), (0.5, 3)])
@pytest.mark.parametrize("arrangement", [Arrangement.BY_BOUND, Arrangement.EXPECTED])
def test_the_top_10_of_an_ordered_table_is_in_its_first_blocks(
    arrangement: Arrangement, overlap: float, blocks_max: int, descending: bool
) -> None:
    keys, bounds = sorted_blocks(100, 1_000, overlap=overlap)
    matches, counts = np.full(100, Match.SOME, np.int8), np.full(100, 1_000)
    order = SortOrder(descending, nulls_first=False)
    machine = TopK(bounds, matches, counts, order, wanted=10, keeps_ties=False, arrangement=arrangement)
    read = 0
    while len(wave := machine.next_blocks()):
        read += len(wave)
        machine.observe(wave, order.best(keys[wave].ravel().tolist(), 10))

    assert read <= blocks_max


def one_block(keys: Iterable[Value]) -> TopK:
    """A top-2 of two blocks from 0 to 9."""
    _, bounds = sorted_blocks(2, 10, overlap=1.0)
    machine = TopK(
        bounds,
        np.full(2, Match.SOME, np.int8),
        np.full(2, 10),
        SortOrder(True, False),
        wanted=2,
        keeps_ties=True,
    )
    machine.observe(np.array([0]), list(keys))
    return machine


def test_rows_of_a_block_that_two_workers_read_count_once() -> None:
    one, other = one_block([7]), one_block([7])
    one.merge(other)

    assert one.boundary is None
    assert one.needed_blocks.tolist() == [1]


def test_an_observation_of_more_blocks_takes_the_place_of_those_it_holds() -> None:
    machine = one_block([7, 3])
    machine.observe(np.array([0, 1]), [9, 7])

    assert machine.boundary == Boundary(7, held=True)
    assert not len(machine.needed_blocks)


def test_the_stricter_boundary_is_the_held_one_where_both_are_equal() -> None:
    order = SortOrder(descending=True, nulls_first=False)
    found, known, better = Boundary(5, held=True), Boundary(5, held=False), Boundary(6, held=False)

    assert strictest(order, known, found, None) == strictest(order, found, known) == found
    assert strictest(order, found, better) == better
    assert strictest(order) is None


def test_keys_are_ordered_as_spark_orders_them() -> None:
    keys = [None, math.nan, math.inf, 1.0, -math.inf]
    for order in ORDERS:
        numbers = keys[1:] if order.descending else keys[:0:-1]
        expected = [None, *numbers] if order.nulls_first else [*numbers, None]
        assert list(map(repr, order.best(keys, 5))) == list(map(repr, expected))
        assert not order.is_worse(0.0, -0.0)


@examples(4)
@given(top_k_cases())
def test_what_somebody_else_holds_spares_blocks_and_loses_no_row(case: TopKCase) -> None:
    """A worker that is told the boundary of another one, who keeps its rows, reads what is still missing."""
    holder, machine = case.machine(), case.machine()
    held = holder.next_blocks()
    holder.observe(held, case.keys(held))
    before = set(machine.needed_blocks.tolist())
    if holder.boundary is not None:
        machine.learn(holder.boundary)
    after = machine.needed_blocks.tolist()
    assert set(after) <= before
    assert set(np.flatnonzero(machine.reaching).tolist()) == set(after)
    event("told less" if set(after) == before else "told more")
    everything = case.keys(range(len(case.blocks)))
    found = case.keys({*held.tolist(), *after})
    if case.distinct:
        everything, found = (without_equals(keys, case.order) for keys in (everything, found))
    pairs = zip(everything[: case.wanted], found[: case.wanted], strict=True)
    assert all(compare(one, other, case.order) == 0 for one, other in pairs)


def test_a_block_that_was_read_reaches_the_boundary_as_before() -> None:
    """Its report may be lost, so that it is read again; who has its rows does not need it a second time."""
    case = find(top_k_cases(), lambda case: len(case.machine().needed_blocks) > 1, settings=SEARCH)
    machine = case.machine()
    first = machine.needed_blocks[:1]
    machine.observe(first, [])
    assert machine.reaching[first].all()
    assert first[0] not in machine.needed_blocks
