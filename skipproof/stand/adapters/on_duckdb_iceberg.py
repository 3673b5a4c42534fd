"""The adapter of DuckDB over Iceberg tables that PyIceberg writes."""

from __future__ import annotations

import sys

from .duckdb_extensions import load_text
from .iceberg_tables import IcebergTables
from .on_duckdb import OnDuckDB
from .table_formats import TablesReader


class OnDuckDBIceberg(TablesReader):
    """Reads a table by DuckDB's extension, without which DuckDB cannot prune such a table."""

    def __init__(self) -> None:
        load = load_text("avro", "iceberg")
        if load is None:
            sys.exit(
                "DuckDB's extensions avro and iceberg are not installed: "
                "`pip install duckdb-extension-avro duckdb-extension-iceberg` has them for some releases"
            )
        self._load = load
        super().__init__(OnDuckDB(), IcebergTables(), kept=("",), settings={})

    def start(self) -> str:
        """Return text that opens a connection and loads the extension."""
        return super().start() + self._load

    def open(self, name: str, settings: dict[str, str]) -> str:
        """Return text that makes a view of a table."""
        scan = f"CREATE VIEW {name} AS SELECT * FROM iceberg_scan('"
        return (
            f"con.execute({scan!r} + tables[{name!r}].metadata_location.removeprefix('file://') + \"')\")\n"
        )


ADAPTER = OnDuckDBIceberg
