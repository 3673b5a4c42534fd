"""The actions in the log of a Delta Lake table, as a writer reads and writes them.

What an action has beside the fields that are named here is kept as it was, so that no change of a file loses
what another writer has noted about it.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeAlias

from pruning.errors import InputError
from pruning.metadata.delta.deletion_vectors import VectorDescriptor

Fields: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class AddedFile:
    """The action `add`: a data file with its deleted rows.

    Attributes:
        path: Its URI, as the log spells it: relative to the table's directory, or absolute.
        partition_values: The text of each partition column's value; None for NULL.
        size_bytes: Its size.
        modified_ms: Its time, ms since 1970.
        data_change: False if the same commit removes the same rows elsewhere.
        statistics: The field `stats`, JSON as text.
        vector: Its deleted rows.
        other_fields: The other fields.
    """

    path: str
    partition_values: Mapping[str, str | None]
    size_bytes: int
    modified_ms: int
    data_change: bool = True
    statistics: str | None = None
    vector: VectorDescriptor | None = None
    other_fields: Fields = field(default_factory=dict)

    @property
    def vector_id(self) -> str | None:
        """The id of the deletion vector, which with the path identifies the file in the log."""
        return None if self.vector is None else self.vector.unique_id

    def to_json(self) -> dict[str, Any]:
        """Return the action as the log has it."""
        return {"add": {**_file_fields(self), "modificationTime": self.modified_ms, **self.other_fields}}

    def removal(self, now_ms: int) -> "RemovedFile":
        """Return the action that removes this file, with its deletion vector.

        Args:
            now_ms: The time of the removal, ms since 1970.
        """
        return RemovedFile(
            path=self.path,
            removed_ms=now_ms,
            partition_values=self.partition_values,
            size_bytes=self.size_bytes,
            statistics=self.statistics,
            vector=self.vector,
            other_fields={
                name: self.other_fields[name] for name in _KEPT_BY_REMOVE if name in self.other_fields
            },
        )


@dataclass(frozen=True, kw_only=True)
class RemovedFile:
    """The action `remove`; attributes are those of `AddedFile`, and the time of the removal."""

    path: str
    removed_ms: int
    partition_values: Mapping[str, str | None] | None
    size_bytes: int | None
    data_change: bool = True
    statistics: str | None = None
    vector: VectorDescriptor | None = None
    other_fields: Fields = field(default_factory=dict)

    @property
    def vector_id(self) -> str | None:
        """The id of the deletion vector, which with the path identifies the file in the log."""
        return None if self.vector is None else self.vector.unique_id

    def to_json(self) -> dict[str, Any]:
        """Return the action as the log has it."""
        extended = self.partition_values is not None and self.size_bytes is not None
        return {
            "remove": {
                **_file_fields(self),
                "deletionTimestamp": self.removed_ms,
                "extendedFileMetadata": extended,
                **self.other_fields,
            }
        }


@dataclass(frozen=True, kw_only=True)
class TransactionId:
    """The action `txn`: how far an application has come with its own numbering."""

    application: str
    number: int
    updated_ms: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the action as the log has it."""
        updated = {} if self.updated_ms is None else {"lastUpdated": self.updated_ms}
        return {"txn": {"appId": self.application, "version": self.number, **updated}}


@dataclass(frozen=True, kw_only=True)
class TableProtocol:
    """The action `protocol`; features are None where the version has no list of them."""

    reader_version: int
    writer_version: int
    reader_features: frozenset[str] | None = None
    writer_features: frozenset[str] | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the action as the log has it."""
        lists = {"readerFeatures": self.reader_features, "writerFeatures": self.writer_features}
        return {
            "protocol": {
                "minReaderVersion": self.reader_version,
                "minWriterVersion": self.writer_version,
                **{name: sorted(features) for name, features in lists.items() if features is not None},
            }
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class DeltaMetadata:
    """The action `metaData`.

    Attributes:
        fields: Its fields, as the log has them.
    """

    fields: Fields

    @property
    def properties(self) -> Mapping[str, str]:
        """The table's properties."""
        properties: Mapping[str, str] = self.fields.get("configuration") or {}
        return properties

    @property
    def partition_columns(self) -> tuple[str, ...]:
        """The names of the partition columns."""
        return tuple(self.fields.get("partitionColumns") or ())

    @cached_property
    def schema(self) -> Fields:
        """The table's schema, a `StructType` of Spark."""
        schema: Fields = json.loads(self.fields["schemaString"])
        return schema

    def to_json(self) -> dict[str, Any]:
        """Return the action as the log has it."""
        return {"metaData": dict(self.fields)}


@dataclass(frozen=True, kw_only=True)
class LogEntry:
    """The actions of one version that a writer knows; others are left out.

    Attributes:
        version: Its number.
        commit_info: The fields of `commitInfo`; empty if there is none.
    """

    version: int
    added: tuple[AddedFile, ...] = ()
    removed: tuple[RemovedFile, ...] = ()
    transactions: tuple[TransactionId, ...] = ()
    protocol: TableProtocol | None = None
    metadata: DeltaMetadata | None = None
    commit_info: Fields = field(default_factory=dict)


