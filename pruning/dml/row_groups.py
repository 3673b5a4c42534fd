"""Groups of new rows by the partitions that their values decide."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.functions import broadcast, lit, monotonically_increasing_id

from pruning.dml.changed_rows import GROUP, column


def group_by_values(
    rows: DataFrame, sources: Sequence[str], first: int
) -> tuple[DataFrame, dict[int, Mapping[str, Any]]]:
    """Return rows with the number of the group of those with the same values, and the groups' values.

    Args:
        rows: The rows, which give the same values whenever they are computed.
        sources: The columns that decide the group; without any, all rows are in one.
        first: The number of the first group.
    """
    if not sources:
        return rows.withColumn(GROUP, lit(first)), {first: {}} if rows.head(1) else {}
    distinct = rows.select(*map(column, sources)).distinct().coalesce(1)
    number = (monotonically_increasing_id() + first).cast("int").alias(GROUP)
    # Stored, since a second run may number the groups in another order.
    numbered = distinct.select("*", number).localCheckpoint()
    # Arrow has instants with their time zone, where Python's rows have the local time of this process.
    batches = numbered._collect_as_arrow()
    values = {row.pop(GROUP): row for row in pa.Table.from_batches(batches).to_pylist()} if batches else {}
    groups = broadcast(numbered.toDF(*(f"`{place}" for place in range(len(sources))), GROUP))
    is_same = [column(name).eqNullSafe(column(f"`{place}")) for place, name in enumerate(sources)]
    joined = rows.join(groups, is_same)
    return joined.select(*map(column, rows.columns), column(GROUP)), values
