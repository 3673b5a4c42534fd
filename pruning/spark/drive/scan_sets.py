"""The scan set of a table: its blocks, and which of them a scan still has to read."""

import weakref
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.traversal import columns
from pruning.expressions.trees import Expression
from pruning.metadata.files.recent import Recent
from pruning.metadata.files.table_files import TableFiles
from pruning.metadata.store.searching import ExcludedFiles
from pruning.metadata.table.memberships import indexed_columns
from pruning.rules.sets.truths import Match, match_codes
from pruning.spark.drive.paging import Paging
from pruning.spark.lake.columns_read import bytes_read

# The most blocks of which the places of files are held in memory, 4 bytes each.
_BLOCKS_HELD_MAX = 4_000_000


@dataclass(frozen=True, slots=True, eq=False)
class SummarizedFiles:
    """Files of a large table that the scan's own filter excludes, and whose blocks are not in memory.

    Attributes:
        parts: Of some files each, their indices in the table's files, the number of their blocks, and a
            summary of these as block metadata.
        mask: True for these files; shape (files,).
    """

    parts: tuple[tuple[np.ndarray, int, pa.Table], ...]
    mask: np.ndarray

    @classmethod
    def of(cls, excluded: Sequence[ExcludedFiles], files: Sequence[str]) -> "SummarizedFiles":
        """Return the excluded files among those of a table."""
        places_of = {file: place for place, file in enumerate(files)} if excluded else {}
        parts = tuple(
            (np.array([places_of[file] for file in part.files]), part.blocks, part.summary)
            for part in excluded
        )
        mask = np.zeros(len(files), bool)
        for places, _, _ in parts:
            mask[places] = True
        return cls(parts, mask)

    def blocks_of(self, files: np.ndarray) -> int:
        """Return the number of blocks of the parts with some file of a mask of shape (files,)."""
        return sum(blocks for places, blocks, _ in self.parts if files[places].any())

    def bytes_of(self, files: np.ndarray, columns: frozenset[str] | None) -> int:
        """Return the bytes of the parts with some file of a mask of shape (files,).

        Args:
            files: The mask.
            columns: The columns of the table whose bytes count; None is all of them.
        """
        return sum(
            int(bytes_read(summary, columns).sum())
            for places, _, summary in self.parts
            if files[places].any()
        )


class IdenticalBlocks:
    """Block metadata as the key of a cache, which does not hold it; it equals only itself."""

    def __init__(self, metadata: pa.Table) -> None:
        """Refer to block metadata."""
        self._reference = weakref.ref(metadata)
        self._hash = id(metadata)

    def __eq__(self, other: object) -> bool:
        metadata = self._reference()
        return isinstance(other, IdenticalBlocks) and metadata is not None and metadata is other._reference()

    def __hash__(self) -> int:
        return self._hash


def places_of_files(metadata: pa.Table, files: TableFiles) -> np.ndarray:
    """Return the index of each block's file among the files of a table; shape (blocks,)."""
    key = IdenticalBlocks(metadata), files
    places = _PLACES.get(key)
    if places is None:
        names = pa.array(files.files, pa.string())
        places = pc.index_in(metadata.column("file"), value_set=names).to_numpy()
        _PLACES.keep(key, places, len(places))
    return places


