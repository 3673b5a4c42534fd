"""Blocks of which an unknown number of rows is deleted, so that their rows cannot be counted.

The optional field `rows_deleted` of block metadata marks them. What holds of all rows of such a block holds
of those that are left; but no row of it is sure to exist.
"""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.rules.sets.truths import Match

FIELD = "rows_deleted"


def with_deleted_rows(metadata: pa.Table, deleted: np.ndarray) -> pa.Table:
    """Return block metadata with a mark of the blocks that may have lost rows, a mask of shape (blocks,)."""
    return metadata.append_column(FIELD, pa.array(deleted, pa.bool_())) if deleted.any() else metadata


def live_row_counts(metadata: pa.Table) -> list[int | None]:
    """Return the number of live rows of each block; None where only an upper bound is known."""
    counts = metadata.column("row_count").combine_chunks()
    if FIELD in metadata.schema.names:
        counts = pc.if_else(pc.fill_null(metadata.column(FIELD).combine_chunks(), False), None, counts)
    numbers: list[int | None] = counts.to_pylist()
    return numbers


def countable_verdicts(verdicts: np.ndarray, metadata: pa.Table) -> np.ndarray:
    """Return the verdicts with SOME instead of ALL for blocks whose rows cannot be counted.

    Claim     The rows of a block whose verdict is ALL are live rows, as many as `row_count` says.
    Premises  `row_count` is exact, except in the marked blocks, where it is an upper bound.
    Proof     A marked block is not ALL.
    Unsound   if a verdict ALL stays where the number of deleted rows is unknown: a LIMIT would count them.

    Args:
        verdicts: Codes of `Match`; shape (blocks,).
        metadata: The block metadata.
    """
    if FIELD not in metadata.schema.names:
        return verdicts
    deleted = pc.fill_null(metadata.column(FIELD), False).to_numpy()
    capped: np.ndarray = np.where(deleted & (verdicts == Match.ALL), np.int8(Match.SOME), verdicts)
    return capped
