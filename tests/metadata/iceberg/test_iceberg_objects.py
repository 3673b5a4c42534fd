"""Iceberg tables without a catalog in an object store, which refuses a second object of one name."""

import uuid
from collections.abc import Iterator
from typing import Any

import fsspec
import pyarrow.parquet as pq
import pytest
from hadoop_lake import first_metadata
from iceberg_lake import PATIENT, arrow_rows, change_of, rows_of
from pyarrow import fs

from pruning.metadata.iceberg.commits import hadoop_tables
from pruning.metadata.iceberg.commits.changes import NewDataFile
from pruning.metadata.iceberg.commits.committing import commit_change
from pruning.metadata.iceberg.commits.hadoop_tables import open_hadoop_table
from tools.counting_stores import s3_store

DIRECTORY = "s3://tables/db/t"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The file system of a bucket with a table without snapshots."""
    fsspec.get_filesystem_class("s3").clear_instance_cache()
    with s3_store("tables") as store:
        port = store.query.partition("127.0.0.1:")[2].partition("&")[0]
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}")
        for variable in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            monkeypatch.setenv(variable, "any")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        system, _ = fs.FileSystem.from_uri(store.root + store.query)
        with system.open_output_stream("tables/db/t/metadata/v1.metadata.json") as stream:
            stream.write(first_metadata(DIRECTORY, **PATIENT))
        yield system
    fsspec.get_filesystem_class("s3").clear_instance_cache()


def _append(system: Any, *rows: tuple[int, str]) -> Any:
    table = open_hadoop_table(DIRECTORY)
    name = f"db/t/data/{uuid.uuid4()}.parquet"
    pq.write_table(arrow_rows(table, list(rows)), f"tables/{name}", filesystem=system)
    added = (NewDataFile(path=f"s3://tables/{name}"),)
    return commit_change(table, change_of(table, added_files=added, may_match=lambda files: False))


def test_a_version_of_another_writer_is_never_replaced_in_a_store(
    bucket: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows are added, deleted by position, and added between the steps of another commit."""
    _append(bucket, (1, "a"), (2, "b"))
    create = hadoop_tables._create

    def create_late(path: str, data: bytes) -> None:
        monkeypatch.setattr(hadoop_tables, "_create", create)
        _append(bucket, (3, "c"))
        create(path, data)

    monkeypatch.setattr(hadoop_tables, "_create", create_late)
    table = open_hadoop_table(DIRECTORY)
    [task] = table.scan().plan_files()
    change = change_of(table, deleted_positions={task.file.file_path: [0]}, may_match=lambda files: False)
    committed = commit_change(table, change)
    assert committed.metadata_location == f"{DIRECTORY}/metadata/v4.metadata.json"
    assert len(committed.passed) == 1
    assert rows_of(open_hadoop_table(DIRECTORY)) == [(2, "b"), (3, "c")]
