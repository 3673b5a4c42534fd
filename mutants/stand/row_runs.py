"""Wrong runs of equal rows, from which engines make large tables, and wrong texts of many rows."""

from collections.abc import Callable, Iterator
from typing import Any

Row = list[Any]


def runs_of_any_numbers(rows: list[Row]) -> Iterator[tuple[Row, int]]:
    """Yield runs of rows that are equal but for their last values, whatever these are."""
    return _runs(rows, lambda first, row, count: repr(row[:-1]) == repr(first[:-1]))


def runs_of_equal_values(rows: list[Row]) -> Iterator[tuple[Row, int]]:
    """Yield runs of rows that count up, where True and 1 are the same, and 0.0 and -0.0."""
    return _runs(rows, lambda first, row, count: row == [*first[:-1], first[-1] + count])


def _runs(rows: list[Row], goes_on: Callable[[Row, Row, int], bool]) -> Iterator[tuple[Row, int]]:
    """Yield the first row of each run, and how many there are.

    Args:
        goes_on: Tells whether a row belongs to a run, of its first row, that row and the count until then.
    """
    waiting: list[Row] = []
    for row in rows:
        if waiting and not goes_on(waiting[0], row, len(waiting)):
            yield waiting[0], len(waiting)
            waiting = []
        waiting.append(row)
    if waiting:
        yield waiting[0], len(waiting)


def splits_any_text(row: Row) -> bool:
    """Take each text for one that may be one of several in a text."""
    return False
