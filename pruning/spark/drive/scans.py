"""One scan of a query, which one technique after another narrows."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from pruning.expressions.sql import to_sql
from pruning.expressions.traversal import columns, leaf_names
from pruning.expressions.trees import Expression, Literal
from pruning.expressions.types import BOOLEAN
from pruning.metadata.files.table_files import TableFiles
from pruning.metadata.table.live_rows import countable_verdicts
from pruning.metadata.table.partial import (
    noted_columns,
    unread_columns,
    with_columns_read,
    with_more_columns,
)
from pruning.metadata.table.schema import columns_only
from pruning.rules.sets.truths import Match, match_codes
from pruning.spark.catalyst.clock import with_clock
from pruning.spark.catalyst.leaves import PlanLeaf
from pruning.spark.drive.block_reading import MetadataReader, NeededBlocks
from pruning.spark.drive.filter_technique import CatalystPredicate, filter_verdicts
from pruning.spark.drive.leaf_tables import (
    LeafTable,
    is_part,
    listed_bytes,
    may_have_lost_files,
    reads_by_places,
    table_files,
    with_partition_values,
)
from pruning.spark.drive.page_cutting import (
    PagesUnread,
    Promise,
    cut_scan_set,
    excludes_by_filter,
    has_large_groups,
    lies_apart,
    paged_columns,
)
from pruning.spark.drive.paging import PageReader
from pruning.spark.drive.range_filters import DerivedRanges, RangeFilter
from pruning.spark.drive.report import Decline, Removal, readable
from pruning.spark.drive.scan_sets import ScanSet, places_of_files
from pruning.spark.drive.stored_scans import NOTHING_LEFT_OUT, LeftOut
from pruning.spark.drive.unread import skips_pages
from pruning.spark.lake.columns_read import columns_needed
from pruning.spark.lake.hadoop_pages import page_files
from pruning.spark.lake.matching import matching_columns
from pruning.spark.lake.nested import leaf_types
from pruning.techniques.plan.keys import KeyBounds
from pruning.verdicts.bounding import key_bounds
from pruning.verdicts.classification import classify_blocks
from pruning.verdicts.densities import densities


@dataclass(slots=True, kw_only=True, eq=False)
class TableScan:
    """A scan of a table, which techniques narrow one after another.

    Footers are read by `read_scan_set`, when a technique first needs them, and by nothing else.
    """

    spark: SparkSession
    leaf: PlanLeaf
    table: LeafTable
    own_filter: CatalystPredicate
    read_metadata: MetadataReader
    removals: list[Removal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # The reasons for which techniques have excluded nothing, by their names.
    declined: dict[str, Decline] = field(default_factory=dict)
    # The conditions, beside the scan's own filter, that are TRUE on every row that is still needed.
    needed_conditions: list[Expression] = field(default_factory=list)
    # The conjuncts of its own filter that were not evaluated for every block.
    deferred: tuple[Expression, ...] = ()
    range_filters: tuple[RangeFilter, ...] = ()
    # Of each file of which only some row groups are read, their ordinals.
    named_groups: Mapping[str, frozenset[int]] = field(default_factory=dict)
    # True if other parts of the query read the same leaf.
    is_shared: bool = False
    # The files of a very large table that were excluded before Spark was told of any.
    left_out: LeftOut = NOTHING_LEFT_OUT
    # True if other scans were narrowed by this one's rows, so that its list of files must not change.
    is_pinned: bool = False
    # The files that were read before the query, once for each time.
    files_read_ahead: list[str] = field(default_factory=list)
    # The columns whose comparisons are kept from Parquet's reader.
    shielded_columns: frozenset[str] = frozenset()
    # The table's columns that the query reads; None is all of them.
    columns_read: frozenset[str] | None = None
    # The table's columns that keys of joins, groups and orders are made of.
    keys: frozenset[str] = frozenset()
    # The row groups that are still to be read; None until a technique needs the footers.
    scan_set: ScanSet | None = None
    # The range filters that were derived, by all that they depend on.
    derived_ranges: DerivedRanges = field(default_factory=DerivedRanges)
    # Catalyst's expression ids of the columns of its leaf's copies.
    copied_ids: frozenset[int] = frozenset()
    _bounds: dict[Expression, KeyBounds] = field(default_factory=dict)
    _page_reader: PageReader | None = None
    _listed_bytes: int | None = None
    _files: TableFiles | None = None

    @property
    def is_filtered(self) -> bool:
        """True if the scan has a filter of its own."""
        return self.own_filter.predicate != Literal(True, BOOLEAN)

    @property
    def kept_files(self) -> np.ndarray:
        """True for the files that are still to be read; shape (files,). Without footers these are all."""
        return np.ones(len(self.table.files), bool) if self.scan_set is None else self.scan_set.kept_files

    @property
    def file_count(self) -> int:
        """The number of files that are still to be read."""
        return int(self.kept_files.sum())

    def files(self) -> list[str]:
        """Return the files that are still to be read, in Spark's order."""
        return self.all_files.names_at(self.kept_files)

    def listed_bytes(self) -> int:
        """Return the bytes of all of the table's files, as Spark has listed them."""
        self._listed_bytes = self._listed_bytes or listed_bytes(self.table)
        return self._listed_bytes

    def read_scan_set(self) -> ScanSet:
        """Return the blocks that are still to be read; the first call reads footers, and classifies them."""
        if self.scan_set is None:
            predicate = self.own_filter.predicate
            needed = columns_needed(predicate, self.keys, self.columns_read)
            types = leaf_types(self.table.data_columns)
            question = NeededBlocks(predicate, types) if self.is_filtered else None
            blocks = self.read_metadata(self.all_files, needed, question)
            metadata, failures = matching_columns(blocks.metadata, types), blocks.failures
            metadata = with_partition_values(metadata, predicate, self.table)
            metadata = with_clock(metadata, predicate, self.table.data_columns)
            self.scan_set = scan_set = ScanSet.of_row_groups(
                metadata,
                self._verdicts(metadata),
                self.all_files,
                file_of_block=places_of_files(blocks.metadata, self.all_files),
                failures=failures,
                excluded=blocks.excluded,
            )
            self._look_inside(leaf_names(predicate), scan_set.verdicts == Match.SOME, excludes_by_filter)
            self.notes += [f"read in full: {sentence}" for sentence in failures.values()]
        return self.scan_set

    def look_inside_for_order(self, key: Expression, blocks: np.ndarray) -> bool:
        """Cut the large row groups of some blocks, shape (blocks,), at pages, if those tell a key's order.

        Returns:
            True if they were cut, so that other blocks are to be read now.
        """
        names = leaf_names(key)
        return self._look_inside(names, blocks, lies_apart(names))

    def _look_inside(self, names: Collection[str], blocks: np.ndarray, is_promising: Promise) -> bool:
        """Cut the large row groups of some blocks at pages, if that promises to exclude more rows.

        Args:
            names: The columns by which it may, beside those that keys are made of.
            blocks: True for the blocks; shape (blocks,).
            is_promising: Tells of some row groups that were cut whether it does.
        Returns:
            True if they were cut.
        """
        scan_set = self.read_scan_set()
        stays_whole = self.is_shared or not reads_by_places(self.table)
        if stays_whole or not has_large_groups(scan_set, blocks) or not skips_pages(self.spark):
            return False
        in_files = self.table.data_columns.keys() - self.table.partition_columns.keys()
        columns = paged_columns(scan_set.metadata, in_files, names, self.keys)
        if self._page_reader is None:
            self._page_reader = PageReader(page_files(self.spark, self.all_files))
        try:
            self.scan_set = cut_scan_set(
                scan_set, columns, self._verdicts, self._page_reader, blocks=blocks, is_promising=is_promising
            )
        except PagesUnread as reason:
            note = f"pages were not looked at: {reason}"
            self.notes += [note] if note not in self.notes else []
        self._bounds.clear()
        return self.scan_set is not scan_set

    @property
    def all_files(self) -> TableFiles:
        """The table's files with their sizes and times, as Spark has listed them."""
        if self._files is None:
            self._files = table_files(self.table)
        return self._files

    def match_densities(self) -> np.ndarray | None:
        """Estimate the share of each block's rows that pass the scan's own filter; shape (blocks,).

        It is 1 for blocks that are not to be read. None is returned where all rows may pass.
        """
        if not self.is_filtered or not (self.read_scan_set().matches == Match.SOME).any():
            return None
        scan_set, predicate = self.read_scan_set(), self.own_filter.predicate
        metadata = self.metadata_of(predicate).filter(pa.array(scan_set.keep)).combine_chunks()
        estimates = densities(predicate, metadata)
        if estimates is None:
            return None
        shares = np.ones(len(scan_set.keep))
        shares[scan_set.keep] = estimates
        return shares

    def bounds(self, key: Expression) -> KeyBounds:
        """Return the bounds of a key over those rows of each block that pass the scan's own filter."""
        if key not in self._bounds:
            predicate = self.own_filter.predicate if self.is_filtered else None
            metadata = self.metadata_of(key, *([] if predicate is None else [predicate]))
            self._bounds[key] = key_bounds(key, metadata, predicate=predicate)
        return self._bounds[key]

    def apply_filter(self) -> None:
        """Exclude the blocks that hold no row on which the scan's own filter is TRUE."""
        if may_have_lost_files(self.table):
            has_rows = self.read_scan_set().row_counts > 0
            self._shrink("deletes", "each row is deleted", self.read_scan_set().with_blocks(has_rows))
        if not self.is_filtered:
            self.decline("filter", "the query has no condition on its columns alone")
        elif self.table.files or is_part(self.table):
            scan_set, sql = self.read_scan_set(), to_sql(self.own_filter.predicate)
            self.decline("filter", f"each row group may hold a row with {readable(sql)}")
            self._shrink("filter", sql, scan_set.without_excluded(), self.left_out)

    def decline(self, technique: str, reason: str, remedy: str = "") -> None:
        """Note why a technique excludes nothing, and what would change that."""
        self.declined[technique] = Decline(technique, reason, remedy)

    def apply_condition(
        self,
        technique: str,
        condition: Expression,
        *,
        because: str,
        excluded: Callable[[], np.ndarray] | None = None,
    ) -> None:
        """Exclude the blocks that hold no row on which a condition is TRUE, also inside large row groups.

        Args:
            technique: Its name in the report.
            condition: A condition over the table's columns that is TRUE on every needed row.
            because: The reason, for people.
            excluded: Marks the blocks that hold no needed row, shape (blocks,). By bounds alone, the
                condition excludes no others.
        """
        needed = self._needed_blocks(condition, excluded)

        def excludes(cut: ScanSet, blocks: np.ndarray) -> bool:
            before, self.scan_set = self.scan_set, cut
            self._bounds.clear()
            gains: bool = (blocks & ~self._needed_blocks(condition, excluded)).any()
            self.scan_set = before
            self._bounds.clear()
            return gains

        if self._look_inside(leaf_names(condition), self.read_scan_set().keep & needed, excludes):
            needed = self._needed_blocks(condition, excluded)
        self.needed_conditions.append(condition)
        self._shrink(technique, because, self.read_scan_set().with_blocks(needed))

    def _needed_blocks(self, condition: Expression, excluded: Callable[[], np.ndarray] | None) -> np.ndarray:
        """Mark the blocks that may hold a row on which a condition is TRUE; as `apply_condition`."""
        metadata = self.metadata_of(condition)
        needed = np.ones(metadata.num_rows, bool) if excluded is None else ~excluded()
        if excluded is None or self.read_scan_set().is_indexed(condition):
            needed &= classify_blocks(condition, metadata).to_numpy() != Match.NONE
        return needed

    def keep_files(
        self, technique: str, files: Collection[str], *, because: str, blocks: np.ndarray | None = None
    ) -> None:
        """Exclude all files but these, and all blocks but those of a mask, whatever their metadata says."""
        smaller = self.read_scan_set().with_files(self.all_files.mask_of(files))
        self._shrink(technique, because, smaller if blocks is None else smaller.with_blocks(blocks))

    def share_files(self, files: Collection[str]) -> None:
        """Read these files, a superset of those that this scan needs: other parts of the query need them.

        All removals become one, by the first technique, of the files that no part of the query needs.
        """
        self.is_shared = True
        more_count = len(set(files) - set(self.files()))
        if not more_count or self.scan_set is None:
            return
        removals = tuple(self.removals)
        mask = self.all_files.mask_of(files)
        self.scan_set = self.scan_set.widened_to(mask)
        removed_count = int((~mask).sum())
        self.removals[:] = []
        if removed_count:
            self.removals.append(
                Removal(
                    technique=removals[0].technique,
                    predicate=" and ".join(removal.predicate for removal in removals),
                    files=removed_count,
                    blocks=self.scan_set.removed_groups,
                )
            )
        note = f"{more_count:,} files more are read for other parts of the query that share this scan"
        self.notes.append(note)

    def reset(self, note: str) -> None:
        """Read all files again, as if no technique had excluded anything, and note why."""
        if self.scan_set is not None:
            self.scan_set = self.scan_set.with_all_blocks()
        self.removals.clear()
        self.needed_conditions.clear()
        self.notes.append(note)

    def _verdicts(self, metadata: pa.Table) -> np.ndarray:
        """Return the verdict of the scan's own filter on each block; shape (blocks,)."""
        if not self.is_filtered:
            has_rows = metadata.column("row_count").to_numpy() > 0
            return countable_verdicts(match_codes(has_rows, has_rows), metadata)
        named = columns_only(metadata, leaf_names(self.own_filter.predicate))
        try:
            outcome = filter_verdicts(self.spark, self.own_filter, named)
        except RecursionError:
            # The predicate is nested more deeply than Python can follow, so nothing is concluded.
            return np.full(metadata.num_rows, np.int8(Match.SOME))
        self.notes += (note for note in outcome.notes if note not in self.notes)
        self.deferred = tuple(dict.fromkeys((*self.deferred, *outcome.deferred)))
        return countable_verdicts(np.array(outcome.verdicts.to_numpy()), metadata)

    def metadata_of(self, *expressions: Expression) -> pa.Table:
        """Return the metadata of the columns that expressions name.

        Partition columns and the clock are added to the scan set when an expression first names them.
        """
        scan_set = self.read_scan_set()
        metadata = self._with_columns(scan_set.metadata, leaf_names(*expressions))
        fields = metadata.schema.field("columns").type
        for expression in expressions:
            named = self.table.partition_columns.keys() & columns(expression).keys()
            if any(fields.get_field_index(name) < 0 for name in named):
                metadata = with_partition_values(metadata, expression, self.table)
            metadata = with_clock(metadata, expression, self.table.data_columns)
        self.scan_set = replace(scan_set, metadata=metadata)
        return columns_only(metadata, leaf_names(*expressions))

    def _with_columns(self, metadata: pa.Table, names: Sequence[str]) -> pa.Table:
        """Return the metadata with the columns that names lie in, which are read if they were not.

        A column stays unknown if the files have other blocks now.
        """
        unread = unread_columns(metadata, names).difference(self.table.partition_columns)
        if not unread:
            return metadata
        more = self.read_metadata(self._files_in_memory(), unread, None).metadata
        united = with_more_columns(metadata, matching_columns(more, leaf_types(self.table.data_columns)))
        if united is not None:
            return united
        return with_columns_read(metadata, (noted_columns(metadata) or frozenset()) | unread)

    def _files_in_memory(self) -> TableFiles:
        """Return the files whose blocks are in the scan set, or that have none."""
        out = self.read_scan_set().summarized.mask
        return self.all_files.some(np.flatnonzero(~out).tolist()) if out.any() else self.all_files

    def _shrink(
        self, technique: str, because: str, smaller: ScanSet, left_out: LeftOut | None = None
    ) -> None:
        """Replace the scan set by a smaller one, and record the difference as the technique's removal.

        Args:
            technique: Its name in the report.
            because: The reason, for people.
            smaller: The smaller scan set.
            left_out: What the technique has excluded before.
        """
        before = left_out or NOTHING_LEFT_OUT
        larger = self.read_scan_set()
        removal = Removal(
            technique=technique,
            predicate=because,
            files=int(larger.kept_files.sum() - smaller.kept_files.sum()) + before.files,
            blocks=smaller.removed_groups - larger.removed_groups + before.blocks,
            rows_inside=larger.rows_removed_inside(smaller),
        )
        self.scan_set = smaller
        if removal.files or removal.blocks or removal.rows_inside:
            self.removals.append(removal)
