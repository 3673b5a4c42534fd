"""Judges the answer of a whole query, as far as SQL determines the answer.

Values are equal where GROUP BY treats them as equal: every NaN is one value, and -0.0 is 0.0.

Shares   the Query type; no rule, no statistic.
Trusts   Spark's expressions, and its ORDER BY over all rows without LIMIT.
Removes  the choice that LIMIT, OFFSET and ties leave: every permitted answer is right.
Leaves   the order of rows within a tie, and of rows that no ORDER BY orders.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from oracles.answers.rows import Bag, bag
from strategies.queries.queries import Openness, Query

_ROWS_SHOWN = 3


def answer_difference(query: Query, answer: Sequence[Any], whole_answer: Sequence[Any]) -> str | None:
    """Describe in one sentence how an answer is wrong; None if it is right.

    Args:
        answer: The answer of `query.sql`.
            whole_answer: The answer of `query.unlimited`, in the order in which Spark gave it.
        Raises:
            ValueError: Rows of `whole_answer` with equal keys are not adjacent.
    """
    expected = query.size(len(whole_answer))
    if len(answer) != expected:
        return f"{len(answer)} rows instead of {expected}{_example_differences(query, answer, whole_answer)}"
    if query.openness is Openness.TIES:
        return _misplaced_rows(query, answer, whole_answer)
    extra = bag(answer) - bag(whole_answer)
    return f"rows that the query does not have: {_example_rows(extra)}" if extra else None


def _misplaced_rows(query: Query, answer: Sequence[Any], whole_answer: Sequence[Any]) -> str | None:
    """Describe the first rows of an answer whose keys do not belong at their place."""
    begin = 0
    for first, tied in _ties(whole_answer, query.key_count):
        end = max(0, min(len(answer), first + len(tied) - query.offset))
        extra = bag(answer[begin:end]) - bag(row[query.key_count :] for row in tied)
        if extra:
            keys = tuple(tied[0][: query.key_count])
            return f"rows {begin} to {end - 1} should have the keys {keys}: {_example_rows(extra)} do not"
        begin = max(begin, end)
    return None


def _ties(everything: Sequence[Any], key_count: int) -> Iterator[tuple[int, list[Any]]]:
    """Yield the runs of rows with equal keys, each with the position of its first row."""
    earlier_keys: set[frozenset[object]] = set()
    position = 0
    for key, run in groupby(everything, key=lambda row: frozenset(bag([row[:key_count]]))):
        if key in earlier_keys:
            raise ValueError(f"rows with the keys {set(key)} do not stand together; order them by the keys")
        earlier_keys.add(key)
        rows = list(run)
        yield position, rows
        position += len(rows)


def _example_differences(query: Query, answer: Sequence[Any], whole_answer: Sequence[Any]) -> str:
    """Describe a few rows that are extra or, where that is determined, missing."""
    answer_rows, right_rows = bag(answer), bag(row[query.key_count :] for row in whole_answer)
    extra = f"; too many: {_example_rows(answer_rows - right_rows)}" if answer_rows - right_rows else ""
    whole = query.limit is None and not query.offset
    return extra + (
        f"; missing: {_example_rows(right_rows - answer_rows)}" if whole and right_rows - answer_rows else ""
    )


def _example_rows(rows: Bag) -> str:
    return ", ".join(str(tuple(_value(cell) for cell in row)) for row in list(rows)[:_ROWS_SHOWN])


def _value(cell: object) -> object:
    """Return the value of a cell of a bag, which stores it after its type."""
    return cell[1] if isinstance(cell, tuple) else cell
