"""What a summary of one key may not do to a join: skip a row with a partner, or keep one without."""

import numpy as np
import pyarrow as pa
from joining import Join, bounds_of, metadata_of, summarised, unsatisfied

from strategies.base.tables import Table

# Budgets that lead to ranges, and to filters.
RANGED, FILTERED = (16, 32, 48), (72, 100, 144, 300)


def lost_by_bounds(join: Join) -> bool:
    """Whether `excludes` is True of a block with a partner: of the table as it is known, or row by row."""
    summary = summarised(join)
    return any(
        skips and needed
        for table, known in blocks_of(join)
        for skips, needed in zip(
            summary.excludes(bounds_of(known, join.table.columns[0]), null_safe=join.null_safe[0]),
            join.partnered(table),
            strict=True,
        )
    )


def lost_by_condition(join: Join, terms_max: int | None = None) -> bool:
    """Likewise, whether `condition` is NONE of one."""
    key, null_safe = join.table.columns[0], join.null_safe[0]
    condition = summarised(join).condition(key, null_safe=null_safe, terms_max=terms_max)
    return any(
        skips and needed
        for table, known in blocks_of(join)
        for skips, needed in zip(unsatisfied(condition, known), join.partnered(table), strict=True)
    )


def blocks_of(join: Join) -> list[tuple[Table, pa.Table]]:
    """The probe side as it is known, and with a block of known bounds for each row."""
    singled = join.singled
    return [(join.table, join.known), *([(singled, metadata_of(singled))] if singled.blocks else [])]


def wrong_rows(join: Join) -> list[int]:
    """The rows that an exact summary skips although they have a partner, or keeps although they have none."""
    summary, rows = summarised(join), join.singled
    if not rows.blocks:
        return []
    known = bounds_of(metadata_of(rows), join.table.columns[0])
    skipped = summary.excludes(known, null_safe=join.null_safe[0])
    return np.flatnonzero(skipped == np.array(join.partnered(rows))).tolist()
