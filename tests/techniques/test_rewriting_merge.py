"""DML-4: MERGE through a plan gives the rows, and inserts the rows, that MERGE gives.

Here the source's rows are a key and a flag; conditions ask something of the target's columns, of the flag,
or of both.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest
from budget import examples, unshrunk
from hypothesis import assume, event, find, given
from hypothesis import strategies as st

from oracles.arithmetic import Overflow
from oracles.brute_force import compare, evaluate
from oracles.numbers import NoSecondOpinion
from pruning.classification import classify_blocks
from pruning.errors import InputError
from pruning.expressions.trees import Cast, Column, Compare, Comparison, Expression, Literal, Mode, Not
from pruning.expressions.types import (
    BOOLEAN,
    BYTE,
    DATE,
    DOUBLE,
    LONG,
    STRING,
    TIMESTAMP,
    Type,
    Value,
    decimal,
)
from pruning.metadata.schema import arrow_type
from pruning.rules.truths import Match
from pruning.techniques import dml_keys, raising, rewriting
from pruning.techniques.rewriting import Clause, Condition, Fate, Rewriting, Sizes, Then, When, merge
from strategies.layouts import tables
from strategies.metadata import metadata
from strategies.predicates import predicates
from strategies.tables import Row, Table, arrow_array
from strategies.values import TYPES

A = Column("a", LONG)
BELOW = Compare(Comparison.LESS, A, Literal(5, LONG))
NARROW = Compare(Comparison.AT_MOST, Cast(A, BYTE), Literal(127, BYTE))
CHANGED, INSERTED = "changed", "inserted"
TARGET_CLAUSES = tuple(
    (when, then) for when in (When.MATCHED, When.NOT_MATCHED_BY_SOURCE) for then in (Then.UPDATE, Then.DELETE)
)


class Fails(Exception):
    """The statement raises."""


@dataclass(frozen=True, slots=True)
class Source:
    """One row of the source."""

    key: Value | None
    flag: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A clause as it is written; `flagged` adds that the source's flag is set (of matched rows only)."""

    when: When
    then: Then
    condition: Expression | None = None
    flagged: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """A statement over the table's first column as key, and block metadata that is true of the table."""

    table: Table
    source: tuple[Source, ...]
    on: Expression | None
    null_safe: bool
    clauses: tuple[Written, ...]
    known: pa.Table

    @property
    def key(self) -> Column:
        """The target's column that the source's keys are compared with."""
        return self.table.columns[0]


@st.composite
def merges(
    draw: st.DrawFn,
    types: Sequence[Type] | None = None,
    *,
    conditions: Sequence[Expression] | None = None,
    clauses: tuple[Written, ...] | None = None,
) -> Merge:
    """Statements whose keys are the table's own values; given conditions are on a bigint `a`."""
    table = draw(tables(types, max_columns=2, max_rows=3))
    if conditions:
        table = Table((A,), table.blocks)
    drawn = predicates(table, max_leaves=3, modes=tuple(Mode)) if conditions is None else st.nothing()
    asked = st.none() | drawn | st.sampled_from(conditions or [None])
    pool = [None, *table.values(table.columns[0].name)]
    keys = draw(st.lists(st.sampled_from(pool), max_size=3))
    return Merge(
        table=table,
        source=tuple(Source(key, draw(st.booleans())) for key in keys),
        on=draw(asked),
        null_safe=draw(st.booleans()),
        clauses=clauses or tuple(draw(st.lists(_clauses(asked, conditions == ()), min_size=1, max_size=4))),
        known=draw(metadata(table)),
    )


@st.composite
def _clauses(draw: st.DrawFn, asked: st.SearchStrategy[Expression | None], simple: bool) -> Written:
    if draw(st.sampled_from((False, False, False, True))):
        return Written(when=When.NOT_MATCHED, then=Then.INSERT)
    when, then = draw(st.sampled_from(TARGET_CLAUSES))
    flagged = not simple and when is When.MATCHED and draw(st.booleans())
    return Written(when=when, then=then, condition=draw(asked), flagged=flagged)


