"""Block metadata of planned data files, a block for each file."""

from collections.abc import Iterable, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.metadata.footers.chunk_facts import without
from pruning.metadata.footers.thrift_lanes import ABSENT, Mask, Numbers
from pruning.metadata.iceberg.bounds import believed_bounds
from pruning.metadata.iceberg.fields import IcebergField
from pruning.metadata.iceberg.partitions import PartitionKnowledge, partition_knowledge
from pruning.metadata.iceberg.planned_files import FieldMetrics, PlannedFiles
from pruning.metadata.table.live_rows import with_deleted_rows
from pruning.metadata.table.ordered import as_ordered, true_lanes, without_crossed
from pruning.metadata.table.schema import block_schema
from pruning.metadata.table.structs import make_typed_struct


def iceberg_blocks(planned: PlannedFiles, fields: Mapping[str, IcebergField]) -> pa.Table:
    """Return block metadata of the planned files, in their order.

    Args:
        planned: The files, with the metrics of these fields.
        fields: The fields, by their names in block metadata.
    """
    here = {name: field for name, field in fields.items() if field.id in planned.metrics}
    schema = block_schema({name: field.type for name, field in here.items()})
    count = len(planned.files)
    # A block needs a number of rows; where the writer knew none, one row stands for some.
    written = np.where(planned.row_counts < 0, 1, planned.row_counts)
    is_counted = (planned.live_counts >= 0) & (planned.row_counts >= 0)
    live = np.where(is_counted, planned.live_counts, written)
    structs = [
        _column(planned, field, live, is_counted, schema.field("columns").type.field(place).type)
        for place, field in enumerate(here.values())
    ]
    arrays = [
        pa.array(planned.files, pa.string()),
        pa.array(np.zeros(count, np.int32)),
        pa.array(np.zeros(count, np.int64)),
        pa.nulls(count, pa.int64()),
        _optional(planned.byte_counts),
        pa.array(live),
        make_typed_struct(structs, schema.field("columns").type, count),
    ]
    return with_deleted_rows(pa.Table.from_arrays(arrays, schema=schema), ~is_counted)


def _column(
    planned: PlannedFiles, field: IcebergField, live: Numbers, is_counted: Mask, struct: pa.StructType
) -> pa.StructArray:
    """Return the statistics of a field in each file; shape (files,).

    Claim     They are true of the live rows, as `pruning.metadata.table.schema` says.
    Premises  As for `believed_bounds` and `partition_knowledge`; metrics are of the rows that were written.
    Proof     (1) Where a file has as many values as rows, its count of NULL is that of its rows.
              (2) A field that is in no column of a file is NULL in each row.
              (3) What holds of all rows that were written holds of those that are left; of a count, this
              keeps none and all.
              (4) Where no row was deleted, some row has the constant of an identity transform.
    """
    metrics, rows, floating = planned.metrics[field.id], planned.row_counts, field.type.floating
    lower, upper = believed_bounds(metrics.lower, metrics.upper, field)
    null_counts = np.where(metrics.value_counts == rows, _plausible(metrics.null_counts, rows), ABSENT)  # (1)
    nan_counts = _plausible(metrics.nan_counts, rows)
    is_null = _is_absent(planned, field, metrics)  # (2)
    is_exact, is_whole = np.zeros(len(rows), np.bool_), is_counted & (live == rows) & (live > 0)
    for knowledge in _knowledge(planned, field):
        lower, upper = _intersection(lower, upper, knowledge)
        is_null = np.where(knowledge.is_constant, knowledge.is_null, is_null | knowledge.is_null)
        null_counts = np.where(knowledge.is_value, 0, null_counts)
        if floating:
            is_nan = knowledge.is_constant & true_lanes(pc.is_nan(lower))
            is_number = knowledge.is_constant & true_lanes(lower.is_valid()) & ~is_nan
            nan_counts = np.where(is_nan, rows, np.where(is_number, 0, nan_counts))
            lower, upper = without(lower, is_nan), without(upper, is_nan)
        else:
            is_exact |= knowledge.is_constant & knowledge.is_value & is_whole  # (4)
    null_counts = _live_counts(np.where(is_null, rows, null_counts), planned, live, is_counted)
    nan_counts = _live_counts(np.where(is_null, 0, nan_counts), planned, live, is_counted)
    lower, upper = without_crossed(without(lower, is_null), without(upper, is_null))
    lanes = [
        _optional(null_counts),
        _optional(nan_counts) if floating else pa.nulls(len(rows), pa.int64()),
        _optional(metrics.byte_counts),
        lower,
        upper,
        pc.and_(pa.array(is_exact), lower.is_valid()),
        pc.and_(pa.array(is_exact), upper.is_valid()),
    ]
    return make_typed_struct(lanes, struct, len(rows))


