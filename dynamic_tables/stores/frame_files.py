"""Rows that Spark computes, written as files of a table."""

import shutil
import uuid
from collections.abc import Sequence

import pyarrow.parquet as pq
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, LongType

from dynamic_tables.on_spark import frames
from dynamic_tables.on_spark.failures import user_errors
from dynamic_tables.on_spark.frames import RowFrame, cell
from dynamic_tables.on_spark.physical_types import spark_type
from dynamic_tables.stores.arrow_rows import LONG, ROW_ID, VERSION
from dynamic_tables.stores.manifests import DataFile, StoredField
from dynamic_tables.stores.table_files import TEMPORARY, TableFiles

# As small as the row groups that `ParquetTable` writes, by and large.
BYTES_OF_GROUP = 1_000_000


def stored_type(column: StoredField) -> DataType:
    """Return the type in Spark of a stored column."""
    return LongType() if column.stored == LONG else spark_type(column.field.type)


def write_frame(
    table: TableFiles, frame: RowFrame, columns: Sequence[StoredField], version: int
) -> tuple[DataFile, ...]:
    """Write the rows of a frame to files, on disk before this returns.

    Raises:
        UserError: The query of the frame failed on its rows.
    """
    cells = [
        cell(place).cast(stored_type(column)).alias(column.field.name) for place, column in enumerate(columns)
    ]
    rows = frame.data.select(
        F.col(frames.ROW_ID).alias(ROW_ID), F.lit(version).cast("bigint").alias(VERSION), *cells
    )
    folder = table.directory / TEMPORARY / uuid.uuid4().hex
    try:
        with user_errors():
            rows.write.option("parquet.block.size", BYTES_OF_GROUP).parquet(str(folder))
        files = []
        for path in sorted(folder.glob("*.parquet")):
            count = pq.read_metadata(path).num_rows
            if count:
                files.append(table.take_file(path, version, count))
        return tuple(files)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