def parse_entry(version: int, content: bytes) -> LogEntry:
    """Return the actions in the file of a version.

    Raises:
        InputError: it is damaged.
    """
    try:
        lines = filter(None, map(bytes.strip, content.splitlines()))
        return entry_of_actions(version, [json.loads(line, parse_float=Decimal) for line in lines])
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise InputError(
            f"version {version} of the log: has a line that is no action of Delta Lake ({error!r}); "
            "restore its file"
        ) from error


def entry_of_actions(version: int, actions: Iterable[Fields]) -> LogEntry:
    """Return an entry of the actions that a writer knows.

    Raises:
        KeyError, AttributeError, TypeError: an action lacks a field, or it is of another type.
    """
    by_kind: dict[str, list[Any]] = {}
    for action in actions:
        for kind, fields in action.items():
            if kind in _PARSERS and fields is not None:
                by_kind.setdefault(kind, []).append(_PARSERS[kind](fields))
    single = {kind: by_kind[kind][-1] for kind in ("protocol", "metaData", "commitInfo") if kind in by_kind}
    return LogEntry(
        version=version,
        added=tuple(by_kind.get("add", ())),
        removed=tuple(by_kind.get("remove", ())),
        transactions=tuple(by_kind.get("txn", ())),
        protocol=single.get("protocol"),
        metadata=single.get("metaData"),
        commit_info=single.get("commitInfo", {}),
    )


def entry_bytes(actions: Iterable[Mapping[str, Any]]) -> bytes:
    """Return the content of a version's file: a line of JSON for each action."""
    return "".join(f"{json_text(action)}\n" for action in actions).encode()


def json_text(value: Any) -> str:
    """Return JSON without spaces; a `Decimal` is a number with all its digits.

    Raises:
        ValueError: a number is not finite.
    """
    if isinstance(value, Mapping):
        members = (f"{json_text(name)}:{json_text(member)}" for name, member in value.items())
        return "{" + ",".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + ",".join(map(json_text, value)) + "]"
    if isinstance(value, Decimal):
        if not value.is_finite():
            raise ValueError(f"{value} is no number of JSON")
        return str(value)
    # Some readers take the last characters of Unicode for others where they are escaped.
    return json.dumps(value, allow_nan=False, ensure_ascii=False)


def _add_from_json(fields: Fields) -> AddedFile:
    """Return the action `add` from its fields.

    Raises:
        KeyError: a field is missing.
    """
    return AddedFile(
        path=fields["path"],
        partition_values=fields["partitionValues"],
        size_bytes=fields["size"],
        modified_ms=fields["modificationTime"],
        data_change=fields["dataChange"],
        statistics=fields.get("stats"),
        vector=_vector(fields),
        other_fields=_others(fields, _ADD_FIELDS),
    )


def _protocol_from_json(fields: Fields) -> TableProtocol:
    """Return the action `protocol` from its fields.

    Raises:
        KeyError: a field is missing.
    """
    lists = [fields.get(name) for name in ("readerFeatures", "writerFeatures")]
    reader, writer = (None if features is None else frozenset(features) for features in lists)
    return TableProtocol(
        reader_version=fields["minReaderVersion"],
        writer_version=fields["minWriterVersion"],
        reader_features=reader,
        writer_features=writer,
    )


def _remove_from_json(fields: Fields) -> RemovedFile:
    return RemovedFile(
        path=fields["path"],
        removed_ms=fields.get("deletionTimestamp") or 0,
        partition_values=fields.get("partitionValues"),
        size_bytes=fields.get("size"),
        data_change=fields["dataChange"],
        statistics=fields.get("stats"),
        vector=_vector(fields),
        other_fields=_others(fields, _REMOVE_FIELDS),
    )


def _transaction_from_json(fields: Fields) -> TransactionId:
    return TransactionId(
        application=fields["appId"], number=fields["version"], updated_ms=fields.get("lastUpdated")
    )


def _metadata_from_json(fields: Fields) -> DeltaMetadata:
    return DeltaMetadata(fields=fields)


def _vector(fields: Fields) -> VectorDescriptor | None:
    vector = fields.get("deletionVector")
    return None if vector is None else VectorDescriptor.from_json(vector)


def _others(fields: Fields, names: frozenset[str]) -> Fields:
    return {name: value for name, value in fields.items() if name not in names and value is not None}


def _file_fields(file: AddedFile | RemovedFile) -> dict[str, Any]:
    """Return the fields that the actions about files have in common, without those that are unknown."""
    fields = {
        "path": file.path,
        "partitionValues": file.partition_values,
        "size": file.size_bytes,
        "dataChange": file.data_change,
        "stats": file.statistics,
        "deletionVector": None if file.vector is None else file.vector.to_json(),
    }
    return {name: value for name, value in fields.items() if value is not None}


_COMMON_FIELDS = {"path", "partitionValues", "size", "dataChange", "stats", "deletionVector"}
_ADD_FIELDS = frozenset(_COMMON_FIELDS | {"modificationTime"})
_REMOVE_FIELDS = frozenset(_COMMON_FIELDS | {"deletionTimestamp", "extendedFileMetadata"})
# The fields of `add` that `remove` has too.
_KEPT_BY_REMOVE = ("tags", "baseRowId", "defaultRowCommitVersion")
_PARSERS: Mapping[str, Callable[[Fields], Any]] = {
    "add": _add_from_json,
    "remove": _remove_from_json,
    "txn": _transaction_from_json,
    "protocol": _protocol_from_json,
    "metaData": _metadata_from_json,
    "commitInfo": dict,
}
