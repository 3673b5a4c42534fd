"""Reach: tables with every odd block and layout; and files that hold the rows, a group per block."""

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from budget import unshrunk
from hypothesis import given
from searches import find

from pruning.expressions.trees import Column
from pruning.expressions.types import DOUBLE, INTEGER, STRING, Value
from strategies.base.files import write_files
from strategies.base.layouts import RowLayout, arrange, tables
from strategies.base.tables import Block, Table, is_nan, sort_key, to_arrow

# Reaching is the claim; shrinking what was reached would take most of the time.
REACH = unshrunk(5_000)
Cells = tuple[Value | None, ...]


def _present(block: Block) -> Cells:
    return tuple(row[0] for row in block if row[0] is not None)


def _kinds(block: Block) -> int:
    return len(set(_present(block)))


ODD_BLOCKS: list[tuple[str, Callable[[Block], bool]]] = [
    ("no rows", lambda block: not block),
    ("nothing but NULL", lambda block: len(block) > 1 and not _present(block)),
    ("one value in every row", lambda block: len(block) > 1 and _kinds(block) == 1),
    ("one value and NULLs", lambda block: _kinds(block) == 1 and len(_present(block)) < len(block)),
    ("no NULL", lambda block: _kinds(block) > 1 and len(_present(block)) == len(block)),
    ("NULL among several values", lambda block: _kinds(block) > 1 and len(_present(block)) < len(block)),
]


@pytest.mark.parametrize(("content", "is_odd"), ODD_BLOCKS, ids=[content for content, _ in ODD_BLOCKS])
def test_tables_reach_a_block_with(content: str, is_odd: Callable[[Block], bool]) -> None:
    table = find(tables([INTEGER]), lambda drawn: any(map(is_odd, drawn.blocks)), settings=REACH)
    assert any(map(is_odd, table.blocks))


def test_tables_reach_a_nan_among_numbers_and_a_block_of_nan_alone() -> None:
    def has_nan_among_numbers(block: Block) -> bool:
        return 0 < sum(is_nan(cell) for cell in _present(block)) < len(_present(block))

    def nothing_else(block: Block) -> bool:
        return bool(_present(block)) and all(is_nan(cell) for cell in _present(block))

    assert find(tables([DOUBLE]), lambda table: any(map(has_nan_among_numbers, table.blocks)), settings=REACH)
    assert find(tables([DOUBLE]), lambda table: any(map(nothing_else, table.blocks)), settings=REACH)


def test_tables_reach_blocks_whose_ranges_touch() -> None:
    def touch(table: Table) -> bool:
        numbers = [_present(block) for block in table.blocks if _present(block)]
        return any(one != other and max(one) == min(other) for one in numbers for other in numbers)

    assert touch(find(tables([INTEGER]), touch, settings=REACH))


def test_tables_reach_two_columns_of_one_type_and_two_of_different_types() -> None:
    assert find(
        tables(),
        lambda table: len({column.type for column in table.columns}) < len(table.columns),
        settings=REACH,
    )

    def shared(table: Table) -> bool:
        return len({column.type for column in table.columns}) < len(table.columns)

    assert shared(find(tables(), shared, settings=REACH))
    assert find(tables(), lambda table: len({column.type for column in table.columns}) > 1, settings=REACH)


@given(tables([STRING, INTEGER], layouts=[RowLayout.SORTED]))
def test_sorted_tables_always_have_blocks_in_the_order_of_their_values(table: Table) -> None:
    keys = [sort_key(value) for block in table.blocks for value in _present(block)]
    assert keys == sorted(keys)


@pytest.mark.parametrize("layout", RowLayout)
def test_arrange_keeps_every_row_and_the_sizes_of_the_blocks(layout: RowLayout) -> None:
    blocks: list[Block] = [((3,), (None,)), (), ((1,), (2,), (1,))]
    laid_out = arrange(blocks, layout)
    assert [len(block) for block in laid_out] == [2, 0, 3]
    assert sorted(map(str, sum(laid_out, ()))) == sorted(map(str, sum(blocks, ())))


def test_clustered_blocks_overlap_by_a_row() -> None:
    blocks: list[Block] = [((1,), (2,)), ((3,), (4,))]
    assert arrange(blocks, RowLayout.CLUSTERED) == (((1,), (3,)), ((2,), (4,)))


@given(tables(malformed_utf8=True))
def test_files_always_hold_the_rows_with_a_row_group_per_block(
    tmp_path_factory: pytest.TempPathFactory, table: Table
) -> None:
    files = write_files(table, tmp_path_factory.mktemp("files"), blocks_per_file=2)
    groups = [pq.ParquetFile(file).metadata for file in files]
    sizes = [group.row_group(ordinal).num_rows for group in groups for ordinal in range(group.num_row_groups)]
    assert sizes == [len(block) for block in table.blocks]
    read = [pq.ParquetFile(file).read() for file in files]
    columns = [column.type for column in to_arrow(table.columns, ()).schema]
    assert all([column.type for column in rows.schema] == columns for rows in read)


@pytest.mark.parametrize(
    ("statistics", "having"), [(True, [True, True]), (False, [False, False]), (["b"], [False, True])]
)
def test_files_have_statistics_for_the_columns_asked_for(
    tmp_path: Path, statistics: bool | list[str], having: list[bool]
) -> None:
    table = Table((Column("a", INTEGER), Column("b", INTEGER)), (((1, 2), (3, 4)),))
    (file,) = write_files(table, tmp_path, statistics=statistics)
    group = pq.ParquetFile(file).metadata.row_group(0)
    assert [group.column(ordinal).is_stats_set for ordinal in (0, 1)] == having


def test_files_of_no_blocks_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="blocks_per_file is 0"):
        write_files(Table((Column("a", INTEGER),), ((),)), tmp_path, blocks_per_file=0)
