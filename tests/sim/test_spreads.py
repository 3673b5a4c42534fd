"""SIM-8: of tables without rows, what matches is counted as if the rows were there, and rules stay sound."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oracles.meaning.brute_force import evaluate
from pruning.errors import InputError
from pruning.expressions.trees import And, Column, Compare, Comparison, Expression, In, Literal, Not, Or
from pruning.expressions.types import LONG
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import classify_blocks, compile_predicate
from sim.scans.layouts import FileLayout
from sim.scans.synthetic_tables import SyntheticColumn, SyntheticTable, run_table, synthetic_table

NAMES = ("k", "u")
CONSTANTS = st.integers(-2, 9).map(lambda value: Literal(value, LONG))
COLUMNS = st.sampled_from(NAMES).map(lambda name: Column(name, LONG))
PREDICATES = st.recursive(
    st.one_of(
        st.builds(Compare, st.sampled_from(Comparison), COLUMNS, CONSTANTS),
        st.builds(In, COLUMNS, st.lists(CONSTANTS, min_size=1, max_size=3).map(tuple)),
    ),
    lambda parts: st.one_of(
        st.builds(Not, parts),
        st.tuples(parts, parts).map(And),
        st.tuples(parts, parts).map(Or),
    ),
    max_leaves=4,
)


@st.composite
def tables(draw: st.DrawFn) -> SyntheticTable:
    """Each block has one row for each pair of values, so that counts are exact."""
    blocks, columns = draw(st.integers(1, 3)), {}
    for name in NAMES:
        low = np.array(draw(st.lists(st.integers(0, 6), min_size=blocks, max_size=blocks)))
        wide = np.array(draw(st.lists(st.integers(0, 4), min_size=blocks, max_size=blocks)))
        columns[name] = SyntheticColumn(low=low, high=low + wide, is_sorted=name == "k")
    rows = np.prod([spread.high - spread.low + 1 for spread in columns.values()], axis=0)
    layout = FileLayout(
        sizes=np.full(blocks, 100),
        pages_per_block=draw(st.integers(1, 3)),
        page_kinds=draw(st.integers(1, 3)),
    )
    return synthetic_table("t", columns, rows, layout)


def rows_of(table: SyntheticTable, block: int) -> list[dict[str, int]]:
    ranges = [
        range(int(table.columns[name].low[block]), int(table.columns[name].high[block]) + 1) for name in NAMES
    ]
    return [dict(zip(NAMES, values, strict=True)) for values in itertools.product(*ranges)]


@given(tables(), PREDICATES)
def test_what_matches_is_counted_as_if_rows_were_there(table: SyntheticTable, predicate: Expression) -> None:
    """SIM-8. Rows, and the values of each column."""
    matching = table.matching(predicate)
    for block in range(len(matching)):
        rows = [row for row in rows_of(table, block) if evaluate(predicate, row) is True]
        assert matching[block] == len(rows)
        for name in NAMES:
            values = table.values(name, block, predicate)
            assert len(values) == len(rows)
            assert set(values.tolist()) <= {row[name] for row in rows}
            assert sorted(values.tolist()) == values.tolist()


@given(tables(), PREDICATES)
def test_rules_are_sound_of_blocks_and_of_runs_of_pages(table: SyntheticTable, predicate: Expression) -> None:
    """SIM-8. NONE has no matching row, ALL no other; the runs that are left have all rows that match."""
    program = compile_predicate(predicate)
    verdicts = classify_blocks(program, table.metadata).to_numpy()
    matching = table.matching(predicate)
    assert not matching[verdicts == Match.NONE].any()
    assert (matching == table.row_counts)[verdicts == Match.ALL].all()
    runs = run_table(table, np.arange(len(matching)))
    kept = classify_blocks(program, runs.metadata).to_numpy() != Match.NONE
    count = table.layout.runs
    for block in np.flatnonzero(matching).tolist():
        here = slice(block * count, (block + 1) * count)
        held = np.zeros(0, np.int64)
        for low, high in zip(
            runs.columns["k"].low[here][kept[here]], runs.columns["k"].high[here][kept[here]], strict=True
        ):
            held = np.concatenate([held, np.arange(low, high + 1)])
        assert set(table.values("k", block, predicate).tolist()) <= set(held.tolist())


def test_many_values_are_not_made_one_by_one() -> None:
    """A block of ten rows has ten values, of however many there might be."""
    spread = SyntheticColumn(low=np.array([0]), high=np.array([10**15 - 1]))
    table = synthetic_table("t", {"k": spread}, np.array([10]), FileLayout(sizes=np.array([1])))
    assert table.values("k", 0, None).tolist() == [at * 10**14 for at in range(10)]


def test_columns_compared_with_each_other_are_refused() -> None:
    spread = SyntheticColumn(low=np.array([0]), high=np.array([1]))
    table = synthetic_table("t", {"k": spread, "u": spread}, np.array([1]), FileLayout(sizes=np.array([1])))
    with pytest.raises(InputError, match="compared with constants"):
        table.matching(Compare(Comparison.LESS, Column("k", LONG), Column("u", LONG)))
