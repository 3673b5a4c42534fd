"""Metadata that is kept in an object store: what tests do with its objects."""

from datetime import timedelta
from pathlib import Path

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec.implementations.memory import MemoryFileSystem
from lake_world import HOUR_SECONDS, forget
from pyarrow import fs

from pruning.metadata.files.listing import list_files
from pruning.metadata.store.log import Version
from pruning.metadata.store.store import open_store
from tools.counting_stores import Request, Store, operations

FILES = 3
ROOT = "memory://metadata/kept"


class Plain(MemoryFileSystem):
    """A file system that knows no condition, as most of fsspec's: it looks first, and then writes."""

    protocol = "plain"

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return super()._strip_protocol(path.removeprefix("plain://"))


fsspec.register_implementation("plain", Plain, clobber=True)


def write(path: Path, value: int) -> None:
    path.parent.mkdir(exist_ok=True)
    pq.write_table(pa.table({"x": [value]}), path)


def kept_paths(ending: str = "") -> list[str]:
    return sorted(path for path in MemoryFileSystem.store if path.endswith(ending))


def minima(table: pa.Table) -> list[int]:
    return [block["x"]["min"] for block in table["columns"].to_pylist()]


def newest(table: Path) -> Version:
    return open_store(list_files(table)).version


def cut(path: str) -> None:
    MemoryFileSystem().pipe_file(path, MemoryFileSystem().cat_file(path)[:-1])
    forget()


def make_older(paths: list[str]) -> None:
    for path in paths:
        MemoryFileSystem.store[path].created -= timedelta(seconds=HOUR_SECONDS)


def write_object(bucket: Store, path: str, value: int) -> None:
    system, name = fs.FileSystem.from_uri(bucket.uri(path))
    with system.open_output_stream(name) as file:
        pq.write_table(pa.table({"x": [value]}), file)
    bucket.take()


def counts(lake: Store) -> dict[str, int]:
    return operations([request for request in lake.take() if not _is_data(request)])


def _is_data(request: Request) -> bool:
    return request.path.startswith("/lakes/t/")
