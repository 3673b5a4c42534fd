"""The metadata of a table: its schemas, partition specs, snapshots and references, read from JSON."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pruning.errors import InputError
from pruning.metadata.iceberg.metadata_files import first_line, newest_metadata, read_metadata
from pruning.metadata.iceberg.schema_fields import Json, is_whole, mapping_entries

FORMAT_VERSION_MAX = 3
_MAIN = "main"
_NAME_MAPPING = "schema.name-mapping.default"
# The number of the first partition field of format version 1, which does not number them.
_FIRST_PARTITION_FIELD = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionField:
    """A field of a partition spec; the source is None if the transform takes more than one."""

    id: int
    source_id: int | None
    transform: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSnapshot:
    """A snapshot; the schema is None where its writer did not say."""

    id: int
    sequence_number: int
    schema_id: int | None
    manifest_list: str


@dataclass(frozen=True, slots=True)
class Reference:
    """A branch or a tag, and the snapshot that it names."""

    snapshot_id: int
    is_branch: bool


@dataclass(frozen=True, kw_only=True)
class TableMetadata:
    """The content of one metadata file.

    Attributes:
        file: Its path.
        location: The table's directory.
        schemas: By their ids.
        has_all_schemas: True if no schema that the table has had since format version 2 is missing.
        specs: The fields of each partition spec, by its id.
        snapshots: By their ids.
        references: Branches and tags by their names.
        log: The times from which snapshots were the current one, ms since 1970, oldest first, with their ids.
        name_mapping: The names of columns in files without field ids; None if there is no mapping.
    """

    file: str
    location: str
    schemas: Mapping[int, Json]
    current_schema_id: int
    has_all_schemas: bool
    specs: Mapping[int, tuple[PartitionField, ...]]
    snapshots: Mapping[int, TableSnapshot]
    current_snapshot_id: int | None
    references: Mapping[str, Reference]
    log: tuple[tuple[int, int], ...]
    name_mapping: tuple[Json, ...] | None


@dataclass(frozen=True, slots=True)
class OpenedVersion:
    """A snapshot, None for that of a table without any, and the id of the schema that it is read with."""

    snapshot: TableSnapshot | None
    schema_id: int


def read_table_metadata(path: str) -> TableMetadata:
    """Return the newest metadata of the table in a directory, or that of a metadata file.

    Raises:
        InputError: it is missing or damaged, or its format is not supported.
    """
    file = newest_metadata(path)
    content = read_metadata(file)
    try:
        document = json.loads(content)
        version = document["format-version"]
        if version not in range(1, FORMAT_VERSION_MAX + 1):
            raise InputError(
                f"{file}: has format version {version!r} of Apache Iceberg; versions 1 to "
                f"{FORMAT_VERSION_MAX} can be read"
            )
        if document.get("encryption-keys") or "encryption.key-id" in document.get("properties", {}):
            raise InputError(
                f"{file}: the table is encrypted, which cannot be read; decrypt it by rewriting it"
            )
        return _metadata(file, document)
    except InputError:
        raise
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(
            f"{file}: is no valid metadata of an Apache Iceberg table ({type(error).__name__}: "
            f"{first_line(error)}); restore it, or give the path of an earlier metadata file"
        ) from error


def _metadata(file: str, document: Json) -> TableMetadata:
    schemas = {schema["schema-id"]: schema for schema in document.get("schemas") or ()}
    # A file of format version 1 may know the current schema alone.
    has_history = bool(schemas) and sorted(schemas) == list(range(len(schemas)))
    current_schema_id = document.get("current-schema-id", 0) if schemas else 0
    if not schemas:
        schemas = {current_schema_id: document["schema"]}
    specs = {spec["spec-id"]: _spec(spec["fields"]) for spec in document.get("partition-specs") or ()}
    if not specs:
        specs = {0: _spec(document.get("partition-spec") or ())}
    snapshots = [_snapshot(file, snapshot) for snapshot in document.get("snapshots") or ()]
    current = document.get("current-snapshot-id")
    mapping = (document.get("properties") or {}).get(_NAME_MAPPING)
    if current_schema_id not in schemas or not all(map(is_whole, schemas.values())):
        raise ValueError("a schema is missing, or lacks a part")
    names = () if mapping is None else tuple(json.loads(mapping))
    for _, id_, name in mapping_entries(names):
        if not (isinstance(id_, int) and isinstance(name, str)):
            raise ValueError("the name mapping is no such mapping")
    return TableMetadata(
        file=file,
        location=document["location"],
        schemas=schemas,
        current_schema_id=current_schema_id,
        has_all_schemas=has_history,
        specs=specs,
        snapshots={snapshot.id: snapshot for snapshot in snapshots},
        current_snapshot_id=None if current in (None, -1) else current,
        references={
            name: Reference(reference["snapshot-id"], reference["type"] == "branch")
            for name, reference in (document.get("refs") or {}).items()
        },
        log=tuple(
            (entry["timestamp-ms"], entry["snapshot-id"]) for entry in document.get("snapshot-log") or ()
        ),
        name_mapping=None if mapping is None else names,
    )


def _spec(fields: Any) -> tuple[PartitionField, ...]:
    return tuple(
        PartitionField(
            id=field.get("field-id", _FIRST_PARTITION_FIELD + place),
            source_id=_source(field),
            transform=field["transform"],
        )
        for place, field in enumerate(fields)
    )


def _source(field: Json) -> int | None:
    if "source-id" in field:
        return int(field["source-id"])
    sources = field["source-ids"]
    return int(sources[0]) if len(sources) == 1 else None


def _snapshot(file: str, snapshot: Json) -> TableSnapshot:
    if snapshot.get("key-id") is not None:
        raise InputError(f"{file}: the table is encrypted, which cannot be read; decrypt it by rewriting it")
    return TableSnapshot(
        id=snapshot["snapshot-id"],
        sequence_number=snapshot.get("sequence-number", 0),
        schema_id=snapshot.get("schema-id"),
        manifest_list=snapshot.get("manifest-list", ""),
    )


def choose_version(
    metadata: TableMetadata, version: int | str | None, timestamp_us: int | None
) -> OpenedVersion:
    """Return the snapshot of a version, with its schema.

    The current state and branches are read with the table's current schema; a snapshot that is named by its
    id, a tag or a time, with its own: as Iceberg's `SnapshotUtil.schemaFor` chooses it.

    Args:
        metadata: The table's metadata.
        version: The id of a snapshot, or the name of a branch or a tag; None for the current state.
        timestamp_us: The time of a state, us since 1970; None for no time.

    Raises:
        InputError: there is no such version.
    """
    if version is not None and timestamp_us is not None:
        raise InputError(
            f"{metadata.location}: version {version!r} and a timestamp are both given; give one of them"
        )
    if timestamp_us is not None:
        return _own_schema(metadata, _id_at(metadata, timestamp_us))
    if version is None or version == _MAIN:
        current = metadata.current_snapshot_id
        if current is None:
            return OpenedVersion(None, metadata.current_schema_id)
        return OpenedVersion(_snapshot_of(metadata, current), metadata.current_schema_id)
    if isinstance(version, str) and not version.isdecimal():
        reference = metadata.references.get(version)
        if reference is None:
            names = ", ".join(sorted(metadata.references)) or "none"
            raise InputError(
                f"{metadata.location}: has no branch or tag {version!r}; its branches and tags are: {names}"
            )
        if reference.is_branch:
            return OpenedVersion(_snapshot_of(metadata, reference.snapshot_id), metadata.current_schema_id)
        return _own_schema(metadata, reference.snapshot_id)
    return _own_schema(metadata, int(version))


def _id_at(metadata: TableMetadata, timestamp_us: int) -> int:
    earlier = [snapshot_id for time_ms, snapshot_id in metadata.log if time_ms * 1000 <= timestamp_us]
    if not earlier:
        first = f"; its first kept state is of {metadata.log[0][0]} ms since 1970" if metadata.log else ""
        raise InputError(
            f"{metadata.location}: has no snapshot at {timestamp_us} us since 1970{first}; give a later time"
        )
    return earlier[-1]


def _own_schema(metadata: TableMetadata, snapshot_id: int) -> OpenedVersion:
    snapshot = _snapshot_of(metadata, snapshot_id)
    schema_id = metadata.current_schema_id if snapshot.schema_id is None else snapshot.schema_id
    if schema_id not in metadata.schemas:
        raise InputError(
            f"{metadata.file}: lacks the schema {schema_id} of snapshot {snapshot_id}; open another version"
        )
    return OpenedVersion(snapshot, schema_id)


def _snapshot_of(metadata: TableMetadata, snapshot_id: int) -> TableSnapshot:
    snapshot = metadata.snapshots.get(snapshot_id)
    if snapshot is None:
        kept = ", ".join(map(str, sorted(metadata.snapshots))) or "none"
        raise InputError(
            f"{metadata.location}: has no snapshot {snapshot_id}, or it has expired; the snapshots that are "
            f"kept: {kept}"
        )
    if not snapshot.manifest_list:
        raise InputError(
            f"{metadata.file}: snapshot {snapshot_id} has no manifest list, a form of early releases of "
            "Apache Iceberg that cannot be read; commit to the table with a later release"
        )
    return snapshot
