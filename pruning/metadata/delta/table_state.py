"""The state of a Delta Lake table as a writer needs it: the actions of its files as its log has them."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq

from pruning.errors import InputError
from pruning.metadata.delta.commits import LOG, entry_path, read_entry
from pruning.metadata.delta.created_files import read_whole
from pruning.metadata.delta.file_keys import file_key
from pruning.metadata.delta.log_actions import (
    AddedFile,
    DeltaMetadata,
    LogEntry,
    TableProtocol,
    entry_of_actions,
)
from pruning.metadata.files.object_stores import files_at, reason

# A checkpoint in one file; one of several files, with its number and theirs; or one of the second form.
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10})|\.[0-9a-f-]{36})?\.(?:parquet|json)")
_KINDS = ("protocol", "metaData", "add", "txn", "sidecar")
_MAPS = frozenset({"partitionValues", "tags", "configuration", "options"})


@dataclass(frozen=True, kw_only=True, eq=False)
class TableState:
    """A version of a table.

    Attributes:
        version: Its number.
        protocol: The table's protocol.
        metadata: The table's metadata.
        files: The data files, by `file_keys.file_key` of their paths.
        applications: How far each application has come.
    """

    version: int
    protocol: TableProtocol
    metadata: DeltaMetadata
    files: Mapping[str, AddedFile]
    applications: Mapping[str, int]


@dataclass(slots=True)
class _Replay:
    """The state of a table up to an entry of its log."""

    protocol: TableProtocol | None = None
    metadata: DeltaMetadata | None = None
    files: dict[str, AddedFile] = field(default_factory=dict)
    applications: dict[str, int] = field(default_factory=dict)

    def apply(self, entry: LogEntry) -> None:
        """Take in an entry; each of its files is added or removed once, or removed and added."""
        self.protocol = entry.protocol or self.protocol
        self.metadata = entry.metadata or self.metadata
        for removed in entry.removed:
            self.files.pop(file_key(removed.path), None)
        self.files.update((file_key(added.path), added) for added in entry.added)
        self.applications.update((progress.application, progress.number) for progress in entry.transactions)


def read_state(root: str, version: int) -> TableState:
    """Return the state of a table at a version.

    Args:
        root: The table's directory, from `created_files.root_of`.
        version: Its number.
    Raises:
        InputError: the log has no such version, or no longer, or it is damaged.
    """
    try:
        names = list(files_at(root).entries(root, LOG))
    except OSError as error:
        raise InputError(f"{root}/{LOG}: cannot be listed ({reason(error)})") from error
    first, parts = _newest_checkpoint(names, version)
    replay = _Replay()
    for name in parts:
        _apply_checkpoint(root, name, replay)
    for number in range(first + 1, version + 1):
        entry = read_entry(root, number)
        if entry is None:
            raise InputError(f"{entry_path(root, number)}: is not there, and version {version} needs it")
        replay.apply(entry)
    if replay.protocol is None or replay.metadata is None:
        raise InputError(
            f"{root}/{LOG}: version {version} has no protocol or no metadata; the log is damaged"
        )
    return TableState(
        version=version,
        protocol=replay.protocol,
        metadata=replay.metadata,
        files=replay.files,
        applications=replay.applications,
    )


def _newest_checkpoint(names: list[str], version: int) -> tuple[int, list[str]]:
    """Return the version of the newest complete checkpoint up to a version, or -1, and its files."""
    complete: dict[int, list[str]] = {}
    parts: dict[tuple[int, int], list[str]] = {}
    for name in sorted(names):
        match = _CHECKPOINT.fullmatch(name)
        if match is None or int(match[1]) > version:
            continue
        number = int(match[1])
        if match[2] is None:
            complete[number] = [name]
            continue
        several = parts.setdefault((number, int(match[3])), [])
        several.append(name)
        if len(several) == int(match[3]):
            complete.setdefault(number, several)
    newest = max(complete, default=-1)
    return newest, complete.get(newest, [])


def _apply_checkpoint(root: str, name: str, replay: _Replay) -> None:
    """Take in a file of a checkpoint, and those that it names."""
    path = f"{root}/{LOG}/{name}"
    try:
        actions = list(_actions(name, read_whole(path)))
        # A checkpoint is taken in as one entry, whose number is of no use here.
        replay.apply(entry_of_actions(-1, actions))
        sidecars = [action["sidecar"]["path"] for action in actions if action.get("sidecar")]
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({reason(error)})") from error
    except (ValueError, KeyError, TypeError, pa.ArrowException) as error:
        raise InputError(
            f"{path}: is no checkpoint of Delta Lake ({error!r}); remove or restore it"
        ) from error
    for sidecar in sidecars:
        _apply_checkpoint(root, f"_sidecars/{unquote(sidecar).rpartition('/')[2]}", replay)


def _actions(name: str, content: bytes) -> Iterator[dict[str, Any]]:
    """Yield the actions of a checkpoint's file, without its removals, which only a cleaner needs."""
    if name.endswith(".json"):
        for line in content.splitlines():
            yield json.loads(line, parse_float=Decimal)
        return
    file = pq.ParquetFile(pa.BufferReader(content))
    kinds = [kind for kind in _KINDS if kind in file.schema_arrow.names]
    for batch in file.iter_batches(columns=kinds):
        for row in batch.to_pylist():
            yield {kind: _fields(value) for kind, value in row.items() if value is not None}


def _fields(value: Any) -> Any:
    """Return the fields of an action from a row of Parquet, with maps as in JSON and without what is NULL."""
    if not isinstance(value, dict):
        return value
    fields: dict[str, Any] = {}
    for name, part in value.items():
        if part is None or name.endswith("_parsed"):
            continue
        fields[name] = dict(part) if name in _MAPS else _fields(part)
    return fields