def _knowledge(planned: PlannedFiles, field: IcebergField) -> Iterable[PartitionKnowledge]:
    """Yield what partition values tell of a field; an identity transform last, because it decides alone."""
    partitions = [partition for partition in planned.partitions if partition.field_id == field.id]
    for partition in sorted(partitions, key=lambda partition: partition.transform == "identity"):
        knowledge = partition_knowledge(partition, field)
        if knowledge is not None:
            yield knowledge


def _intersection(
    lower: pa.Array, upper: pa.Array, knowledge: PartitionKnowledge
) -> tuple[pa.Array, pa.Array]:
    """Return the stricter of two bounds on either side, and those of a constant where there is one."""
    stricter = (
        _choose(lower, knowledge.lower, pc.less(as_ordered(lower), as_ordered(knowledge.lower))),
        _choose(upper, knowledge.upper, pc.greater(as_ordered(upper), as_ordered(knowledge.upper))),
    )
    constant = pa.array(knowledge.is_constant)
    return (
        pc.if_else(constant, knowledge.lower, stricter[0]),
        pc.if_else(constant, knowledge.upper, stricter[1]),
    )


def _choose(bounds: pa.Array, others: pa.Array, is_other: pa.Array) -> pa.Array:
    """Return the other bounds where they are chosen or there is no bound, and the bounds elsewhere."""
    return pc.coalesce(pc.if_else(pc.fill_null(is_other, False), others, bounds), others)


def _is_absent(planned: PlannedFiles, field: IcebergField, metrics: FieldMetrics) -> Mask:
    """Mark the files that were added while the table had no such field, so that Iceberg reads NULL.

    Claim     In a marked file, the field is NULL in each row.
    Premises  Iceberg's specification: a field's id is given once; a file has no column of a field that the
              table's schema lacked when the file was added; and of a missing field, a reader gives NULL,
              unless the field has an initial default, or a name mapping finds its column by its name.
    Unsound   where the snapshot that added a file is no longer known: it is not marked.
    """
    if field.has_default or planned.has_name_mapping:
        return np.zeros(len(planned.files), np.bool_)
    lacking = [id_ for id_, fields in planned.schema_fields.items() if field.id not in fields]
    is_unmeasured = (metrics.value_counts == ABSENT) & ~metrics.lower.present & ~metrics.upper.present
    mask: Mask = np.isin(planned.schema_ids, lacking) & is_unmeasured
    return mask


def _live_counts(counts: Numbers, planned: PlannedFiles, live: Numbers, is_counted: Mask) -> Numbers:
    """Return counts of live rows, where counts of written rows tell them; else ABSENT.

    Where the number of live rows is not known, the counts of written rows are kept beside that of all rows.
    """
    rows = planned.row_counts
    kept = np.where(counts == rows, live, np.where(counts == 0, 0, ABSENT))
    return np.where(is_counted & (live != rows), kept, np.where(rows < 0, ABSENT, counts))


def _plausible(counts: Numbers, rows: Numbers) -> Numbers:
    return np.where((counts >= 0) & (counts <= rows), counts, ABSENT)


def _optional(numbers: Numbers) -> pa.Array:
    """Return numbers as an Arrow array, NULL where they are absent."""
    return pa.array(numbers, mask=numbers < 0)
