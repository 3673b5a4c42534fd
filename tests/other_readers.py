"""Tables in Delta Lake and Iceberg, as Polars reads them."""

from pathlib import Path
from typing import Any

import polars
from pyiceberg.catalog.sql import SqlCatalog


def read_delta(place: Path) -> Any:
    """The rows of a table of Delta Lake."""
    return polars.scan_delta(str(place)).collect()


def read_iceberg(place: Path) -> Any:
    """The rows of a table of Iceberg, in a catalog at its place."""
    catalog = SqlCatalog("skipproof", uri=f"sqlite:///{place}/catalog.db", warehouse=f"file://{place}")
    return polars.scan_iceberg(catalog.load_table("skipproof.rows")).collect()


READERS = {"delta": read_delta, "iceberg": read_iceberg}
