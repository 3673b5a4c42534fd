"""Summaries of groups of blocks that say more than is true of all of their blocks."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from mutants.replacements import Replacement
from pruning.metadata.table import summaries


def _sum_of_known_counts(counts: Any) -> int:
    return pc.sum(counts).as_py() or 0


def _no_block(statistics: pa.StructArray, rows: pa.Array) -> pa.BooleanArray:
    return pa.repeat(False, len(rows))


def _where_known(statistics: pa.StructArray, rows: pa.Array) -> pa.BooleanArray:
    return pc.fill_null(pc.not_equal(statistics.field("null_count"), rows), False)


def _nan_apart(statistics: pa.StructArray, rows: pa.Array) -> pa.BooleanArray:
    nans = pc.fill_null(statistics.field("nan_count"), rows)
    return pc.fill_null(pc.not_equal(pc.add(statistics.field("null_count"), nans), rows), True)


def _first_block(group: pa.Table) -> pa.Table:
    return group.slice(0, 1).combine_chunks()


MUTANTS: Mapping[str, Replacement] = {
    "unknown counts are none": Replacement(summaries, "_total", _sum_of_known_counts),
    "unknown bounds are passed over": Replacement(summaries, "_may_hold_values", _no_block),
    "unknown NULLs are all rows": Replacement(summaries, "_may_hold_values", _where_known),
    "unknown NaNs are all rows": Replacement(summaries, "_may_hold_values", _nan_apart),
    "the first block is the group": Replacement(summaries, "_with_rows", _first_block),
}
