"""The result of reading a block: its rows or their number, its best keys, and its part of a summary."""

from collections.abc import Sequence

import pyarrow as pa

from oracles.meaning.brute_force import evaluate
from pruning.expressions.trees import Column, Expression
from pruning.expressions.types import Value
from pruning.metadata.table.schema import arrow_type
from pruning.techniques.join.summaries import summarise_keys
from sim.scans.messages import BlockResult
from sim.scans.planning import ScanPlan
from sim.scans.synthetic_tables import SyntheticTable
from sim.scans.tables import Row, RowTable


def block_result(plan: ScanPlan, block: int, summary_bytes_max: int) -> BlockResult:
    """Return the result of reading a block for a scan."""
    table, rows = plan.table, list[Row]()
    if isinstance(table, RowTable):
        rows = [row for row in table.blocks[block] if plan.query.scans[plan.scan].matches(row)]
    row_count = len(rows) if isinstance(table, RowTable) else int(plan.matching[block])
    keys: Sequence[Value | None] = ()
    if plan.top_k is not None:
        keys = plan.top_k.order.best(_values(plan, plan.top_k.key, block, rows), plan.top_k.wanted)
    part = None
    if plan.build_side is not None:
        column = pa.array(_values(plan, plan.build_side.key, block, rows), arrow_type(plan.build_side.type))
        part = summarise_keys(
            [plan.build_side.type],
            [column],
            bytes_max=summary_bytes_max,
            null_safe=[plan.build_side.null_safe],
        )
    return BlockResult(rows=rows, row_count=row_count, keys=keys, part=part)


def _values(plan: ScanPlan, key: Expression, block: int, rows: Sequence[Row]) -> list[Value | None]:
    """Return the values of a key in the rows of a block that satisfy the scan's predicate."""
    if not isinstance(plan.table, SyntheticTable):
        return [evaluate(key, row) for row in rows]
    assert isinstance(key, Column)
    return list(plan.table.values(key.name, block, plan.predicate).tolist())
