"""DML-1 and DML-2: DELETE and UPDATE through a plan do what they do row by row."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest
from budget import examples, unshrunk
from hypothesis import assume, event, given
from hypothesis import strategies as st
from searches import find

from mutants.merge_plans import ALL_FOR_SOME
from oracles.meaning.arithmetic import Overflow
from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion
from pruning.errors import InputError
from pruning.expressions.trees import (
    Arithmetic,
    Call,
    Cast,
    Column,
    Compare,
    Comparison,
    Expression,
    Function,
    IsNull,
    Literal,
    Mode,
    Not,
    Opaque,
    Operator,
)
from pruning.expressions.types import BOOLEAN, BYTE, INTEGER, LONG
from pruning.rules.sets.truths import Match
from pruning.techniques.dml.rewriting import Condition, Fate, Rewriting, Sizes, deletion, update
from pruning.techniques.plan import raising
from pruning.verdicts.classification import classify_blocks
from strategies.base.layouts import tables
from strategies.base.metadata import exact_facts, metadata, to_metadata
from strategies.base.tables import Block, Row, Table
from strategies.predicates.predicates import predicates

NONE, SOME, ALL = Match
A = Column("a", LONG)


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A table, a condition, and verdicts that are true of both."""

    table: Table
    condition: Expression
    verdicts: np.ndarray

    @property
    def asked(self) -> Condition:
        """The condition as the planner gets it."""
        return Condition(self.verdicts, raising.may_raise(self.condition))


@st.composite
def statements(draw: st.DrawFn, condition: Expression | None = None, **how: object) -> Statement:
    """Statements with verdicts from true metadata, some weakened; a given condition is on a bigint `a`."""
    table = draw(tables(**how))
    if condition is not None:
        table = Table((A,), table.blocks)
    asked = condition or draw(predicates(table, max_leaves=5, modes=tuple(Mode)))
    return Statement(
        table=table,
        condition=asked,
        verdicts=draw(weaker(classify_blocks(asked, draw(metadata(table))).to_numpy())),
    )


@st.composite
def weaker(draw: st.DrawFn, verdicts: np.ndarray) -> np.ndarray:
    """The verdicts, or some of them made SOME."""
    if draw(st.booleans()):
        return verdicts
    forgotten = draw(st.lists(st.booleans(), min_size=len(verdicts), max_size=len(verdicts)))
    return np.where(forgotten, np.int8(SOME), verdicts)


def sizes_of(table: Table) -> Sizes:
    """Each row takes eight bytes."""
    rows = np.array([len(block) for block in table.blocks], np.int64)
    return Sizes(rows, 8 * rows)


def truth(table: Table, condition: Expression, row: Row) -> object:
    """The condition on a row.

    Raises:
        Overflow: Spark raises.
    """
    try:
        return evaluate(condition, table.as_mapping(row))
    except NoSecondOpinion:
        assume(False)


def raises(table: Table, condition: Expression, row: Row) -> bool:
    """Whether the condition fails a statement that evaluates it on this row."""
    try:
        truth(table, condition, row)
    except Overflow:
        return True
    return False


def rows_left(statement: Statement, plan: Rewriting) -> list[Block | None]:
    """DELETE through a plan, block by block; None is a block on which evaluation raises."""
    table = statement.table

    def left(block: Block, fate: int) -> Block | None:
        if fate == Fate.UNTOUCHED:
            return block
        if fate == Fate.DELETED:
            return ()
        try:
            return tuple(row for row in block if truth(table, statement.condition, row) is not True)
        except Overflow:
            return None

    return [left(block, fate) for block, fate in zip(table.blocks, plan.fates, strict=True)]


def is_right_delete(statement: Statement) -> bool:
    """Whether the plan's DELETE leaves the right rows, and fails or changes nothing where DELETE fails."""
    table = statement.table
    plan = deletion(sizes_of(table), statement.asked)
    event(f"fates {sorted(set(plan.fates.tolist()))}")
    right = True
    for block, found in zip(table.blocks, rows_left(statement, plan), strict=True):
        if any(raises(table, statement.condition, row) for row in block):
            # Where nothing is read, an error may be spared, but then no row may go.
            right &= found is None or (found == block and not any(map(matching(statement), block)))
        else:
            right &= found == tuple(row for row in block if not matching(statement)(row))
    return right


def matching(statement: Statement) -> Callable[[Row], bool]:
    """Whether the condition is TRUE of a row."""

    def of_row(row: Row) -> bool:
        raising = raises(statement.table, statement.condition, row)
        return not raising and truth(statement.table, statement.condition, row) is True

    return of_row


def is_right_update(statement: Statement) -> bool:
    """Whether the rows that UPDATE changes are those on which the condition is TRUE, and errors are kept."""
    plan = update(sizes_of(statement.table), statement.asked)
    right = not len(plan.deleted_blocks)
    for ordinal, block in enumerate(statement.table.blocks):
        matches = [matching(statement)(row) for row in block]
        if plan.fates[ordinal] == Fate.UNTOUCHED:
            right &= not any(matches)
        if plan.whole[ordinal]:
            right &= plan.fates[ordinal] == Fate.REWRITTEN and all(matches)
    return right


