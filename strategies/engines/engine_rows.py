"""The rows of tables that engines are asked about: pools of values, and cells of them in blocks.

Shrinks to: small integers in one row.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from strategies.choices import choose
from strategies.engines.engine_values import INTEGERS, TYPE_FAMILIES, clusters, more_values, neighbours, order
from strategies.engines.questions import Json, Row

# Blocks have few rows, so that failures are small; some blocks repeat theirs, to fill several pages,
# vectors of 2,048 rows, or row groups of an engine's least size.
MANY = 700
# A block of so many rows is full: a row group of its engine's own size has no room left.
FULL = 2_048
# Some writers use a dictionary only where rows outnumber distinct values several times.
_SOME = 6
# A row repeated so often, each time with a value of its own, fills small dictionaries and bloom filters.
TENS = 30
ONCE, SMALL, LARGE = (1,), (*(1,) * 5, *(_SOME,) * 2, TENS), (TENS, MANY, FULL)
REPEATS = (*SMALL * 2, *LARGE)
_CONTENTS = (*("distinct",) * 5, *("mixed",) * 3, "dense", "constant", "constant or null", "nulls")


@dataclass(frozen=True, slots=True)
class ValuePool:
    """A type, and the few values of it that the rows of a column and its literals share."""

    type: str
    values: tuple[Json, ...]


@st.composite
def value_pools(draw: DrawFn, *, without: frozenset[str] = frozenset(), is_large: bool = False) -> ValuePool:
    """Pools of any type; integers, texts and floats, where most goes wrong, more often.

    Args:
        without: Types that are left out, in full or by their first word.
        is_large: For a large table, which is mostly ordered by functions; most functions are of integers.
    """
    families = [
        [type_ for type_ in family if not without.intersection((type_, type_.partition("(")[0]))]
        for family in (*TYPE_FAMILIES, *[INTEGERS] * (TYPE_FAMILIES.count(INTEGERS) if is_large else 0))
    ]
    type_ = choose(draw, choose(draw, [family for family in families if family]))
    clusters_ = clusters(type_)
    cluster = choose(draw, (clusters_[0], *clusters_, *clusters_[1:]))
    count = min(len(cluster), choose(draw, (3, 4, 5, 6, 2)))
    chosen = draw(st.lists(st.sampled_from(cluster), min_size=count, max_size=count, unique_by=repr))
    if draw(st.booleans()):
        chosen += neighbours(chosen[0], type_)
    return ValuePool(type_, tuple(chosen))


def number_rows(
    draw: DrawFn,
    blocks: Sequence[list[Row]],
    pools: Sequence[ValuePool],
    repeat: int,
    sorting: str,
    *,
    fixed: int = 0,
) -> tuple[tuple[Row, ...], ...]:
    """Return blocks with numbered rows, each repeated so often, or until the block is full.

    What is repeated often has, in some columns, a run of values instead of one, as columns of many distinct
    values are written and asked in other ways than those of few.

    Args:
        sorting: The order of the first column, empty if it has none.
        fixed: The number of columns that keep their values.
    """
    runs = [position >= fixed and repeat >= TENS and draw(st.booleans()) for position in range(len(pools))]
    repeated = [_repeat_rows(block, pools, runs, repeat) for block in blocks]
    if sorting and runs[0]:
        repeated = sort_rows(repeated, pools[0].type, nulls_first=sorting == "nulls first")
    firsts = accumulate(map(len, repeated), initial=0)
    return tuple(
        tuple((*row, number) for number, row in enumerate(rows, first))
        for rows, first in zip(repeated, firsts, strict=False)
    )


def _repeat_rows(
    block: Sequence[Row], pools: Sequence[ValuePool], runs: Sequence[bool], repeat: int
) -> list[Row]:
    """Return the rows of a block, each repeated, with runs of values in some columns."""
    size = FULL if repeat == FULL and block else len(block) * repeat
    rows: list[Row] = []
    for ordinal, row in enumerate(block):
        count = (ordinal + 1) * size // len(block) - ordinal * size // len(block)
        cells = [
            _run(cell, pool.type, count) if is_run else [cell] * count
            for cell, pool, is_run in zip(row, pools, runs, strict=True)
        ]
        rows += zip(*cells, strict=True)
    return rows


def _run(cell: Json, type_: str, count: int) -> list[Json]:
    """Return so many cells near one, as far as the type has such values."""
    is_special = cell is None or (type_.startswith("float") and isinstance(cell, str))
    near = () if is_special else more_values(cell, type_, count - 1)
    return [cell, *(near[at % len(near)] if near else cell for at in range(count - 1))]


def cells_of_block(draw: DrawFn, pools: Sequence[ValuePool], count: int) -> list[Row]:
    if not count:
        return []
    return list(zip(*(_cells(draw, pool, count) for pool in pools), strict=True))


def _cells(draw: DrawFn, pool: ValuePool, count: int) -> list[Json]:
    content = choose(draw, _CONTENTS)
    if content == "nulls":
        return [None] * count
    if content.startswith("constant"):
        constant = choose(draw, pool.values)
        if content == "constant":
            return [constant] * count
        return [constant if draw(st.booleans()) else None for _ in range(count)]
    if content == "distinct":
        return _distinct_cells(draw, pool, count)
    values = pool.values if content == "dense" else (*pool.values, None)
    return draw(st.lists(st.sampled_from(values), min_size=count, max_size=count))


def _distinct_cells(draw: DrawFn, pool: ValuePool, count: int) -> list[Json]:
    """Return cells that repeat a value only where there are more of them than values."""
    cells: list[Json] = []
    left: list[Json] = []
    for _ in range(count):
        left = left or list(pool.values)
        cells.append(left.pop(draw(st.integers(0, len(left) - 1))))
    return cells


def sort_rows(blocks: Sequence[list[Row]], type_: str, *, nulls_first: bool) -> list[list[Row]]:
    """Return the same rows, in the order of their first column, in blocks of the same sizes."""
    rows = [row for block in blocks for row in block]
    present = sorted((row for row in rows if row[0] is not None), key=lambda row: order(row[0], type_))
    nulls = [row for row in rows if row[0] is None]
    rows = nulls + present if nulls_first else present + nulls
    ends = [0]
    for block in blocks:
        ends.append(ends[-1] + len(block))
    return [rows[start:end] for start, end in pairwise(ends)]
