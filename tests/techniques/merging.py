"""MERGE row by row and through its plan, and statements of which the two are compared.

Here the source's rows are a key and a flag; conditions ask something of the target's columns, of the flag,
or of both.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from hypothesis import assume
from hypothesis import strategies as st

from oracles.meaning.arithmetic import Overflow
from oracles.meaning.brute_force import compare, evaluate
from oracles.meaning.numbers import NoSecondOpinion
from pruning.expressions.trees import Column, Comparison, Expression, Literal, Mode
from pruning.expressions.types import BOOLEAN, LONG, Type, Value
from pruning.rules.sets.truths import Match
from pruning.techniques.dml import source_keys
from pruning.techniques.dml.rewriting import Clause, Condition, Fate, Rewriting, Sizes, Then, When, merge
from pruning.techniques.plan import raising
from pruning.verdicts.classification import classify_blocks
from strategies.base.layouts import tables
from strategies.base.metadata import metadata
from strategies.base.tables import Row, Table, arrow_array
from strategies.predicates.predicates import predicates

A = Column("a", LONG)
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


# Statements that need partners of blocks which they do not write, and that drop blocks.
INSERTING = (Written(when=When.NOT_MATCHED, then=Then.INSERT),)
EMPTYING = (
    Written(when=When.MATCHED, then=Then.DELETE),
    Written(when=When.NOT_MATCHED_BY_SOURCE, then=Then.DELETE),
)


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
    """Statements whose keys are the table's own values.

    Args:
        conditions: What may be asked, of a bigint `a`; nothing if empty, and anything where None.
        clauses: The clauses; drawn where None.
    """
    table = draw(tables(types, max_columns=2, max_rows=3))
    if conditions:
        table = Table((A,), table.blocks)
    drawn = predicates(table, max_leaves=3, modes=tuple(Mode)) if conditions is None else st.nothing()
    asked = st.none() | drawn | st.sampled_from(conditions or [None])
    pool = [None, *table.values(table.columns[0].name)]
    keys = draw(st.lists(st.sampled_from(pool), max_size=3))
    if clauses is None:
        mixed = st.lists(_clauses(asked, conditions == ()), min_size=1, max_size=4).map(tuple)
        clauses = draw(st.one_of(mixed, mixed, st.sampled_from((INSERTING, (*EMPTYING, *INSERTING)))))
    return Merge(
        table=table,
        source=tuple(Source(key, draw(st.booleans())) for key in keys),
        on=draw(asked),
        null_safe=draw(st.booleans()),
        clauses=clauses,
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
    condition = source_keys.may_equal(statement.key, values, null_safe=statement.null_safe)
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
        return condition is None or evaluate(condition, statement.table.as_mapping(row)) is True
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
