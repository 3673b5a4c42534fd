"""The versions of a table in Parquet files, each described by a manifest."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeAlias

from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.values.types import Field, Kind, Type
from pruning.errors import InputError

FORMAT = 1


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


# Columns by their numbers among all that a table ever had, in the order of its rows.
Layout: TypeAlias = Mapping[int, StoredField]


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
        positions: The numbers of the columns among all that the table ever had; None: no column was dropped.
        dropped: Names of dropped columns, which some files still have.
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
    positions: tuple[int, ...] | None = None
    dropped: tuple[str, ...] = ()

    @property
    def layout(self) -> Layout:
        """The columns by their numbers."""
        positions = range(len(self.columns)) if self.positions is None else self.positions
        return dict(zip(positions, self.columns, strict=True))

    def with_layout(self, layout: Layout) -> "Manifest":
        """Return the version with other columns, as its successor will have them."""
        gone = [column.field.name for number, column in self.layout.items() if number not in layout]
        return replace(
            self,
            columns=tuple(layout.values()),
            positions=tuple(layout),
            dropped=tuple(dict.fromkeys((*self.dropped, *gone))),
        )

    @property
    def files(self) -> tuple[DataFile, ...]:
        """All files that the version refers to."""
        return (*self.data, *self.deletions, *self.inserted, *self.deleted)


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
    positions = values.pop("positions", None)
    values["positions"] = None if positions is None else tuple(positions)
    values["dropped"] = tuple(values.get("dropped", ()))
    return Manifest(columns=columns, committed=committed, **values)
