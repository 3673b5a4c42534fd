"""Fixtures that tests of stores share: tables whose metadata is kept in an object store."""

import time
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from kept_objects import FILES, ROOT, write, write_object
from lake_world import forget
from pyarrow import fs

from pruning.metadata.files import places
from pruning.metadata.files.places import Place
from tools.counting_stores import Store, s3_store


@pytest.fixture
def kept_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A table beside which nothing may be written; its metadata is kept in memory."""
    monkeypatch.setenv(places.ENVIRONMENT, ROOT)
    monkeypatch.setattr(Place, "is_writable", lambda place: not place.is_beside_data)
    for number in range(FILES):
        write(tmp_path / f"t/{number}.parquet", number)
    yield tmp_path / "t"
    forget()
    MemoryFileSystem.store.clear()
    MemoryFileSystem.pseudo_dirs[:] = [""]


@pytest.fixture(scope="module")
def metadata_bucket() -> Iterator[Store]:
    # File systems that earlier tests have made ask another server.
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    with s3_store("lakes") as store:
        yield store


@pytest.fixture
def kept_lake(metadata_bucket: Store, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A bucket with a table `t`; metadata is kept in it, too. Files count as written ten seconds ago."""
    system, name = fs.FileSystem.from_uri(metadata_bucket.root + metadata_bucket.query)
    system.delete_dir_contents(name, accept_root_dir=True)
    port = metadata_bucket.query.partition("127.0.0.1:")[2].partition("&")[0]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
    for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(variable, "any")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    monkeypatch.setenv(places.ENVIRONMENT, "s3://lakes/kept")
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + 10 * 10**9)
    for number in range(FILES):
        write_object(metadata_bucket, f"t/{number}.parquet", number)
    return metadata_bucket
