"""Statements that the catalog of a warehouse keeps: what they create, alter and drop."""

import dataclasses
from functools import partial
from typing import Any

from dynamic_tables.catalog import ddl
from dynamic_tables.catalog.entities import SYSTEM, schema_of
from dynamic_tables.maintenance.algebra import Opaque
from dynamic_tables.on_spark.engine_queries import query_fields
from dynamic_tables.sql.definitions import (
    EngineDefinition,
    SqlDefinition,
    bind_definition,
    bind_engine_definition,
)
from dynamic_tables.sql.statements import CreateTableAs, NoChange, Statement, created_name, read_statement
from dynamic_tables.sql.writes import read_write
from dynamic_tables.stores.lake_versions import open_lake_version
from dynamic_tables.values.errors import Refused
from dynamic_tables.warehouse.accounts import WarehouseAccount
from dynamic_tables.warehouse.attached_tables import follow
from dynamic_tables.warehouse.naming import SCHEMA, check_names, lookup_in, qualify
from dynamic_tables.warehouse.requests import wait_for_refresh
from dynamic_tables.warehouse.writing import run_write
from pruning.errors import InputError

# Statements whose names are those of schemas.
OF_SCHEMAS = (ddl.RenameSchema, ddl.SwapSchemas, ddl.CloneSchema)
# The [D] warehouse of dynamic tables that name none.
WAREHOUSE = "main"


def statement_of(account: WarehouseAccount, text: str) -> Statement:
    """Read a statement; names without a schema, in what it creates, belong to the schema of that.

    Raises:
        InputError: It is refused.
    """
    home = schema_of(created_name(text)) or SCHEMA
    engine = partial(engine_definition, account, home)
    return read_statement(text, lookup_in(account, home), warehouse=WAREHOUSE, engine=engine)


def engine_definition(
    account: WarehouseAccount, home: str, definition: SqlDefinition, refused: Refused
) -> EngineDefinition:
    """Return the definition of a dynamic table whose query Spark computes as it is written.

    Raises:
        InputError: Spark refuses the query, or it is not repeatable.
    """
    unbound = EngineDefinition(definition.text, definition.reads, (), "")
    query = bind_engine_definition(unbound, lookup_in(account, home)).relation
    assert isinstance(query, Opaque), "an engine computes it"
    with account.backend.views:
        fields = query_fields(account.spark(), query)
    return EngineDefinition(definition.text, definition.reads, fields, str(refused))


def execute(account: WarehouseAccount, statement: ddl.Statement | NoChange | CreateTableAs) -> str:
    """Execute a statement; a new dynamic table is refreshed. Return what was done.

    Raises:
        InputError: It is refused, or the first refresh failed.
    """
    if isinstance(statement, NoChange):
        return f"nothing to do for {qualify(statement.name)}: {statement.reason}"
    if isinstance(statement, CreateTableAs):
        return create_with_rows(account, statement)
    names: dict[str, Any] = {
        part: qualify(getattr(statement, part))
        for part in ("name", "to", "other")
        if hasattr(statement, part) and not isinstance(statement, OF_SCHEMAS)
    }
    statement = dataclasses.replace(statement, **names)
    if isinstance(statement, ddl.CreateTable):
        check_names([column.name for column in statement.columns])
    if isinstance(statement, ddl.CreateDynamicTable):
        check_names(columns_of(account, statement))
    if isinstance(statement, ddl.AddColumn | ddl.DropColumn):
        check_columns(account, statement)
    account.run(statement, SYSTEM)
    if not isinstance(statement, ddl.CreateDynamicTable):
        return "done"
    way = "incrementally" if statement.mode is ddl.Mode.INCREMENTAL else "in full"
    if statement.initialize is ddl.Initialize.ON_CREATE:
        wait_for_refresh(account, account.catalog.state.get(statement.name).identity, -1)
    return f"{statement.name} is refreshed {way}"


def check_columns(account: WarehouseAccount, statement: ddl.AddColumn | ddl.DropColumn) -> None:
    """Raise InputError if a table cannot have other columns, or a column the name."""
    entity = account.catalog.state.get(statement.name)
    if entity.location:
        raise InputError(f"{entity.name} has the columns of {entity.location}: attach that anew")
    if isinstance(statement, ddl.AddColumn):
        check_names([statement.column.name, *(column.field.name for column in entity.columns)])


def create_with_rows(account: WarehouseAccount, statement: CreateTableAs) -> str:
    """Create a base table with the rows of a query; without these rows, it does not stay.

    Raises:
        InputError: It is refused, or the query failed.
    """
    name = qualify(statement.create.name)
    execute(account, statement.create)
    try:
        # Names in the query without a schema are of that of the table, as in its definition.
        insert = f"INSERT INTO {exact_name(name)} {statement.query.text}"
        write = read_write(insert, lookup_in(account, schema_of(name)))
        assert write is not None, "it is an INSERT"
        return run_write(account, write, insert, schema_of(name))
    except BaseException:
        account.run(ddl.Drop(name), SYSTEM)
        raise


def exact_name(name: str) -> str:
    """Return a name as SQL that means it exactly."""
    return ".".join(f'"{part}"' for part in name.split("."))


def columns_of(account: WarehouseAccount, statement: ddl.CreateDynamicTable) -> list[str]:
    """Return the names of the columns of a new dynamic table."""
    if isinstance(statement.definition, EngineDefinition):
        return [field.name for field in statement.definition.fields]
    assert isinstance(statement.definition, SqlDefinition), "other definitions are in SQL"
    lookup = lookup_in(account, schema_of(statement.name))
    return list(bind_definition(statement.definition, lookup).columns)


def attach(account: WarehouseAccount, name: str, location: str, key: tuple[str, ...]) -> None:
    """Make a base table that follows a table which others write; if that cannot be read, it does not stay.

    Raises:
        InputError: There is no table, it has what is not supported, or the key is none of it.
    """
    version = open_lake_version(location)
    names = [field.name for field in version.fields]
    check_names(names)
    missing = next((column for column in key if column not in names), None)
    if missing is not None:
        raise InputError(f"{location} has no column {missing} for a key; it has {', '.join(names)}")
    create = ddl.CreateTable(qualify(name), version.fields, location=version.location, key=key)
    account.run(create, SYSTEM)
    entity = account.catalog.state.get(qualify(name))
    try:
        follow(account.tables[entity.identity], entity, account.now_us)
    except BaseException:
        account.run(ddl.Drop(qualify(name)), SYSTEM)
        raise
