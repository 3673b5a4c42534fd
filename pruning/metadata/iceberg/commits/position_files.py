"""Position-delete files: Parquet files that list deleted rows of one data file each.

There is one file for each data file, though the format lets one file serve a whole partition. A reader
opens only what concerns its data file, because both bounds of `file_path` are that file's path; concurrent
deletes in other files of the partition are seen to be no conflict; and the file can leave the table with its
data file. The price is more small files where one statement deletes a few rows of many files.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.conversions import to_bytes
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.types import LongType, StringType

from pruning.errors import InputError

# The field ids that the specification reserves.
PATH_ID, POSITION_ID = 2147483546, 2147483545
_SCHEMA = pa.schema(
    [
        pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": str(PATH_ID)}),
        pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": str(POSITION_ID)}),
    ],
    metadata={"delete-type": "position"},
)


def sorted_positions(data_file: Any, positions: Iterable[int]) -> np.ndarray:
    """Return the positions in a data file in ascending order, each once.

    Raises:
        InputError: there are none, or one is no row of the file.
    """
    array = positions if isinstance(positions, np.ndarray) else np.fromiter(positions, np.int64)
    ordered = np.unique(array.astype(np.int64, casting="safe"))
    if not len(ordered):
        raise InputError(f"{data_file.file_path}: no positions to delete; leave the file out.")
    if ordered[0] < 0 or ordered[-1] >= data_file.record_count:
        wrong = ordered[0] if ordered[0] < 0 else ordered[-1]
        raise InputError(
            f"{data_file.file_path}: position {wrong} is no row of this file of {data_file.record_count:,} "
            "rows; count positions from 0, in the file as it was written."
        )
    return ordered


def write_position_file(io: Any, location: str, data_file: Any, positions: np.ndarray) -> Any:
    """Write one position-delete file, and return its `DataFile`.

    Args:
        io: The `FileIO` of the table.
        location: Its address.
        data_file: The `DataFile` whose rows are deleted.
        positions: What `sorted_positions` returns.
    """
    path = data_file.file_path
    repeated = pa.DictionaryArray.from_arrays(pa.array(np.zeros(len(positions), np.int32)), pa.array([path]))
    rows = pa.table([repeated.cast(pa.string()), pa.array(positions)], schema=_SCHEMA)
    output = io.new_output(location)
    with output.create() as stream:
        pq.write_table(rows, stream, compression="zstd", store_schema=False)
    counts = {PATH_ID: len(positions), POSITION_ID: len(positions)}
    path_bound = to_bytes(StringType(), path)
    lower, upper = (to_bytes(LongType(), int(position)) for position in (positions[0], positions[-1]))
    entry = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES,
        file_path=location,
        file_format=FileFormat.PARQUET,
        partition=data_file.partition,
        record_count=len(positions),
        file_size_in_bytes=len(output),
        column_sizes={},
        value_counts=counts,
        null_value_counts=dict.fromkeys(counts, 0),
        nan_value_counts={},
        # The path is not shortened: two equal bounds tell that the file concerns one data file.
        lower_bounds={PATH_ID: path_bound, POSITION_ID: lower},
        upper_bounds={PATH_ID: path_bound, POSITION_ID: upper},
    )
    entry.spec_id = data_file.spec_id
    return entry


def path_bounds(delete_file: Any) -> tuple[bytes, bytes] | None:
    """Return bounds of the paths of data files that a position-delete file names; None if unknown."""
    lower = (delete_file.lower_bounds or {}).get(PATH_ID)
    upper = (delete_file.upper_bounds or {}).get(PATH_ID)
    return None if lower is None or upper is None else (lower, upper)
