"""The adapter of Polars over Iceberg tables that PyIceberg writes."""

from __future__ import annotations

import inspect

import polars as pl

from .iceberg_tables import IcebergTables
from .on_polars import OnPolars
from .table_formats import TablesReader

# The switches of a scan with their values, the default first; earlier versions lack some.
_SWITCHES = {
    "reader_override": ["None", "'native'", "'pyiceberg'"],
    "use_metadata_statistics": ["True", "False"],
    "use_pyiceberg_filter": ["True", "False"],
}


class OnPolarsIceberg(TablesReader):
    """Scans a table natively, or through PyIceberg."""

    def __init__(self) -> None:
        parameters = inspect.signature(pl.scan_iceberg).parameters
        switches = {name: values for name, values in _SWITCHES.items() if name in parameters}
        super().__init__(OnPolars(), IcebergTables(), kept=("streaming",), settings=switches)

    def open(self, name: str, settings: dict[str, str]) -> str:
        """Return text that makes a lazy frame of a table."""
        arguments = "".join(f", {switch}={settings[switch]}" for switch in self._settings)
        return f"{name} = pl.scan_iceberg(tables[{name!r}]{arguments})\n"


ADAPTER = OnPolarsIceberg
