"""Blocks that are runs of pages: what is known of the rows between neighbouring page boundaries of columns.

The pages of different columns do not align. Where a page of any column begins, a run begins; so each run is
in one page of each column.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.metadata.footers.chunk_facts import without
from pruning.metadata.footers.thrift_lanes import ABSENT, Numbers
from pruning.metadata.pages.kept_rows import KeptRows, Runs
from pruning.metadata.pages.page_beliefs import ColumnPages
from pruning.metadata.pages.page_reading import GroupPages
from pruning.metadata.pages.row_ranges import RowRanges
from pruning.metadata.table.comparable import with_comparable
from pruning.metadata.table.measured import DISTINCT, STATED, with_stated
from pruning.metadata.table.memberships import is_compatible
from pruning.metadata.table.ordered import as_ordered, true_lanes, without_crossed
from pruning.metadata.table.schema import column_types, sql_type
from pruning.metadata.table.structs import field_of, make_typed_struct, whole

# The most runs of a row group, times its columns. The pages of columns that would exceed it cut no runs, and
# nothing is known of them.
CELLS_MAX = 4_000_000


def run_blocks(kept: KeptRows, pages: Sequence[GroupPages]) -> Runs:
    """Return the kept rows as blocks that are cut where a page begins.

    Claim     What the metadata says of a run is true of its rows.
    Premises  The metadata of the row groups is true, and the pages are as they are believed to be.
    Proof     (1) All rows of a run are in one page of each column, because no page begins inside it. Its
                  values are within the bounds of that page, and within those of the row group; so within
                  the tighter ones.
              (2) Of a page or row group without NULL, no row is NULL; of one that is NULL throughout, each
                  is. Any other number is that of the run only if the run is all of it. NaN likewise.
                  A run that is NULL throughout has no values to bound.
              (3) Bounds count as attained only in a run that is the whole row group.
    Unsound   if the number of NULLs of a page is taken for that of a part of it; if a bound that a row
              of the row group attains counts as attained in each run; if a run reaches over a page's end.

    Args:
        kept: Row groups, and the rows of them that are left. One without pages is a run, or one for each
            range that is left.
        pages: The believed pages of each row group.
    Returns:
        The runs of the kept rows, in a row group at most as many as its columns have pages and the kept rows
        have ranges. The `byte_count` of a run is that of the pages, of all columns of the metadata, that hold
        one of its rows, without dictionaries; null if it is not known of some column. A page counts in each
        run that it holds rows of. A run that is a whole row group keeps all that is known of it. Columns
        with bounds of pages that the file does not state have the fields of measured columns.
    """
    kept = replace(kept, metadata=with_stated(kept.metadata, unstated_columns(kept.metadata, pages)))
    columns = len(column_types(kept.metadata))
    cuts = [
        _cut(ranges, group_pages, columns) for ranges, group_pages in zip(kept.ranges, pages, strict=True)
    ]
    counts = np.array([len(cut.starts) for cut in cuts], np.int64)
    groups = np.repeat(np.arange(len(cuts)), counts)
    starts, ends = _concatenate(cut.starts for cut in cuts), _concatenate(cut.ends for cut in cuts)
    return Runs(_Assembly(kept.metadata, cuts, groups, starts, ends).blocks(), groups, starts, ends)


def unstated_columns(metadata: pa.Table, pages: Iterable[GroupPages]) -> list[str]:
    """Return the columns of block metadata with bounds of pages that their file does not state."""
    unstated = {
        name for group_pages in pages for name, of_column in group_pages.items() if not of_column.is_stated
    }
    return [name for name in column_types(metadata) if name in unstated]


@dataclass(frozen=True, slots=True)
class _Cut:
    """The runs of one row group, and the pages that cut them; each run is in one page of each column."""

    starts: Numbers
    ends: Numbers
    pages: GroupPages


def _cut(kept: RowRanges, pages: GroupPages, columns: int) -> _Cut:
    edges = np.unique(np.concatenate([kept.starts, kept.ends]))
    used: dict[str, ColumnPages] = {}
    for name, of_column in pages.items():
        more = np.union1d(edges, of_column.first_rows)
        if len(more) * columns <= CELLS_MAX:
            edges, used[name] = more, of_column
    # Each range of rows between two edges is kept whole or not at all.
    is_kept = kept.contains(edges[:-1])
    return _Cut(edges[:-1][is_kept], edges[1:][is_kept], used)


@dataclass(frozen=True, slots=True)
class _PageLanes:
    """The facts of the pages of one column, a lane per run; null where no page is believed."""

    row_counts: pa.Array
    null_counts: pa.Array
    nan_counts: pa.Array
    min: pa.Array
    max: pa.Array
    is_stated: pa.Array
    offsets: pa.Array
    sizes: pa.Array


@dataclass(frozen=True, slots=True)
class _Assembly:
    """The making of block metadata of runs from that of row groups, and from pages."""

    metadata: pa.Table
    cuts: Sequence[_Cut]
    groups: Numbers
    starts: Numbers
    ends: Numbers

    def blocks(self) -> pa.Table:
        """Return the block metadata of the runs."""
        taken = self.metadata.take(pa.array(self.groups)).combine_chunks()
        columns = whole(taken.column("columns"))
        rows, group_rows = self.ends - self.starts, whole(taken.column("row_count")).to_numpy()
        pages = [self._pages(field) for field in columns.type]
        structs = [
            _run_facts(struct, of_column, rows, group_rows)
            for struct, of_column in zip(columns.flatten(), pages, strict=True)
        ]
        offset, size = _extents(pages, len(taken))
        is_whole = pa.array(rows == group_rows)
        replaced = {
            "row_offset": pc.add(whole(taken.column("row_offset")), pa.array(self.starts)),
            "byte_offset": pc.if_else(is_whole, whole(taken.column("byte_offset")), offset),
            "byte_count": pc.if_else(is_whole, whole(taken.column("byte_count")), size),
            "row_count": pa.array(rows),
            "columns": make_typed_struct(structs, columns.type, len(taken)),
        }
        for name, lanes in replaced.items():
            place = taken.schema.get_field_index(name)
            taken = taken.set_column(place, taken.schema.field(place), lanes)
        # Readers compare the bounds of row groups.
        return with_comparable(taken, ())

    def _pages(self, field: pa.Field) -> _PageLanes | None:
        """Return the facts of the pages of one column; None if no run is in a page of it."""
        bound = field.type.field("min").type
        parts: list[ColumnPages] = []
        places, count, run = np.full(len(self.groups), -1), 0, 0
        for cut in self.cuts:
            runs = slice(run, run + len(cut.starts))
            run = runs.stop
            pages = cut.pages.get(field.name)
            # Where files disagree about the type of a column, block metadata has the type of one of them.
            if pages is not None and is_compatible(sql_type(pages.min.type), sql_type(bound)):
                places[runs] = count + np.searchsorted(pages.first_rows, cut.starts, "right") - 1
                parts.append(pages)
                count += len(pages.first_rows)
        if not parts:
            return None
        page_of_run = pa.array(places, mask=places < 0)

        def lanes(arrays: Iterable[pa.Array]) -> pa.Array:
            return pa.concat_arrays(list(arrays)).take(page_of_run)

        return _PageLanes(
            row_counts=lanes(pa.array(pages.row_counts) for pages in parts),
            null_counts=lanes(pages.null_counts for pages in parts),
            nan_counts=lanes(pages.nan_counts for pages in parts),
            min=lanes(pages.min.cast(bound) for pages in parts),
            max=lanes(pages.max.cast(bound) for pages in parts),
            is_stated=lanes(pa.repeat(pages.is_stated, len(pages.first_rows)) for pages in parts),
            offsets=lanes(pa.array(pages.offsets) for pages in parts),
            sizes=lanes(pa.array(pages.sizes) for pages in parts),
        )


def _run_facts(
    group: pa.StructArray, pages: _PageLanes | None, rows: Numbers, group_rows: Numbers
) -> pa.StructArray:
    """Return the facts of a column in runs, from those of their row groups and of their pages."""
    is_whole = pa.array(rows == group_rows)
    facts = {field.name: field_of(group, field.name) for field in group.type}
    for name in ("null_count", "nan_count"):
        facts[name] = _count_in_part(facts[name], group_rows, rows)
    if pages is not None:
        page_rows = pc.fill_null(pages.row_counts, ABSENT).to_numpy()
        for name, counts in (("null_count", pages.null_counts), ("nan_count", pages.nan_counts)):
            facts[name] = pc.coalesce(facts[name], _count_in_part(counts, page_rows, rows))
        facts["min"] = _tighter(facts["min"], pages.min, is_whole, pc.greater)
        facts["max"] = _tighter(facts["max"], pages.max, is_whole, pc.less)
        facts["min"], facts["max"] = without_crossed(facts["min"], facts["max"])
        if STATED in facts:
            keeps = pc.or_(is_whole, pc.fill_null(pages.is_stated, True))
            facts[STATED] = pc.and_(facts[STATED], keeps)
    is_null = true_lanes(pc.equal(facts["null_count"], pa.array(rows)))
    for side in ("min", "max"):
        facts[side] = without(facts[side], is_null)
        is_known = pc.and_(is_whole, facts[side].is_valid())
        facts[f"{side}_exact"] = pc.if_else(is_known, facts[f"{side}_exact"], pa.scalar(None, pa.bool_()))
    unknown = pa.nulls(len(rows), pa.int64())
    sizes = unknown if pages is None else pages.sizes
    facts["byte_count"] = pc.if_else(is_whole, facts["byte_count"], sizes)
    if DISTINCT in facts:
        facts[DISTINCT] = pc.if_else(is_whole, facts[DISTINCT], unknown)
    return make_typed_struct(list(facts.values()), group.type, len(rows))


def _count_in_part(counts: pa.Array, whole_rows: Numbers, part_rows: Numbers) -> pa.Array:
    """Return how many rows of each part are NULL, or NaN, given how many of the whole; null if uncertain."""
    of_whole = pc.fill_null(counts, ABSENT).to_numpy()
    in_part = np.select(
        [of_whole == ABSENT, of_whole == 0, of_whole == whole_rows, part_rows == whole_rows],
        [ABSENT, 0, part_rows, of_whole],
        ABSENT,
    )
    return pa.array(in_part, mask=in_part == ABSENT)


def _tighter(
    group: pa.Array,
    page: pa.Array,
    is_whole: pa.BooleanArray,
    is_tighter: Callable[[pa.Array, pa.Array], pa.BooleanArray],
) -> pa.Array:
    """Return the tighter of two bounds; that of the row group, if it is known, where the run is all of it."""
    keeps_group = pc.or_(is_whole, page.is_null())
    keeps_group = pc.or_(keeps_group, pc.fill_null(is_tighter(as_ordered(group), as_ordered(page)), False))
    return pc.if_else(pc.and_(keeps_group, group.is_valid()), group, page)


def _extents(pages: Sequence[_PageLanes | None], runs: int) -> tuple[pa.Array, pa.Array]:
    """Return the place of the first page that holds rows of each run, and the bytes of all such pages."""
    if not pages or None in pages:
        return pa.nulls(runs, pa.int64()), pa.nulls(runs, pa.int64())
    columns = [of_column for of_column in pages if of_column is not None]
    offset = pc.min_element_wise(*(of_column.offsets for of_column in columns), skip_nulls=False)
    return offset, reduce(pc.add, (of_column.sizes for of_column in columns))


def _concatenate(parts: Iterable[Numbers]) -> Numbers:
    return np.concatenate([np.zeros(0, np.int64), *parts])
