"""The pages that Spark reads of the row groups that it opens, by the filters that it pushes.

Spark's Parquet reader skips a page of a column whose bounds lie outside a pushed comparison of that column,
and of the other columns the pages that have only rows that are skipped.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pruning.expressions.names import top_column
from pruning.expressions.types import Kind, Type
from pruning.metadata.pages.page_reading import GroupPages
from pruning.metadata.pages.row_ranges import RowRanges
from pruning.metadata.table.schema import sql_type
from pruning.spark.drive.unread import Conjuncts, StatedBounds, is_outside


@dataclass(frozen=True, slots=True, kw_only=True)
class PagesRead:
    """Counts of the pages of one row group, of the columns that a query reads.

    Attributes:
        rows: The rows that the reader does not skip, at most.
        pages: The number of pages; `pages_kept` have a needed row, `pages_max` are read at most.
        bytes_beside: The bytes of the pages that have no needed row.
        bytes_skipped: The bytes of the pages that are surely not read, less those of the page indexes, which
            are read instead.
        requests_more: The requests that the reader makes, at most, beside one for each column: it reads the
            indexes, and each run of neighbouring pages by itself.
    """

    rows: int
    pages: int
    pages_kept: int
    pages_max: int
    bytes_beside: int
    bytes_skipped: int
    requests_more: int


def pages_read(
    pages: GroupPages,
    kept: RowRanges,
    left: RowRanges,
    columns: Collection[str] | None,
    pushed: Collection[str],
) -> PagesRead:
    """Return the counts of the pages of one row group.

    Args:
        pages: The pages of columns; of a column without pages, nothing is skipped.
        kept: The rows that may be needed.
        left: The rows that the reader does not skip, as `rows_left` gives them.
        columns: The top-level columns that the query reads; None is all of them.
        pushed: The columns of the filters that are pushed.
    """
    read = left.union(kept)
    parts = [
        (
            of_column,
            kept.overlaps(of_column.first_rows, of_column.row_counts),
            read.overlaps(of_column.first_rows, of_column.row_counts),
        )
        for name, of_column in pages.items()
        if columns is None or top_column(name) in columns
    ]
    not_read = sum(int(of_column.sizes[~is_read].sum()) for of_column, _, is_read in parts)
    indexes = sum(of_column.index_bytes for of_column, _, _ in parts)
    runs = sum(int((np.diff(is_read.astype(np.int8), prepend=0) > 0).sum()) for _, _, is_read in parts)
    return PagesRead(
        rows=read.count,
        pages=sum(len(of_column.sizes) for of_column, _, _ in parts),
        pages_kept=sum(int(has_kept.sum()) for _, has_kept, _ in parts),
        pages_max=sum(int(is_read.sum()) for _, _, is_read in parts),
        bytes_beside=sum(int(of_column.sizes[~has_kept].sum()) for of_column, has_kept, _ in parts),
        bytes_skipped=max(0, not_read - indexes),
        requests_more=runs + len(pushed) if pushed else 0,
    )


def rows_left(
    pushed: Conjuncts,
    pages: GroupPages,
    rows: int,
    types: Mapping[str, Type],
    *,
    kinds: frozenset[Kind],
) -> RowRanges:
    """Return the rows of a row group that the reader does not skip, at most.

    Claim     The reader skips each row that is left out.
    Premises  As for `unread_blocks`, of pages instead of row groups.
    Proof     A row is left out only if one conjunct passes no row of its page of the conjunct's column.

    Args:
        pushed: What Spark pushes, a conjunction, of columns whose bounds the reader compares.
        pages: The pages of columns. The reader knows nothing of bounds that the file does not state.
        rows: The number of rows of the row group.
        types: The types that Spark reads the files' columns as.
        kinds: The kinds of columns by which the reader skips.
    """
    left = RowRanges.all_rows(rows)
    for conjunct in pushed:
        of_column, type_ = pages.get(conjunct.column), conjunct.type
        if of_column is None or not of_column.is_stated or type_.kind not in kinds:
            continue
        if not sql_type(of_column.min.type) == types.get(conjunct.column) == type_:
            continue
        stated = StatedBounds(
            min=of_column.min,
            max=of_column.max,
            null_counts=of_column.null_counts,
            rows=pa.array(of_column.row_counts),
        )
        outside = is_outside(conjunct, stated)
        starts, counts = of_column.first_rows[outside], of_column.row_counts[outside]
        skipped = RowRanges.of(zip(starts.tolist(), (starts + counts).tolist(), strict=True))
        left = left.difference(skipped)
    return left