@examples(3)
@given(statements())
def test_delete_through_its_plan_leaves_the_rows_that_delete_leaves(statement: Statement) -> None:
    """DML-1."""
    assert is_right_delete(statement)


@examples(2)
@given(statements())
def test_update_through_its_plan_changes_the_rows_that_update_changes(statement: Statement) -> None:
    """DML-2."""
    assert is_right_update(statement)


@examples(1)
@given(statements(), st.data())
def test_weaker_verdicts_never_spare_a_block_more(statement: Statement, data: st.DataObject) -> None:
    weak = Condition(data.draw(weaker(statement.verdicts)), statement.asked.may_raise)
    for planned in (deletion, update):
        sizes = sizes_of(statement.table)
        strong_plan, weak_plan = planned(sizes, statement.asked), planned(sizes, weak)
        assert set(weak_plan.untouched_blocks) <= set(strong_plan.untouched_blocks)
        assert set(weak_plan.deleted_blocks) <= set(strong_plan.deleted_blocks)
        assert set(strong_plan.read_blocks) <= set(weak_plan.read_blocks)


@pytest.mark.parametrize("fate", Fate)
def test_the_statements_reach_each_fate(fate: Fate) -> None:
    """Without this, the properties could hold because every block is rewritten."""

    def reached(statement: Statement) -> bool:
        fates = deletion(sizes_of(statement.table), statement.asked).fates
        return any(
            block and found == fate for block, found in zip(statement.table.blocks, fates, strict=True)
        )

    find(statements(), reached, settings=unshrunk(2_000))


BELOW = Compare(Comparison.LESS, A, Literal(5, LONG))
NARROW = Compare(Comparison.AT_MOST, Cast(A, BYTE), Literal(127, BYTE))
NEGATED = Compare(Comparison.LESS, Call(Function.NEGATE, (A,), LONG), A)
SUM = Not(IsNull(Arithmetic(Operator.ADD, A, Literal(1, LONG), LONG)))


def test_the_property_kills_a_planner_that_takes_some_for_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*ALL_FOR_SOME)
    find(statements(BELOW, types=[LONG]), lambda one: not is_right_delete(one), settings=unshrunk(2_000))


def test_the_property_kills_a_planner_that_deletes_rows_whose_condition_is_null() -> None:
    """ALL as if it were "no row is FALSE"."""

    def never_false(statement: Statement) -> Statement:
        falses = [
            any(truth(statement.table, statement.condition, row) is False for row in block)
            for block in statement.table.blocks
        ]
        verdicts = [
            NONE if not block else SOME if false else ALL
            for block, false in zip(statement.table.blocks, falses, strict=True)
        ]
        return Statement(
            table=statement.table, condition=statement.condition, verdicts=np.array(verdicts, np.int8)
        )

    find(
        statements(BELOW, types=[LONG]),
        lambda one: not is_right_delete(never_false(one)),
        settings=unshrunk(2_000),
    )


