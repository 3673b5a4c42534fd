"""Partition values as block metadata: a partition column has one value in all blocks of a file."""

import pyarrow as pa
import pyarrow.compute as pc

from pruning.errors import InputError
from pruning.expressions.traversal import columns
from pruning.expressions.trees import Expression
from pruning.metadata.views.constant_columns import with_constants
from pruning.spark.lake.tables import Lake, partition_values


def with_partition_values(metadata: pa.Table, predicate: Expression, table: Lake) -> pa.Table:
    """The metadata with those partition columns that the predicate names, where their values are known."""
    named = [name for name in columns(predicate) if name in table.partition_columns]
    if not named:
        return metadata
    file = pc.index_in(metadata.column("file"), value_set=pa.array(table.files, pa.string()))
    positions = file.to_pylist()
    for name, values in partition_values(table, named).items():
        of_blocks = [values[position] for position in positions]
        try:
            metadata = with_constants(metadata, name, table.partition_columns[name], of_blocks)
        except InputError:
            # A value that Arrow cannot hold, such as a string that is not UTF-8: nothing is known of it.
            continue
    return metadata
