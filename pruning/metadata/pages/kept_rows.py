"""The rows that a scan still has to read: one set of row ranges, which all techniques make smaller.

A technique looks at the blocks of `run_blocks`, which are runs of pages, and says which of them hold no
needed row. What one technique has excluded, the next one does not see. So techniques that look at
different columns, whose pages do not align, together exclude a row group that each of them alone keeps.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from pruning.metadata.footers.thrift_lanes import Mask, Numbers
from pruning.metadata.pages.row_ranges import RowRanges
from pruning.metadata.table.structs import whole


@dataclass(frozen=True, slots=True)
class Runs:
    """Blocks that are runs of rows of row groups, by row groups and rows.

    Attributes:
        blocks: Their block metadata.
        groups: The row group of each run, as a row of the metadata of row groups; shape (runs,).
        starts, ends: The rows of each run, inside the row group: from a start up to an end.
    """

    blocks: pa.Table
    groups: Numbers
    starts: Numbers
    ends: Numbers


@dataclass(frozen=True, slots=True)
class KeptRows:
    """The rows of row groups that may be needed.

    Attributes:
        metadata: The block metadata of the row groups.
        ranges: The rows of each row group that are kept, counted inside the row group.
    """

    metadata: pa.Table
    ranges: tuple[RowRanges, ...]

    @staticmethod
    def all_of(metadata: pa.Table) -> "KeptRows":
        """Return all rows of the row groups."""
        counts = whole(metadata.column("row_count")).to_pylist()
        return KeptRows(metadata, tuple(map(RowRanges.all_rows, counts)))

    @property
    def counts(self) -> Numbers:
        """The number of rows that are kept of each row group; shape (row groups,)."""
        return np.array([ranges.count for ranges in self.ranges], np.int64)

    def without(self, runs: Runs, excluded: Mask) -> "KeptRows":
        """Return the rows that are not in excluded runs.

        Claim     A row that is left out is no row of the answer.
        Premises  Each excluded run holds no row of the answer, by whatever technique.
        Proof     A row is left out only if it was left out before, or is in such a run.
        Unsound   if runs are counted inside another row group, or inside the file.

        Args:
            runs: Runs of these row groups.
            excluded: A mark of each run that holds no needed row.
        """
        ranges = list(self.ranges)
        for group in np.unique(runs.groups[excluded]).tolist():
            chosen = excluded & (runs.groups == group)
            pairs = zip(runs.starts[chosen].tolist(), runs.ends[chosen].tolist(), strict=True)
            ranges[group] = ranges[group].difference(RowRanges.of(pairs))
        return KeptRows(self.metadata, tuple(ranges))
