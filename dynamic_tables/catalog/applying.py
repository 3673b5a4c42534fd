"""The rules by which statements change the catalog, one for each kind of statement."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from dynamic_tables.catalog import ddl
from dynamic_tables.catalog.ddl import Name, Privilege, Role, Statement
from dynamic_tables.catalog.entities import (
    Entity,
    EntityKind,
    State,
    StoredColumn,
    require,
    schema_of,
    with_schema,
)
from dynamic_tables.catalog.lags import check_target_lag
from dynamic_tables.storage.clock import Timestamp
from dynamic_tables.storage.frontiers import TableId
from pruning.errors import InputError

# The reason for which a clone is not scheduled.
CLONED = "it is a clone"


@dataclass(frozen=True, slots=True)
class Entry:
    """One statement of the log."""

    committed: Timestamp
    role: Role
    statement: Statement


@dataclass(frozen=True, slots=True)
class Step:
    """The result of applying an entry.

    Attributes:
        names: The names whose meaning may have changed.
    """

    state: State
    names: frozenset[Name]


class Draft:
    """The next state of the catalog while a statement is applied; the state before is not changed."""

    def __init__(self, state: State, entry: Entry) -> None:
        """Start from a copy of a state."""
        self.entry = entry
        self.entities = dict(state.entities)
        self.names = dict(state.names)
        self.readers = dict(state.readers)
        self.dropped = dict(state.dropped)
        self.identity_count = state.identity_count
        self.changed: dict[Name, None] = {}

    def get(self, name: Name, privilege: Privilege = Privilege.OWNERSHIP) -> Entity:
        """Return the entity with a name; refuse a role that lacks the privilege."""
        if name not in self.names:
            raise InputError(f"there is no {name}; create it, or name one that there is")
        entity = self.entities[self.names[name]]
        require(entity, self.entry.role, privilege)
        return entity

    def identity(self) -> TableId:
        """Return a new identity."""
        self.identity_count += 1
        return f"t{self.identity_count}"

    def put(self, entity: Entity) -> None:
        """Add an entity under its name, which must not be in use."""
        if entity.name in self.names:
            raise InputError(f"there is a {entity.name} already; drop it, or take another name")
        if not entity.name.rpartition(".")[0]:
            raise InputError(f"{entity.name} has no schema; write schema.{entity.name}")
        self.entities[entity.identity] = entity
        self.names[entity.name] = entity.identity
        self.changed[entity.name] = None
        for read in entity.reads:
            self.readers[read] = self.readers.get(read, frozenset()) | {entity.identity}

    def take(self, entity: Entity) -> None:
        """Remove an entity and its name."""
        del self.entities[entity.identity], self.names[entity.name]
        self.changed[entity.name] = None
        for read in entity.reads:
            self.readers[read] = self.readers[read] - {entity.identity}
            if not self.readers[read]:
                del self.readers[read]

    def exchange(self, old: tuple[Entity, ...], new: tuple[Entity, ...]) -> None:
        """Replace entities by others."""
        for entity in old:
            self.take(entity)
        for entity in new:
            self.put(entity)

    def alter(self, entity: Entity) -> None:
        """Replace an entity by a version with the same name and the same sources."""
        self.entities[entity.identity] = entity
        self.changed[entity.name] = None

    def create(self, entity: Entity, *, over: bool) -> None:
        """Add an entity; `over` drops the entity that has its name (upstream wins, R-DVS-40)."""
        for read in entity.reads:
            self.get(read, Privilege.SELECT)
        if over and entity.name in self.names:
            drop(self, ddl.Drop(entity.name))
        self.put(entity)

    def refuse_cycles(self) -> None:
        """Raise InputError if a changed table would read itself, also through views (R-DVS-05)."""
        for name in self.changed:
            if name in self.readers and name in self.names:
                self._refuse_cycle(name)

    def _refuse_cycle(self, name: Name) -> None:
        open_names = list(self.entities[self.names[name]].reads)
        visited = set(open_names)
        while open_names:
            read = open_names.pop()
            if read == name:
                raise InputError(f"{name} would read itself, directly or through others")
            if read in self.names:
                above = [n for n in self.entities[self.names[read]].reads if n not in visited]
                visited.update(above)
                open_names += above

    def finish(self) -> Step:
        """Return the next state, after checking it for cycles."""
        self.refuse_cycles()
        state = State(self.entities, self.names, self.readers, self.dropped, self.identity_count)
        return Step(state, frozenset(self.changed))


def create_table(draft: Draft, statement: ddl.CreateTable) -> None:
    """Create an empty base table."""
    columns = tuple(StoredColumn(column, place) for place, column in enumerate(statement.columns))
    entity = _new_entity(draft, EntityKind.TABLE, statement.name)
    entity = replace(
        entity,
        columns=columns,
        column_count=len(columns),
        location=statement.location,
        key=statement.key,
    )
    draft.create(entity, over=statement.replace)


def create_view(draft: Draft, statement: ddl.CreateView) -> None:
    """Create a view."""
    entity = replace(_new_entity(draft, EntityKind.VIEW, statement.name), definition=statement.definition)
    draft.create(entity, over=statement.replace)


def create_dynamic_table(draft: Draft, statement: ddl.CreateDynamicTable) -> None:
    """Create a dynamic table (R-DVS-01)."""
    if not statement.warehouse:
        raise InputError(f"{statement.name} has no warehouse to refresh it; name one")
    check_target_lag(statement.lag)
    entity = replace(
        _new_entity(draft, EntityKind.DYNAMIC_TABLE, statement.name),
        definition=statement.definition,
        lag=statement.lag,
        warehouse=statement.warehouse,
        mode=statement.mode,
        initialize=statement.initialize,
    )
    draft.create(entity, over=statement.replace)


def add_column(draft: Draft, statement: ddl.AddColumn) -> None:
    """Add a column, which is NULL in rows that were stored without it."""
    entity = _base_table(draft, statement.name)
    if any(column.field.name == statement.column.name for column in entity.columns):
        raise InputError(f"{entity.name} has a column {statement.column.name} already")
    columns = (*entity.columns, StoredColumn(statement.column, entity.column_count))
    draft.alter(replace(entity, columns=columns, column_count=entity.column_count + 1, altered=True))


def drop_column(draft: Draft, statement: ddl.DropColumn) -> None:
    """Drop a column; stored rows keep its values, but no reader sees them."""
    entity = _base_table(draft, statement.name)
    left = tuple(column for column in entity.columns if column.field.name != statement.column)
    if len(left) == len(entity.columns):
        raise InputError(f"{entity.name} has no column {statement.column}")
    draft.alter(replace(entity, columns=left, altered=True))


def set_lag(draft: Draft, statement: ddl.SetLag) -> None:
    """Set the target lag."""
    check_target_lag(statement.lag)
    draft.alter(replace(_dynamic_table(draft, statement.name), lag=statement.lag))


def publish(draft: Draft, statement: ddl.Publish) -> None:
    """Keep a copy of a dynamic table at a place, or stop that."""
    entity = _dynamic_table(draft, statement.name)
    copies = {place: form for place, form in entity.copies.items() if place != statement.location}
    if statement.format:
        copies[statement.location] = statement.format
    draft.alter(replace(entity, copies=copies))


def suspend(draft: Draft, statement: ddl.Suspend) -> None:
    """Stop scheduled refreshes of a dynamic table."""
    entity = _dynamic_table(draft, statement.name, Privilege.OPERATE)
    draft.alter(replace(entity, suspended=statement.reason))


def resume(draft: Draft, statement: ddl.Resume) -> None:
    """Start scheduled refreshes of a dynamic table again."""
    draft.alter(replace(_dynamic_table(draft, statement.name, Privilege.OPERATE), suspended=None))


def drop(draft: Draft, statement: ddl.Drop) -> None:
    """Drop a table, even if others read it (R-DVS-40)."""
    entity = draft.get(statement.name)
    draft.take(entity)
    draft.dropped[entity.name] = (*draft.dropped.get(entity.name, ()), entity)


def undrop(draft: Draft, statement: ddl.Undrop) -> None:
    """Restore the table dropped last under this name, with its identity (R-DVS-41)."""
    dropped = draft.dropped.get(statement.name)
    if not dropped:
        raise InputError(f"no {statement.name} was dropped")
    *older, entity = dropped
    require(entity, draft.entry.role, Privilege.OWNERSHIP)
    draft.dropped[statement.name] = tuple(older)
    draft.put(entity)


def rename(draft: Draft, statement: ddl.Rename) -> None:
    """Rename a table; what it reads stays the same."""
    entity = draft.get(statement.name)
    draft.exchange((entity,), (replace(entity, name=statement.to),))


def swap(draft: Draft, statement: ddl.Swap) -> None:
    """Exchange the names of two tables."""
    first, second = draft.get(statement.name), draft.get(statement.other)
    if first is second:
        raise InputError(f"{first.name} cannot be swapped with itself")
    draft.exchange((first, second), (replace(first, name=second.name), replace(second, name=first.name)))


def clone(draft: Draft, statement: ddl.Clone) -> None:
    """Clone a table; the clone reads what its original reads."""
    original = draft.get(statement.name, Privilege.SELECT)
    if original.kind is EntityKind.VIEW:
        raise InputError(f"{original.name} is a view; clone its schema, or create the view again")
    draft.put(_clone(draft, original, statement.to))


def clone_schema(draft: Draft, statement: ddl.CloneSchema) -> None:
    """Clone all tables of a schema; the clones read each other instead of the originals (R-DVS-46)."""
    if _tables_in(draft, statement.to):
        raise InputError(f"there is a schema {statement.to} already")
    originals = _existing_tables(draft, statement.schema)
    for original in originals:
        require(original, draft.entry.role, Privilege.SELECT)
        copied = _clone(draft, original, with_schema(original.name, statement.to))
        draft.put(_with_home(copied, {statement.schema: statement.to}, texts=True))


def rename_schema(draft: Draft, statement: ddl.RenameSchema) -> None:
    """Rename a schema; definitions that name the old schema explicitly no longer resolve."""
    if _tables_in(draft, statement.to):
        raise InputError(f"there is a schema {statement.to} already")
    _rename_schemas(draft, {statement.schema: statement.to})


def swap_schemas(draft: Draft, statement: ddl.SwapSchemas) -> None:
    """Exchange the names of two schemas."""
    _rename_schemas(draft, {statement.schema: statement.other, statement.other: statement.schema})


def grant(draft: Draft, statement: ddl.Grant) -> None:
    """Grant a privilege to a role."""
    entity = draft.get(statement.name)
    draft.alter(replace(entity, grants=entity.grants | {(statement.privilege, statement.role)}))


def revoke(draft: Draft, statement: ddl.Revoke) -> None:
    """Revoke a privilege from a role."""
    entity = draft.get(statement.name)
    draft.alter(replace(entity, grants=entity.grants - {(statement.privilege, statement.role)}))


# The rule of each kind of statement; a rule takes statements of its key's type.
RULES: Mapping[type[Statement], Callable[[Draft, Any], None]] = {
    ddl.CreateTable: create_table,
    ddl.CreateView: create_view,
    ddl.CreateDynamicTable: create_dynamic_table,
    ddl.AddColumn: add_column,
    ddl.DropColumn: drop_column,
    ddl.SetLag: set_lag,
    ddl.Publish: publish,
    ddl.Suspend: suspend,
    ddl.Resume: resume,
    ddl.Drop: drop,
    ddl.Undrop: undrop,
    ddl.Rename: rename,
    ddl.Swap: swap,
    ddl.Clone: clone,
    ddl.CloneSchema: clone_schema,
    ddl.RenameSchema: rename_schema,
    ddl.SwapSchemas: swap_schemas,
    ddl.Grant: grant,
    ddl.Revoke: revoke,
}


def apply(state: State, entry: Entry) -> Step:
    """Return the state after an entry.

    Raises:
        InputError: The statement is refused, and nothing changes.
    """
    draft = Draft(state, entry)
    RULES[type(entry.statement)](draft, entry.statement)
    return draft.finish()


def _new_entity(draft: Draft, kind: EntityKind, name: Name) -> Entity:
    return Entity(
        identity=draft.identity(),
        kind=kind,
        name=name,
        owner=draft.entry.role,
        created=draft.entry.committed,
        home=schema_of(name),
    )


def _clone(draft: Draft, original: Entity, to: Name) -> Entity:
    return replace(
        original,
        identity=draft.identity(),
        name=to,
        owner=draft.entry.role,
        created=draft.entry.committed,
        suspended=CLONED if original.kind is EntityKind.DYNAMIC_TABLE else None,
        original=original.identity,
        grants=frozenset(),
        copies={},
    )


def _base_table(draft: Draft, name: Name) -> Entity:
    entity = draft.get(name)
    if entity.kind is not EntityKind.TABLE:
        raise InputError(f"{name} is a {entity.kind.value}; its columns are those of its query")
    return entity


def _dynamic_table(draft: Draft, name: Name, privilege: Privilege = Privilege.OWNERSHIP) -> Entity:
    entity = draft.get(name, privilege)
    if entity.kind is not EntityKind.DYNAMIC_TABLE:
        raise InputError(f"{name} is a {entity.kind.value}, not a dynamic table")
    return entity


def _tables_in(draft: Draft, schema: str) -> list[Entity]:
    return [entity for entity in draft.entities.values() if schema_of(entity.name) == schema]


def _existing_tables(draft: Draft, schema: str) -> list[Entity]:
    entities = _tables_in(draft, schema)
    if not entities:
        raise InputError(f"there is no schema {schema}")
    return entities


def _rename_schemas(draft: Draft, to: Mapping[str, str]) -> None:
    old = [entity for schema in to for entity in _existing_tables(draft, schema)]
    for entity in old:
        require(entity, draft.entry.role, Privilege.OWNERSHIP)
    renamed = [replace(entity, name=with_schema(entity.name, to[schema_of(entity.name)])) for entity in old]
    draft.exchange(tuple(old), tuple(_with_home(entity, to, texts=False) for entity in renamed))


def _with_home(entity: Entity, to: Mapping[str, str], *, texts: bool) -> Entity:
    """Return the entity with its home schema renamed; `texts`: also the schemas in its definition."""
    moved = dict(entity.moved)
    if texts:
        moved = {schema: to.get(now, now) for schema, now in moved.items()} | dict(to)
    return replace(entity, home=to.get(entity.home, entity.home), moved=moved)
