"""The adapter of DuckDB over Delta tables that delta-rs writes."""

from __future__ import annotations

from .delta_tables import DeltaTables
from .duckdb_extensions import load_text
from .on_duckdb import OnDuckDB
from .table_formats import TablesReader


class OnDuckDBDelta(TablesReader):
    """Reads a table by DuckDB's extension, if it is installed, or by pyarrow's dataset."""

    def __init__(self) -> None:
        self._load = load_text("delta")
        through = {"through": ["dataset"] if self._load is None else ["extension", "dataset"]}
        super().__init__(OnDuckDB(), DeltaTables(), kept=("",), settings=through)

    def start(self) -> str:
        """Return text that opens a connection and loads the extension."""
        return super().start() + (self._load or "")

    def open(self, name: str, settings: dict[str, str]) -> str:
        """Return text that makes a view of a table."""
        if settings["through"] == "dataset":
            # A registered name is before the names of every schema, also in later requests.
            view = f"CREATE VIEW {name} AS SELECT * FROM dataset_of_{name}"
            registered = f"con.register('dataset_of_{name}', tables[{name!r}].to_pyarrow_dataset())\n"
            return f"{registered}con.execute({view!r})\n"
        scan = f"CREATE VIEW {name} AS SELECT * FROM delta_scan('"
        return f'con.execute({scan!r} + str(tables[{name!r}].table_uri) + "\')")\n'


ADAPTER = OnDuckDBDelta
