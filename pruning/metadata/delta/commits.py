"""Commits to a Delta Lake table: what a version changes, and the file of the log that makes it one.

A version is a file that is created whole or not at all, and only if no other writer has created it
(`created_files`). So a crash leaves the version before or this one; files that no version names may be left.
Checkpoints are not written: readers then read more files of the log, and other engines may write them.
"""

import importlib.metadata
import json
import re
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pruning.errors import InputError
from pruning.metadata.delta.created_files import UncertainWrite, create_file, read_whole
from pruning.metadata.delta.file_keys import file_key
from pruning.metadata.delta.log_actions import (
    AddedFile,
    DeltaMetadata,
    LogEntry,
    RemovedFile,
    TableProtocol,
    TransactionId,
    entry_bytes,
    json_text,
    parse_entry,
)
from pruning.metadata.delta.writer_protocol import RowChange
from pruning.metadata.files.object_stores import files_at, reason

LOG = "_delta_log"
# The names of versions and of checkpoints of them.
_NUMBERED = re.compile(r"(\d{20})(?:\.json|\.checkpoint\..*parquet|\.checkpoint\..*json)")
_COMMIT_TIME = "inCommitTimestamp"
_REMOVING = RowChange.DELETE | RowChange.UPDATE


class LostRace(Exception):
    """Another writer has written a version first; nothing was changed.

    Attributes:
        version: The number of its version.
    """

    def __init__(self, version: int) -> None:
        super().__init__(f"version {version} was written by another writer")
        self.version = version


class UncertainCommit(InputError):
    """A version may or may not have been written; the message tells how to find out."""


@dataclass(frozen=True, kw_only=True)
class DeltaCommit:
    """The changes that make one version.

    Attributes:
        operation: Its name in the table's history, as "DELETE".
        change: What it does to the table's rows. Of actions with `data_change`, removals delete or update
            rows, and no action only moves rows.
        read_version: The version of the table that it was made from.
        parameters: What the history tells of the operation, as the texts of Delta's own writers: "predicate"
            is a JSON array of conditions in SQL.
        metrics: Counts that the history tells, as texts.
        properties: What this package notes beside that; the history tells it under "skipproof".
        added: Files, each at most once.
        removed: Files, each at most once. One that is also added has another deletion vector there.
        transactions: How far applications have come, each at most once.
        protocol: The table's new protocol, if it changes.
        metadata: The table's new metadata, if it changes.
        checked_conditions: The conditions of `writer_protocol.row_conditions` that hold for each new row.
        identity: Distinguishes this commit from every other.
    Raises:
        InputError: a file or an application is twice, `change` says less than the actions do, or a file with
            deleted rows has no count of its rows.
    """

    operation: str
    change: RowChange
    read_version: int
    parameters: Mapping[str, str] = field(default_factory=dict)
    metrics: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, Any] = field(default_factory=dict)
    added: tuple[AddedFile, ...] = ()
    removed: tuple[RemovedFile, ...] = ()
    transactions: tuple[TransactionId, ...] = ()
    protocol: TableProtocol | None = None
    metadata: DeltaMetadata | None = None
    checked_conditions: frozenset[str] = frozenset()
    identity: str = field(default_factory=lambda: str(uuid.uuid4()))

    def __post_init__(self) -> None:
        added = {file_key(file.path): file for file in self.added}
        removed = {file_key(file.path): file for file in self.removed}
        applications = {transaction.application for transaction in self.transactions}
        sizes = (len(added), len(removed), len(applications))
        if sizes != (len(self.added), len(self.removed), len(self.transactions)):
            raise InputError(f"{self.operation}: one commit has two actions of a file or of an application")
        for key in added.keys() & removed.keys():
            if added[key].vector_id == removed[key].vector_id:
                raise InputError(f"{self.operation}: one commit removes {key} and adds it as it was")
        removes = any(file.data_change for file in self.removed)
        adds = any(file.data_change for file in self.added)
        if (removes and not self.change & _REMOVING) or (adds and not self.change):
            raise InputError(f"{self.operation}: its actions change rows in other ways than {self.change}")
        for file in self.added:
            if file.vector is not None and not _has_row_count(file):
                raise InputError(
                    f"{self.operation}: {file.path} has deleted rows, and its statistics do not say how many "
                    "rows it has"
                )


