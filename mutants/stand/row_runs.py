"""Wrong runs of equal rows, from which engines make large tables."""

from collections.abc import Iterator
from typing import Any

Row = list[Any]


def runs_of_any_numbers(rows: list[Row]) -> Iterator[tuple[Row, int]]:
    """Yield runs of rows that are equal but for their last values, whatever these are."""
    waiting: list[Row] = []
    for row in [*rows, None]:
        if row is not None and (not waiting or repr(row[:-1]) == repr(waiting[0][:-1])):
            waiting.append(row)
            continue
        if waiting:
            yield waiting[0], len(waiting)
        waiting = [] if row is None else [row]


def runs_of_equal_values(rows: list[Row]) -> Iterator[tuple[Row, int]]:
    """Yield runs of rows that count up, where True and 1 are the same, and 0.0 and -0.0."""
    waiting: list[Row] = []
    for row in [*rows, None]:
        counts_up = row is not None and (not waiting or row[-1] == waiting[0][-1] + len(waiting))
        if row is not None and counts_up and (not waiting or row[:-1] == waiting[0][:-1]):
            waiting.append(row)
            continue
        if waiting:
            yield waiting[0], len(waiting)
        waiting = [] if row is None else [row]
