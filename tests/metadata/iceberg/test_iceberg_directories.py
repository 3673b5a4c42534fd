"""Iceberg tables in directories without a catalog."""

import gzip
import os
from pathlib import Path
from typing import Any

import pytest
from hadoop_lake import make_hadoop_table
from iceberg_lake import PATIENT, IcebergLake, change_of, data_files, rows_of, write_file
from pyiceberg.table import StaticTable

from mutants.metadata.iceberg_commits import DIRECTORY_MUTANTS
from pruning.errors import InputError
from pruning.metadata.files import object_stores
from pruning.metadata.iceberg.commits import hadoop_tables
from pruning.metadata.iceberg.commits.changes import NewDataFile
from pruning.metadata.iceberg.commits.committing import commit_change
from pruning.metadata.iceberg.commits.hadoop_tables import open_hadoop_table


def _append(table: Any, *rows: tuple[int, str]) -> Any:
    return commit_change(
        table, change_of(table, added_files=(NewDataFile(path=write_file(table, list(rows))),))
    )


@pytest.mark.parametrize("scheme", ["", "file:", "file://"])
def test_a_directory_gets_its_next_versions(tmp_path: Path, scheme: str) -> None:
    """Whatever the metadata calls the table's place."""
    directory = make_hadoop_table(tmp_path, scheme)
    table = open_hadoop_table(f"{scheme}{directory}")
    assert table.location() == f"{scheme}{directory}"
    _append(table, (1, "a"), (2, "b"))
    table = open_hadoop_table(directory)
    [path] = [task.file.file_path for task in table.scan().plan_files()]
    committed = commit_change(table, change_of(table, deleted_positions={path: [0]}))
    assert committed.metadata_location == f"{directory}/metadata/v3.metadata.json"
    assert rows_of(open_hadoop_table(directory)) == [(2, "b")]
    assert Path(directory, "metadata", "version-hint.text").read_text() == "3"
    assert not [
        name for name in os.listdir(f"{directory}/metadata") if name.startswith(object_stores.TEMPORARY)
    ]


def test_metadata_is_compressed_if_the_table_says_so(tmp_path: Path) -> None:
    codec = {"write.metadata.compression-codec": "gzip"}
    directory = make_hadoop_table(tmp_path, **codec)
    committed = _append(open_hadoop_table(directory), (1, "a"))
    assert committed.metadata_location.endswith("/v2.gz.metadata.json")
    assert gzip.decompress(Path(committed.metadata_location).read_bytes()).startswith(b"{")
    assert rows_of(open_hadoop_table(directory)) == [(1, "a")]


def _check_race(directory: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commit while another writer writes the next version after it was seen to be free."""
    create = hadoop_tables._create

    def create_late(path: str, data: bytes) -> None:
        monkeypatch.setattr(hadoop_tables, "_create", create)
        _append(open_hadoop_table(directory), (1, "a"))
        create(path, data)

    monkeypatch.setattr(hadoop_tables, "_create", create_late)
    table = open_hadoop_table(directory)
    path = write_file(table, [(2, "b")])
    change = change_of(table, added_files=(NewDataFile(path=path),), may_match=lambda files: False)
    committed = commit_change(table, change)
    assert len(committed.passed) == 1
    table = open_hadoop_table(directory)
    assert rows_of(table) == [(1, "a"), (2, "b")]
    # The manifests of the lost attempt are gone.
    listed = {manifest.manifest_path for s in table.snapshots() for manifest in s.manifests(table.io)}
    written = {path.name for path in Path(directory).rglob("*-m*.avro")}
    assert written == {os.path.basename(path) for path in listed}


def test_a_version_of_another_writer_is_never_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _check_race(make_hadoop_table(tmp_path, **PATIENT), monkeypatch)


@pytest.mark.parametrize("name", DIRECTORY_MUTANTS)
def test_mutants_replace_a_version(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*DIRECTORY_MUTANTS[name])
    with pytest.raises(AssertionError):
        _check_race(make_hadoop_table(tmp_path, **PATIENT), monkeypatch)


def test_a_directory_of_a_catalog_is_refused(tmp_path: Path) -> None:
    table = IcebergLake(tmp_path).create([(1, "a")])
    with pytest.raises(
        InputError, match=r"a catalog keeps the versions .* pass the table that PyIceberg loads"
    ):
        open_hadoop_table(table.location())
    assert len(table.metadata.snapshots) == 1


def test_a_table_of_a_metadata_file_alone_is_refused(tmp_path: Path) -> None:
    table = IcebergLake(tmp_path).create([(1, "a")])
    static = StaticTable.from_metadata(table.metadata_location)
    [path] = data_files(static).values()
    with pytest.raises(InputError, match="cannot be replaced; load it from its catalog"):
        commit_change(static, change_of(static, deleted_positions={path: [0]}))


def test_a_directory_without_a_table_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no table of Apache Iceberg"):
        open_hadoop_table(str(tmp_path))


def test_two_files_of_one_version_are_refused(tmp_path: Path) -> None:
    directory = make_hadoop_table(tmp_path)
    folder = Path(directory, "metadata")
    (folder / "v1.gz.metadata.json").write_bytes(gzip.compress((folder / "v1.metadata.json").read_bytes()))
    with pytest.raises(InputError, match="two writers may have committed at once"):
        open_hadoop_table(directory)


def test_a_file_system_that_replaces_files_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(object_stores, "_REFUSING_SCHEMES", frozenset())
    with pytest.raises(InputError, match="cannot refuse to replace a file"):
        hadoop_tables._create("memory://lake/t/metadata/v2.metadata.json", b"{}")


def test_an_object_is_created_once() -> None:
    hadoop_tables._create("memory://iceberg/t/metadata/v2.metadata.json", b"first")
    with pytest.raises(FileExistsError):
        hadoop_tables._create("memory://iceberg/t/metadata/v2.metadata.json", b"second")
