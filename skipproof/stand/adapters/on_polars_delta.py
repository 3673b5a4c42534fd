"""The adapter of Polars over Delta tables that delta-rs writes."""

from __future__ import annotations

from .delta_tables import DeltaTables
from .on_polars import OnPolars
from .table_formats import TablesReader


class OnPolarsDelta(TablesReader):
    """Scans a table natively, or by pyarrow's dataset."""

    def __init__(self) -> None:
        scans = {"use_pyarrow": ["false", "true"]}
        super().__init__(OnPolars(), DeltaTables(), kept=("streaming",), settings=scans)

    def open(self, name: str, settings: dict[str, str]) -> str:
        """Return text that makes a lazy frame of a table."""
        by_pyarrow = ", use_pyarrow=True" if settings["use_pyarrow"] == "true" else ""
        return f"{name} = pl.scan_delta(str(tables[{name!r}].table_uri){by_pyarrow})\n"


ADAPTER = OnPolarsDelta
