"""Files of few rows on many pages, and what is known of their runs."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pruning.metadata.pages.kept_rows import KeptRows, Runs
from pruning.metadata.pages.page_reading import GroupPages, read_pages
from pruning.metadata.pages.run_blocks import run_blocks
from pruning.metadata.store.collecting import collect
from pruning.metadata.table.schema import column_types

SPARK = {b"org.apache.spark.version": b"4.3.0"}


def write_paged(path: Path, table: pa.Table, *, page_rows: int = 2, **options: Any) -> Path:
    """Write a table with page indexes; a page of numbers has so many rows, unless `options` say otherwise.

    The file names a release of Spark, so that old dates are believed.
    """
    settings: dict[str, Any] = {
        "write_page_index": True,
        "use_dictionary": False,
        "data_page_size": 1,
        "write_batch_size": page_rows,
        **options,
    }
    pq.write_table(table.replace_schema_metadata(SPARK), path, **settings)
    return path


def metadata_of(path: Path) -> pa.Table:
    """Return the block metadata of the row groups of a file."""
    return collect(path, cache=False)


def pages_of(path: Path) -> list[GroupPages]:
    """Return the believed pages of all columns of each row group of a file."""
    metadata = metadata_of(path)
    return read_pages(metadata, list(column_types(metadata)))


def runs_of(path: Path) -> Runs:
    """Return the runs between the pages of all columns of a file."""
    return run_blocks(KeptRows.all_of(metadata_of(path)), pages_of(path))


def facts_of_runs(runs: Runs, column: str = "x") -> list[tuple[Any, ...]]:
    """Return the first row, row count, bounds and NULL count of one column in each run."""
    return [
        (
            block["row_offset"],
            block["row_count"],
            *(block["columns"][column][name] for name in ("min", "max", "null_count")),
        )
        for block in runs.blocks.to_pylist()
    ]
