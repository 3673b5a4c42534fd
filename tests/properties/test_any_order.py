"""ADAPT-1 to ADAPT-3: asking in any order, and cutting at any moment, against the plain evaluation."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import cycle

import pyarrow as pa
import pytest
from budget import examples
from hypothesis import Phase, event, given, settings
from hypothesis import strategies as st
from searches import find

from mutants.rules.interpreters import ORDER_MUTANTS
from pruning.expressions.trees import And, Arithmetic, Column, Compare, Comparison, Expression, Mode, Operator
from pruning.expressions.types import DOUBLE
from pruning.metadata.views.lanes import Blocks
from pruning.rules.interpreters import adaptive, exact
from pruning.rules.interpreters.exact import Cell
from pruning.rules.program.flag_trees import Leaf, Tree, implied_flags, leaves, tree_of
from pruning.rules.program.operations import Input, Op, Program
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import classify_blocks, classify_within, compile_predicate
from strategies.base.layouts import tables
from strategies.base.metadata import metadata
from strategies.predicates.predicates import predicates

BLOCKS = 48


@dataclass(frozen=True, slots=True)
class Case:
    """A predicate, many blocks in any order, and moments that mean nothing."""

    predicate: Expression
    metadata: pa.Table
    chunk_lanes: int
    ticks: tuple[float, ...]

    def clock(self) -> Callable[[], float]:
        """A clock whose every reading is some ticks after the one before."""
        ticks: Iterator[float] = cycle(self.ticks)
        now = 0.0

        def read() -> float:
            nonlocal now
            now += next(ticks)
            return now

        return read


@st.composite
def cases(draw: st.DrawFn, *, conjuncts: bool = False) -> Case:
    """Blocks of one table, each many times; shrink to chunks of one block and a steady clock."""
    table = draw(tables())
    parts = draw(st.integers(2, 3)) if conjuncts else 1
    found = [draw(predicates(table, max_leaves=8 // parts, modes=tuple(Mode))) for _ in range(parts)]
    few = draw(metadata(table))
    lanes = st.lists(st.integers(0, max(0, few.num_rows - 1)), max_size=BLOCKS)
    many = few.take(pa.array(draw(lanes) if few.num_rows else [], pa.int64()))
    ticks = draw(st.lists(st.sampled_from((1.0, 0.0, 1e-6, 50.0)), min_size=1, max_size=9))
    predicate = And(tuple(found)) if conjuncts else found[0]
    return Case(predicate, many, draw(st.sampled_from((1, 2, 5, BLOCKS))), tuple(ticks))


def plain(case: Case, *, refined: bool = False) -> list[int]:
    """The verdicts without adaptation."""
    found = classify_blocks(case.predicate, case.metadata, adaptive=False, refined=refined)
    verdicts: list[int] = found.to_pylist()
    return verdicts


def adapted(case: Case, program: Program) -> list[int]:
    """The verdicts with adaptation, by the case's clock."""
    inputs_at = Blocks.of(case.metadata).inputs
    outcome = adaptive.run(
        program,
        lambda start, size: inputs_at(program, start, size),
        case.metadata.num_rows,
        clock=case.clock(),
        chunk_lanes=case.chunk_lanes,
    )
    assert not outcome.cut
    verdicts: list[int] = outcome.verdicts.tolist()
    return verdicts


