"""DML-4 kills planners of MERGE that forget something, each by statements that turn on it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import merging
import numpy as np
import pytest
from budget import examples, unshrunk
from hypothesis import given
from hypothesis import strategies as st
from merging import EMPTYING, INSERTING, A, Merge, Source, Written, is_right, merges, plan
from searches import find

from pruning.expressions.trees import Cast, Compare, Comparison, Literal
from pruning.expressions.types import BYTE, LONG
from pruning.techniques.dml import rewriting
from pruning.techniques.dml.rewriting import Clause, Condition, Fate, Rewriting, Sizes, Then, When, merge

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


@contextmanager
def broken(where: object, name: str, replacement: object) -> Iterator[None]:
    """The planner with one function in another's place."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(where, name, replacement)
        yield


def killed(
    drawn: st.SearchStrategy[Merge], wrong: Callable[[Merge], bool] = lambda one: not is_right(one)
) -> None:
    """The property finds a statement that is planned wrongly."""
    find(drawn, wrong, settings=unshrunk(2_000))


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


WALKED = rewriting._walk_clauses


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
    with broken(rewriting, "_walk_clauses", every_clause):
        killed(UPDATING_FIRST)


def test_the_property_kills_a_planner_that_forgets_that_a_clause_may_raise() -> None:
    """Dropped unread, the block that fails the statement would be gone."""
    with broken(rewriting, "_walk_clauses", raising_forgotten):
        killed(CLAUSE_RAISING)


def test_the_property_kills_a_planner_that_forgets_that_several_partners_fail() -> None:
    with broken(rewriting, "_refuses_several", lambda clauses: False):
        killed(SEVERAL_PARTNERS)


@pytest.mark.parametrize("then", ON_RAISING)
def test_the_property_kills_a_planner_that_forgets_that_on_may_raise(then: Then) -> None:
    """Dropped unread, or changed without having met ON, the block that fails the statement would be gone."""

    def calm(sizes: Sizes, clauses: Sequence[Clause], *, on: Condition | None, **more: object) -> Rewriting:
        return merge(sizes, clauses, on=on and Condition(on.verdicts), **more)

    with broken(merging, "merge", calm):
        killed(ON_RAISING[then])


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


FORGETFUL = {untouched_without_partner: SYNCING, unread: ONLY_INSERTING, excluding_null: MEETING_NULL}


@pytest.mark.parametrize("mutant", FORGETFUL)
def test_the_property_kills_a_planner_that_forgets_rows_without_partners(
    mutant: Callable[[Merge], Rewriting],
) -> None:
    killed(FORGETFUL[mutant], lambda one: not is_right(one, mutant(one)))


AIMED = st.one_of(UPDATING_FIRST, CLAUSE_RAISING, SEVERAL_PARTNERS, *ON_RAISING.values(), *FORGETFUL.values())


@examples(3)
@given(AIMED)
def test_a_planner_that_forgets_nothing_is_spared(statement: Merge) -> None:
    """DML-4, of the statements that kill a mutant: it is the mistake that they show."""
    assert is_right(statement)
