"""DML-4 kills planners of MERGE that forget something, each by statements that turn on it."""

from collections.abc import Callable
from dataclasses import replace

import merging
import pytest
from budget import examples, unshrunk
from hypothesis import given
from hypothesis import strategies as st
from merging import EMPTYING, INSERTING, A, Merge, Source, Written, is_right, merges
from searches import find

from mutants.merge_plans import (
    EVERY_CLAUSE,
    NULL_EXCLUDED,
    RAISING_FORGOTTEN,
    SEVERAL_PARTNERS_FORGOTTEN,
    unread,
    untouched_without_partner,
    without_raising_on,
)
from mutants.replacements import Replacement
from pruning.expressions.trees import Cast, Compare, Comparison, Literal
from pruning.expressions.types import BYTE, LONG
from pruning.techniques.dml.rewriting import Then, When

BELOW = Compare(Comparison.LESS, A, Literal(5, LONG))
NARROW = Compare(Comparison.AT_MOST, Cast(A, BYTE), Literal(127, BYTE))
UNMATCHED = When.NOT_MATCHED_BY_SOURCE
# Which of two clauses applies to a row does not depend on the row.
UPDATE_FIRST = tuple(
    Written(when=when, then=then) for when in (When.MATCHED, UNMATCHED) for then in (Then.UPDATE, Then.DELETE)
)
# Each row goes; that a condition raises is an error all the same.
DELETE_NARROW = tuple(
    Written(when=UNMATCHED, then=Then.DELETE, condition=condition) for condition in (NARROW, None)
)
# Each row goes, with or without a partner; that one has several is an error all the same.
DELETE_ALL = (Written(when=When.MATCHED, then=Then.DELETE, condition=BELOW), *EMPTYING)
SYNC = (Written(when=When.MATCHED, then=Then.UPDATE), Written(when=UNMATCHED, then=Then.DELETE))


def is_wrong(statement: Merge) -> bool:
    """Tell whether a statement is planned wrongly."""
    return not is_right(statement)


def kill(mutant: Replacement, drawn: st.SearchStrategy[Merge]) -> None:
    """Find a statement that a mutant plans wrongly."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(*mutant)
        find(drawn, is_wrong, settings=unshrunk(2_000))


def without_source(**changed: object) -> Callable[[Merge], Merge]:
    """A statement none of whose rows has a partner, so that no block need be read for the join."""
    return lambda one: replace(one, source=(), **changed)


def several_partners(one: Merge) -> Merge:
    """A statement whose matched rows have at least two partners each."""
    return replace(one, source=2 * one.source)


def meeting_null(one: Merge) -> Merge:
    """A statement that matches rows whose key is NULL."""
    return replace(one, null_safe=True, source=(Source(None, False), *one.source))


def to_unmatched(then: Then) -> st.SearchStrategy[Merge]:
    """Statements that do it to each row, as none has a partner, and whose ON raises on some."""
    drawn = merges([LONG], conditions=(NARROW,), clauses=(Written(when=UNMATCHED, then=then),))
    return drawn.map(without_source(on=NARROW))


# What each mutant is looked for among.
UPDATING_FIRST = merges([LONG], conditions=(), clauses=UPDATE_FIRST)
CLAUSE_RAISING = merges([LONG], conditions=(NARROW,), clauses=DELETE_NARROW).map(without_source(on=None))
SEVERAL_PARTNERS = merges([LONG], conditions=(BELOW,), clauses=DELETE_ALL).map(several_partners)
ON_RAISING = {then: to_unmatched(then) for then in (Then.DELETE, Then.UPDATE)}
SYNCING = merges([LONG], conditions=(), clauses=SYNC)
MEETING_NULL = SYNCING.map(meeting_null)
ONLY_INSERTING = merges([LONG], conditions=(), clauses=INSERTING)


def test_the_property_kills_a_planner_for_which_the_first_clause_does_not_win() -> None:
    kill(EVERY_CLAUSE, UPDATING_FIRST)


def test_the_property_kills_a_planner_that_forgets_that_a_clause_may_raise() -> None:
    """Dropped unread, the block that fails the statement would be gone."""
    kill(RAISING_FORGOTTEN, CLAUSE_RAISING)


def test_the_property_kills_a_planner_that_forgets_that_several_partners_fail() -> None:
    kill(SEVERAL_PARTNERS_FORGOTTEN, SEVERAL_PARTNERS)


@pytest.mark.parametrize("then", ON_RAISING)
def test_the_property_kills_a_planner_that_forgets_that_on_may_raise(then: Then) -> None:
    """Dropped unread, or changed without having met ON, the block that fails the statement would be gone."""
    kill(Replacement(merging, "merge", without_raising_on), ON_RAISING[then])


FORGETFUL = {
    "untouched_without_partner": (Replacement(merging, "merge", untouched_without_partner), SYNCING),
    "unread": (Replacement(merging, "merge", unread), ONLY_INSERTING),
    "excluding_null": (NULL_EXCLUDED, MEETING_NULL),
}


@pytest.mark.parametrize("mutant", FORGETFUL)
def test_the_property_kills_a_planner_that_forgets_rows_without_partners(mutant: str) -> None:
    kill(*FORGETFUL[mutant])


AIMED = st.one_of(
    UPDATING_FIRST,
    CLAUSE_RAISING,
    SEVERAL_PARTNERS,
    *ON_RAISING.values(),
    *(drawn for _, drawn in FORGETFUL.values()),
)


@examples(3)
@given(AIMED)
def test_a_planner_that_forgets_nothing_is_spared(statement: Merge) -> None:
    """DML-4, of the statements that kill a mutant: it is the mistake that they show."""
    assert is_right(statement)