def plan(statement: Merge) -> Rewriting:
    """The plan, as a caller makes it."""
    rows = np.array([len(block) for block in statement.table.blocks], np.int64)
    values = arrow_array(statement.key.type, [row.key for row in statement.source])
    condition = dml_keys.may_equal(
        statement.key,
        dml_keys.typed(statement.key.name, values, statement.key.type),
        null_safe=statement.null_safe,
    )
    excluded = classify_blocks(condition, statement.known).to_numpy() == Match.NONE
    clauses = [
        Clause(when=one.when, then=one.then, condition=judged(statement, one.condition, one.flagged))
        for one in statement.clauses
    ]
    return merge(Sizes(rows, 8 * rows), clauses, on=judged(statement, statement.on), excluded=excluded)


def judged(statement: Merge, condition: Expression | None, flagged: bool = False) -> Condition | None:
    """What the planner is told of a condition."""
    if condition is None and not flagged:
        return None
    asked = Literal(True, BOOLEAN) if condition is None else condition
    verdicts = classify_blocks(asked, statement.known).to_numpy()
    return Condition(verdicts, flagged or raising.may_raise(asked))


def holds(statement: Merge, condition: Expression | None, row: Row) -> bool:
    """Whether a condition is TRUE of a row of the target.

    Raises:
        Fails: it raises.
    """
    try:
        return condition is None or evaluate(condition, statement.table.named(row)) is True
    except Overflow as error:
        raise Fails from error
    except NoSecondOpinion:
        assume(False)
        raise


def partners(statement: Merge, row: Row) -> list[Source]:
    """The source's rows that a row of the target matches."""
    if not holds(statement, statement.on, row):
        return []
    equals = Comparison.NULL_SAFE_EQUAL if statement.null_safe else Comparison.EQUAL
    return [one for one in statement.source if compare(equals, row[0], one.key) is True]


def outcome(statement: Merge, row: Row, found: Sequence[Source]) -> list[object]:
    """What MERGE leaves of a row that has these partners.

    Raises:
        Fails: a condition raises, or several rows of the source would decide.
    """
    when = When.MATCHED if found else When.NOT_MATCHED_BY_SOURCE
    clauses = [clause for clause in statement.clauses if clause.when is when]
    if len(found) > 1 and clauses:
        # Which one decides does not matter to a clause that deletes whatever matches.
        only = clauses[0]
        if not (
            len(clauses) == 1 and only.then is Then.DELETE and only.condition is None and not only.flagged
        ):
            raise Fails
    for clause in clauses:
        if holds(statement, clause.condition, row) and (not clause.flagged or found[0].flag):
            return [] if clause.then is Then.DELETE else [(CHANGED, row)]
    return [row]


def inserted(statement: Merge, matched: set[Source]) -> list[object]:
    """The source's rows that go in."""
    inserts = any(clause.when is When.NOT_MATCHED for clause in statement.clauses)
    return [(INSERTED, one) for one in statement.source if inserts and one not in matched]


def row_by_row(statement: Merge) -> Counter[str]:
    """MERGE that looks at every row.

    Raises:
        Fails: the statement fails.
    """
    result: list[object] = []
    matched: set[Source] = set()
    for row in statement.table.rows:
        found = partners(statement, row)
        matched |= set(found)
        result += outcome(statement, row, found)
    return bag(result + inserted(statement, matched))


def through(statement: Merge, planned: Rewriting) -> Counter[str]:
    """MERGE that looks only at what the plan says.

    Raises:
        Fails: what is looked at fails the statement.
    """
    result: list[object] = []
    matched: set[Source] = set()
    for block, fate, joined in zip(statement.table.blocks, planned.fates, planned.joined, strict=True):
        for row in block:
            found = partners(statement, row) if joined else []
            matched |= set(found)
            if fate == Fate.REWRITTEN:
                result += outcome(statement, row, found)
            elif joined and fate == Fate.DELETED:
                assert outcome(statement, row, found) == []
            if fate == Fate.UNTOUCHED:
                result.append(row)
    return bag(result + inserted(statement, matched))


def bag(rows: Sequence[object]) -> Counter[str]:
    """Rows by their text, in which NaN equals itself."""
    return Counter(map(repr, rows))


def is_right(statement: Merge, planned: Rewriting | None = None) -> bool:
    """Whether the plan's MERGE gives what MERGE gives; where MERGE fails, it fails or keeps what fails it."""
    planned = plan(statement) if planned is None else planned
    try:
        found = through(statement, planned)
    except Fails:
        found = None
    except AssertionError:
        return False
    try:
        return found == row_by_row(statement)
    except Fails:
        return found is None or all(map(keeps, failing(statement), planned.fates))