def _has_row_count(file: AddedFile) -> bool:
    try:
        statistics = json.loads(file.statistics or "{}")
    except ValueError:
        return False
    return isinstance(statistics, dict) and type(statistics.get("numRecords")) is int


def commit_bytes(
    commit: DeltaCommit, *, now_ms: int, isolation: str, is_blind_append: bool, commit_time_ms: int | None
) -> bytes:
    """Return the content of the file that makes a commit a version.

    Args:
        commit: What it changes.
        now_ms: The time, ms since 1970.
        isolation: The name of the isolation level.
        is_blind_append: True if it only adds files, and nothing of the table was read for it.
        commit_time_ms: The time that the table keeps in its log; None if it keeps none.
    """
    info: dict[str, Any] = {
        "timestamp": now_ms,
        **({} if commit_time_ms is None else {_COMMIT_TIME: commit_time_ms}),
        "operation": commit.operation,
        "operationParameters": dict(commit.parameters),
        "readVersion": commit.read_version,
        "isolationLevel": isolation,
        "isBlindAppend": is_blind_append,
        "operationMetrics": dict(commit.metrics),
        "engineInfo": _engine(),
        "txnId": commit.identity,
        **({"skipproof": dict(commit.properties)} if commit.properties else {}),
    }
    updates = [commit.protocol, commit.metadata, *commit.transactions, *commit.removed, *commit.added]
    actions = [update.to_json() for update in updates if update is not None]
    # The protocol of tables that keep times wants this action first.
    return entry_bytes([{"commitInfo": info}, *actions])


def _engine() -> str:
    """Return the name of this package with its version, if it is installed and not only on the path."""
    try:
        return f"skipproof/{importlib.metadata.version('skipproof')}"
    except importlib.metadata.PackageNotFoundError:
        return "skipproof"


def predicate_parameter(*conditions: str) -> str:
    """Return the value of the parameter "predicate" for the conditions of an operation."""
    return json_text(list(conditions))


def write_version(root: str, version: int, content: bytes) -> None:
    """Create the file of a version, whole or not at all.

    Args:
        root: The table's directory, from `created_files.root_of`.
        version: One more than the newest version, as `newest_version` has just said. The files of versions
            long ago may have been deleted, so that their names are free.
        content: From `commit_bytes`.
    Raises:
        LostRace: another writer has created it.
        UncertainCommit: it may have been created.
        InputError: it cannot be written.
    """
    path = entry_path(root, version)
    try:
        create_file(path, content)
    except FileExistsError as error:
        raise LostRace(version) from error
    except UncertainWrite as error:
        raise UncertainCommit(
            f"{path}: it may have been written before the file system failed ({reason(error)}); look whether "
            "it is there, and has the txnId of this commit, before the change is made again"
        ) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({reason(error)}); the table was not changed") from error


def entry_path(root: str, version: int) -> str:
    """Return the path of the file of a version."""
    return f"{root}/{LOG}/{version:020}.json"


def newest_version(root: str) -> int:
    """Return the number of a table's newest version.

    Raises:
        InputError: the log cannot be listed, or there is none.
    """
    try:
        names = list(files_at(root).entries(root, LOG))
    except OSError as error:
        raise InputError(f"{root}/{LOG}: cannot be listed ({reason(error)})") from error
    versions = [int(match[1]) for name in names if (match := _NUMBERED.fullmatch(name))]
    if not versions:
        raise InputError(f"{root}/{LOG}: there is no log of a Delta Lake table; name the table's directory")
    return max(versions)


def read_entry(root: str, version: int) -> LogEntry | None:
    """Return the actions of a version; None if its file is not there, or no longer.

    Raises:
        InputError: the file cannot be read, or is damaged.
    """
    path = entry_path(root, version)
    try:
        return parse_entry(version, read_whole(path))
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({reason(error)})") from error


def commit_time_after(root: str, version: int) -> int:
    """Return the time for the version after this one, of a table that keeps times: later than this one's.

    Raises:
        InputError: the version has none.
    """
    entry = read_entry(root, version)
    before = None if entry is None else entry.commit_info.get(_COMMIT_TIME)
    if type(before) is not int:
        raise InputError(
            f"{entry_path(root, version)}: it has no {_COMMIT_TIME}, which the next version must exceed; "
            "write to the table with another engine"
        )
    return max(current_ms(), before + 1)


def current_ms() -> int:
    """Return the time, ms since 1970."""
    return time.time_ns() // 1_000_000
