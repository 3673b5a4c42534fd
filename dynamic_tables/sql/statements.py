"""SQL statements that create and change tables, read into statements of the catalog.

CREATE is read from sqlglot's tree. ALTER, DROP, UNDROP, GRANT and REVOKE, for which sqlglot has trees for
some kinds of objects only, are short, and are read from its tokens.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from textwrap import shorten
from typing import Any, TypeAlias

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dynamic_tables.catalog import ddl
from dynamic_tables.catalog.lags import DOWNSTREAM, TargetLag, check_target_lag
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.sql.definitions import (
    DIALECT,
    EngineDefinition,
    Lookup,
    SqlDefinition,
    bind_definition,
    parse_statement,
)
from dynamic_tables.sql.names import NAME_PARTS, fold_name, refuse_unknown, table_name
from dynamic_tables.sql.options import (
    DYNAMIC,
    accept_comment,
    accept_without_effect,
    read_options,
    refuse_options,
)
from dynamic_tables.sql.tokens import Tokens
from dynamic_tables.sql.types import type_of
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.types import Field
from pruning.errors import InputError

UNITS_US = {"second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000, "day": 86_400_000_000}
OBJECTS = ("DYNAMIC TABLE", "TABLE", "VIEW")
AUTO = "AUTO"
# The parts of CREATE that are read here.
HANDLED = frozenset({"this", "kind", "replace", "expression", "properties", "exists"})


@dataclass(frozen=True, slots=True)
class Refresh:
    """A manual refresh (R-DVS-07), which does not change the catalog."""

    name: ddl.Name


@dataclass(frozen=True, slots=True)
class NoChange:
    """A statement with IF EXISTS or IF NOT EXISTS that has nothing to do."""

    name: ddl.Name
    reason: str


@dataclass(frozen=True, slots=True)
class CreateTableAs:
    """The creation of a base table with the rows of a query."""

    create: ddl.CreateTable
    query: SqlDefinition


Statement: TypeAlias = ddl.Statement | Refresh | NoChange | CreateTableAs
# Returns the definition by which an engine computes a query that is refused here.
EngineFallback: TypeAlias = Callable[[SqlDefinition, Refused], EngineDefinition]


def read_statement(
    text: str, lookup: Lookup, *, warehouse: str | None = None, engine: EngineFallback | None = None
) -> Statement:
    """Read a statement of SQL.

    Args:
        lookup: Resolves names now: each definition is bound once, so that errors show at once.
        warehouse: The warehouse of a dynamic table that names none; None: each has to name one.
        engine: Gives the definition of a dynamic table, computed in full, whose query is refused here; None:
            it is refused.

    Raises:
        InputError: The statement is not known here, or lacks something that it needs.
        Refused: Its query has a construct that its refresh mode cannot maintain (R-DVS-22).

    >>> read_statement("DROP TABLE s.orders", {}.get)
    Drop(name='s.orders')
    >>> read_statement("ALTER DYNAMIC TABLE s.cities SET TARGET_LAG = '5 minutes'", {}.get)
    SetLag(name='s.cities', lag=300000000)
    """
    tokens = Tokens(text, DIALECT)
    reader = READERS.get(tokens.first)
    if reader is None:
        if tokens.first != "CREATE":
            raise InputError(f"{tokens.first or 'nothing'} is no statement that is known here")
        return read_create(
            parse_statement(text), SqlDefinition(tokens.behind("AS")), lookup, warehouse, engine
        )
    tokens.expect(tokens.first)
    result = reader(tokens, lookup)
    tokens.end()
    return result


def first_word(text: str) -> str:
    """Return the first word of a statement, in upper case.

    >>> first_word("select 1")
    'SELECT'
    """
    return Tokens(text, DIALECT).first


def created_name(text: str) -> str:
    """Return the name of the table or view that a statement creates; empty for another statement.

    >>> created_name("CREATE VIEW s.late AS SELECT * FROM flights"), created_name("DROP VIEW s.late")
    ('s.late', '')
    """
    if first_word(text) != "CREATE":
        return ""
    created = parse_statement(text).this
    table = created.this if isinstance(created, exp.Schema) else created
    return table_name(table) if isinstance(table, exp.Table) else ""


def read_create(
    node: Any,
    definition: SqlDefinition,
    lookup: Lookup,
    warehouse: str | None,
    engine: EngineFallback | None,
) -> Statement:
    """Read CREATE of a table, view, dynamic table or clone."""
    if not isinstance(node, exp.Create):
        beginning = shorten(node.sql(dialect=DIALECT), 40, placeholder=" ...")
        raise InputError(f"{beginning} is no statement that is known here, or has a clause that is not")
    replaces = bool(node.args.get("replace"))
    if node.args.get("exists"):
        created = node.this.this if isinstance(node.this, exp.Schema) else node.this
        if lookup(table_name(created)) is not None:
            return NoChange(table_name(created), "it is there already")
    if node.args.get("clone") is not None:
        return read_clone(node, replaces=replaces)
    options = read_options(node)
    if options.pop(DYNAMIC, None) is not None:
        return dynamic_table(node, options, definition, lookup, warehouse, engine)
    refuse_unknown(node, HANDLED, "CREATE")
    if node.kind == "VIEW" and isinstance(node.this, exp.Table):
        accept_comment(options)
        refuse_options(options, "CREATE VIEW")
        bind_definition(definition, lookup)
        return ddl.CreateView(table_name(node.this), definition, replaces)
    if node.kind != "TABLE" or isinstance(node.this, exp.Schema) is (node.expression is not None):
        raise Refused(f"CREATE {node.kind} of this form", "is not supported")
    if node.expression is not None:
        fields = bind_definition(definition, lookup).fields
    else:
        fields = tuple(column_of(column) for column in node.this.expressions)
    accept_without_effect(options, fields)
    refuse_options(options, "CREATE TABLE")
    if node.expression is not None:
        return CreateTableAs(ddl.CreateTable(table_name(node.this), fields, replaces), definition)
    return ddl.CreateTable(table_name(node.this.this), fields, replaces)


def column_of(node: Any) -> Field:
    """Read a column of CREATE TABLE; a comment is ignored, and what would restrict or fill it is refused."""
    if not isinstance(node, exp.ColumnDef) or node.args.get("kind") is None:
        raise Refused(f"{node.sql(dialect=DIALECT)}", "is not supported as a column")
    for constraint in node.args.get("constraints") or ():
        if not isinstance(constraint.kind, exp.CommentColumnConstraint):
            what = constraint.sql(dialect=DIALECT)
            raise Refused(what, f"is not supported of a column: leave it out of {node.name}")
    return Field(fold_name(node.this), type_of(node.args["kind"]))


def read_clone(node: Any, *, replaces: bool) -> Statement:
    """Read CREATE ... CLONE."""
    if replaces:
        raise Refused("OR REPLACE with CLONE", "is not supported: drop the old one first")
    refuse_unknown(node.args["clone"].this, NAME_PARTS, "CLONE")
    original, clone = table_name(node.args["clone"].this), table_name(node.this)
    return ddl.CloneSchema(original, clone) if node.kind == "SCHEMA" else ddl.Clone(original, clone)


def dynamic_table(
    node: Any,
    options: dict[Any, Any],
    definition: SqlDefinition,
    lookup: Lookup,
    warehouse: str | None,
    engine: EngineFallback | None,
) -> Statement:
    """Read CREATE DYNAMIC TABLE, which requires a warehouse and a target lag (R-DVS-01)."""
    refuse_unknown(node, HANDLED, "CREATE DYNAMIC TABLE")
    if isinstance(node.this, exp.Schema):
        raise Refused("a list of columns", "is not supported in CREATE DYNAMIC TABLE: name them by AS")
    name = table_name(node.this)
    if "warehouse" not in options and warehouse is None:
        raise InputError(f"{name} has no WAREHOUSE to refresh it: write WAREHOUSE = NAME")
    if "target_lag" not in options:
        raise InputError(f"{name} has no TARGET_LAG: write TARGET_LAG = '1 minute' or DOWNSTREAM")
    if node.expression is None:
        raise InputError(f"{name} has no query: write AS SELECT ...")
    if "warehouse" in options:
        warehouse = options.pop("warehouse").name.lower()
    assert warehouse is not None
    lag = options.pop("target_lag")
    mode = option_word(options.pop("refresh_mode", None), AUTO)
    initialize = option_word(options.pop("initialize", None), ddl.Initialize.ON_CREATE.value)
    kept: ddl.Definition = definition
    try:
        query = bind_definition(definition, lookup)
        if not query.sources:
            raise Refused("a query that reads no table", "is not supported in a dynamic table")
        chosen, fields = refresh_mode(mode, query), query.fields
    except Refused as refused:
        if engine is None or mode == ddl.Mode.INCREMENTAL.value:
            raise
        kept, chosen = engine(definition, refused), ddl.Mode.FULL
        fields = kept.fields
    accept_without_effect(options, fields)
    refuse_options(options, "CREATE DYNAMIC TABLE")
    return ddl.CreateDynamicTable(
        name=name,
        definition=kept,
        lag=target_lag(lag.name, quoted=bool(lag.args.get("is_string"))),
        warehouse=warehouse,
        mode=chosen,
        initialize=option_member(ddl.Initialize, initialize, "INITIALIZE"),
        replace=bool(node.args.get("replace")),
    )


def option_word(node: Any, default: str) -> str:
    """Return the value of an option, in upper case."""
    return default if node is None else str(node.name).upper()


def option_member(kind: Any, value: str, option: str) -> Any:
    """Return the member of an enumeration that an option names."""
    values = [choice.value for choice in kind]
    if value not in values:
        raise InputError(f"{option} is {' or '.join(values)}, not {value}")
    return kind(value)


def refresh_mode(mode: str, query: Query) -> ddl.Mode:
    """Return the refresh mode of a table; AUTO is resolved here, once and for all (R-DVS-20).

    Raises:
        Refused: The mode is INCREMENTAL, and the query cannot be maintained incrementally.
    """
    if mode == AUTO:
        return ddl.Mode.INCREMENTAL if query.incremental else ddl.Mode.FULL
    chosen: ddl.Mode = option_member(ddl.Mode, mode, "REFRESH_MODE")
    if chosen is ddl.Mode.INCREMENTAL:
        query.require_incremental()
    return chosen


def target_lag(value: str, *, quoted: bool) -> TargetLag:
    """Read a target lag: DOWNSTREAM, or a number and a unit in quotes, at least a minute (R-DVS-12)."""
    if not quoted and value.upper() == DOWNSTREAM.value:
        return DOWNSTREAM
    count, _, unit = value.strip().lower().partition(" ")
    length = UNITS_US.get(unit.strip().removesuffix("s"))
    if not quoted or not count.isdigit() or length is None:
        raise InputError(f"TARGET_LAG is DOWNSTREAM or like '5 minutes', not {value!r}")
    lag_us = int(count) * length
    check_target_lag(lag_us)
    return lag_us


def read_drop(tokens: Tokens, lookup: Lookup) -> Statement:
    """Read DROP."""
    tokens.one_of(*OBJECTS)
    may_be_missing = tokens.accept("IF", "EXISTS")
    name = tokens.name()
    if may_be_missing and lookup(name) is None:
        return NoChange(name, "it is not there")
    return ddl.Drop(name)


def read_undrop(tokens: Tokens, lookup: Lookup) -> Statement:
    """Read UNDROP."""
    tokens.one_of(*OBJECTS)
    return ddl.Undrop(tokens.name())


def read_alter(tokens: Tokens, lookup: Lookup) -> Statement:
    """Read ALTER."""
    kind = tokens.one_of("DYNAMIC TABLE", "TABLE", "VIEW", "SCHEMA")
    name = tokens.name()
    changes = ALTERATIONS[kind]
    return changes[tokens.one_of(*changes)](tokens, name)


def add_column(tokens: Tokens, name: str) -> Statement:
    """Read ADD COLUMN."""
    column, written = tokens.part(), tokens.rest()
    try:
        data_type = exp.DataType.build(written, dialect=DIALECT)
    except SqlglotError:
        raise InputError(f"{written!r} is no type of a column") from None
    return ddl.AddColumn(name, Field(column, type_of(data_type)))


def set_lag(tokens: Tokens, name: str) -> Statement:
    """Read SET TARGET_LAG."""
    tokens.expect("=")
    value, quoted = tokens.value()
    return ddl.SetLag(name, target_lag(value, quoted=quoted))


def read_grant(tokens: Tokens, lookup: Lookup) -> Statement:
    """Read GRANT."""
    privilege, name = privilege_on(tokens)
    tokens.expect("TO", "ROLE")
    return ddl.Grant(privilege, name, tokens.part())


def read_revoke(tokens: Tokens, lookup: Lookup) -> Statement:
    """Read REVOKE."""
    privilege, name = privilege_on(tokens)
    tokens.expect("FROM", "ROLE")
    return ddl.Revoke(privilege, name, tokens.part())


def privilege_on(tokens: Tokens) -> tuple[ddl.Privilege, str]:
    """Read a privilege and the table to which it applies."""
    privilege = ddl.Privilege(tokens.one_of(*(privilege.value for privilege in ddl.Privilege)))
    tokens.expect("ON")
    tokens.one_of(*OBJECTS)
    return privilege, tokens.name()


READERS: Mapping[str, Callable[[Tokens, Lookup], Statement]] = {
    "DROP": read_drop,
    "UNDROP": read_undrop,
    "ALTER": read_alter,
    "GRANT": read_grant,
    "REVOKE": read_revoke,
}
Alteration: TypeAlias = Callable[[Tokens, str], Statement]
NAMING: Mapping[str, Alteration] = {
    "RENAME TO": lambda tokens, name: ddl.Rename(name, tokens.name()),
    "SWAP WITH": lambda tokens, name: ddl.Swap(name, tokens.name()),
}
ALTERATIONS: Mapping[str, Mapping[str, Alteration]] = {
    "VIEW": NAMING,
    "SCHEMA": {
        "RENAME TO": lambda tokens, name: ddl.RenameSchema(name, tokens.name()),
        "SWAP WITH": lambda tokens, name: ddl.SwapSchemas(name, tokens.name()),
    },
    "TABLE": {
        **NAMING,
        "ADD COLUMN": add_column,
        "DROP COLUMN": lambda tokens, name: ddl.DropColumn(name, tokens.part()),
    },
    "DYNAMIC TABLE": {
        **NAMING,
        "SUSPEND": lambda tokens, name: ddl.Suspend(name),
        "RESUME": lambda tokens, name: ddl.Resume(name),
        "REFRESH": lambda tokens, name: Refresh(name),
        "SET TARGET_LAG": set_lag,
    },
}
