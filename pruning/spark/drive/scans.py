"""One scan of a query: what is left of it to read, as one technique after another narrows it."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pruning.expressions.sql import to_sql
from pruning.expressions.traversal import columns, leaf_names
from pruning.expressions.trees import And, Expression, Literal
from pruning.expressions.types import BOOLEAN
from pruning.metadata.files.listing import Stamp
from pruning.metadata.files.locations import to_uri
from pruning.metadata.files.table_formats import table_format_notes
from pruning.metadata.table.memberships import indexed_columns
from pruning.metadata.table.schema import columns_only
from pruning.rules.sets.truths import Match
from pruning.spark.catalyst.clock import with_clock
from pruning.spark.catalyst.leaves import Leaf, Unsettled
from pruning.spark.drive.filter_technique import Asked, ask, judge
from pruning.spark.drive.pushdown import unpushed_condition
from pruning.spark.drive.range_filters import RangeFilter, range_filters
from pruning.spark.drive.report import Removal, ScanReport, readable
from pruning.spark.jvm.gateway import Java, frame, simple_name, with_element
from pruning.spark.lake.matching import matching
from pruning.spark.lake.nested import leaf_types
from pruning.spark.lake.partitions import with_partition_values
from pruning.spark.lake.tables import Lake, Unprunable, lake, reading, stamps, without_rows
from pruning.techniques.plan.keys import KeyBounds
from pruning.verdicts.bounding import key_bounds
from pruning.verdicts.classification import classify_blocks
from pruning.verdicts.densities import densities

# Block metadata of files with these sizes and times, and a sentence about each file that could not be read.
Reader = Callable[[tuple[str, ...], tuple[Stamp, ...]], tuple[pa.Table, dict[str, str]]]

# The fields of block metadata that range filters are made of.
_RANGED = ["file", "row_count", "columns"]


@dataclass(slots=True)
class BlockState:
    """The block metadata of a table's row groups, as Spark reads them; why there is none of some files.

    `verdicts` are those of the scan's own filters, `keep` says which blocks may hold a needed row,
    `file_of_block` has the place of each block's file in the table's files; each has shape (blocks,).
    `silent` says of which files nothing is known; shape (files,).
    """

    metadata: pa.Table
    failures: dict[str, str]
    verdicts: np.ndarray
    keep: np.ndarray
    file_of_block: np.ndarray
    silent: np.ndarray


@dataclass(slots=True, kw_only=True, eq=False)
class TableScan:
    """A scan of a Parquet table. Block metadata is read when a technique first needs it."""

    spark: SparkSession
    leaf: Leaf
    table: Lake
    asked: Asked
    read: Reader
    removals: list[Removal] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    # Why techniques have left out nothing, by their names.
    declined: dict[str, str] = field(default_factory=dict)
    # What holds of every row that is still needed, beside the scan's own filters.
    learned: list[Expression] = field(default_factory=list)
    range_filters: tuple[RangeFilter, ...] = ()
    # Whether other parts of the query read the same leaf.
    shared: bool = False
    # Whether other scans were narrowed by what this one holds, so that its list of files must not change.
    pinned: bool = False
    # The files that were read before the query, some several times.
    files_ahead: list[str] = field(default_factory=list)
    # The columns whose comparisons are kept from Parquet's reader.
    shielded: frozenset[str] = frozenset()
    # The table's columns that the query reads; None is all of them.
    columns_read: frozenset[str] | None = None
    state: BlockState | None = None
    _bounds: dict[Expression, KeyBounds] = field(default_factory=dict)
    # Of each file whether it may be read; shape (files,).
    _chosen: np.ndarray | None = None

    @property
    def filtered(self) -> bool:
        """Whether the scan's own filters say anything."""
        return self.asked.predicate != Literal(True, BOOLEAN)

    @property
    def certain(self) -> bool:
        """Whether all footers could be read, so that no row is unaccounted for."""
        return not self._blocks.failures

    @property
    def matches(self) -> np.ndarray:
        """The verdict on each block that is still to be read, NONE of the others; shape (blocks,)."""
        state = self._blocks
        return np.where(state.keep, state.verdicts, np.int8(Match.NONE))

    @property
    def needed(self) -> np.ndarray:
        """Whether each block is still to be read; shape (blocks,)."""
        return self._blocks.keep

    @property
    def row_counts(self) -> np.ndarray:
        """Live rows of each block."""
        counts: np.ndarray = self._blocks.metadata.column("row_count").to_numpy()
        return counts

    @property
    def file_count(self) -> int:
        """How many files are to be read."""
        return int(self.kept_files.sum())

    @property
    def file_of_block(self) -> np.ndarray:
        """The place in the table's files of each block's file."""
        return self._blocks.file_of_block

    @property
    def densities(self) -> np.ndarray | None:
        """A guess at the share of each block's rows that pass the scan's own filters; None where all may.

        Of blocks that are not to be read it is 1.
        """
        if not self.filtered or not (self.matches == Match.SOME).any():
            return None
        needed = self._blocks.keep
        metadata = self._metadata_of(self.asked.predicate).filter(pa.array(needed)).combine_chunks()
        guessed = densities(self.asked.predicate, metadata)
        if guessed is None:
            return None
        found = np.ones(len(needed))
        found[needed] = guessed
        return found

    @property
    def size_bytes(self) -> int:
        """The bytes of all of the table's files, as Spark has listed them."""
        return int(self.table.location.sizeInBytes())

    @property
    def bytes_kept(self) -> int:
        """Compressed bytes of the blocks that are still to be read."""
        return self.bytes_of(self._blocks.keep)

    @property
    def rows_kept(self) -> int:
        """Live rows of the blocks that are still to be read."""
        return int(self.row_counts[self._blocks.keep].sum())

    def bytes_of(self, blocks: np.ndarray) -> int:
        """Compressed bytes of some blocks, a mask of shape (blocks,)."""
        return pc.sum(self._blocks.metadata.column("byte_count").filter(pa.array(blocks))).as_py() or 0

    def is_indexed(self, expression: Expression) -> bool:
        """Whether more than bounds is known of the values of a column that an expression names."""
        return not indexed_columns(self._blocks.metadata).isdisjoint(columns(expression))

    def bounds(self, key: Expression) -> KeyBounds:
        """Where a key lies on those rows of each block that pass the scan's own filters."""
        if key not in self._bounds:
            predicate = self.asked.predicate if self.filtered else None
            metadata = self._metadata_of(key, *([] if predicate is None else [predicate]))
            self._bounds[key] = key_bounds(key, metadata, predicate=predicate)
        return self._bounds[key]

    def filter(self) -> None:
        """Leave out the blocks that hold no row on which the scan's own filters are TRUE."""
        if not self.filtered:
            self.decline("filter", "the query has no condition on its columns alone")
        elif self.table.files:
            state = self._blocks
            self.decline(
                "filter", f"each row group may hold a row with {readable(to_sql(self.asked.predicate))}"
            )
            self._narrow("filter", to_sql(self.asked.predicate), state.verdicts != Match.NONE)

    def decline(self, technique: str, reason: str) -> None:
        """Note why a technique leaves out nothing, for the report of a scan of which nothing is left out."""
        self.declined[technique] = reason

    def learn(
        self, technique: str, condition: Expression, *, because: str, excluded: np.ndarray | None = None
    ) -> None:
        """Leave out the blocks that hold no row on which a condition is TRUE, and those that are excluded.

        Args:
            technique: Its name in the report.
            condition: It holds of every row that is needed; over the table's columns.
            because: Why, for people.
            excluded: Blocks that hold no needed row, shape (blocks,). By bounds, the condition excludes no
                others.
        """
        metadata = self._metadata_of(condition)
        needed = np.ones(metadata.num_rows, bool) if excluded is None else ~excluded
        if excluded is None or self.is_indexed(condition):
            needed &= classify_blocks(condition, metadata).to_numpy() != Match.NONE
        self.learned.append(condition)
        self._narrow(technique, because, needed)

    def choose(self, technique: str, files: Sequence[str], *, because: str) -> None:
        """Leave out all files but these, whatever is known of them."""
        before, state = self.file_count, self._blocks
        chosen = set(files)
        self._chosen = np.array([file in chosen for file in self.table.files], bool)
        inside = self._chosen[state.file_of_block]
        blocks = int((state.keep & ~inside).sum())
        state.keep &= inside
        self._removed(technique, because, before, blocks)

    def files(self) -> list[str]:
        """The files to read, in Spark's order: also those of which nothing is state."""
        return [self.table.files[place] for place in np.flatnonzero(self.kept_files)]

    def subtree(self, files: Sequence[str] | None = None, *, leaf: Java | None = None) -> Java | None:
        """The plan that takes the leaf's place, None where the leaf stays.

        Args:
            files: Some of the files to read; None is all of them.
            leaf: The same table's leaf in the analyzed plan; None is the leaf of the optimized plan.
        Raises:
            Unprunable: Spark would read other files.
        """
        left = self.files() if files is None else list(files)
        here = self.leaf.node if leaf is None else leaf
        if self.table.files and not left:
            return without_rows(self.spark, reading(self.spark, self.table, [], leaf=here))
        ranges = self._ranges(left)
        whole = len(left) == len(self.table.files) and (leaf is None or not self.pinned)
        below = here if whole else reading(self.spark, self.table, left, leaf=here)
        if ranges:
            below, ranges = _with_ranges(self.spark, below, ranges)
        if leaf is not None:
            self.range_filters = tuple(ranges)
        return None if whole and not ranges else below

    def share(self, files: Collection[str]) -> None:
        """Read these files, a superset of those that are needed here: other parts of the query need them.

        All that was removed counts as one removal, by the first technique, of the files that nobody needs.
        """
        self.shared = True
        others = len(set(files) - set(self.files()))
        if not others or self.state is None:
            return
        state, removals = self.state, tuple(self.removals)
        self._chosen = np.array([file in files for file in self.table.files], bool)
        state.keep[:] = self._chosen[state.file_of_block]
        state.silent |= self._chosen
        removed = int((~self._chosen).sum())
        self.removals[:] = []
        if removed:
            because = " and ".join(removal.predicate for removal in removals)
            blocks = int((~state.keep).sum())
            self.removals.append(
                Removal(technique=removals[0].technique, predicate=because, files=removed, blocks=blocks)
            )
        self.notes.append(f"{others:,} files more are read for other parts of the query that share this scan")

    def untouched(self, note: str) -> None:
        """Forget all that was decided; the note says why."""
        if self.state is not None:
            self.state.keep[:] = True
        self._chosen = None
        self.removals.clear()
        self.learned.clear()
        self.notes.append(note)

    @property
    def kept_files(self) -> np.ndarray:
        """The files that are to be read, a mask of shape (files,)."""
        if self.state is None:
            return np.ones(len(self.table.files), bool)
        left = self.state.silent.copy()
        left[self.state.file_of_block[self.state.keep]] = True
        return left if self._chosen is None else left & self._chosen

    @property
    def _blocks(self) -> BlockState:
        if self.state is None:
            metadata, failures = self.read(self.table.files, tuple(stamps(self.spark, self.table)))
            types = leaf_types(self.table.data_columns)
            metadata = with_partition_values(matching(metadata, types), self.asked.predicate, self.table)
            metadata = with_clock(metadata, self.asked.predicate, self.table.data_columns)
            keep = np.ones(metadata.num_rows, bool)
            names = pa.array(self.table.files, pa.string())
            files: np.ndarray = pc.index_in(metadata.column("file"), value_set=names).to_numpy()
            silent = np.array([name in failures for name in self.table.files], bool)
            silent |= ~np.isin(np.arange(len(silent)), files)
            self.state = BlockState(metadata, failures, self._verdicts(metadata), keep, files, silent)
            self.notes += [f"read in full: {sentence}" for sentence in failures.values()]
        return self.state

    def _verdicts(self, metadata: pa.Table) -> np.ndarray:
        if not self.filtered:
            rows = metadata.column("row_count").to_numpy()
            return np.where(rows > 0, np.int8(Match.ALL), np.int8(Match.NONE))
        try:
            judged = judge(self.spark, self.asked, columns_only(metadata, leaf_names(self.asked.predicate)))
        except RecursionError:
            # Deeper than Python can follow; nothing is concluded.
            return np.full(metadata.num_rows, np.int8(Match.SOME))
        self.notes += judged.notes
        return np.array(judged.verdicts.to_numpy())

    def _metadata_of(self, *expressions: Expression) -> pa.Table:
        """The metadata of the columns that expressions name, partition columns among them."""
        state = self._blocks
        there = state.metadata.schema.field("columns").type
        for expression in expressions:
            named = self.table.partition_columns.keys() & columns(expression).keys()
            if any(there.get_field_index(name) < 0 for name in named):
                state.metadata = with_partition_values(state.metadata, expression, self.table)
            state.metadata = with_clock(state.metadata, expression, self.table.data_columns)
        return columns_only(state.metadata, leaf_names(*expressions))

    def _narrow(self, technique: str, because: str, needed: np.ndarray) -> None:
        state, before = self._blocks, self.file_count
        blocks = int((state.keep & ~needed).sum())
        state.keep &= needed
        self._removed(technique, because, before, blocks)

    def _removed(self, technique: str, because: str, files_before: int, blocks: int) -> None:
        files = files_before - self.file_count
        if files or blocks:
            self.removals.append(Removal(technique=technique, predicate=because, files=files, blocks=blocks))

    def _ranges(self, files: list[str]) -> list[RangeFilter]:
        """The hulls of the blocks that are kept in these files, where they let Spark skip more."""
        # What shares the leaf may need rows that this scan's own filters drop, such as NULL.
        if self.shared or self.state is None or self.state.failures or not self.removals:
            return []
        inside = pc.is_in(self.state.metadata.column("file"), value_set=pa.array(files, pa.string()))
        predicate = And((self.asked.predicate, *self.learned)) if self.learned else self.asked.predicate
        metadata = columns_only(self.state.metadata, columns(predicate)).select(_RANGED).filter(inside)
        # A file without lanes may hold anything, so no range is known to cover it.
        if len(metadata.column("file").unique()) < len(files):
            return []
        keep = pa.array(self.state.keep).filter(inside.combine_chunks())
        return range_filters(predicate, metadata, keep, self.table.data_columns)


