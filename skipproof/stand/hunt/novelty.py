"""The novelty of questions: the features of each, and those that no earlier question of a corpus had.

A feature is a pair: a part of the question, such as a function with the type that it is called on, and what
became of the question, such as a filter in the engine's plan, or row groups that were not read.
"""

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TypeAlias

from skipproof.stand.hunt.examining import QuestionResult
from strategies.engines.questions import Call, Column, Question, Subquery, Term, subterms

# A question with fewer new features is not new: of most questions one pair is.
FEATURES_MIN = 2

Feature: TypeAlias = tuple[str, str]


class Novelty:
    """The features of the questions until now."""

    def __init__(self) -> None:
        self._features: set[Feature] = set()

    def add(self, question: Question, effects: Sequence[str]) -> bool:
        """Add the features of a question, and tell whether enough of them are new."""
        new = features(question, effects) - self._features
        self._features |= new
        return len(new) >= FEATURES_MIN


def effects_of(outcome: QuestionResult) -> tuple[str, ...]:
    """Return what became of a question: rows or none, and what is known of the engine's decisions."""
    if outcome.refused:
        return ()
    rows = (outcome.with_statistics or {}).get("rows")
    return ("an error" if rows is None else "rows" if rows else "no rows", *outcome.features)


def features(question: Question, effects: Sequence[str]) -> set[Feature]:
    """Return the pairs of a part of a question and a thing that became of it."""
    return set(product(_parts(question), effects))


def _parts(question: Question) -> Iterator[str]:
    """Yield the parts of a question that tell which code answers it."""
    yield question.area
    for term in question.terms:
        for part in subterms(term):
            if isinstance(part, Call):
                yield f"{part.function} of {_type_word(part.of[0])}"
            elif isinstance(part, Subquery):
                yield f"subquery of {part.kind}"
    for join in (question.join, question.second):
        if join is not None:
            yield f"{join.kind} join" + " by <=>" * join.null_safe + " on a condition" * (join.on is not None)
    yield from ("limit",) * (question.limit is not None)
    yield from ("offset",) * (question.offset > 0)
    yield from (f"order by {_type_word(key.by)}" for key in question.order)
    for aggregate in question.aggregates:
        of = "" if aggregate.of is None else " of " + _type_word(aggregate.of)
        yield aggregate.function + of + " distinct" * aggregate.distinct
    yield from () if question.window is None else (question.window.function,)
    yield from () if question.set is None else (question.set.kind + " all" * question.set.all,)


def _type_word(term: Term) -> str:
    """Return the first word of a term's type, and whether it is computed."""
    return term.type.partition("(")[0] + " computed" * (not isinstance(term, Column))
