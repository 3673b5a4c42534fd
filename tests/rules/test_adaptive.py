"""The order in which children are asked, and which are cut: examples on a clock that tests wind."""

from functools import partial

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pruning.expressions.trees import And, Arithmetic, Column, Compare, Comparison, Expression, Literal, Or
from pruning.expressions.trees import Operator as Op
from pruning.expressions.types import LONG
from pruning.metadata.table.schema import block_schema
from pruning.metadata.views.lanes import Blocks
from pruning.rules.interpreters import adaptive
from pruning.rules.interpreters.ranking import CUT_CHUNKS_MIN, ChildRecord, Ranking, spread_order
from pruning.spark.drive import filter_technique
from pruning.verdicts.classification import classify_within, compile_predicate

A, B = Column("a", LONG), Column("b", LONG)
CHUNKS = 16


def chunk(*, asked: int = 100, decided: int = 0, seconds: float) -> ChildRecord:
    """One chunk of 100 lanes."""
    return ChildRecord(
        lanes=100, computed=100 if asked else 0, undecided=asked, decided=decided, seconds=seconds
    )


def ranked(*chunks: ChildRecord) -> Ranking:
    """One child for each of the chunks, seen as often as a cut needs."""
    ranking = Ranking(len(chunks))
    for _ in range(CUT_CHUNKS_MIN):
        for child, seen in enumerate(chunks):
            ranking.observe(child, seen)
    ranking.rerank()
    return ranking


def test_the_cheapest_for_what_it_decides_goes_first() -> None:
    """A dear child that decides much, a cheap one that decides little, one that does both badly."""
    much, little, neither = chunk(decided=90, seconds=9), chunk(decided=10, seconds=2), chunk(seconds=9)
    assert ranked(neither, little, much).order == [2, 1, 0]


def test_a_child_that_was_never_asked_goes_first() -> None:
    """Or what it is worth would never be known."""
    unknown = chunk(asked=0, seconds=0)
    assert ranked(chunk(decided=100, seconds=1e-9), unknown).order == [1, 0]


def test_what_was_seen_last_counts_most() -> None:
    """A child that stopped deciding falls behind, though it decided more in all."""
    ranking = ranked(chunk(decided=90, seconds=1), chunk(decided=20, seconds=1))
    assert ranking.order == [0, 1]
    for _ in range(40):
        ranking.observe(0, chunk(decided=0, seconds=1))
        ranking.observe(1, chunk(decided=20, seconds=1))
    ranking.rerank()
    assert ranking.order == [1, 0]


def test_a_child_is_cut_where_reading_is_the_cheaper_future() -> None:
    """Ten of 100 blocks skipped for one second: not worth it at 10 ms a block, but at a second."""
    found = [chunk(decided=50, seconds=0.1), chunk(decided=10, seconds=1)]
    assert ranked(*found).cut_last(1_000, read_seconds=1) is None
    ranking = ranked(*found)
    assert ranking.cut_last(1_000, read_seconds=0.01) == 1
    assert (ranking.order, ranking.cut) == ([0], {1})


def test_only_the_last_is_cut_and_none_that_is_spared() -> None:
    """The last decided what no other did; of the others, something else may decide the same."""
    dear = chunk(seconds=9)
    ranking = ranked(chunk(decided=1, seconds=8), dear)
    assert ranking.cut_last(1_000, read_seconds=1e-9, spared=[0, 1]) is None
    assert ranking.cut_last(1_000, read_seconds=1e-9, spared=[1]) == 0


@pytest.mark.parametrize(("chunks", "lanes"), [(CUT_CHUNKS_MIN - 1, 1_000), (CUT_CHUNKS_MIN, 0)])
def test_nothing_is_cut_early_or_at_the_end(chunks: int, lanes: int) -> None:
    """On little evidence, or with nothing left to spare."""
    ranking = Ranking(1)
    for _ in range(chunks):
        ranking.observe(0, chunk(seconds=9))
    assert ranking.cut_last(lanes, read_seconds=1e-9) is None


def test_a_child_that_decided_nothing_yet_may_decide_one_block() -> None:
    """So a cheap child survives where a block is dear to read."""
    cheap = chunk(seconds=1e-6)
    assert ranked(cheap).cut_last(1_000, read_seconds=0.02) is None
    assert ranked(chunk(seconds=1.0)).cut_last(1_000, read_seconds=0.02) == 0


@given(st.integers(0, 300))
def test_chunks_are_visited_once_each(count: int) -> None:
    """Whatever their number."""
    assert sorted(spread_order(count)) == list(range(count))


