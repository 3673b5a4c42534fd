"""The adapter of DataFusion over Delta tables that delta-rs writes."""

from __future__ import annotations

import tempfile

import deltalake
import pyarrow as pa
from datafusion import SessionContext

from .delta_tables import DeltaTables
from .on_datafusion import OnDataFusion
from .table_formats import TablesReader


class OnDataFusionDelta(TablesReader):
    """Reads a table by delta-rs's own table provider, or by pyarrow's dataset."""

    def __init__(self) -> None:
        through = {"through": ["provider", "dataset"] if _has_provider() else ["dataset"]}
        super().__init__(OnDataFusion(), DeltaTables(), kept=("datafusion.",), settings=through)

    def open(self, name: str, settings: dict[str, str]) -> str:
        """Return text that registers a table."""
        if settings["through"] == "provider":
            return f"ctx.register_table({name!r}, tables[{name!r}])\n"
        return f"ctx.register_dataset({name!r}, tables[{name!r}].to_pyarrow_dataset())\n"


def _has_provider() -> bool:
    """Tell whether this DataFusion takes the provider of this delta-rs; both contain one version if so."""
    with tempfile.TemporaryDirectory() as directory:
        deltalake.write_deltalake(directory, pa.table({"a": [1]}))
        try:
            SessionContext().register_table("t", deltalake.DeltaTable(directory))
        except Exception:  # Releases raise different errors for a provider that they do not know.
            return False
    return True


ADAPTER = OnDataFusionDelta
