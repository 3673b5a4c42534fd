"""Planners of DELETE and MERGE that forget something; each must be found by statements that turn on it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from mutants.replacements import Replacement
from pruning.expressions.trees import Column, Expression
from pruning.rules.sets.truths import Match
from pruning.techniques.dml import rewriting, source_keys
from pruning.techniques.dml.rewriting import Clause, Condition, Fate, Rewriting, Sizes, Then, When, merge

_walk_clauses, _may_equal = rewriting._walk_clauses, source_keys.may_equal


# Clauses


def _all_for_some(sizes: Sizes, clauses: Sequence[tuple[Then, Condition]]) -> tuple[np.ndarray, np.ndarray]:
    ((_, condition),) = clauses
    touched = (sizes.rows > 0) & (condition.verdicts != Match.NONE)
    return touched, np.zeros(len(sizes), bool)


def _every_clause(
    sizes: Sizes, clauses: Sequence[tuple[Then, Condition | None]]
) -> tuple[np.ndarray, np.ndarray]:
    deletes = [clause for clause in clauses if clause[0] is Then.DELETE]
    _, kept = _walk_clauses(sizes, deletes)
    return _walk_clauses(sizes, clauses)[0], kept


def _raising_forgotten(
    sizes: Sizes, clauses: Sequence[tuple[Then, Condition | None]]
) -> tuple[np.ndarray, np.ndarray]:
    calm = [(then, condition and Condition(condition.verdicts)) for then, condition in clauses]
    return _walk_clauses(sizes, calm)


# SOME taken as ALL; of a statement with one clause.
ALL_FOR_SOME = Replacement(rewriting, "_walk_clauses", _all_for_some)
# A DELETE anywhere among the clauses decides, also behind an UPDATE that applies first.
EVERY_CLAUSE = Replacement(rewriting, "_walk_clauses", _every_clause)
# An earlier condition that is NONE cannot fail.
RAISING_FORGOTTEN = Replacement(rewriting, "_walk_clauses", _raising_forgotten)
SEVERAL_PARTNERS_FORGOTTEN = Replacement(rewriting, "_refuses_several", lambda clauses: False)


# MERGE: these take the place of `merge` where a caller has imported it.


def without_raising_on(
    sizes: Sizes, clauses: Sequence[Clause], *, on: Condition | None = None, **options: Any
) -> Rewriting:
    """Plan as if ON could not raise."""
    return merge(sizes, clauses, on=on and Condition(on.verdicts), **options)


def untouched_without_partner(sizes: Sizes, clauses: Sequence[Clause], **options: Any) -> Rewriting:
    """Leave blocks alone that the keys exclude, also from WHEN NOT MATCHED BY SOURCE."""
    plan = merge(sizes, clauses, **options)
    of_source = [clause for clause in clauses if clause.when is not When.NOT_MATCHED_BY_SOURCE]
    if not of_source:
        return plan
    skipped = (merge(sizes, of_source, **options).fates == Fate.UNTOUCHED) & ~plan.joined
    return replace(plan, fates=np.where(skipped, np.int8(Fate.UNTOUCHED), plan.fates))


def unread(sizes: Sizes, clauses: Sequence[Clause], **options: Any) -> Rewriting:
    """Join only what is rewritten: the source's partners in other blocks are not found."""
    plan = merge(sizes, clauses, **options)
    return replace(plan, joined=plan.joined & (plan.fates == Fate.REWRITTEN))


def _may_equal_without_null(column: Column, values: Any, *, null_safe: bool = False) -> Expression:
    return _may_equal(column, values, null_safe=False)


# Keys are compared by `=` where the statement says `<=>`.
NULL_EXCLUDED = Replacement(source_keys, "may_equal", _may_equal_without_null)
