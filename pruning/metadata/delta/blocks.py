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
from pruning.metadata.table.schema import block_schema, is_nested
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
        partitions = {
            name: field
            for name, field in self.columns.partition_fields.items()
            if name in names and not is_nested(name)
        }
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
    Premises  As for `believed_bounds` and `believed_null_counts`.
    Proof     (1) Bounds of all rows that were written hold of those that are left.
              (2) A row that is NULL has no value, so no NaN.
    Unsound   if a bound were taken for a value of some row: writers take bounds from footers.
    """
    lower, upper = believed_bounds(statistics, field)  # (1)
    has_bound = pc.or_(lower.is_valid(), upper.is_valid()).to_numpy(zero_copy_only=False)
    is_nested = len(field.path) > 1
    null_counts = believed_null_counts(statistics.null_counts, counts, has_bound, is_nested=is_nested)
    is_null = (null_counts == counts.live) & (null_counts > 0)
    nan_counts = np.where(is_null, 0, ABSENT)  # (2)
    unknown = pa.nulls(len(lower), pa.int64())
    not_exact_lower, not_exact_upper = (
        pc.and_(pa.repeat(False, len(side)), side.is_valid()) for side in (lower, upper)
    )
    lanes = [
        _optional(null_counts),
        _optional(nan_counts) if field.type.floating else unknown,
        unknown,
        lower,
        upper,
        not_exact_lower,
        not_exact_upper,
    ]
    return make_typed_struct(lanes, struct, len(lower))


def believed_null_counts(nulls: Numbers, counts: RowCounts, has_bound: Mask, *, is_nested: bool) -> Numbers:
    """Return the numbers of live rows that are NULL, ABSENT where they are not known.

    Claim     Each is the number of live rows that are NULL, those whose struct is NULL among them.
    Premises  Delta's protocol: a count is of the rows that were written, or if bounds are tight, of those
              that are left. Writers may pass over the NULLs of a field's struct.
    Proof     (1) A count above the rows is none; and that of all rows beside a bound is not believed.
              (2) Where all rows are NULL, or none is, so it is with those that are left.
              (3) Of a field in a struct, at least so many rows are NULL as the count says.
    Unsound   if another count were kept where rows are deleted, or none were believed of a field in a struct.
    """
    rows = counts.written
    is_all = counts.is_counted & (nulls == rows) & (rows > 0) & ~has_bound  # (1)
    is_kept = np.where(counts.is_exact, (nulls >= 0) & (nulls < rows), nulls == 0)  # (1), (2)
    kept = np.where(is_kept & (not is_nested), nulls, ABSENT)  # (3)
    return np.where(is_all, counts.live, kept)  # (2)


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
