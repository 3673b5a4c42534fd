"""An engine's answer beside a whole one that skipped nothing: whether they contradict each other.

Shares   the Question type; no rule, no statistic.
Trusts   the whole answer: the engine's own about tables in its memory, or the reference's.
Removes  the choice that LIMIT, OFFSET and ties leave: every permitted answer is right.
Leaves   what the whole answer gets wrong too.
"""

import enum
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from strategies.engines.questions import Json, Question

Rows: TypeAlias = Sequence[Sequence[Json]]

_ROWS_SHOWN = 3


class Verdict(enum.Enum):
    """What is wrong with an answer; the value is how a finding is called."""

    LOST = "rows lost"
    ADDED = "rows added"
    CHANGED = "wrong values in a plain read"
    RAISED = "an error instead of rows"


class Oracle(enum.Enum):
    """What an answer is compared with; the value is how it is called."""

    ITSELF = "itself"
    REFERENCE = "the reference"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """What is wrong with an answer, how it shows, in one sentence, and who says so."""

    verdict: Verdict
    difference: str
    oracle: Oracle = Oracle.ITSELF


def unlimited(question: Question) -> Question:
    """The question whose whole answer tells which answers of `question` are right."""
    return replace(question, limit=None, offset=0)


def is_open(question: Question) -> bool:
    """Whether several answers are right."""
    return question.limit is not None or question.offset > 0


def contradiction(question: Question, found: Rows, everything: Rows) -> Contradiction | None:
    """Compare an answer with the whole answer that skipped nothing.

    Args:
        found: The answer to `question`.
        everything: The answer to `unlimited(question)`, in the order that it asks for.
    """
    if found == everything and not is_open(question):
        return None
    if question.order:
        return _out_of_order(question, found, everything)
    extra = _bag(found) - _bag(everything)
    expected = _size(question, len(everything))
    missing = Counter() if is_open(question) else _bag(everything) - _bag(found)
    if not extra and not missing and len(found) == expected:
        return None
    difference = (
        f"{len(found)} rows instead of {expected}{_shown(', missing', missing)}{_shown(', extra', extra)}"
    )
    return Contradiction(_verdict(question, len(found) < expected or bool(missing), bool(extra)), difference)


def _out_of_order(question: Question, found: Rows, everything: Rows) -> Contradiction | None:
    """The keys must be those of the whole order; where keys are equal, any of their rows will do."""
    end = None if question.limit is None else question.offset + question.limit
    expected = everything[question.offset : end]
    names = [key.by.name for key in question.order if hasattr(key.by, "name")]
    positions = [question.select.index(name) for name in names]

    def keys(rows: Rows) -> list[Any]:
        return [[_comparable(row[position]) for position in positions] for row in rows]

    extra = _bag(found) - _bag(everything)
    if keys(found) == keys(expected) and not extra:
        return None
    missing = _bag(expected) - _bag(found)
    difference = f"{len(found)} rows instead of {len(expected)}{_shown(', for example', missing)} not found"
    return Contradiction(
        _verdict(question, bool(missing) or len(found) < len(expected), bool(extra)), difference
    )


def _verdict(question: Question, lost: bool, added: bool) -> Verdict:
    plain = question.area == "filter" and question.source.where is None
    if plain and lost and added:
        return Verdict.CHANGED
    return Verdict.LOST if lost else Verdict.ADDED


def _size(question: Question, rows: int) -> int:
    left = max(0, rows - question.offset)
    return left if question.limit is None else min(left, question.limit)


def _bag(rows: Rows) -> Counter[Any]:
    return Counter(tuple(_comparable(cell) for cell in row) for row in rows)


def _comparable(cell: Json) -> Any:
    """A cell that can be a key."""
    return repr(cell) if isinstance(cell, list | dict) else cell


def _shown(label: str, rows: Counter[Any]) -> str:
    some = ", ".join(str(row) for row in list(rows)[:_ROWS_SHOWN])
    return f"{label} {some}" if some else ""
