"""The tables of whole queries: columns with common values, and similar rows close together in blocks.

All tables of a query draw each column's values from one small domain, so that join keys match, ORDER BY has
ties and literals touch bounds. Each column is sorted over the blocks, or nearly, or not.

"""

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from pruning.expressions.trees import Column
from pruning.expressions.types import (
    BOOLEAN,
    DATE,
    DOUBLE,
    FLOAT,
    INTEGER,
    LONG,
    SHORT,
    STRING,
    TIMESTAMP,
    Kind,
    Type,
    Value,
    decimal,
)
from strategies.base.layouts import RowLayout
from strategies.base.tables import Row, Table, sort_key
from strategies.base.values import decimal_of, values
from strategies.choices import choose

TYPES = (
    INTEGER, INTEGER, INTEGER, DATE, DATE, STRING, STRING, DOUBLE, DOUBLE, decimal(9, 2), decimal(38, 10),
    LONG, SHORT, FLOAT, TIMESTAMP, BOOLEAN,
)  # fmt: skip
NAMES = ("a", "b", "c")
ROW_NUMBER = "id"

_LAYOUTS = (RowLayout.SORTED, RowLayout.SORTED, RowLayout.CLUSTERED, RowLayout.RANDOM)
_EXTREMES_MAX = 2
_DAY_0, _MICROSECOND_0, _HOUR_US = 19_000, 1_700_000_000_000_000, 3_600_000_000


@dataclass(frozen=True, slots=True)
class Domain:
    """A type and different values of it, in order."""

    type: Type
    values: tuple[Value, ...]


@st.composite
def domains(draw: DrawFn) -> tuple[Domain, ...]:
    """The domains of a query's two or three columns.

    Shrinks to: two domains of ints, 0 to 2 each.
    """
    return tuple(_domain(draw, choose(draw, TYPES)) for _ in range(draw(st.integers(2, 3))))


def fact_tables(prefix: str, domains: Sequence[Domain]) -> SearchStrategy[Table]:
    """Tables of 4 to 12 blocks of 1 to 6 rows each."""
    return _tables(prefix, domains, st.lists(st.integers(1, 6), min_size=4, max_size=12))


def small_tables(prefix: str, domains: Sequence[Domain]) -> SearchStrategy[Table]:
    """Tables of 1 to 4 blocks of 0 to 4 rows each: build sides, empty ones among them."""
    return _tables(prefix, domains, st.lists(st.integers(0, 4), min_size=1, max_size=4))


@st.composite
def range_tables(draw: DrawFn, prefix: str) -> Table:
    """Tables of one block of 1 to 12 rows, which has their numbers alone, as `spark.range` gives them."""
    rows: list[Row] = [(number,) for number in range(draw(st.integers(1, 12)))]
    return Table((Column(f"{prefix}_{ROW_NUMBER}", LONG),), (tuple(rows),))


@st.composite
def _tables(draw: DrawFn, prefix: str, domains: Sequence[Domain], sizes: SearchStrategy[list[int]]) -> Table:
    row_counts = draw(sizes)
    cells = [_cells(draw, domain, row_counts) for domain in domains]
    rows: list[Row] = list(zip(*cells, range(sum(row_counts)), strict=True))
    columns = [Column(f"{prefix}_{name}", domain.type) for name, domain in zip(NAMES, domains, strict=False)]
    starts = [sum(row_counts[:ordinal]) for ordinal in range(len(row_counts))]
    blocks = (tuple(rows[start : start + count]) for start, count in zip(starts, row_counts, strict=True))
    return Table((*columns, Column(f"{prefix}_{ROW_NUMBER}", LONG)), tuple(blocks))


def _cells(draw: DrawFn, domain: Domain, row_counts: Sequence[int]) -> list[Value | None]:
    """Draw a column's cells, block after block: NULLs anywhere, values as the layout says."""
    choices = (*domain.values, None) if choose(draw, (False, True, False)) else domain.values
    cells_drawn = [choose(draw, choices) for _ in range(sum(row_counts))]
    layout = choose(draw, _LAYOUTS)
    if layout is RowLayout.RANDOM:
        return cells_drawn
    nulls = [cell for cell in cells_drawn if cell is None]
    present = sorted((cell for cell in cells_drawn if cell is not None), key=sort_key)
    if draw(st.booleans()):
        present.reverse()
    cells = [*nulls, *present] if draw(st.booleans()) else [*present, *nulls]
    if layout is RowLayout.CLUSTERED:
        for ordinal in range(1, len(row_counts)):
            start = sum(row_counts[:ordinal])
            if 0 < start < len(cells):
                cells[start - 1], cells[start] = cells[start], cells[start - 1]
    return cells


def _domain(draw: DrawFn, type_: Type) -> Domain:
    start, step = choose(draw, (0, -3, 100)), choose(draw, (1, 2, 7))
    values_found = [_at(type_, start + step * place) for place in range(draw(st.integers(3, 12)))]
    if type_ is not TIMESTAMP and choose(draw, (False, False, True)):
        # Add extremes, NaN and odd texts.
        values_found += draw(st.lists(values(type_), min_size=1, max_size=_EXTREMES_MAX))
    if type_.floating and draw(st.booleans()):
        values_found.append(float("nan"))
    return Domain(type_, tuple(sorted({repr(value): value for value in values_found}.values(), key=sort_key)))


def _at(type_: Type, place: int) -> Value:
    """Return the value of the type at a place of a domain."""
    match type_.kind:
        case Kind.BOOLEAN:
            return place % 2 == 1
        case Kind.FLOAT | Kind.DOUBLE:
            return place / 4
        case Kind.DECIMAL:
            return decimal_of(place * 10**type_.scale // 2, type_.scale)
        case Kind.STRING:
            return f"k{place % 1000:03}".encode()
        case Kind.DATE:
            return _DAY_0 + place
        case Kind.TIMESTAMP:
            return _MICROSECOND_0 + place * _HOUR_US
        case _:
            return place
