"""Tables of several blocks: the distribution of rows over blocks, and the oddities of each block.

Rows come first; nothing is drawn and thrown away. Sources: the classes NULLS, ALLNULL, EMPTY
and NAN of published pruning bugs.

"""

import enum
import functools
from collections.abc import Sequence
from itertools import pairwise

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from pruning.expressions.trees import Column
from pruning.expressions.types import Type, Value
from strategies.base.names import hostile_names
from strategies.base.tables import Block, Row, Table, sort_key
from strategies.base.values import pools
from strategies.base.values import types as sql_types
from strategies.choices import choose

PLAIN_NAMES = ("a", "b", "c", "d", "e", "f")


class RowLayout(enum.Enum):
    """The distribution of rows over the blocks."""

    RANDOM = "each block draws its own rows"
    SORTED = "blocks hold consecutive runs of the order of the first column"
    CLUSTERED = "sorted, but the blocks overlap by a row that changed places with its neighbour"


class Content(enum.Enum):
    """The content of one column in one block."""

    MIXED = "any values of the column's pool, NULL among them"
    DENSE = "any values of the pool, no NULL"
    CONSTANT = "one value, so that min equals max"
    CONSTANT_OR_NULL = "one value, and NULLs"
    NULLS = "nothing but NULL"


@st.composite
def tables(
    draw: DrawFn,
    types: Sequence[Type] | None = None,
    *,
    max_columns: int = 3,
    max_blocks: int = 4,
    max_rows: int = 5,
    layouts: Sequence[RowLayout] = tuple(RowLayout),
    malformed_utf8: bool = False,
) -> Table:
    """Tables of 1 to `max_blocks` blocks with 0 to `max_rows` rows each.

    Args:
        types: The columns' types, one each; drawn where None, so that two columns often share one.
        max_columns: Columns at most, where the types are drawn; at most 6.
        layouts: The layouts to choose from.
        malformed_utf8: Whether strings may hold bytes that are not UTF-8.

    Shrinks to: one column, one empty block.
    """
    columns = draw(_columns(None if types is None else tuple(types), max_columns=max_columns))
    column_pools = [draw(pools(column.type, malformed_utf8=malformed_utf8)) for column in columns]
    blocks = [_block(draw, column_pools, max_rows) for _ in range(draw(st.integers(1, max_blocks)))]
    layout = choose(draw, layouts)
    return Table(columns, arrange(blocks, layout, nulls_first=draw(st.booleans())))


def arrange(blocks: Sequence[Block], layout: RowLayout, *, nulls_first: bool = True) -> tuple[Block, ...]:
    """Return the same rows in blocks of the same sizes, laid out anew by the first column."""
    if layout is RowLayout.RANDOM:
        return tuple(blocks)
    unordered = [row for block in blocks for row in block]
    nulls = [row for row in unordered if row[0] is None]
    present = [row for _, row in sorted(_with_keys(unordered), key=lambda keyed: keyed[0])]
    rows = nulls + present if nulls_first else present + nulls
    starts = [sum(len(block) for block in blocks[:ordinal]) for ordinal in range(len(blocks) + 1)]
    if layout is RowLayout.CLUSTERED:
        for start in starts[1:-1]:
            if 0 < start < len(rows):
                rows[start - 1], rows[start] = rows[start], rows[start - 1]
    return tuple(tuple(rows[start:end]) for start, end in pairwise(starts))


def _with_keys(rows: Sequence[Row]) -> list[tuple[tuple[bool, Value], Row]]:
    return [(sort_key(row[0]), row) for row in rows if row[0] is not None]


@functools.cache
def _columns(types: tuple[Type, ...] | None, *, max_columns: int) -> SearchStrategy[tuple[Column, ...]]:
    names = st.just(PLAIN_NAMES) | hostile_names(len(PLAIN_NAMES))
    if types is None:
        few = st.lists(sql_types(), min_size=1, max_size=2)
        type_lists = few.flatmap(
            lambda some: st.lists(st.sampled_from(some), min_size=1, max_size=max_columns)
        )
    else:
        type_lists = st.just(list(types))
    return st.builds(
        lambda chosen, kinds: tuple(Column(name, type_) for name, type_ in zip(chosen, kinds, strict=False)),
        names,
        type_lists,
    )


def _block(draw: DrawFn, column_pools: Sequence[tuple[Value, ...]], max_rows: int) -> Block:
    row_count = draw(st.integers(0, max_rows))
    contents = [_content(draw, pool, row_count) for pool in column_pools]
    return tuple(zip(*contents, strict=True))


def _content(draw: DrawFn, pool: tuple[Value, ...], row_count: int) -> list[Value | None]:
    content, constant = choose(draw, Content), choose(draw, pool)
    cells: dict[Content, tuple[Value | None, ...]] = {
        Content.MIXED: (*pool, None),
        Content.DENSE: pool,
        Content.CONSTANT: (constant,),
        Content.CONSTANT_OR_NULL: (constant, None),
        Content.NULLS: (None,),
    }
    return [choose(draw, cells[content]) for _ in range(row_count)]
