"""Rows that a block's metadata allows: all that may exist, and combinations of cells."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from oracles.optimum.domains import Cell, CellFacts, all_cells, compares_by_order_alone, representatives
from oracles.optimum.reachability import Row
from pruning.expressions.traversal import columns
from pruning.expressions.trees import Expression


def every_row(
    expression: Expression, facts: Mapping[str, CellFacts], *, plain: Expression, rows_max: int
) -> list[Row] | None:
    """Return every row that may exist, or one for each case that differs; None if there are too many.

    Args:
        plain: An expression with the same truth on every row, by which cases are distinguished.
    """
    names = list(columns(expression))
    cells = {name: all_cells(facts[name], size_max=rows_max) for name in names}
    complete = {name: column_cells for name, column_cells in cells.items() if column_cells is not None}
    if len(complete) == len(names) and row_count(complete) <= rows_max:
        return list(combinations(complete))
    if not compares_by_order_alone(plain):
        return None
    standing = representatives(plain, {name: facts[name] for name in names})
    return list(combinations(standing)) if row_count(standing) <= rows_max else None


def rows_within_bounds(facts: Mapping[str, CellFacts], rows: Iterable[Row]) -> Iterator[Row]:
    """Return the rows that may exist."""
    return (
        row for row in rows if all(name not in facts or facts[name].holds(cell) for name, cell in row.items())
    )


def row_count(cells: Mapping[str, Sequence[Cell]]) -> int:
    """Return the number of rows that the cells form."""
    return math.prod(map(len, cells.values()))


def combinations(cells: Mapping[str, Sequence[Cell]]) -> Iterator[Row]:
    """Return every row that the cells form."""
    return (dict(zip(cells, row, strict=True)) for row in itertools.product(*cells.values()))