_PLACES: Recent[tuple[IdenticalBlocks, TableFiles], np.ndarray] = Recent(_BLOCKS_HELD_MAX)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class ScanSet:
    """The blocks of a table and those of them that are still to be read.

    A scan set is made when the footers are read, and it never changes: a technique that excludes blocks
    gets a smaller one. A block is a row group, or a run of pages of one; so techniques that look at
    different columns, whose pages do not align, may together exclude a row group that each of them keeps.

    Attributes:
        metadata: The block metadata of the blocks, of the columns that Spark reads as they are stored.
        paging: The row groups that the blocks are runs of; None where each block is a row group.
        failures: A sentence about each file whose footer could not be read, by the file.
        verdicts: The verdicts of the scan's own filter; shape (blocks,).
        keep: True for the blocks that may hold a needed row; shape (blocks,).
        file_of_block: The index of each block's file in the table's files; shape (blocks,).
        unknown_files: True for the files that are read without a known block; shape (files,).
        chosen_files: True for the files that may be read; shape (files,); None where all may.
        summarized: The files of which no block is here, because the scan's own filter excludes all.
        keeps_summarized: True while these are still to be read.
    """

    metadata: pa.Table
    paging: Paging | None = None
    failures: dict[str, str]
    verdicts: np.ndarray
    keep: np.ndarray
    file_of_block: np.ndarray
    unknown_files: np.ndarray
    chosen_files: np.ndarray | None = None
    summarized: SummarizedFiles
    keeps_summarized: bool = True

    @classmethod
    def of_row_groups(
        cls,
        metadata: pa.Table,
        verdicts: np.ndarray,
        files: TableFiles,
        *,
        file_of_block: np.ndarray,
        failures: dict[str, str],
        excluded: Sequence[ExcludedFiles],
    ) -> "ScanSet":
        """Return the scan set of all row groups of a table, of which none is excluded yet.

        Args:
            metadata: Their block metadata.
            verdicts: The verdicts of the scan's own filter; shape (row groups,).
            files: The table's files.
            file_of_block: The index of each block's file among them; shape (row groups,).
            failures: A sentence about each file whose footer could not be read, by the file.
            excluded: The files of which no row group is in the metadata.
        """
        summarized = SummarizedFiles.of(excluded, files.files)
        has_blocks = np.zeros(len(files.files), bool)
        has_blocks[file_of_block] = True
        is_unknown = np.zeros(len(files.files), bool)
        if failures:
            is_unknown |= [name in failures for name in files.files]
        return cls(
            metadata=metadata,
            failures=failures,
            verdicts=verdicts,
            keep=np.ones(metadata.num_rows, bool),
            file_of_block=file_of_block,
            unknown_files=is_unknown | (~has_blocks & ~summarized.mask),
            summarized=summarized,
        )

    def __post_init__(self) -> None:
        for mask in (self.verdicts, self.keep, self.file_of_block, self.unknown_files):
            mask.setflags(write=False)

    @property
    def is_complete(self) -> bool:
        """True if every footer could be read, so that no row is unaccounted for."""
        return not self.failures

    @property
    def matches(self) -> np.ndarray:
        """The verdict on each block that is still to be read, NONE for the others; shape (blocks,)."""
        return np.where(self.keep, self.verdicts, np.int8(Match.NONE))

    @property
    def group_matches(self) -> np.ndarray:
        """The verdict on each row group, by the verdicts on its blocks; shape (row groups,)."""
        matches = self.matches
        if self.paging is None:
            return matches
        each_matches = ~self.paging.group_mask(matches != Match.ALL)
        return match_codes(self.kept_groups, each_matches)

    @property
    def row_counts(self) -> np.ndarray:
        """The live rows of each block; shape (blocks,)."""
        counts: np.ndarray = self.metadata.column("row_count").to_numpy()
        return counts

    @property
    def rows_kept(self) -> int:
        """The live rows of the blocks that are still to be read."""
        return int(self.row_counts[self.keep].sum())

    @property
    def bytes_kept(self) -> int:
        """The compressed bytes of the blocks that are still to be read."""
        return self.bytes_of(self.keep)

    @property
    def kept_files(self) -> np.ndarray:
        """True for the files that are still to be read; shape (files,)."""
        kept = self.unknown_files.copy()
        kept[self.file_of_block[self.keep]] = True
        if self.keeps_summarized:
            kept |= self.summarized.mask
        return kept if self.chosen_files is None else kept & self.chosen_files

    @property
    def row_groups(self) -> pa.Table:
        """The block metadata of the row groups that the blocks are in."""
        return self.metadata if self.paging is None else self.paging.row_groups

    @property
    def kept_groups(self) -> np.ndarray:
        """True for the row groups with a block that is still to be read; shape (row groups,)."""
        return self.keep if self.paging is None else self.paging.group_mask(self.keep)

    @property
    def file_of_group(self) -> np.ndarray:
        """The index of each row group's file in the table's files; shape (row groups,)."""
        if self.paging is None:
            return self.file_of_block
        files: np.ndarray = np.zeros(len(self.row_groups), self.file_of_block.dtype)
        files[self.paging.groups] = self.file_of_block
        return files

    @property
    def removed_groups(self) -> int:
        """The number of row groups that are not to be read."""
        summarized = 0 if self.keeps_summarized else self.summarized.blocks_of(self.summarized.mask)
        return int((~self.kept_groups).sum()) + summarized

    def rows_removed_inside(self, smaller: "ScanSet") -> int:
        """Return the rows that a smaller scan set has no more, of row groups that it still reads."""
        if self.paging is None:
            return 0
        is_inside = smaller.kept_groups[self.paging.groups]
        return int(self.row_counts[self.keep & ~smaller.keep & is_inside].sum())

    def bytes_of(self, blocks: np.ndarray) -> int:
        """Return the compressed bytes of some blocks, a mask of shape (blocks,)."""
        return pc.sum(self.metadata.column("byte_count").filter(pa.array(blocks))).as_py() or 0

    def is_indexed(self, expression: Expression) -> bool:
        """Tell whether metadata beyond bounds exists for the values of a column that an expression names."""
        return not indexed_columns(self.metadata).isdisjoint(columns(expression))

    def with_blocks(self, needed: np.ndarray) -> "ScanSet":
        """Return the scan set without the blocks that a mask of shape (blocks,) excludes."""
        return replace(self, keep=self.keep & needed)

    def without_excluded(self) -> "ScanSet":
        """Return the scan set without the blocks that the scan's own filter excludes."""
        return replace(self, keep=self.keep & (self.verdicts != Match.NONE), keeps_summarized=False)

    def with_files(self, files: np.ndarray) -> "ScanSet":
        """Return the scan set of those files alone that a mask of shape (files,) chooses."""
        return replace(self, keep=self.keep & files[self.file_of_block], chosen_files=files)

    def widened_to(self, files: np.ndarray) -> "ScanSet":
        """Return the scan set of every block of the files that a mask of shape (files,) chooses."""
        return replace(
            self,
            keep=files[self.file_of_block],
            chosen_files=files,
            unknown_files=self.unknown_files | files,
        )

    def with_all_blocks(self) -> "ScanSet":
        """Return the scan set from which no technique has excluded a block yet."""
        return replace(self, keep=np.ones(len(self.keep), bool), chosen_files=None, keeps_summarized=True)