@pytest.mark.parametrize("condition", [NARROW, SUM], ids=["cast", "sum"])
def test_the_property_kills_a_planner_that_deletes_rows_on_which_the_condition_raises(
    condition: Expression, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PROP-2 passes over such rows: CAST(a AS TINYINT) <= 127 is ALL of any block."""
    monkeypatch.setattr(raising, "may_raise", lambda condition: False)
    find(statements(condition, types=[LONG]), lambda one: not is_right_delete(one), settings=unshrunk(2_000))


@st.composite
def tables_with_dead_rows(draw: st.DrawFn) -> tuple[Table, Table]:
    """(physical, live): a table, and what deletion vectors leave of it."""
    physical = Table((A,), draw(tables(types=[LONG])).blocks)
    live = tuple(tuple(row for row in block if draw(st.booleans())) for block in physical.blocks)
    return physical, Table(physical.columns, live)


def judged_over_dead_rows(physical: Table, live: Table, condition: Expression, *, broken: bool) -> Statement:
    """Metadata whose bounds are those of all rows, and whose counts are those of the live ones.

    Counts of NULLs over all rows beside live row counts are the mistake.
    """
    facts = to_metadata(physical, exact_facts(physical))
    counts = pa.array([len(block) for block in live.blocks], pa.int64())
    known = facts.set_column(facts.schema.get_field_index("row_count"), "row_count", counts)
    if not broken:
        column = known["columns"].combine_chunks().field("a")
        without = [
            pa.nulls(len(column), field.type) if field.name == "null_count" else column.field(field.name)
            for field in column.type
        ]
        struct = pa.StructArray.from_arrays(without, fields=list(column.type))
        columns = pa.StructArray.from_arrays([struct], fields=list(known.schema.field("columns").type))
        known = known.set_column(known.schema.get_field_index("columns"), "columns", columns)
    verdicts = classify_blocks(condition, known).to_numpy()
    return Statement(table=live, condition=condition, verdicts=verdicts)


@pytest.mark.parametrize("condition", [BELOW, IsNull(A)], ids=["comparison", "null test"])
@examples(2)
@given(both=tables_with_dead_rows())
def test_dead_rows_neither_save_nor_doom_a_block(both: tuple[Table, Table], condition: Expression) -> None:
    assert is_right_delete(judged_over_dead_rows(*both, condition, broken=False))


def test_the_property_kills_metadata_that_counts_dead_nulls() -> None:
    def wrong(both: tuple[Table, Table]) -> bool:
        return not is_right_delete(judged_over_dead_rows(*both, IsNull(A), broken=True))

    find(tables_with_dead_rows(), wrong, settings=unshrunk(2_000))


@st.composite
def evaluations(draw: st.DrawFn, condition: Expression | None = None) -> tuple[Expression, bool]:
    """A condition, by default any, and whether it raises on some row of a table."""
    table = draw(tables(None if condition is None else [LONG], max_blocks=1))
    if condition is None:
        condition = draw(predicates(table, max_leaves=4, modes=tuple(Mode)))
    else:
        table = Table((A,), table.blocks)
    return condition, any(raises(table, condition, row) for row in table.rows)


@examples(6)
@given(evaluations())
def test_a_condition_that_cannot_raise_never_raises(drawn: tuple[Expression, bool]) -> None:
    """DML-3."""
    condition, raised = drawn
    event(f"raises {raised}, may raise {raising.may_raise(condition)}")
    assert raising.may_raise(condition) or not raised


@pytest.mark.parametrize("condition", [SUM, NARROW, NEGATED], ids=["sum", "cast", "call"])
def test_the_property_kills_a_judge_that_takes_a_kind_of_node_for_harmless(
    condition: Expression, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = raising._never_raises
    monkeypatch.setattr(
        raising, "_never_raises", lambda node: isinstance(node, Arithmetic | Cast | Call) or right(node)
    )
    assert not raising.may_raise(condition)
    find(evaluations(condition), lambda drawn: drawn[1], settings=unshrunk(2_000))


@pytest.mark.parametrize("raised", [False, True])
def test_conditions_that_raise_and_those_that_cannot_are_both_drawn(raised: bool) -> None:
    find(
        evaluations(),
        lambda drawn: drawn[1] is raised is raising.may_raise(drawn[0]),
        settings=unshrunk(2_000),
    )


@pytest.mark.parametrize(
    ("condition", "raises"),
    [
        (BELOW, False),
        (SUM, True),
        (NARROW, True),
        (Compare(Comparison.LESS, Cast(Column("b", INTEGER), LONG), A), False),
        (Compare(Comparison.LESS, Cast(A, BYTE, Mode.TRY), Literal(1, BYTE)), False),
        (Opaque("f(a)", BOOLEAN, (A,)), True),
    ],
)
def test_a_condition_may_raise_where_a_node_of_it_may(condition: Expression, raises: bool) -> None:
    assert raising.may_raise(condition) is raises


def test_counts_are_of_live_rows_and_unknown_bytes_stay_unknown() -> None:
    sizes = Sizes(np.array([3, 0, 5, 7]), np.array([30, 0, -1, 70]))
    plan = deletion(sizes, Condition(np.array([NONE, NONE, SOME, ALL], np.int8)))

    assert [list(plan.untouched_blocks), list(plan.deleted_blocks), list(plan.rewritten_blocks)] == [
        [0, 1],
        [3],
        [2],
    ]
    assert (plan.unread_totals.blocks, plan.unread_totals.rows, plan.unread_totals.bytes) == (3, 10, 100)
    assert plan.tally(Fate.REWRITTEN).bytes is None


def test_a_block_without_rows_is_untouched_whatever_its_verdict() -> None:
    plan = deletion(Sizes(np.array([0]), np.array([0])), Condition(np.array([ALL], np.int8)))
    assert list(plan.untouched_blocks) == [0]


def test_an_update_asks_no_row_of_a_block_that_it_changes_as_a_whole() -> None:
    sizes = Sizes(np.array([2, 2, 2]), np.array([1, 1, 1]))
    verdicts = np.array([NONE, SOME, ALL], np.int8)

    assert update(sizes, Condition(verdicts)).whole.tolist() == [False, False, True]
    assert not update(sizes, Condition(verdicts, may_raise=True)).whole.any()


def test_verdicts_of_another_number_of_blocks_are_refused() -> None:
    with pytest.raises(InputError, match="There are 1 verdicts for 2 blocks"):
        deletion(Sizes(np.array([1, 1]), np.array([1, 1])), Condition(np.array([ALL], np.int8)))
