"""Demands of a table's protocol, properties and schema on a writer, and refusals of those not honoured here.

Sound: a feature that is not listed as honoured is refused, whoever has added it.
"""

import enum
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from pruning.errors import InputError
from pruning.metadata.delta.log_actions import DeltaMetadata, TableProtocol

DELETION_VECTORS = "deletionVectors"
IN_COMMIT_TIMESTAMPS = "delta.enableInCommitTimestamps"
_ENABLE_VECTORS = "delta.enableDeletionVectors"
_CONSTRAINT, _INVARIANT = "delta.constraints.", "delta.invariants"
_GENERATED, _IDENTITY, _DEFAULT = "delta.generationExpression", "delta.identity.", "CURRENT_DEFAULT"
_PARTS = ("elementType", "keyType", "valueType")
_READER_MAX, _WRITER_MAX = 3, 7
# The features that each version before lists of features brought.
_READER_VERSIONS: Mapping[int, frozenset[str]] = {2: frozenset({"columnMapping"})}
_WRITER_VERSIONS: Mapping[int, frozenset[str]] = {
    2: frozenset({"appendOnly", "invariants"}),
    3: frozenset({"checkConstraints"}),
    4: frozenset({"changeDataFeed", "generatedColumns"}),
    5: frozenset({"columnMapping"}),
    6: frozenset({"identityColumns"}),
}
# Either a commit keeps to them, or `check_writable` refuses the changes that they forbid.
_HONOURED = frozenset().union(*_WRITER_VERSIONS.values()) | {
    "allowColumnDefaults",
    DELETION_VECTORS,
    "domainMetadata",
    "inCommitTimestamp",
    "timestampNtz",
    # Files that are written have the types that the table has now.
    "typeWidening",
    # delta-rs lists it for every table; columns of the type are refused.
    "variantType",
    # They are about checkpoints and cleaning, and nothing here does either.
    "v2Checkpoint",
    "vacuumProtocolCheck",
}


class RowChange(enum.Flag):
    """The kinds of changes of a table's rows; `NONE` only moves rows into other files."""

    NONE = 0
    DELETE = enum.auto()
    UPDATE = enum.auto()
    INSERT = enum.auto()


def check_writable(
    root: str,
    protocol: TableProtocol,
    metadata: DeltaMetadata,
    change: RowChange,
    *,
    checked: frozenset[str] = frozenset(),
) -> None:
    """Refuse a change of a table that would break what the table asks of its writers.

    Args:
        root: The table, for the error.
        protocol: The table's.
        metadata: The table's.
        change: What the commit does to rows.
        checked: The conditions of `row_conditions` that hold for each new row.
    Raises:
        InputError: as the first line says.
    """
    features = (protocol.reader_features or frozenset()) | (protocol.writer_features or frozenset())
    unknown = sorted(features - _HONOURED)
    if protocol.reader_version > _READER_MAX or protocol.writer_version > _WRITER_MAX:
        raise InputError(
            f"{root}: it needs a reader of version {protocol.reader_version} and a writer of version "
            f"{protocol.writer_version}, and this one is of {_READER_MAX} and {_WRITER_MAX}"
        )
    if unknown:
        raise InputError(
            f"{root}: its feature {', '.join(unknown)} is not supported here; write to it with another engine"
        )
    for name, field in _all_fields(metadata.schema):
        if field["type"] == "variant":
            raise InputError(f"{root}: column {name} has the type variant, which is not written here")
    if change & (RowChange.DELETE | RowChange.UPDATE):
        if _is_true(metadata, "delta.appendOnly"):
            raise InputError(f"{root}: its property delta.appendOnly lets no row be changed or deleted")
        if _is_true(metadata, "delta.enableChangeDataFeed"):
            raise InputError(
                f"{root}: its property delta.enableChangeDataFeed asks for files of changed rows, which are "
                "not written here; change it with another engine"
            )
    if change & (RowChange.UPDATE | RowChange.INSERT):
        _check_new_rows(root, metadata, change, checked)


def _check_new_rows(root: str, metadata: DeltaMetadata, change: RowChange, checked: frozenset[str]) -> None:
    """Refuse new rows whose values the table makes, or of which a condition was not checked."""
    for name, field in _all_fields(metadata.schema):
        properties = field.get("metadata") or {}
        if any(key.startswith(_IDENTITY) for key in properties):
            raise InputError(f"{root}: column {name} is an identity column; it is not written here")
        if _DEFAULT in properties and change & RowChange.INSERT:
            raise InputError(f"{root}: column {name} has a default value, which is not filled in here")
    unchecked = [condition for condition in row_conditions(root, metadata) if condition not in checked]
    if unchecked:
        raise InputError(
            f"{root}: new rows must satisfy {unchecked[0]}, and nothing has checked that; write them with "
            "another engine"
        )


