"""What a block gives whoever reads it: rows, or how many they are; the best keys; its part of a summary."""

from collections.abc import Sequence

import pyarrow as pa

from oracles.meaning.brute_force import evaluate
from pruning.expressions.trees import Column, Expression
from pruning.expressions.types import Value
from pruning.metadata.table.schema import arrow_type
from pruning.techniques.join.summaries import summarise_keys
from sim.scans.messages import Found
from sim.scans.planning import ScanPlan
from sim.scans.synthetic_tables import SpreadTable
from sim.scans.tables import Row, RowTable


def found_in(plan: ScanPlan, block: int, summary_bytes_max: int) -> Found:
    """What a block gives."""
    table, rows = plan.table, list[Row]()
    if isinstance(table, RowTable):
        rows = [row for row in table.blocks[block] if plan.query.scans[plan.scan].matches(row)]
    row_count = len(rows) if isinstance(table, RowTable) else int(plan.matching[block])
    keys: Sequence[Value | None] = ()
    if plan.ordered is not None:
        keys = plan.ordered.order.best(_values(plan, plan.ordered.key, block, rows), plan.ordered.wanted)
    part = None
    if plan.built is not None:
        column = pa.array(_values(plan, plan.built.key, block, rows), arrow_type(plan.built.type))
        part = summarise_keys(
            [plan.built.type], [column], bytes_max=summary_bytes_max, null_safe=[plan.built.null_safe]
        )
    return Found(rows=rows, row_count=row_count, keys=keys, part=part)


def _values(plan: ScanPlan, key: Expression, block: int, rows: Sequence[Row]) -> list[Value | None]:
    """A key of the rows of a block that the scan's predicate is TRUE of."""
    if not isinstance(plan.table, SpreadTable):
        return [evaluate(key, row) for row in rows]
    assert isinstance(key, Column)
    return list(plan.table.values(key.name, block, plan.predicate).tolist())
