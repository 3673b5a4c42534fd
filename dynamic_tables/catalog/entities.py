"""The state of the catalog at one moment: its tables, views and dynamic tables, by identity and name."""

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dynamic_tables.catalog.ddl import Definition, Initialize, Mode, Name, Privilege, Role
from dynamic_tables.catalog.lags import DOWNSTREAM, TargetLag
from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.values.types import Field
from pruning.errors import InputError

# The role of the system itself, which has all privileges.
SYSTEM: Role = "SYSTEM"


class EntityKind(enum.Enum):
    """The kind of an entity."""

    TABLE = "table"
    VIEW = "view"
    DYNAMIC_TABLE = "dynamic table"


@dataclass(frozen=True, slots=True)
class StoredColumn:
    """A column of a base table, and its position in the stored rows, which may be shorter."""

    field: Field
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A table, view or dynamic table.

    Attributes:
        identity: Stays when the name changes; a table that replaces another has its own.
        home: The schema of names without schema in the definition.
        moved: The present names of schemas in the definition, if a clone reads clones.
        column_count: The number of columns that it has ever had; `columns` are the present ones.
        altered: True if columns were added or dropped, so that stored rows may have other columns.
        suspended: The reason why it is not scheduled; None if it is scheduled.
        original: The table of which it is a clone.
        location: The place of the table that it follows, which others write; empty for others.
        key: The columns of its key there.
        copies: The formats of its copies for other programs, by their places.
    """

    identity: TableId
    kind: EntityKind
    name: Name
    owner: Role
    created: Timestamp
    home: str
    moved: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[StoredColumn, ...] = ()
    column_count: int = 0
    altered: bool = False
    definition: Definition | None = None
    lag: TargetLag = DOWNSTREAM
    warehouse: str = ""
    mode: Mode = Mode.FULL
    initialize: Initialize = Initialize.ON_CREATE
    suspended: str | None = None
    original: TableId | None = None
    location: str = ""
    key: tuple[str, ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)
    grants: frozenset[tuple[Privilege, Role]] = frozenset()

    def qualify(self, name: Name) -> Name:
        """Return a name in the definition with its schema."""
        schema, dot, table = name.rpartition(".")
        return f"{self.moved.get(schema, schema) if dot else self.home}.{table}"

    @property
    def reads(self) -> tuple[Name, ...]:
        """The names that the definition reads, with their schemas, each once."""
        named = () if self.definition is None else self.definition.reads
        return tuple(dict.fromkeys(map(self.qualify, named)))


def schema_of(name: Name) -> str:
    """Return the schema of a qualified name."""
    return name.rpartition(".")[0]


def with_schema(name: Name, schema: str) -> Name:
    """Return the same table name in another schema."""
    return f"{schema}.{name.rpartition('.')[2]}"


@dataclass(frozen=True, slots=True)
class State:
    """The catalog at one moment; a state is never changed, each statement makes a new one.

    Attributes:
        entities: The entities by identity, without dropped ones.
        names: The identity of the entity with each name.
        readers: The entities that directly read each name.
        dropped: The entities dropped under each name, oldest first.
        identity_count: The number of identities assigned so far.
    """

    entities: Mapping[TableId, Entity] = field(default_factory=dict)
    names: Mapping[Name, TableId] = field(default_factory=dict)
    readers: Mapping[Name, frozenset[TableId]] = field(default_factory=dict)
    dropped: Mapping[Name, tuple[Entity, ...]] = field(default_factory=dict)
    identity_count: int = 0

    def find(self, name: Name) -> Entity | None:
        """Return the entity with a name; None if there is none."""
        identity = self.names.get(name)
        return None if identity is None else self.entities[identity]

    def get(self, name: Name) -> Entity:
        """Return the entity with a name.

        Raises:
            InputError: There is none.
        """
        entity = self.find(name)
        if entity is None:
            raise InputError(f"there is no {name}; create it, or name one that there is")
        return entity

    def dynamic_tables(self) -> Iterator[Entity]:
        """Return all dynamic tables, in order of creation."""
        return (entity for entity in self.entities.values() if entity.kind is EntityKind.DYNAMIC_TABLE)


def allows(entity: Entity, role: Role, privilege: Privilege) -> bool:
    """Tell whether a role has a privilege (R-DVS-48)."""
    if role in (SYSTEM, entity.owner):
        return True
    return bool(entity.grants & {(privilege, role), (Privilege.OWNERSHIP, role)})


def require(entity: Entity, role: Role, privilege: Privilege) -> None:
    """Raise InputError if a role lacks a privilege."""
    if not allows(entity, role, privilege):
        raise InputError(f"role {role} needs {privilege.value} on {entity.name}")
