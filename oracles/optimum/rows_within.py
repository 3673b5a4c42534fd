"""Rows that a block's metadata admits: all there may be, and combinations of cells."""

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from oracles.optimum.domains import Cell, Known, by_order_alone, representatives, whole
from oracles.optimum.reachability import Row
from pruning.expressions.traversal import columns
from pruning.expressions.trees import Expression


def every_row(
    expression: Expression, known: Mapping[str, Known], *, plain: Expression, rows_max: int
) -> list[Row] | None:
    """Every row there may be, or one for each case that differs; None where they are too many.

    Args:
        plain: An expression of the same truth on every row, by which cases are told apart.
    """
    names = list(columns(expression))
    cells = {name: whole(known[name], size_max=rows_max) for name in names}
    complete = {name: found for name, found in cells.items() if found is not None}
    if len(complete) == len(names) and size(complete) <= rows_max:
        return list(combinations(complete))
    if not by_order_alone(plain):
        return None
    standing = representatives(plain, {name: known[name] for name in names})
    return list(combinations(standing)) if size(standing) <= rows_max else None


def within(known: Mapping[str, Known], rows: Iterable[Row]) -> Iterator[Row]:
    """Those of the rows that there may be."""
    return (
        row for row in rows if all(name not in known or known[name].holds(cell) for name, cell in row.items())
    )


def size(cells: Mapping[str, Sequence[Cell]]) -> int:
    """How many rows the cells make."""
    return math.prod(map(len, cells.values()))


def combinations(cells: Mapping[str, Sequence[Cell]]) -> Iterator[Row]:
    """Every row that the cells make."""
    return (dict(zip(cells, row, strict=True)) for row in itertools.product(*cells.values()))
