"""Verdicts on rows: row groups are classified first, then the runs of pages of those that stay undecided."""

from collections.abc import Callable, Collection

import numpy as np
import pyarrow as pa

from pruning.metadata.footers.thrift_lanes import Numbers
from pruning.metadata.pages.kept_rows import KeptRows
from pruning.metadata.pages.page_reading import directory_names, read_pages
from pruning.metadata.pages.run_blocks import run_blocks
from pruning.metadata.table.structs import whole
from pruning.rules.sets.truths import Match

# Returns the verdict on each block of block metadata.
BlockVerdicts = Callable[[pa.Table], pa.Int8Array]


def classify_rows(metadata: pa.Table, columns: Collection[str], verdicts_of: BlockVerdicts) -> pa.Table:
    """Return the verdicts on the rows of row groups, by their page indexes where row groups are undecided.

    Claim     The predicate is TRUE on no row that is called NONE, and on each one that is called ALL.
    Premises  `verdicts_of` is sound for blocks of any rows, and `run_blocks` is true of its runs.
    Proof     A row has the verdict of its row group, or of a run that holds it.
    Unsound   if a column that a directory's name hides is taken for the file's own, whose pages are others.

    Args:
        metadata: Block metadata of row groups of Parquet files, maybe with columns of their directories.
        columns: The columns whose pages are read, by their names in block metadata.
        verdicts_of: Classifies blocks by the predicate.
    Returns:
        A table of file, row_group, row_offset, row_count and verdict, in the order of the rows. Neighbouring
        runs of a row group that have the same verdict are one. A row group without rows is left out.
    """
    of_groups = verdicts_of(metadata).to_numpy()
    rows = whole(metadata.column("row_count")).to_numpy()
    undecided = np.flatnonzero(of_groups == Match.SOME)
    decided = np.flatnonzero((of_groups != Match.SOME) & (rows > 0))
    hidden = directory_names(metadata.column("file").unique().to_pylist())
    kept = KeptRows.all_of(metadata.take(pa.array(undecided)).combine_chunks())
    pages = read_pages(kept.metadata, [name for name in columns if name.casefold() not in hidden])
    runs = run_blocks(kept, pages)
    of_runs = verdicts_of(runs.blocks).to_numpy()
    return _verdict_table(
        metadata,
        groups=np.concatenate([decided, undecided[runs.groups]]),
        starts=np.concatenate([np.zeros(len(decided), np.int64), runs.starts]),
        ends=np.concatenate([rows[decided], runs.ends]),
        verdicts=np.concatenate([of_groups[decided], of_runs]),
    )


def _verdict_table(
    metadata: pa.Table, *, groups: Numbers, starts: Numbers, ends: Numbers, verdicts: np.ndarray
) -> pa.Table:
    """Return a table of verdicts on runs, which cover their row groups; equal neighbours are joined."""
    order = np.lexsort((starts, groups))
    groups, starts, ends, verdicts = groups[order], starts[order], ends[order], verdicts[order]
    is_first = np.ones(len(groups), np.bool_)
    is_first[1:] = (np.diff(groups) != 0) | (np.diff(verdicts) != 0)
    is_last = np.ones(len(groups), np.bool_)
    is_last[:-1] = is_first[1:]
    located = metadata.select(["file", "row_group", "row_offset"]).take(pa.array(groups[is_first]))
    starts, ends = starts[is_first], ends[is_last]
    offsets = whole(located.column("row_offset")).to_numpy() + starts
    return pa.table(
        {
            "file": located.column("file"),
            "row_group": located.column("row_group"),
            "row_offset": pa.array(offsets),
            "row_count": pa.array(ends - starts),
            "verdict": pa.array(verdicts[is_first].astype(np.int8)),
        }
    ).replace_schema_metadata(None)