@given(st.integers(32, 300))
def test_the_first_chunks_are_from_everywhere(count: int) -> None:
    """Of the first eight, some lie in each third."""
    assert {ordinal * 3 // count for ordinal in spread_order(count)[:8]} == {0, 1, 2}


def metadata(lower: list[int]) -> pa.Table:
    """One block for each number: `a` is it, `b` lies between 0 and 9."""
    schema = block_schema({"a": LONG, "b": LONG})
    common = {"null_count": 0, "nan_count": 0, "byte_count": 8, "min_exact": True, "max_exact": True}
    rows = [
        {
            **dict.fromkeys(schema.names, 1),
            "file": "f",
            "columns": {"a": {**common, "min": value, "max": value}, "b": {**common, "min": 0, "max": 9}},
        }
        for value in lower
    ]
    return pa.Table.from_pylist(rows, schema=schema)


def selective() -> Expression:
    """TRUE of few blocks."""
    return Compare(Comparison.LESS, A, Literal(2, LONG))


def useless(terms: int) -> Expression:
    """TRUE of some rows of every block, and long."""
    total: Expression = B
    for _ in range(terms):
        total = Arithmetic(Op.ADD, total, B, LONG)
    return Compare(Comparison.LESS, total, Literal(5, LONG))


def wound() -> float:
    """A clock on which each operation takes a second."""
    wound.seconds += 1.0
    return wound.seconds


wound.seconds = 0.0


def test_a_slow_and_useless_conjunct_is_cut_and_named() -> None:
    """The selective one stays, whatever their order in the query."""
    known = metadata([value % 10 for value in range(CHUNKS * 10)])
    for predicate in (And((selective(), useless(20))), And((useless(20), selective()))):
        found = classify_within(predicate, known, read_seconds=2.0, clock=wound, chunk_lanes=10)
        assert found.deferred == (useless(20),)
        assert found.verdicts.to_pylist() == [int(value % 10 < 2) for value in range(CHUNKS * 10)]
        again = classify_within(predicate, known, read_seconds=1e9, clock=wound, chunk_lanes=10)
        assert again.deferred == ()


def test_a_slow_and_useless_part_of_a_disjunct_is_cut_and_the_or_is_named() -> None:
    """No block that the rest of the disjuncts skips is kept, and none is called ALL."""
    blocks = metadata([value % 10 for value in range(CHUNKS * 10)])
    large = Compare(Comparison.GREATER, A, Literal(8, LONG))
    predicate = Or((And((selective(), useless(20))), And((useless(21), large))))
    outcome = classify_within(predicate, blocks, read_seconds=2.0, clock=wound, chunk_lanes=10)
    assert outcome.deferred == (predicate,)
    possible = [int(value % 10 < 2 or value % 10 > 8) for value in range(CHUNKS * 10)]
    assert outcome.verdicts.to_pylist() == possible
    dear = classify_within(predicate, blocks, read_seconds=1e9, clock=wound, chunk_lanes=10)
    assert dear.deferred == ()


def test_a_disjunct_is_never_cut() -> None:
    """The whole of an OR may be, as a conjunct; the OR of a query that is nothing else is one."""
    known = metadata([value % 10 for value in range(CHUNKS * 10)])
    predicate = And((selective(), Or((useless(20), useless(21)))))
    found = classify_within(predicate, known, read_seconds=2.0, clock=wound, chunk_lanes=10)
    assert found.deferred == (predicate.operands[1],)


def test_few_blocks_never_cut_anything() -> None:
    """One chunk is no evidence."""
    found = classify_within(And((selective(), useless(20))), metadata([1, 5]), read_seconds=1e-9, clock=wound)
    assert found.deferred == ()


def test_inputs_of_what_is_decided_are_not_read() -> None:
    """Where the first conjunct skips every block of a chunk, nothing else of the chunk is looked at."""
    predicate = And((selective(), Compare(Comparison.GREATER, B, Literal(3, LONG))))
    program = compile_predicate(predicate)
    blocks = Blocks.of(metadata([50] * 100))
    read: list[str] = []

    class Recorded(dict):
        def __init__(self, start: int, size: int) -> None:
            self.inputs = blocks.inputs(program, start, size)

        def __getitem__(self, input_: object) -> object:
            read.append(input_.column)
            return self.inputs[input_]

    outcome = adaptive.run(program, Recorded, 100, clock=wound, chunk_lanes=1)
    assert not outcome.verdicts.any()
    assert read.count("b") < 20


def test_the_filter_names_what_was_deferred(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing where nothing was cut."""
    known = metadata([value % 10 for value in range(CHUNKS * 10)])
    asked = filter_technique.CatalystPredicate(predicate=And((selective(), useless(20))))
    assert filter_technique.filter_verdicts(None, asked, known).deferred == ()
    eager = partial(classify_within, clock=wound, chunk_lanes=10)
    monkeypatch.setattr(filter_technique, "classify_within", eager)
    cut = filter_technique.filter_verdicts(None, asked, known, read_seconds=2.0)
    assert cut.deferred == (useless(20),)
