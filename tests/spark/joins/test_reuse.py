"""Values that were derived while a query is pruned are used again only in the same state."""

import numpy as np
import pyarrow as pa
import pytest

from mutants.joins.estimates import DERIVED_MUTANTS, materialise_and_keep_nodes
from pruning.expressions import types
from pruning.expressions.plans import Filter, Scan
from pruning.expressions.trees import Column, Compare, Comparison, Literal
from pruning.metadata.table.schema import block_schema
from pruning.spark.drive.queries import Query
from pruning.spark.drive.range_filters import DerivedRanges

A = Column("a", types.INTEGER)
ALL = Literal(True, types.BOOLEAN)


def metadata(*ranges):
    rows = [
        {
            "file": "f", "row_group": place, "row_offset": 10 * place, "row_count": 10,
            "columns": {"a": {"min": low, "max": high, "null_count": 0}},
        }
        for place, (low, high) in enumerate(ranges)
    ]  # fmt: skip
    return pa.Table.from_pylist(rows, block_schema({"a": types.INTEGER}))


def at_least(value):
    return Compare(Comparison.AT_LEAST, A, Literal(value, types.INTEGER))


BLOCKS, OTHERS = metadata((0, 9), (10, 19), (20, 29)), metadata((0, 5), (50, 59), (60, 69))
FIRST, LAST, EVERY = np.array([1, 0, 0], bool), np.array([0, 0, 1], bool), np.array([1, 1, 1], bool)
TWO = np.array([1, 1, 0], bool)
# The states of one scan, one after the other; two of them in a row differ in one thing.
STATES = [
    (BLOCKS, FIRST, EVERY, [at_least(0)], []),
    (BLOCKS, LAST, EVERY, [at_least(0)], []),
    (BLOCKS, LAST, LAST, [at_least(0)], []),
    (BLOCKS, FIRST, EVERY, [at_least(0)], []),
    (OTHERS, FIRST, EVERY, [at_least(0)], []),
    (OTHERS, FIRST, TWO, [at_least(0)], []),
    (OTHERS, FIRST, TWO, [], []),
    (BLOCKS, EVERY, EVERY, [at_least(15)], []),
    (BLOCKS, EVERY, EVERY, [at_least(15)], [at_least(15)]),
]


def ranges_of(derived, state):
    blocks, keep, inside, needed, deferred = state
    filters = derived.of_files(
        ALL, blocks, keep, inside, {"a": types.INTEGER}, needed=needed, deferred=deferred
    )
    return [filter_.sql for filter_ in filters]


def differs_from_fresh_ones():
    derived = DerivedRanges()
    return any(ranges_of(derived, state) != ranges_of(DerivedRanges(), state) for state in STATES)


def test_range_filters_of_another_state_are_not_used():
    assert len({tuple(ranges_of(DerivedRanges(), state)) for state in STATES}) >= 4
    assert not differs_from_fresh_ones()


def test_range_filters_of_the_same_state_are_derived_once(monkeypatch):
    derived = DerivedRanges()
    first = ranges_of(derived, STATES[0])
    monkeypatch.delattr("pruning.spark.drive.range_filters.range_filters")
    assert ranges_of(derived, STATES[0]) == first


@pytest.mark.parametrize("mutant", DERIVED_MUTANTS)
def test_each_mutant_of_the_state_is_killed(mutant, monkeypatch):
    monkeypatch.setattr(*DERIVED_MUTANTS[mutant])
    assert differs_from_fresh_ones()


def keeps_nodes_of_materials():
    scan = Scan(0, {})
    part = Filter(scan)
    query = Query(spark=None, tree=Filter(part), trees=None, scans={})
    assert query.is_live(scan)
    assert len(query.live_nodes(query.tree)) == 3
    query.materialise(part, None, row_count=1)
    return query.is_live(scan) or len(query.live_nodes(query.tree)) == 3


def test_a_part_whose_rows_are_held_is_no_longer_live():
    assert not keeps_nodes_of_materials()


def test_nodes_that_stay_after_rows_are_held_are_noticed(monkeypatch):
    monkeypatch.setattr(Query, "materialise", materialise_and_keep_nodes)
    assert keeps_nodes_of_materials()
