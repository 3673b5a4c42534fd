"""The statistics of files as the log has them: decoded, before any is judged."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.metadata.footers.thrift_lanes import ABSENT, Mask, Numbers

# The names in statistics.
ROWS, TIGHT, LOWER, UPPER, NULLS = "numRecords", "tightBounds", "minValues", "maxValues", "nullCount"


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldStatistics:
    """The statistics of one field, a lane per file.

    Attributes:
        null_counts: ABSENT where there is none, or no number.
        lower, upper: Bounds in the Arrow type of block metadata, widened by what their form may have lost;
            NULL where there is none, or it cannot be read.
        is_garbled: True where a bound is there and cannot be read.
    """

    null_counts: Numbers
    lower: pa.Array
    upper: pa.Array
    is_garbled: Mask

    def where(self, mask: pa.Array, others: "FieldStatistics") -> "FieldStatistics":
        """Return these statistics where the mask is true, and others elsewhere."""
        lanes = mask.to_numpy(zero_copy_only=False)
        return FieldStatistics(
            null_counts=np.where(lanes, self.null_counts, others.null_counts),
            lower=pc.if_else(mask, self.lower, others.lower),
            upper=pc.if_else(mask, self.upper, others.upper),
            is_garbled=np.where(lanes, self.is_garbled, others.is_garbled),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatistics:
    """The statistics of files, a lane per file.

    Attributes:
        row_counts: The rows that were written; ABSENT where the log does not say.
        is_tight: True where bounds and counts are of the rows that are left.
        fields: The statistics of the fields that were to be read.
    """

    row_counts: Numbers
    is_tight: Mask
    fields: tuple[FieldStatistics, ...]

    def where(self, mask: pa.Array, others: "FileStatistics") -> "FileStatistics":
        """Return these statistics where the mask is true, and others of the same fields elsewhere."""
        lanes = mask.to_numpy(zero_copy_only=False)
        return FileStatistics(
            row_counts=np.where(lanes, self.row_counts, others.row_counts),
            is_tight=np.where(lanes, self.is_tight, others.is_tight),
            fields=tuple(
                mine.where(mask, other) for mine, other in zip(self.fields, others.fields, strict=True)
            ),
        )


def counts_of(values: pa.Array | None, length: int) -> Numbers:
    """Return counts, ABSENT where there is none or it is negative."""
    if values is None or not pa.types.is_integer(values.type):
        return np.full(length, ABSENT)
    counts: Numbers = pc.fill_null(values.cast(pa.int64()), ABSENT).to_numpy()
    return np.where(counts < 0, ABSENT, counts)


def united_fields(batches: list[FileStatistics], place: int) -> FieldStatistics:
    """Return the statistics of the field at a place in all of some batches."""
    fields = [batch.fields[place] for batch in batches]
    return FieldStatistics(
        null_counts=np.concatenate([field.null_counts for field in fields]),
        lower=pa.concat_arrays([field.lower for field in fields]),
        upper=pa.concat_arrays([field.upper for field in fields]),
        is_garbled=np.concatenate([field.is_garbled for field in fields]),
    )