def row_conditions(root: str, metadata: DeltaMetadata) -> tuple[str, ...]:
    """Return the conditions, in Spark SQL, that must be true of each new row of a table.

    Raises:
        InputError: a condition cannot be expressed.
    """
    conditions = [text for key, text in metadata.properties.items() if key.startswith(_CONSTRAINT)]
    for name, field in _all_fields(metadata.schema):
        properties = field.get("metadata") or {}
        if _INVARIANT in properties:
            conditions.append(json.loads(properties[_INVARIANT])["expression"]["expression"])
        if _GENERATED in properties:
            conditions.append(f"{name} <=> ({properties[_GENERATED]})")
    conditions += _conditions_of_required(root, metadata.schema, ())
    return tuple(dict.fromkeys(conditions))


def _conditions_of_required(root: str, struct: Mapping[str, Any], parents: tuple[str, ...]) -> Iterator[str]:
    """Yield the conditions that values are not NULL, of a struct's fields."""
    for field in struct["fields"]:
        path = (*parents, field["name"])
        if not field.get("nullable", True):
            above = f"{_name(parents)} IS NULL OR " if parents else ""
            yield f"{above}{_name(path)} IS NOT NULL"
        kind = field["type"]
        if isinstance(kind, Mapping):
            if kind["type"] == "struct":
                yield from _conditions_of_required(root, kind, path)
            elif _has_required(kind):
                raise InputError(
                    f"{root}: column {_name(path)} forbids NULL inside arrays or maps, which cannot be "
                    "checked; write new rows with another engine"
                )


def _has_required(kind: Any) -> bool:
    """Tell whether a type forbids NULL anywhere inside."""
    if not isinstance(kind, Mapping):
        return False
    if kind["type"] == "struct":
        fields = kind["fields"]
        return any(not field.get("nullable", True) or _has_required(field["type"]) for field in fields)
    if kind["type"] == "array":
        return not kind.get("containsNull", True) or _has_required(kind["elementType"])
    if kind["type"] == "map":
        parts = _has_required(kind["keyType"]) or _has_required(kind["valueType"])
        return not kind.get("valueContainsNull", True) or parts
    return True


def _all_fields(kind: Any, parents: tuple[str, ...] = ()) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the fields of a type at any depth, each with its name in SQL.

    The parts of arrays and maps are fields, too, named as Delta names their types.
    """
    if not isinstance(kind, Mapping):
        return
    parts = [{"name": part, "type": kind[part]} for part in _PARTS if part in kind]
    for field in (*kind.get("fields", ()), *parts):
        path = (*parents, field["name"])
        yield _name(path), field
        yield from _all_fields(field["type"], path)


def _name(path: tuple[str, ...]) -> str:
    """Return the name of a column or field in SQL."""
    return ".".join("`" + part.replace("`", "``") + "`" for part in path)


def with_deletion_vectors(
    root: str, protocol: TableProtocol, metadata: DeltaMetadata
) -> TableProtocol | None:
    """Return the protocol that a commit of deletion vectors must set; None if the table has such a one.

    Raises:
        InputError: the table's properties do not ask for deletion vectors.
    """
    if not _is_true(metadata, _ENABLE_VECTORS):
        raise InputError(f"{root}: its property {_ENABLE_VECTORS} is not true; rewrite the files instead")
    if has_deletion_vectors(protocol):
        return None
    reader = _all_features(protocol.reader_features, protocol.reader_version, _READER_VERSIONS)
    writer = _all_features(protocol.writer_features, protocol.writer_version, _WRITER_VERSIONS)
    return replace(
        protocol,
        reader_version=_READER_MAX,
        writer_version=_WRITER_MAX,
        reader_features=reader | {DELETION_VECTORS},
        # A feature of readers is one of writers, too.
        writer_features=writer | reader | {DELETION_VECTORS},
    )


def has_deletion_vectors(protocol: TableProtocol) -> bool:
    """Tell whether readers and writers of a table must know deletion vectors."""
    lists = (protocol.reader_features, protocol.writer_features)
    return all(features is not None and DELETION_VECTORS in features for features in lists)


def has_commit_times(metadata: DeltaMetadata) -> bool:
    """Tell whether each version of a table must have its time in the log."""
    return _is_true(metadata, IN_COMMIT_TIMESTAMPS)


def _all_features(
    features: frozenset[str] | None, version: int, versions: Mapping[int, frozenset[str]]
) -> frozenset[str]:
    """Return the listed features; without a list, those that came with the version and earlier ones."""
    if features is not None:
        return features
    return frozenset().union(*(names for first, names in versions.items() if first <= version))


def _is_true(metadata: DeltaMetadata, name: str) -> bool:
    return metadata.properties.get(name, "false").strip().lower() == "true"
