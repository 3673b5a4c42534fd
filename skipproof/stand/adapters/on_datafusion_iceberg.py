"""The adapter of DataFusion over Iceberg tables that PyIceberg writes."""

from __future__ import annotations

import sys

import pyarrow as pa
from datafusion import SessionContext

from .iceberg_tables import IcebergTables
from .on_datafusion import OnDataFusion
from .table_formats import TablesReader


class OnDataFusionIceberg(TablesReader):
    """Reads a table by the table provider of pyiceberg-core."""

    def __init__(self) -> None:
        super().__init__(OnDataFusion(), IcebergTables(), kept=("datafusion.",), settings={})
        self._check_provider()

    def open(self, name: str, settings: dict[str, str]) -> str:
        """Return text that registers a table."""
        return f"ctx.register_table({name!r}, tables[{name!r}])\n"

    def _check_provider(self) -> None:
        """End with one sentence if this DataFusion does not take the provider of this pyiceberg-core."""
        columns = [{"name": "a", "type": "int64"}]
        text, names = self.table_format.creation({"t": {"columns": columns, "blocks": [[[1]]]}})
        exec(text, names)
        try:
            SessionContext().register_table("t", names["tables"]["t"])
        except (AttributeError, ImportError, TypeError, ValueError, pa.ArrowException) as error:
            sys.exit(f"DataFusion does not take the table provider of pyiceberg-core: {error}")


ADAPTER = OnDataFusionIceberg
