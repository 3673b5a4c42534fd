"""Contradictions between an engine's answer and an answer that was computed without skipping anything.

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

from strategies.engines.questions import ROW_NUMBER, Column, Json, Question

Rows: TypeAlias = Sequence[Sequence[Json]]

_ROWS_SHOWN = 3


class Discrepancy(enum.Enum):
    """The way in which an answer is wrong; the value is its name in a finding."""

    LOST = "rows lost"
    ADDED = "rows added"
    CHANGED = "wrong values in a plain read"
    RAISED = "an error instead of rows"


class Oracle(enum.Enum):
    """The source of the answer that is believed; the value is its name in a finding."""

    ITSELF = "itself"
    REFERENCE = "the reference"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A wrong answer: the kind of error, a sentence that shows it, and the oracle that contradicts it."""

    verdict: Discrepancy
    difference: str
    oracle: Oracle = Oracle.ITSELF


def without_limit(question: Question) -> Question:
    """Return the question without LIMIT and OFFSET; its answer tells which answers are right."""
    window = question.window
    if window is not None and _leaves_choice(question):
        # Of rows with equal keys any may be kept; those of the last rank that is kept are all possible.
        window = replace(window, function="rank") if window.order else None
    return replace(question, limit=None, offset=0, window=window)


def whole_questions(questions: Sequence[Question]) -> tuple[list[Question], list[int]]:
    """Return the questions without LIMIT and OFFSET, and for each question the position of its own.

    Questions that differ in LIMIT and OFFSET share one. The same question asked several times does not share,
    because each answer may differ where an engine has a race.
    """
    places: dict[tuple[Question, int], int] = {}
    times: Counter[Question] = Counter()
    positions = []
    for question in questions:
        key = (without_limit(question), times[question])
        times[question] += 1
        positions.append(places.setdefault(key, len(places)))
    return [question for question, _ in places], positions


def _leaves_choice(question: Question) -> bool:
    """Tell whether a window keeps a number of rows, but its order does not say which.

    An order that ends with the row number is total. Only a window without partitions says how many.
    """
    window = question.window
    if window is None or window.function != "row_number":
        return False
    return not any(isinstance(key.by, Column) and key.by.name == ROW_NUMBER for key in window.order)


def has_several_answers(question: Question) -> bool:
    """Tell whether several answers are right."""
    return question.limit is not None or question.offset > 0 or _leaves_choice(question)


def find_contradiction(question: Question, answer: Rows, whole_answer: Rows) -> Contradiction | None:
    """Compare an answer with the whole answer that skipped nothing; None if it is right.

    Args:
        answer: The answer to `question`.
        whole_answer: The answer to `without_limit(question)`, in the order that the question asks for. Rows
            of it with too few columns, or too many, are wrong too.
    """
    width = len(question.answer_columns)
    # Some engines return a row of something where nothing is selected.
    if width and {*map(len, answer), *map(len, whole_answer)} - {width}:
        row = next(row for row in (*answer, *whole_answer) if len(row) != width)
        difference = f"a row of {len(row)} columns instead of {width}: {tuple(row)}"
        return Contradiction(_verdict(question, lost=True, added=True), difference)
    if answer == whole_answer and not has_several_answers(question):
        return None
    if question.order:
        return _out_of_order(question, answer, whole_answer)
    extra = _bag(answer) - _bag(whole_answer)
    expected = expected_count(question, len(whole_answer))
    missing = Counter() if has_several_answers(question) else _bag(whole_answer) - _bag(answer)
    if not extra and not missing and len(answer) == expected:
        return None
    examples = _example_rows(", missing", missing) + _example_rows(", extra", extra)
    difference = f"{len(answer)} rows instead of {expected}{examples}"
    return Contradiction(
        _verdict(question, lost=len(answer) < expected or bool(missing), added=bool(extra)), difference
    )


def _out_of_order(question: Question, answer: Rows, whole_answer: Rows) -> Contradiction | None:
    """Compare an ordered answer: its keys are determined, but not the rows that share a key."""
    end = None if question.limit is None else question.offset + question.limit
    expected = whole_answer[question.offset : end]
    if answer == expected:
        return None
    names = [key.by.name for key in question.order if hasattr(key.by, "name")]
    positions = [question.answer_columns.index(name) for name in names]

    def keys(rows: Rows) -> list[Any]:
        return [[_comparable(row[position]) for position in positions] for row in rows]

    extra = _bag(answer) - _bag(whole_answer)
    if not extra and keys(answer) == keys(expected):
        return None
    missing = _bag(expected) - _bag(answer)
    difference = (
        f"{len(answer)} rows instead of {len(expected)}{_example_rows(', for example', missing)} not found"
    )
    return Contradiction(
        _verdict(question, lost=bool(missing) or len(answer) < len(expected), added=bool(extra)), difference
    )


def _verdict(question: Question, *, lost: bool, added: bool) -> Discrepancy:
    plain = question.area == "filter" and question.source.where is None
    if plain and lost and added:
        return Discrepancy.CHANGED
    return Discrepancy.LOST if lost else Discrepancy.ADDED


def expected_count(question: Question, rows: int) -> int:
    """Return how many rows an answer has, by the number of rows of the whole answer."""
    if question.window is not None and _leaves_choice(question):
        rows = min(rows, question.window.at_most)
    left = max(0, rows - question.offset)
    return left if question.limit is None else min(left, question.limit)


def _bag(rows: Rows) -> Counter[Any]:
    """Return how often each row is there, in a hashable form."""
    try:
        return Counter(map(tuple, rows))
    except TypeError:
        return Counter(tuple(_comparable(cell) for cell in row) for row in rows)


def _comparable(cell: Json) -> Any:
    """Return a hashable form of a cell."""
    return repr(cell) if isinstance(cell, list | dict) else cell


def _example_rows(label: str, rows: Counter[Any]) -> str:
    some = ", ".join(str(row) for row in list(rows)[:_ROWS_SHOWN])
    return f"{label} {some}" if some else ""
