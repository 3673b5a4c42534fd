"""Block metadata of the files of a version, a block for each file, from the statistics in the log."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.names import top_column
from pruning.expressions.types import Type
from pruning.metadata.delta.actions import FILE_ACTIONS, FileActions
from pruning.metadata.delta.bounds import believed_bounds
from pruning.metadata.delta.columns import DeltaColumns, DeltaField
from pruning.metadata.delta.json_statistics import read_statistics
from pruning.metadata.delta.statistics import FieldStatistics, FileStatistics, united_fields
from pruning.metadata.delta.vectors import DeletionVectors
from pruning.metadata.footers.chunk_facts import without
from pruning.metadata.footers.thrift_lanes import ABSENT, Mask, Numbers
from pruning.metadata.table.live_rows import with_deleted_rows
from pruning.metadata.table.schema import block_schema
from pruning.metadata.table.structs import make_typed_struct, whole
from pruning.metadata.versioned.table_version import VersionFiles


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCounts:
    """The numbers of rows of files; shape (files,).

    Attributes:
        written: The rows of the data files; ABSENT where the log does not say.
        live: Those that are left. A block needs a number of rows: where it is not known, one stands for some.
        is_counted: True where both are known.
        is_exact: True where counts in the statistics are of the rows that are left.
    """

    written: Numbers
    live: Numbers
    is_counted: Mask
    is_exact: Mask


@dataclass(frozen=True, kw_only=True, eq=False)
class DeltaBlocks:
    """The block metadata of the files of a version, which is computed for the columns that are needed."""

    batches: Sequence[FileActions]
    columns: DeltaColumns
    files: VersionFiles
    vectors: DeletionVectors

    def __call__(self, names: frozenset[str]) -> pa.Table:
        """Return block metadata of these top-level columns, a block for each file."""
        partitions = {name: field for name, field in self.columns.partition_fields.items() if name in names}
        others = {name: field for name, field in self.columns.fields.items() if top_column(name) in names}
        fields = list(others.values())
        # Without a file there is one empty batch, so that there are columns.
        batches = self.batches or (FileActions(FILE_ACTIONS.empty_table()),)
        statistics = [read_statistics(batch, fields) for batch in batches]
        counts = row_counts(statistics, self.vectors)
        schema = block_schema(_types(others) | _types(partitions))
        struct = schema.field("columns").type
        lanes = [
            _column(united_fields(statistics, place), field, counts, struct.field(name).type)
            for place, (name, field) in enumerate(others.items())
        ]
        for name, field in partitions.items():
            values = whole(self.files.partition_values[name])
            lanes.append(_constant(values, field, counts, struct.field(name).type))
        count = len(self.files.paths)
        arrays = [
            pa.array(self.files.paths, pa.string()),
            pa.array(np.zeros(count, np.int32)),
            pa.array(np.zeros(count, np.int64)),
            pa.nulls(count, pa.int64()),
            _optional(self.files.byte_counts),
            pa.array(counts.live),
            make_typed_struct(lanes, struct, count),
        ]
        return with_deleted_rows(pa.Table.from_arrays(arrays, schema=schema), ~counts.is_counted)


def row_counts(statistics: Sequence[FileStatistics], vectors: DeletionVectors) -> RowCounts:
    """Return the numbers of rows of files.

    Claim     `live` is the number of rows that are left, where `is_counted`.
    Premises  Delta's protocol: `numRecords` counts the rows of the data file, and a vector's cardinality
              those that it deletes.
    Proof     Rows that are left are the others. Where more rows are deleted than there are, neither is
              believed.
    """
    written = np.concatenate([batch.row_counts for batch in statistics])
    is_tight = np.concatenate([batch.is_tight for batch in statistics])
    deleted = np.where(vectors.mask, pc.fill_null(vectors.cardinalities, ABSENT).to_numpy(), 0)
    is_counted = (written >= 0) & (deleted >= 0) & (deleted <= written)
    return RowCounts(
        written=np.where(is_counted, written, ABSENT),
        live=np.where(is_counted, written - deleted, 1),
        is_counted=is_counted,
        is_exact=is_counted & is_tight & ~vectors.mask,
    )


def _types(fields: Mapping[str, DeltaField]) -> dict[str, Type]:
    return {name: field.type for name, field in fields.items()}


def _column(
    statistics: FieldStatistics, field: DeltaField, counts: RowCounts, struct: pa.StructType
) -> pa.StructArray:
    """Return what is believed of a field in each file; shape (files,).

    Claim     It is true of the live rows, as `pruning.metadata.table.schema` says.
    Premises  As for `believed_bounds` and `row_counts`; a count of NULL is at most the number of rows that
              are NULL, and of a column that is in no struct it is that number.
    Proof     (1) A count that is impossible is no count. A count of all rows beside a bound is wrong.
              (2) What holds of all rows that were written holds of those that are left: that none is NULL, or
              that each is. So far does the protocol go where bounds are not tight, too.
              (3) Writers may count only the NULLs of a field itself, and not those of its struct, so that
              more rows may be NULL, but no less.
              (4) Bounds hold of the rows that are left. None is exact: writers take them from footers.
    Unsound   if any other count were kept where rows are deleted, or the cardinality taken off it.
    """
    lower, upper = believed_bounds(statistics, field)
    rows, nulls = counts.written, statistics.null_counts
    has_bound = (lower.is_valid().to_numpy(False)) | (upper.is_valid().to_numpy(False))
    is_null = counts.is_counted & (nulls == rows) & ~has_bound  # (1)
    is_plausible = counts.is_counted & (nulls <= rows) & ((nulls != rows) | (rows == 0))  # (1)
    if len(field.path) > 1:
        null_counts = np.full(len(rows), ABSENT)  # (3)
    else:
        null_counts = np.where(is_plausible & (counts.is_exact | (nulls == 0)), nulls, ABSENT)
        null_counts = np.where(~counts.is_counted & (nulls == 0), 0, null_counts)
    null_counts = np.where(is_null, counts.live, null_counts)  # (2)
    lanes = [
        _optional(null_counts),
        _optional(np.where(is_null, 0, ABSENT)) if field.type.floating else pa.nulls(len(rows), pa.int64()),
        pa.nulls(len(rows), pa.int64()),
        lower,
        upper,
        pc.and_(pa.repeat(False, len(rows)), lower.is_valid()),
        pc.and_(pa.repeat(False, len(rows)), upper.is_valid()),
    ]
    return make_typed_struct(lanes, struct, len(rows))


def _constant(
    values: pa.Array, field: DeltaField, counts: RowCounts, struct: pa.StructType
) -> pa.StructArray:
    """Return the knowledge about a partition column from its value in each file; shape (files,).

    Claim     It is true of the live rows, as `pruning.metadata.table.schema` says.
    Premises  Each row of a file has the file's partition value.
    Proof     (1) The value is a bound on either side, unless it is NULL or NaN.
              (2) A row has it where a row is left.
    """
    is_null = values.is_null().to_numpy(zero_copy_only=False)
    is_nan = np.zeros(len(values), np.bool_)
    if field.type.floating:
        is_nan = pc.fill_null(pc.is_nan(values), False).to_numpy(zero_copy_only=False)
    bounds = without(values, is_nan)  # (1)
    # NaN apart, zeros of both signs are the same value.
    is_exact = pa.array(counts.is_counted & (counts.live > 0) & ~is_nan & (not field.type.floating))  # (2)
    nan_counts = np.where(is_nan, counts.live, 0)
    lanes = [
        _optional(np.where(is_null, counts.live, 0)),
        _optional(nan_counts) if field.type.floating else pa.nulls(len(values), pa.int64()),
        pa.nulls(len(values), pa.int64()),
        bounds,
        bounds,
        pc.and_(is_exact, bounds.is_valid()),
        pc.and_(is_exact, bounds.is_valid()),
    ]
    return make_typed_struct(lanes, struct, len(values))


def _optional(numbers: Numbers) -> pa.Array:
    """Return numbers as an Arrow array, NULL where they are absent."""
    return pa.array(numbers, mask=numbers < 0)
