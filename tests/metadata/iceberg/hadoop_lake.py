"""Iceberg tables in directories without a catalog, made without Java."""

from pathlib import Path

from iceberg_lake import SCHEMA
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER


def first_metadata(location: str, **properties: str) -> bytes:
    """Return the first metadata file of a table at a location."""
    metadata = new_table_metadata(
        SCHEMA, UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, location, dict(properties)
    )
    content: str = metadata.model_dump_json(exclude_none=True)
    return content.encode()


def make_hadoop_table(folder: Path, scheme: str = "", **properties: str) -> str:
    """Make a table without snapshots, as Iceberg's Hadoop catalog does, and return its directory."""
    directory = folder / "db" / "t"
    metadata = directory / "metadata"
    metadata.mkdir(parents=True)
    (directory / "data").mkdir()
    (metadata / "v1.metadata.json").write_bytes(first_metadata(f"{scheme}{directory}", **properties))
    (metadata / "version-hint.text").write_text("1")
    return str(directory)
