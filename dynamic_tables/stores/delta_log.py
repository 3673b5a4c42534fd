"""Versions of a table in Delta Lake: each is one commit of the format.

The live files of a version are those that the format names. What it has no words for (the number of the
version, the files of changed rows, the frontier) is in the commit's information, under "skipproof".

Source: the transaction log protocol of Delta Lake (PROTOCOL.md), sections "Delta Log Entries" and "Actions".
"""

import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from dynamic_tables.storage.versions import NoVersion
from dynamic_tables.stores.arrow_rows import arrow_schema
from dynamic_tables.stores.manifests import DataFile, Manifest, from_json, to_json
from dynamic_tables.stores.version_logs import DATA, SUFFIX, VersionExists, VersionLog, numbered_files
from pruning.errors import InputError
from pruning.metadata.delta.commits import (
    DeltaCommit,
    LostRace,
    commit_bytes,
    current_ms,
    read_entry,
    write_version,
)
from pruning.metadata.delta.file_keys import file_key
from pruning.metadata.delta.log_actions import (
    AddedFile,
    DeltaMetadata,
    LogEntry,
    RemovedFile,
    TableProtocol,
    TransactionId,
)
from pruning.metadata.delta.writer_protocol import RowChange, check_writable, has_commit_times

FOLDER = "_delta_log"
APP = "skipproof"
VERSION, FRONTIER = "version", "frontier"
# Readers start from a checkpoint, of which one is written after so many commits.
COMMITS_OF_CHECKPOINT = 50
ALL_CHANGES = RowChange.INSERT | RowChange.DELETE | RowChange.UPDATE
NO_METADATA = DeltaMetadata(fields={"schemaString": '{"fields": []}'})
# Timestamps without time zone are a feature that a table has to name.
FEATURES = frozenset({"timestampNtz"})
PROTOCOL = TableProtocol(
    reader_version=3, writer_version=7, reader_features=FEATURES, writer_features=FEATURES
)
COMMON: Mapping[str, Any] = {
    "format": {"provider": "parquet", "options": {}},
    "partitionColumns": [],
    "configuration": {},
}


