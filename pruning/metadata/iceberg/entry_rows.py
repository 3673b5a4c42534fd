"""Data files as rows of Iceberg's metadata table `entries`, which Spark reads however many there are."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.metadata.footers.thrift_lanes import ABSENT, Numbers
from pruning.metadata.iceberg.planned_files import FieldMetrics, PlannedFiles
from pruning.metadata.iceberg.snapshot_files import optional_byte_strings

# The condition on rows of `entries`, as Spark SQL, that keeps the live data files of the snapshot.
IS_LIVE = "status < 2 AND data_file.content = 0"
# The maps by field of a data file, by what their values are called here.
_METRICS = {
    "value_counts": "value_counts",
    "null_counts": "null_value_counts",
    "nan_counts": "nan_value_counts",
    "byte_counts": "column_sizes",
    "lower": "lower_bounds",
    "upper": "upper_bounds",
}


def entry_columns(field_ids: Sequence[int]) -> list[str]:
    """Return the columns that `facts_of_entries` reads, as Spark SQL over the table `entries`."""
    metrics = [
        f"try_element_at(data_file.{kept}, {id_}) AS {name}_{id_}"
        for id_ in field_ids
        for name, kept in _METRICS.items()
    ]
    return [
        "data_file.file_path AS file",
        "data_file.record_count AS rows",
        "data_file.file_size_in_bytes AS bytes",
        *metrics,
    ]


def facts_of_entries(rows: pa.RecordBatch, field_ids: Sequence[int]) -> PlannedFiles:
    """Return the facts about the files of some rows.

    Rows do not tell which deletes apply to a file, so that its live rows are not known; nor are partition
    values or the schema of the time when it was added.

    Args:
        rows: With the columns of `entry_columns`.
        field_ids: The fields whose metrics are among them.
    """
    return PlannedFiles(
        files=tuple(rows.column("file").to_pylist()),
        row_counts=_numbers(rows.column("rows")),
        live_counts=np.full(len(rows), ABSENT, np.int64),
        byte_counts=_numbers(rows.column("bytes")),
        schema_ids=np.full(len(rows), ABSENT, np.int64),
        metrics={
            id_: FieldMetrics(
                value_counts=_numbers(rows.column(f"value_counts_{id_}")),
                null_counts=_numbers(rows.column(f"null_counts_{id_}")),
                nan_counts=_numbers(rows.column(f"nan_counts_{id_}")),
                byte_counts=_numbers(rows.column(f"byte_counts_{id_}")),
                lower=optional_byte_strings(rows.column(f"lower_{id_}")),
                upper=optional_byte_strings(rows.column(f"upper_{id_}")),
            )
            for id_ in field_ids
        },
    )


def _numbers(array: pa.Array) -> Numbers:
    """Return counts, ABSENT where there is none or it is negative."""
    counts: Numbers = pc.fill_null(array.cast(pa.int64()), ABSENT).to_numpy()
    return np.where(counts < 0, ABSENT, counts)
