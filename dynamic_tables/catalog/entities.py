"""What the catalog knows at one moment: tables, views and dynamic tables, apart from their names."""

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dynamic_tables.catalog.ddl import Definition, Initialize, Mode, Name, Privilege, Role
from dynamic_tables.catalog.lags import DOWNSTREAM, TargetLag
from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.frontiers import TableId
from dynamic_tables.values.types import Field
from pruning.errors import InputError

# Who may do everything: the role of the system itself.
SYSTEM: Role = "SYSTEM"


class Kind(enum.Enum):
    """What stands under a name."""

    TABLE = "table"
    VIEW = "view"
    DYNAMIC_TABLE = "dynamic table"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a base table, and where its values stand in the stored rows, which may be shorter."""

    field: Field
    position: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A table, view or dynamic table.

    Attributes:
        identity: Stays when the name changes; what replaces a table has another.
        home: The schema of the names in the definition that have none.
        moved: What schemas in the definition are called now, if a clone reads clones.
        column_count: How many columns it has had, of which `columns` are left.
        altered: Whether columns were added or dropped, so that stored rows may have others.
        suspended: Why it is not scheduled; None if it is.
        original: What it is a clone of.
    """

    identity: TableId
    kind: Kind
    name: Name
    owner: Role
    created: Timestamp
    home: str
    moved: Mapping[str, str] = field(default_factory=dict)
    columns: tuple[Column, ...] = ()
    column_count: int = 0
    altered: bool = False
    definition: Definition | None = None
    lag: TargetLag = DOWNSTREAM
    warehouse: str = ""
    mode: Mode = Mode.FULL
    initialize: Initialize = Initialize.ON_CREATE
    suspended: str | None = None
    original: TableId | None = None
    grants: frozenset[tuple[Privilege, Role]] = frozenset()

    def qualified(self, name: Name) -> Name:
        """A name that the definition reads, with its schema."""
        schema, dot, table = name.rpartition(".")
        return f"{self.moved.get(schema, schema) if dot else self.home}.{table}"

    @property
    def reads(self) -> tuple[Name, ...]:
        """The names that it reads, with their schemas, each once."""
        named = () if self.definition is None else self.definition.reads
        return tuple(dict.fromkeys(map(self.qualified, named)))


def schema_of(name: Name) -> str:
    """The schema of a qualified name."""
    return name.rpartition(".")[0]


def in_schema(name: Name, schema: str) -> Name:
    """The same name in another schema."""
    return f"{schema}.{name.rpartition('.')[2]}"


@dataclass(frozen=True, slots=True)
class State:
    """The catalog at one moment; never changed, the next moment has its own.

    Attributes:
        entities: By identity, without those dropped.
        names: What stands under each name.
        readers: Of each name, who reads it, directly.
        dropped: Under each name, what was dropped, oldest first.
        identity_count: How many identities were given.
    """

    entities: Mapping[TableId, Entity] = field(default_factory=dict)
    names: Mapping[Name, TableId] = field(default_factory=dict)
    readers: Mapping[Name, frozenset[TableId]] = field(default_factory=dict)
    dropped: Mapping[Name, tuple[Entity, ...]] = field(default_factory=dict)
    identity_count: int = 0

    def find(self, name: Name) -> Entity | None:
        """What stands under a name; None if nothing does."""
        identity = self.names.get(name)
        return None if identity is None else self.entities[identity]

    def get(self, name: Name) -> Entity:
        """What stands under a name.

        Raises:
            InputError: Nothing does.
        """
        found = self.find(name)
        if found is None:
            raise InputError(f"there is no {name}; create it, or name one that there is")
        return found

    def dynamic_tables(self) -> Iterator[Entity]:
        """All dynamic tables, in the order in which they came."""
        return (entity for entity in self.entities.values() if entity.kind is Kind.DYNAMIC_TABLE)


def allows(entity: Entity, role: Role, privilege: Privilege) -> bool:
    """Whether a role has a privilege (R-DVS-48)."""
    if role in (SYSTEM, entity.owner):
        return True
    return bool(entity.grants & {(privilege, role), (Privilege.OWNERSHIP, role)})


def require(entity: Entity, role: Role, privilege: Privilege) -> None:
    """Refuse a role that lacks a privilege."""
    if not allows(entity, role, privilege):
        raise InputError(f"role {role} needs {privilege.value} on {entity.name}")
