"""The statements that create and change tables: the contents of the catalog's log."""

import enum
from dataclasses import dataclass
from typing import Protocol, TypeAlias, runtime_checkable

from dynamic_tables.catalog.lags import TargetLag
from dynamic_tables.values.types import Field

# A qualified name, "schema.table".
Name: TypeAlias = str
Role: TypeAlias = str


class Mode(enum.Enum):
    """The way in which contents are brought up to date (R-DVS-20)."""

    FULL = "FULL"
    INCREMENTAL = "INCREMENTAL"


class Initialize(enum.Enum):
    """The time at which a dynamic table gets its first contents (R-DVS-03)."""

    ON_CREATE = "ON_CREATE"
    ON_SCHEDULE = "ON_SCHEDULE"


class Privilege(enum.Enum):
    """A privilege of a role on a table (R-DVS-48); OWNERSHIP includes the others."""

    OWNERSHIP = "OWNERSHIP"
    SELECT = "SELECT"
    MONITOR = "MONITOR"  # see its state and its refreshes
    OPERATE = "OPERATE"  # refresh, suspend and resume it


@runtime_checkable
class Definition(Protocol):
    """The query of a view or a dynamic table as written, before it is bound to tables."""

    @property
    def reads(self) -> tuple[Name, ...]:
        """The names that it reads, each once; a name without schema belongs to the schema of its table."""


@dataclass(frozen=True, slots=True)
class CreateTable:
    """Create a base table.

    Attributes:
        location: The place of the table that it follows, which others write; empty for a table of its own.
        key: Columns whose values together are unique there; none: equal rows are told apart by counting.
    """

    name: Name
    columns: tuple[Field, ...]
    replace: bool = False
    location: str = ""
    key: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CreateView:
    """Create a view."""

    name: Name
    definition: Definition
    replace: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateDynamicTable:
    """Create a dynamic table (R-DVS-01)."""

    name: Name
    definition: Definition
    lag: TargetLag
    warehouse: str
    mode: Mode = Mode.INCREMENTAL
    initialize: Initialize = Initialize.ON_CREATE
    replace: bool = False


@dataclass(frozen=True, slots=True)
class AddColumn:
    """Add a column to a base table; it is NULL in existing rows."""

    name: Name
    column: Field


@dataclass(frozen=True, slots=True)
class DropColumn:
    """Drop a column of a base table."""

    name: Name
    column: str


@dataclass(frozen=True, slots=True)
class SetLag:
    """Set the target lag of a dynamic table."""

    name: Name
    lag: TargetLag


@dataclass(frozen=True, slots=True)
class Publish:
    """Keep a copy of a dynamic table where other programs read it, or stop that.

    Attributes:
        format: The format of the copy; empty to stop.
    """

    name: Name
    location: str
    format: str = ""


@dataclass(frozen=True, slots=True)
class Suspend:
    """Stop scheduled refreshes of a dynamic table until it is resumed."""

    name: Name
    reason: str = "by a user"


@dataclass(frozen=True, slots=True)
class Resume:
    """Start scheduled refreshes of a dynamic table again."""

    name: Name


@dataclass(frozen=True, slots=True)
class Drop:
    """Drop a table, which can be restored."""

    name: Name


@dataclass(frozen=True, slots=True)
class Undrop:
    """Restore the table dropped last under this name."""

    name: Name


@dataclass(frozen=True, slots=True)
class Rename:
    """Rename a table."""

    name: Name
    to: Name


@dataclass(frozen=True, slots=True)
class Swap:
    """Exchange the names of two tables."""

    name: Name
    other: Name


@dataclass(frozen=True, slots=True)
class Clone:
    """Clone a table under another name; a cloned dynamic table is suspended (R-DVS-46)."""

    name: Name
    to: Name


@dataclass(frozen=True, slots=True)
class CloneSchema:
    """Clone each table of a schema; the clones read each other."""

    schema: str
    to: str


@dataclass(frozen=True, slots=True)
class RenameSchema:
    """Rename a schema (R-DVS-47)."""

    schema: str
    to: str


@dataclass(frozen=True, slots=True)
class SwapSchemas:
    """Exchange the names of two schemas (R-DVS-47)."""

    schema: str
    other: str


@dataclass(frozen=True, slots=True)
class Grant:
    """Grant a privilege on a table to a role."""

    privilege: Privilege
    name: Name
    role: Role


@dataclass(frozen=True, slots=True)
class Revoke:
    """Revoke a privilege on a table from a role."""

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
    | Publish
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