def failing(statement: Merge) -> list[bool]:
    """Whether a row of each block fails the statement."""

    def fails(row: Row) -> bool:
        try:
            outcome(statement, row, partners(statement, row))
        except Fails:
            return True
        return False

    return [any(map(fails, block)) for block in statement.table.blocks]


def keeps(fails: bool, fate: int) -> bool:
    """Whether a block on which MERGE fails stays as it is."""
    return not fails or fate == Fate.UNTOUCHED


@examples(3)
@given(merges())
def test_merge_through_its_plan_gives_what_merge_gives(statement: Merge) -> None:
    """DML-4."""
    planned = plan(statement)
    event(f"fates {sorted(set(planned.fates.tolist()))}")
    event(f"joined {sorted(set(zip(planned.fates.tolist(), planned.joined.tolist(), strict=True)))}")
    assert is_right(statement, planned)


@examples(4)
@given(merges([LONG], conditions=()))
def test_merge_of_keys_alone_gives_what_merge_gives(statement: Merge) -> None:
    """DML-4, where most blocks are decided."""
    assert is_right(statement)


@pytest.mark.parametrize("fate", Fate)
@pytest.mark.parametrize("joined", [False, True])
def test_the_statements_reach_each_fate_of_blocks_read_and_not_read(fate: Fate, joined: bool) -> None:
    """Without this, the properties could hold because every block is read."""

    def reached(statement: Merge) -> bool:
        planned = plan(statement)
        here = (planned.fates == fate) & (planned.joined == joined)
        return any(block and found for block, found in zip(statement.table.blocks, here, strict=True))

    find(merges([LONG], conditions=()), reached, settings=unshrunk(2_000))


# Each row goes, with or without a partner; that one has several is an error all the same.
DELETE_ALL = (
    Written(when=When.MATCHED, then=Then.DELETE, condition=BELOW),
    Written(when=When.MATCHED, then=Then.DELETE),
    Written(when=When.NOT_MATCHED_BY_SOURCE, then=Then.DELETE),
)


@contextmanager
def broken(name: str, replacement: object) -> Iterator[None]:
    """The planner with one function in another's place."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rewriting, name, replacement)
        yield


def killed(drawn: st.SearchStrategy[Merge], wrong: object = lambda one: not is_right(one)) -> None:
    """The property finds a statement that is planned wrongly."""
    find(drawn, wrong, settings=unshrunk(5_000))


WALKED = rewriting._walked


def every_clause(
    sizes: Sizes, clauses: Sequence[tuple[Then, Condition | None]]
) -> tuple[np.ndarray, np.ndarray]:
    """A DELETE anywhere among the clauses decides, also behind an UPDATE that applies first."""
    deletes = [clause for clause in clauses if clause[0] is Then.DELETE]
    _, kept = WALKED(sizes, deletes)
    return WALKED(sizes, clauses)[0], kept


def raising_forgotten(
    sizes: Sizes, clauses: Sequence[tuple[Then, Condition | None]]
) -> tuple[np.ndarray, np.ndarray]:
    """An earlier condition that is NONE cannot fail."""
    calm = [(then, condition and Condition(condition.verdicts)) for then, condition in clauses]
    return WALKED(sizes, calm)


def test_the_property_kills_a_planner_for_which_the_first_clause_does_not_win() -> None:
    with broken("_walked", every_clause):
        killed(merges([LONG], conditions=()))


def test_the_property_kills_a_planner_that_forgets_that_a_clause_may_raise() -> None:
    with broken("_walked", raising_forgotten):
        killed(merges([LONG], conditions=(NARROW, Not(NARROW))))


def test_the_property_kills_a_planner_that_forgets_that_several_partners_fail() -> None:
    with broken("_refuses_several", lambda clauses: False):
        killed(merges([LONG], conditions=(BELOW,), clauses=DELETE_ALL))


@pytest.mark.parametrize("then", [Then.DELETE, Then.UPDATE])
def test_the_property_kills_a_planner_that_forgets_that_on_may_raise(then: Then) -> None:
    """Dropped unread, or changed without having met ON, the block that fails the statement would be gone."""
    right = merge

    def calm(sizes: Sizes, clauses: Sequence[Clause], *, on: Condition | None, **more: object) -> Rewriting:
        return right(sizes, clauses, on=on and Condition(on.verdicts), **more)

    clauses = (Written(when=When.NOT_MATCHED_BY_SOURCE, then=then),)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "merge", calm)
        killed(merges([LONG], conditions=(NARROW, Not(NARROW)), clauses=clauses))


def untouched_without_partner(statement: Merge) -> Rewriting:
    """Blocks that the keys exclude are left alone, also by WHEN NOT MATCHED BY SOURCE."""
    matched = replace(
        statement,
        clauses=tuple(one for one in statement.clauses if one.when is not When.NOT_MATCHED_BY_SOURCE),
    )
    planned = plan(statement)
    if not matched.clauses:
        return planned
    skipped = (plan(matched).fates == Fate.UNTOUCHED) & ~planned.joined
    return replace(planned, fates=np.where(skipped, np.int8(Fate.UNTOUCHED), planned.fates))


def unread(statement: Merge) -> Rewriting:
    """Only what is rewritten is joined: the source's partners in other blocks are not found."""
    planned = plan(statement)
    return replace(planned, joined=planned.joined & (planned.fates == Fate.REWRITTEN))