def open_scan(spark: SparkSession, leaf: Leaf, read: Reader) -> TableScan | ScanReport:
    """A leaf of a plan as a scan; or the report that says why it stays as it is.

    Raises:
        Unsettled: the query asks which files its rows come from, so no scan of it may change.
    """
    try:
        table = lake(spark, leaf.node, leaf.attributes)
    except Unprunable as reason:
        return ScanReport(paths=(simple_name(leaf.node),), notes=(f"left as it is: {reason}",))
    for attribute in table.attributes:
        if attribute.about_files:
            raise Unsettled(f"the query reads {attribute.name}, which tells of files")
    names = leaf.chain.names({attribute.id: attribute.name for attribute in table.attributes})
    asked = ask(spark, leaf.chain.conditions, names)
    notes = list(table_format_notes(map(to_uri, table.roots), table.files))
    return TableScan(spark=spark, leaf=leaf, table=table, asked=asked, read=read, notes=notes)


def _with_ranges(
    spark: SparkSession, leaf: Java, ranges: list[RangeFilter]
) -> tuple[Java, list[RangeFilter]]:
    """The leaf under the range filters that Spark can resolve against it, and those filters."""
    # The analyzer would put another projection over a leaf with CHAR columns, and so give them other ids.
    leaf.setAnalyzed()
    condition = " AND ".join(part.sql for part in ranges)
    try:
        java = frame(spark, leaf).filter(condition)._jdf.queryExecution().analyzed()
    except PySparkException:
        # Names that differ only in case cannot be told apart in SQL; the query itself does without.
        return leaf, []
    pushable = unpushed_condition(spark, java.condition())
    return (java if pushable is None else with_element(spark, java, 0, pushable)), ranges