@pytest.mark.parametrize("share", [1, 4, 16])
@examples(4)
@given(case=cases())
def test_no_order_changes_a_verdict(share: int, case: Case) -> None:
    """ADAPT-1. Whatever the clock says, and however few open lanes are copied together."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(adaptive, "_GATHERED_SHARE", share)
        assert adapted(case, compile_predicate(case.predicate)) == plain(case)


@examples(4)
@given(case=cases(conjuncts=True), read_seconds=st.sampled_from((1e-9, 0.1, 1e6)))
def test_a_cut_makes_verdicts_timid_and_never_bold(case: Case, read_seconds: float) -> None:
    """ADAPT-2. What differs is SOME, and then the conjuncts that were cut are named."""
    found = classify_within(
        case.predicate,
        case.metadata,
        read_seconds=read_seconds,
        clock=case.clock(),
        chunk_lanes=case.chunk_lanes,
    )
    assert isinstance(case.predicate, And)
    assert set(found.deferred) <= set(case.predicate.operands)
    expected, actual = plain(case, refined=not found.deferred), found.verdicts.to_pylist()
    event(f"{len(found.deferred)} conjuncts deferred")
    assert all(got in (want, Match.SOME) for got, want in zip(actual, expected, strict=True))
    assert found.deferred or actual == expected


def test_some_cut_loses_a_skipped_block() -> None:
    """Without this, ADAPT-2 could hold because nothing is ever cut."""

    def loses(case: Case) -> bool:
        found = classify_within(
            case.predicate, case.metadata, read_seconds=1e-9, clock=case.clock(), chunk_lanes=1
        )
        return bool(found.deferred) and found.verdicts.to_pylist() != plain(case)

    generate = settings(max_examples=2_000, database=None, phases=[Phase.generate])
    find(cases(conjuncts=True), loses, settings=generate)


def holds(tree: Tree, cells: list[Cell]) -> bool:
    """The value of a tree, from the values of its leaves."""
    if isinstance(tree, Leaf):
        return bool(cells[tree.index])
    return (all if tree.op is Op.AND else any)(holds(child, cells) for child in tree.children)


def all_cells(program: Program, inputs: dict[Input, Cell]) -> list[Cell]:
    """The value of each operation on one block."""
    every = Program(program.operations, tuple(range(len(program.operations))))
    return list(exact.run(every, inputs))


@examples(8)
@given(case=cases())
def test_a_tree_has_the_value_of_its_flags(case: Case) -> None:
    """ADAPT-3. Also where what the first flag implies is left out; and it is no larger than its program."""
    program = compile_predicate(case.predicate)
    may_true, *others = program.outputs
    implied = implied_flags(program, may_true)
    first, rest = tree_of(program, may_true), tree_of(program, *others, true=implied)
    assert sum(1 for _ in (*leaves(first), *leaves(rest))) <= 4 * len(program.operations)
    inputs = Blocks.of(case.metadata).inputs(program, 0, case.metadata.num_rows)
    arrays = {input_: array.to_pylist() for input_, array in inputs.items()}
    for block in range(case.metadata.num_rows):
        cells = all_cells(program, {input_: cell(input_, array[block]) for input_, array in arrays.items()})
        assert holds(first, cells) == cells[may_true]
        if cells[may_true]:
            assert all(cells[flag] for flag in implied)
            assert holds(rest, cells) == any(cells[flag] for flag in others)


def cell(input_: Input, value: Cell) -> Cell:
    """A lane as an exact value: booleans' bounds are small integers in Arrow."""
    is_boolean = input_.type is not None and input_.type.kind.value == "boolean"
    return bool(value) if is_boolean and value is not None else value


@pytest.mark.parametrize("mutant", ORDER_MUTANTS)
def test_mutants_of_the_order_are_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each changes a verdict that ADAPT-1 looks at."""
    monkeypatch.setattr(*ORDER_MUTANTS[mutant])
    generate = settings(max_examples=2_000, database=None, phases=[Phase.generate])
    find(
        cases(),
        lambda case: adapted(case, compile_predicate(case.predicate)) != plain(case),
        settings=generate,
    )


@examples(2)
@given(cases())
def test_nothing_is_lost_where_nothing_is_cut(case: Case) -> None:
    """What a query is pruned by is as sharp as what a predicate is classified by."""
    within = classify_within(case.predicate, case.metadata, read_seconds=None)
    assert within.deferred == ()
    assert within.verdicts.to_pylist() == classify_blocks(case.predicate, case.metadata).to_pylist()


def test_a_query_is_looked_at_again_in_pieces() -> None:
    """Without this, the two could agree because neither looks again."""
    column = Column("x", DOUBLE)
    below_itself = Compare(Comparison.LESS, Arithmetic(Operator.MULTIPLY, column, column, DOUBLE), column)
    statistics = pa.array([{"min": 4.0, "max": 40.0, "null_count": 0, "nan_count": 0}])
    known = pa.table(
        {
            "row_count": pa.array([2], pa.int64()),
            "columns": pa.StructArray.from_arrays([statistics], ["x"]),
        }
    )
    assert classify_within(below_itself, known).verdicts.to_pylist() == [Match.NONE]