def excluding_null(statement: Merge) -> Rewriting:
    """Keys are compared by `=` where the statement says `<=>`."""
    return plan(replace(statement, null_safe=False))


@pytest.mark.parametrize("twin", [untouched_without_partner, unread, excluding_null])
def test_the_property_kills_a_planner_that_forgets_rows_without_partners(twin: object) -> None:
    killed(merges([LONG], conditions=()), lambda one: not is_right(one, twin(one)))


@pytest.mark.parametrize("type_", [BYTE, LONG, DOUBLE, STRING, DATE, TIMESTAMP, decimal(10, 2)], ids=str)
@examples(1)
@given(data=st.data())
def test_many_keys_are_enclosed_by_their_ends(type_: Type, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dml_keys, "MEMBERS_MAX", 1)
        assert is_right(data.draw(merges([type_], conditions=())))


@pytest.mark.parametrize("type_", TYPES, ids=str)
@examples(0.4)
@given(data=st.data())
def test_keys_of_each_type_are_compared_as_spark_does(type_: Type, data: st.DataObject) -> None:
    assert is_right(data.draw(merges([type_], conditions=())))


def test_integers_beyond_the_columns_type_equal_none_of_its_values() -> None:
    found = dml_keys.typed("a", pa.array([1, 300, None, -129], pa.int64()), BYTE)
    assert found.to_pylist() == [1, None]
    assert dml_keys.typed("a", pa.array([2**64 - 1, 7], pa.uint64()), LONG).to_pylist() == [7]


@pytest.mark.parametrize("values", [pa.array([1.5]), pa.array(["1"]), pa.array([True]), 3])
def test_keys_of_another_type_are_refused(values: object) -> None:
    with pytest.raises(InputError, match="key `a`"):
        dml_keys.typed("a", values, LONG)


def test_keys_are_taken_in_any_form_of_their_type() -> None:
    given_ = pa.chunked_array([pa.array(["a"], pa.large_string()), pa.array([], pa.large_string())])
    assert dml_keys.typed("s", given_, STRING).type == arrow_type(STRING)
    assert dml_keys.typed("s", [], STRING).to_pylist() == []


@pytest.mark.parametrize(
    ("clauses", "message"),
    [
        ([], "no clause"),
        ([Clause(when=When.MATCHED, then=Then.INSERT)], "WHEN MATCHED cannot INSERT"),
        ([Clause(when=When.NOT_MATCHED, then=Then.DELETE)], "WHEN NOT MATCHED cannot DELETE"),
    ],
)
def test_statements_that_sql_does_not_know_are_refused(clauses: list[Clause], message: str) -> None:
    with pytest.raises(InputError, match=message):
        merge(Sizes(np.array([1]), np.array([1])), clauses)


def test_exclusions_of_another_number_of_blocks_are_refused() -> None:
    with pytest.raises(InputError, match="`excluded` has 2 lanes"):
        merge(
            Sizes(np.array([1]), np.array([1])),
            [Clause(when=When.MATCHED, then=Then.DELETE)],
            excluded=np.array([True, False]),
        )
