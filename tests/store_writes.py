"""The calls by which a table of each format changes files."""

import builtins
import os
from collections.abc import Sequence
from typing import Any

import pyarrow.parquet as pq
import pytest

from dynamic_tables.stores.formats import LOGS, PACKAGES
from dynamic_tables.stores.version_logs import VersionLog

FILE_WRITES = [(os, "fsync"), (os, "link"), (pq, "write_table")]


def log_in_tests(format: str) -> type[VersionLog]:
    """The log of a format, if its package is installed."""
    if format in PACKAGES:
        pytest.importorskip(PACKAGES[format])
    return LOGS[format]


def writes_of(format: str) -> Sequence[tuple[Any, str]]:
    """The calls that change files, and what a format has of its own."""
    if format == "iceberg":
        catalog = pytest.importorskip("pyiceberg.catalog.sql").SqlCatalog
        output = pytest.importorskip("pyiceberg.io.pyarrow").PyArrowFile
        return [*FILE_WRITES, (catalog, "create_table"), (catalog, "commit_table"), (output, "create")]
    return FILE_WRITES


def all_writes_of(format: str) -> Sequence[tuple[Any, str]]:
    """The same, and whatever opens or removes a file."""
    return [*writes_of(format), (builtins, "open"), (os, "unlink")]