class DeltaLog(VersionLog):
    """The log of a table of Delta Lake.

    Commits of other programs are passed over where they leave files, deleted rows and columns as they are;
    others are refused.
    """

    keeps_deletions = False

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self.numbers_by_commit: dict[int, int | None] = {}

    @property
    def folder(self) -> Path:
        """The folder of the commits."""
        return self.directory / FOLDER

    def path(self, commit: int) -> Path:
        """Return the path of a commit."""
        return self.folder / f"{commit:020}{SUFFIX}"

    def exists(self) -> bool:
        """Tell whether the directory has commits."""
        return self.folder.is_dir() and bool(numbered_files(self.folder))

    def create(self, manifest: Manifest) -> None:
        """Write the first commit."""
        self.folder.mkdir(parents=True, exist_ok=True)
        description = {"id": str(uuid.uuid4()), "createdTime": current_ms(), **COMMON}
        self.write(0, manifest, metadata=with_schema(description, manifest))

    # Reading

    def numbers(self) -> list[int]:
        """Return the numbers of the versions whose commits are there, in order."""
        numbers = (self.number_of(commit) for commit in numbered_files(self.folder))
        return [number for number in numbers if number is not None]

    def newest_number(self) -> int:
        """Return the number of the newest version.

        Raises:
            InputError: Another program changed the table after it.
        """
        commits = numbered_files(self.folder)
        for commit in reversed(commits):
            number = self.number_of(commit)
            if number is not None:
                self.check_others(commit, commits[-1])
                return number
        raise InputError(f"{self.directory} has no commit of a warehouse: restore its folder {FOLDER}")

    def check_others(self, commit: int, last: int) -> None:
        """Raise InputError if commits of others leave other files, deleted rows, columns or demands."""
        if commit == last:
            return
        entries = [self.entry(other) for other in range(commit + 1, last + 1)]
        before = {(file_key(path), "") for path in self.live_files(commit)}
        after = set(before)
        for entry in entries:
            after -= {(file_key(file.path), file.vector_id or "") for file in entry.removed}
            after |= {(file_key(file.path), file.vector_id or "") for file in entry.added}
        metadata = next((entry.metadata for entry in reversed(entries) if entry.metadata is not None), None)
        protocol = next(
            (entry.protocol for entry in reversed(entries) if entry.protocol is not None), PROTOCOL
        )
        if after != before or (
            metadata is not None and (metadata.schema != self.schema_at(commit) or has_commit_times(metadata))
        ):
            raise InputError(
                f"{self.directory}: another program changed the table after its commit {commit}: restore "
                "that commit, and write such tables by statements of the warehouse only"
            )
        check_writable(str(self.directory), protocol, metadata or NO_METADATA, ALL_CHANGES)

    def schema_at(self, commit: int) -> Mapping[str, Any]:
        """Return the schema of the table after a commit, as the log has it."""
        from deltalake import DeltaTable

        schema: Mapping[str, Any] = json.loads(
            DeltaTable(str(self.directory), version=commit).schema().to_json()
        )
        return schema

    def number_of(self, commit: int) -> int | None:
        """Return the number of the version that a commit is; None of a commit of another program."""
        if commit not in self.numbers_by_commit:
            text = self.information(commit).get(VERSION)
            self.numbers_by_commit[commit] = None if text is None else json.loads(text)["number"]
        return self.numbers_by_commit[commit]

    def information(self, commit: int) -> Mapping[str, Any]:
        """Return what a commit says of a version; nothing of a commit of another program."""
        information: Mapping[str, Any] = self.entry(commit).commit_info.get(APP, {})
        return information

    def entry(self, commit: int) -> LogEntry:
        """Return the actions of a commit.

        Raises:
            NoVersion: There is no such commit.
            InputError: It is damaged.
        """
        entry = read_entry(str(self.directory), commit)
        if entry is None:
            raise NoVersion(f"there is no commit {commit} in {self.folder}")
        return entry

    def commit_of(self, number: int) -> int:
        """Return the commit that is a version.

        Raises:
            NoVersion: There is none.
        """
        for commit in numbered_files(self.folder):
            if self.number_of(commit) == number:
                return commit
        raise NoVersion(f"there is no version {number} in {self.folder}")

    def live_files(self, commit: int) -> dict[str, int]:
        """Return the live files after a commit, by path below the table, with the numbers of their rows."""
        from deltalake import DeltaTable

        actions = pa.table(DeltaTable(str(self.directory), version=commit).get_add_actions(flatten=True))
        return dict(zip(actions["path"].to_pylist(), actions["num_records"].to_pylist(), strict=True))

    def load(self, number: int) -> Manifest:
        """Read a version."""
        commit = self.commit_of(number)
        information = self.information(commit)
        manifest = from_json(information[VERSION], str(self.path(commit)))
        files = sorted(self.live_files(commit).items())
        data = tuple(DataFile(path.removeprefix(f"{DATA}/"), rows) for path, rows in files)
        return replace(manifest, data=data, frontier=information[FRONTIER])

    # Writing

    def add(self, manifest: Manifest, parent: Manifest) -> None:
        """Write the commit that leads from one version to another."""
        commit = numbered_files(self.folder)[-1] + 1
        if self.newest_number() != parent.number:
            raise VersionExists(f"version {manifest.number} exists")
        metadata = None
        if manifest.columns != self.read(parent.number).columns:
            metadata = with_schema(self.description(), manifest)
        self.write(commit, manifest, parent, metadata)
        self.manifests[manifest.number] = manifest
        if commit % COMMITS_OF_CHECKPOINT == 0:
            self.write_checkpoint(commit)

    def write(
        self,
        commit: int,
        manifest: Manifest,
        parent: Manifest | None = None,
        metadata: DeltaMetadata | None = None,
    ) -> None:
        """Write a commit.

        Args:
            commit: Its number.
            manifest: The version that it is.
            parent: The version before.
            metadata: A new description of the table.

        Raises:
            VersionExists: Another writer has written it.
        """
        at_ms = manifest.committed.physical_us // 1000
        before = () if parent is None else parent.data
        old, new = set(before), set(manifest.data)
        changes = parent is not None and (
            manifest.changed_count != parent.changed_count or manifest.overwritten
        )
        delta_commit = DeltaCommit(
            operation=operation_of(parent, metadata, changes_rows=changes),
            change=ALL_CHANGES if changes else RowChange.NONE,
            read_version=commit - 1,
            properties={
                VERSION: to_json(replace(manifest, data=(), frontier=None)),
                FRONTIER: manifest.frontier,
            },
            added=tuple(self.addition(file, at_ms, changes) for file in manifest.data if file not in old),
            removed=tuple(removal(file, at_ms, changes) for file in before if file not in new),
            transactions=(TransactionId(application=APP, number=manifest.number, updated_ms=at_ms),),
            protocol=PROTOCOL if parent is None else None,
            metadata=metadata,
        )
        content = commit_bytes(
            delta_commit, now_ms=at_ms, isolation="Serializable", is_blind_append=False, commit_time_ms=None
        )
        try:
            write_version(str(self.directory), commit, content)
        except LostRace:
            raise VersionExists(f"version {manifest.number} exists") from None

    def addition(self, file: DataFile, at_ms: int, changes_rows: bool) -> AddedFile:
        """Return the action that adds a file."""
        return AddedFile(
            path=f"{DATA}/{file.name}",
            partition_values={},
            size_bytes=(self.directory / DATA / file.name).stat().st_size,
            modified_ms=at_ms,
            data_change=changes_rows,
            statistics=json.dumps({"numRecords": file.rows}),
        )

    def description(self) -> Mapping[str, Any]:
        """Return the description of the table as it is now."""
        from deltalake import DeltaTable

        metadata = DeltaTable(str(self.directory)).metadata()
        present = {"id": metadata.id, "createdTime": metadata.created_time}
        return {**COMMON, **present, "configuration": metadata.configuration}

    def write_checkpoint(self, commit: int) -> None:
        """Write a checkpoint of the table after a commit."""
        from deltalake import DeltaTable

        DeltaTable(str(self.directory), version=commit).create_checkpoint()

    def discard(self, first: int) -> None:
        """Remove the commits before a version, which a checkpoint describes from then on."""
        oldest = self.commit_of(first)
        earlier = [commit for commit in numbered_files(self.folder) if commit < oldest]
        self.write_checkpoint(oldest)
        for commit in earlier:
            os.unlink(self.path(commit))
            self.numbers_by_commit.pop(commit, None)
        self.manifests = {number: kept for number, kept in self.manifests.items() if number >= first}


def operation_of(parent: Manifest | None, metadata: DeltaMetadata | None, *, changes_rows: bool) -> str:
    """Return the name of an operation in the history of a table."""
    if parent is None:
        return "CREATE TABLE"
    return "WRITE" if changes_rows else "OPTIMIZE" if metadata is None else "CHANGE COLUMNS"


def removal(file: DataFile, at_ms: int, changes_rows: bool) -> RemovedFile:
    """Return the action that removes a file."""
    return RemovedFile(
        path=f"{DATA}/{file.name}",
        removed_ms=at_ms,
        partition_values={},
        size_bytes=None,
        data_change=changes_rows,
    )


def with_schema(description: Mapping[str, Any], manifest: Manifest) -> DeltaMetadata:
    """Return the description of a table with the columns of a version."""
    from deltalake import Schema

    schema = Schema.from_arrow(arrow_schema(manifest.columns)).to_json()
    return DeltaMetadata(fields={**description, "schemaString": schema})
