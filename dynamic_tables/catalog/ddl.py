"""Statements that change what tables there are: what the log of the catalog holds."""

import enum
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from dynamic_tables.catalog.lags import TargetLag
from dynamic_tables.values.types import Field

# "schema.table".
Name: TypeAlias = str
Role: TypeAlias = str


class Mode(enum.Enum):
    """How contents are brought up to date (R-DVS-20)."""

    FULL = "FULL"
    INCREMENTAL = "INCREMENTAL"


class Initialize(enum.Enum):
    """When a dynamic table gets its first contents (R-DVS-03)."""

    ON_CREATE = "ON_CREATE"
    ON_SCHEDULE = "ON_SCHEDULE"


class Privilege(enum.Enum):
    """What a role may do with a table (R-DVS-48); OWNERSHIP is all of it."""

    OWNERSHIP = "OWNERSHIP"
    SELECT = "SELECT"
    MONITOR = "MONITOR"  # see its state and its refreshes
    OPERATE = "OPERATE"  # refresh, suspend and resume it


class Definition(Protocol):
    """The query of a view or a dynamic table, as written: not yet bound to tables."""

    @property
    def reads(self) -> tuple[Name, ...]:
        """The names that it reads, each once; one without a schema is of the schema it was written in."""


@dataclass(frozen=True, slots=True)
class CreateTable:
    """A base table."""

    name: Name
    columns: tuple[Field, ...]
    replace: bool = False


@dataclass(frozen=True, slots=True)
class CreateView:
    """A view."""

    name: Name
    definition: Definition
    replace: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateDynamicTable:
    """A dynamic table (R-DVS-01)."""

    name: Name
    definition: Definition
    lag: TargetLag
    warehouse: str
    mode: Mode = Mode.INCREMENTAL
    initialize: Initialize = Initialize.ON_CREATE
    replace: bool = False


@dataclass(frozen=True, slots=True)
class AddColumn:
    """A column of a base table; NULL in the rows that there are."""

    name: Name
    column: Field


@dataclass(frozen=True, slots=True)
class DropColumn:
    """A column of a base table less."""

    name: Name
    column: str


@dataclass(frozen=True, slots=True)
class SetLag:
    """Another target lag."""

    name: Name
    lag: TargetLag


@dataclass(frozen=True, slots=True)
class Suspend:
    """No scheduled refreshes until it is resumed."""

    name: Name
    reason: str = "by a user"


@dataclass(frozen=True, slots=True)
class Resume:
    """Scheduled refreshes again."""

    name: Name


@dataclass(frozen=True, slots=True)
class Drop:
    """A table less; it can be restored."""

    name: Name


@dataclass(frozen=True, slots=True)
class Undrop:
    """The table that was last dropped under this name, as it was."""

    name: Name


@dataclass(frozen=True, slots=True)
class Rename:
    """Another name for the same table."""

    name: Name
    to: Name


@dataclass(frozen=True, slots=True)
class Swap:
    """Two tables exchange their names."""

    name: Name
    other: Name


@dataclass(frozen=True, slots=True)
class Clone:
    """A table with the same contents under another name; of a dynamic table, suspended (R-DVS-46)."""

    name: Name
    to: Name


@dataclass(frozen=True, slots=True)
class CloneSchema:
    """A clone of each table of a schema; clones read clones."""

    schema: str
    to: str


@dataclass(frozen=True, slots=True)
class RenameSchema:
    """Another name for a schema (R-DVS-47)."""

    schema: str
    to: str


@dataclass(frozen=True, slots=True)
class SwapSchemas:
    """Two schemas exchange their names (R-DVS-47)."""

    schema: str
    other: str


@dataclass(frozen=True, slots=True)
class Grant:
    """A privilege more."""

    privilege: Privilege
    name: Name
    role: Role


@dataclass(frozen=True, slots=True)
class Revoke:
    """A privilege less."""

    privilege: Privilege
    name: Name
    role: Role


Statement: TypeAlias = (
    CreateTable
    | CreateView
    | CreateDynamicTable
    | AddColumn
    | DropColumn
    | SetLag
    | Suspend
    | Resume
    | Drop
    | Undrop
    | Rename
    | Swap
    | Clone
    | CloneSchema
    | RenameSchema
    | SwapSchemas
    | Grant
    | Revoke
)
