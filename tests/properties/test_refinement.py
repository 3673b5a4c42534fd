"""PROP-12: a block's pieces hold each of its rows, and are looked at only to decide more."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest
from budget import examples, unshrunk
from hypothesis import event, given
from hypothesis import strategies as st
from searches import find

from mutants.rules.interpreters import PIECE_MUTANTS
from pruning.expressions.trees import (
    And,
    Arithmetic,
    Case,
    Column,
    Compare,
    Comparison,
    Expression,
    Literal,
    Mode,
    Operator,
    Or,
)
from pruning.expressions.types import DOUBLE, LONG, Type
from pruning.metadata.views.lanes import Blocks
from pruning.rules.interpreters import pieces
from pruning.rules.program.operations import Aspect, Input
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import classify_blocks, compile_predicate
from strategies.base.layouts import tables
from strategies.base.metadata import metadata
from strategies.base.tables import Table, is_nan
from strategies.base.values import TYPES
from strategies.predicates.predicates import predicates

ASPECTS = (Aspect.LOWER, Aspect.UPPER, Aspect.MAY_NULL, Aspect.MAY_VALUE, Aspect.MAY_NAN)


@st.composite
def known_tables(draw: st.DrawFn, types: Sequence[Type] = TYPES) -> tuple[Table, pa.Table]:
    """A table, and block metadata that is true of it."""
    table = draw(tables(list(types)))
    return table, draw(metadata(table))


def cells_of(known: pa.Table, columns: tuple[Column, ...]) -> dict[Input, pa.Array]:
    """Every aspect of the columns in every block."""
    inputs = Blocks.of(known).inputs(compile_predicate(Literal(True, DOUBLE)), 0, known.num_rows)
    names = [
        Input(aspect, column.name, column.type)
        for column in columns
        for aspect in ASPECTS
        if aspect is not Aspect.MAY_NAN or column.type.floating
    ]
    return {name: inputs[name] for name in names}


def holds(cells: dict[Input, object], column: Column, value: object) -> bool:
    """Whether a piece may hold a row with this value of the column."""

    def cell(aspect: Aspect) -> object:
        return cells[Input(aspect, column.name, column.type)]

    if value is None:
        return bool(cell(Aspect.MAY_NULL))
    if is_nan(value):
        return bool(cell(Aspect.MAY_NAN))
    lower, upper = cell(Aspect.LOWER), cell(Aspect.UPPER)
    above = lower is None or lower <= value
    return bool(cell(Aspect.MAY_VALUE)) and above and (upper is None or value <= upper)


def rows_lost(table: Table, known: pa.Table) -> list[tuple[int, object]]:
    """The rows that no piece of their block holds."""
    inputs = cells_of(known, table.columns)
    cut = pieces.split(inputs, table.columns, list(inputs))
    lanes = {name: array.to_pylist() for name, array in cut.inputs.items()}
    of_piece = [dict(zip(lanes, cells, strict=True)) for cells in zip(*lanes.values(), strict=True)]
    return [
        (block, row)
        for block, rows in enumerate(table.blocks)
        for row in rows
        if not any(
            all(
                holds(of_piece[piece], column, value)
                for column, value in zip(table.columns, row, strict=True)
            )
            for piece in np.flatnonzero(cut.parents == block)
        )
    ]


@examples(2)
@given(known_tables())
def test_each_row_is_in_a_piece_of_its_block(drawn: tuple[Table, pa.Table]) -> None:
    assert not rows_lost(*drawn)


@pytest.mark.parametrize("mutant", PIECE_MUTANTS)
def test_a_cut_that_forgets_rows_is_seen(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this, the property could hold because no block is ever cut."""
    monkeypatch.setattr(*PIECE_MUTANTS[mutant])
    find(known_tables([DOUBLE]), lambda drawn: bool(rows_lost(*drawn)), settings=unshrunk(2_000))


@examples(4)
@given(st.data())
def test_looking_again_only_decides_more(data: st.DataObject) -> None:
    table, known = data.draw(known_tables())
    predicate = data.draw(predicates(table, max_leaves=8, modes=tuple(Mode)))
    plain = classify_blocks(predicate, known, refined=False).to_pylist()
    for before, after in zip(plain, classify_blocks(predicate, known).to_pylist(), strict=True):
        event(f"{Match(before).name} to {Match(after).name}")
        assert before in (Match.SOME, after)


A, X = Column("a", LONG), Column("x", DOUBLE)


def less(left: Expression, right: Expression) -> Expression:
    """`left < right`."""
    return Compare(Comparison.LESS, left, right)


@pytest.mark.parametrize(
    ("predicate", "bounds", "expected"),
    [
        (less(Arithmetic(Operator.MULTIPLY, X, X, DOUBLE), X), (4.0, 40.0), Match.NONE),
        (less(A, Arithmetic(Operator.ADD, A, Literal(1, LONG), LONG)), (30, 31), Match.ALL),
        (
            Compare(
                Comparison.EQUAL, Case(((less(A, Literal(5, LONG)), Literal(1, LONG)),), A), Literal(3, LONG)
            ),
            (0, 40),
            Match.NONE,
        ),
    ],
)
def test_two_mentions_of_a_column_are_related_in_pieces(
    predicate: Expression, bounds: tuple[float, float], expected: Match
) -> None:
    column = next(iter(expected_columns(predicate)))
    statistics = pa.array([{"min": bounds[0], "max": bounds[1], "null_count": 0, "nan_count": 0}])
    known = pa.table(
        {
            "row_count": pa.array([2], pa.int64()),
            "columns": pa.StructArray.from_arrays([statistics], [column]),
        }
    )
    assert classify_blocks(predicate, known).to_pylist() == [expected]


def expected_columns(predicate: Expression) -> tuple[str, ...]:
    """The columns that the predicate relates to each other or themselves."""
    return tuple(column.name for column in compile_predicate(predicate).correlated)


def test_looser_bounds_of_some_of_many_columns_prove_no_more() -> None:
    """Once a block was cut only where its pieces were few: fewer where bounds were unknown."""
    columns = [Column(f"x{ordinal}", DOUBLE) for ordinal in range(7)]
    each = [less(Arithmetic(Operator.MULTIPLY, column, column, DOUBLE), column) for column in columns]
    first = {"min": 4.0, "max": 20.0, "null_count": None, "nan_count": None}

    def verdict(others: tuple[float | None, float | None]) -> Match:
        other = {"min": others[0], "max": others[1], "null_count": None, "nan_count": None}
        type_ = pa.struct(
            {"min": pa.float64(), "max": pa.float64(), "null_count": pa.int64(), "nan_count": pa.int64()}
        )
        statistics = [pa.array([first], type_), *(pa.array([other], type_) for _ in columns[1:])]
        known = pa.table(
            {
                "row_count": pa.array([2], pa.int64()),
                "columns": pa.StructArray.from_arrays(statistics, [column.name for column in columns]),
            }
        )
        return Match(classify_blocks(And(tuple(each)), known)[0].as_py())

    assert verdict((None, None)) in (Match.SOME, verdict((0.0, 1.0)))


def test_a_predicate_on_each_column_by_itself_needs_no_second_look() -> None:
    both = less(A, Literal(3, LONG)), less(X, Literal(0.5, DOUBLE))

    assert expected_columns(And(both)) == expected_columns(Or(both)) == ()
