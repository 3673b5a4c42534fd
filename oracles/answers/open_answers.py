"""Judges the answer of a whole query as far as SQL determines it.

Values are equal where GROUP BY holds them equal: every NaN is one value, and -0.0 is 0.0.

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


def difference(query: Query, found: Sequence[Any], everything: Sequence[Any]) -> str | None:
    """What is wrong about an answer, in one sentence; None where it is right.

    Args:
        found: The answer of `query.sql`.
        everything: The answer of `query.unlimited`, in the order in which Spark gave it.
    Raises:
        ValueError: rows of `everything` with equal keys do not stand together.
    """
    expected = query.size(len(everything))
    if len(found) != expected:
        return f"{len(found)} rows instead of {expected}{_unequal(query, found, everything)}"
    if query.openness is Openness.TIES:
        return _out_of_place(query, found, everything)
    extra = bag(found) - bag(everything)
    return f"rows that the query does not have: {_shown(extra)}" if extra else None


def _out_of_place(query: Query, found: Sequence[Any], everything: Sequence[Any]) -> str | None:
    """The first rows found where others belong."""
    begin = 0
    for first, tied in _ties(everything, query.key_count):
        end = max(0, min(len(found), first + len(tied) - query.offset))
        extra = bag(found[begin:end]) - bag(row[query.key_count :] for row in tied)
        if extra:
            keys = tuple(tied[0][: query.key_count])
            return f"rows {begin} to {end - 1} should have the keys {keys}: {_shown(extra)} do not"
        begin = max(begin, end)
    return None


def _ties(everything: Sequence[Any], key_count: int) -> Iterator[tuple[int, list[Any]]]:
    """Runs of rows with equal keys, each with the position of its first row."""
    seen: set[frozenset[object]] = set()
    position = 0
    for key, run in groupby(everything, key=lambda row: frozenset(bag([row[:key_count]]))):
        if key in seen:
            raise ValueError(f"rows with the keys {set(key)} do not stand together; order them by the keys")
        seen.add(key)
        rows = list(run)
        yield position, rows
        position += len(rows)


def _unequal(query: Query, found: Sequence[Any], everything: Sequence[Any]) -> str:
    """A few rows that are missing or too many, where it is known which should be there."""
    one, other = bag(found), bag(row[query.key_count :] for row in everything)
    extra = f"; too many: {_shown(one - other)}" if one - other else ""
    whole = query.limit is None and not query.offset
    return extra + (f"; missing: {_shown(other - one)}" if whole and other - one else "")


def _shown(rows: Bag) -> str:
    return ", ".join(str(tuple(_value(cell) for cell in row)) for row in list(rows)[:_ROWS_SHOWN])


def _value(cell: object) -> object:
    """The value of a cell of a bag, which stands behind its type."""
    return cell[1] if isinstance(cell, tuple) else cell
