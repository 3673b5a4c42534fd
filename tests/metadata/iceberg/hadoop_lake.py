"""Iceberg tables in directories without a catalog, made without Java."""

from pathlib import Path
from typing import Any

from iceberg_lake import SCHEMA
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER


def make_hadoop_table(
    folder: Path, scheme: str = "", spec: Any = UNPARTITIONED_PARTITION_SPEC, **properties: str
) -> str:
    """Make a table without snapshots, as Iceberg's Hadoop catalog does, and return its directory."""
    directory = folder / "db" / "t"
    metadata = directory / "metadata"
    metadata.mkdir(parents=True)
    (directory / "data").mkdir()
    first = new_table_metadata(SCHEMA, spec, UNSORTED_SORT_ORDER, f"{scheme}{directory}", dict(properties))
    (metadata / "v1.metadata.json").write_text(first.model_dump_json(exclude_none=True))
    (metadata / "version-hint.text").write_text("1")
    return str(directory)
