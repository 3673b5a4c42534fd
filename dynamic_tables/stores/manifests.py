"""The manifests of a table in Parquet files: one numbered JSON file for each version.

A version exists once its manifest does. A manifest is written beside its place and linked to it, which fails
if another writer was faster; renaming would overwrite that writer's version.
"""

import contextlib
import json
import os
import uuid
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.versions import NoVersion
from dynamic_tables.values.types import Field, Kind, Type
from pruning.errors import InputError

FORMAT = 1
SUFFIX = ".json"


class VersionExists(Exception):
    """Another writer committed this version first."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of a table.

    Attributes:
        name: The name of the file in the table's data folder.
        rows: The number of its rows.
    """

    name: str
    rows: int


@dataclass(frozen=True, slots=True)
class StoredField:
    """A column of a table.

    Attributes:
        field: Its name and type.
        stored: The name of its Arrow type in the files.
    """

    field: Field
    stored: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """One version of a table.

    Attributes:
        number: Versions count from 0, the empty table.
        committed: The time of the commit.
        columns: The columns of the table.
        data: The files whose rows are those of the version, less the deleted ones.
        deletions: The files of deleted rows: a row is deleted if its id was deleted in a later version than
            the one that inserted it.
        inserted, deleted: The files with the changes from the previous version, if it was not overwritten.
        overwritten: True if the changes are not recorded: they are the difference of the contents.
        changed_count: The number of changed rows in all versions up to this one.
        frontier: The frontier of a dynamic table, as JSON; None of other tables and before the first refresh.
        source: The version of another program's table that a table follows, as JSON; None of other tables.
    """

    number: int
    committed: Timestamp
    columns: tuple[StoredField, ...]
    data: tuple[DataFile, ...] = ()
    deletions: tuple[DataFile, ...] = ()
    inserted: tuple[DataFile, ...] = ()
    deleted: tuple[DataFile, ...] = ()
    overwritten: bool = False
    changed_count: int = 0
    frontier: Mapping[str, Any] | None = None
    source: Mapping[str, Any] | None = None


def to_json(manifest: Manifest) -> str:
    """Return a manifest as text.

    >>> print(to_json(Manifest(number=0, committed=Timestamp(5, 0, 1), columns=()))[:37])
    {"format": 1, "number": 0, "committed
    """
    columns = [
        {
            "name": column.field.name,
            "kind": column.field.type.kind.value,
            "scale": column.field.type.scale,
            "stored": column.stored,
        }
        for column in manifest.columns
    ]
    return json.dumps({"format": FORMAT} | asdict(manifest) | {"columns": columns})


def from_json(text: str, name: str) -> Manifest:
    """Return the manifest of a text; `name` is that of its file.

    Raises:
        InputError: It is no manifest, or of a later format.
    """
    try:
        values = json.loads(text)
        version = values.pop("format")
    except (ValueError, KeyError, AttributeError, TypeError):
        raise InputError(f"{name} is no manifest of a table: restore it, or remove the table") from None
    if version != FORMAT:
        raise InputError(f"{name} has format {version}, which is of a later release: install that one")
    columns = tuple(
        StoredField(Field(column["name"], Type(Kind(column["kind"]), column["scale"])), column["stored"])
        for column in values.pop("columns")
    )
    committed = Timestamp(*values.pop("committed"))
    for part in ("data", "deletions", "inserted", "deleted"):
        values[part] = tuple(DataFile(**file) for file in values[part])
    return Manifest(columns=columns, committed=committed, **values)


def sync_directory(directory: Path) -> None:
    """Return when the names of the files in a directory are on disk."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class ManifestLog:
    """The manifests in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.manifests: dict[int, Manifest] = {}

    def path(self, number: int) -> Path:
        """Return the path of a version's manifest."""
        return self.directory / f"{number:020}{SUFFIX}"

    def numbers(self) -> list[int]:
        """Return the numbers of the versions that are retained, in order."""
        names = (name.removesuffix(SUFFIX) for name in os.listdir(self.directory) if name.endswith(SUFFIX))
        return sorted(int(name) for name in names if name.isdigit())

    def read(self, number: int) -> Manifest:
        """Return the manifest of a version.

        Raises:
            NoVersion: There is no such version, or it was purged.
        """
        if number not in self.manifests:
            path = self.path(number)
            try:
                self.manifests[number] = from_json(path.read_text(encoding="utf-8"), str(path))
            except FileNotFoundError:
                raise NoVersion(f"there is no version {number} in {self.directory}") from None
        return self.manifests[number]

    def latest(self) -> Manifest:
        """Return the manifest of the newest version."""
        return self.read(self.numbers()[-1])

    def add(self, manifest: Manifest) -> None:
        """Make a version exist, on disk before this returns.

        Raises:
            VersionExists: Another writer was faster.
        """
        temporary = self.directory / f"{uuid.uuid4().hex}.tmp"
        try:
            with open(temporary, "w", encoding="utf-8") as file:
                file.write(to_json(manifest))
                file.flush()
                os.fsync(file.fileno())
            os.link(temporary, self.path(manifest.number))
            sync_directory(self.directory)
        except FileExistsError:
            raise VersionExists(f"version {manifest.number} exists") from None
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary)
        self.manifests[manifest.number] = manifest
