"""Statements of SQL that change what tables there are, as the catalog takes them.

CREATE is read from the tree that sqlglot's parser makes. Of ALTER, DROP, UNDROP, GRANT and REVOKE it makes
trees for some kinds of objects only, so these, which are short, are read from its tokens.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlglot import exp
from sqlglot.errors import SqlglotError

from dynamic_tables.catalog import ddl
from dynamic_tables.catalog.lags import DOWNSTREAM, TargetLag, check_target_lag
from dynamic_tables.sql.definitions import DIALECT, Definition, Lookup, bound, parsed
from dynamic_tables.sql.names import folded, refuse_unknown, table_name
from dynamic_tables.sql.tokens import Tokens
from dynamic_tables.sql.types import type_of
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.types import Field
from pruning.errors import InputError

UNITS_US = {"second": 1_000_000, "minute": 60_000_000, "hour": 3_600_000_000, "day": 86_400_000_000}
OBJECTS = ("DYNAMIC TABLE", "TABLE", "VIEW")
AUTO = "AUTO"


@dataclass(frozen=True, slots=True)
class Refresh:
    """A manual refresh (R-DVS-07); it is no change of the catalog."""

    name: ddl.Name


Statement: TypeAlias = ddl.Statement | Refresh


def statement(text: str, lookup: Lookup) -> Statement:
    """The statement that a text means.

    Args:
        lookup: What names stand for now: definitions are bound to see that they can be.

    Raises:
        InputError: It is no statement that is known here, or misses what it needs.
        Refused: Its query has a construct that its refresh mode cannot maintain (R-DVS-22).
    """
    tokens = Tokens(text, DIALECT)
    reader = READERS.get(tokens.first)
    if reader is None:
        return created(parsed(text), Definition(tokens.behind("AS")), lookup)
    tokens.expect(tokens.first)
    found = reader(tokens)
    tokens.end()
    return found


def created(node: Any, definition: Definition, lookup: Lookup) -> Statement:
    """CREATE of a table, view, dynamic table or clone."""
    if not isinstance(node, exp.Create):
        raise InputError(f"{type(node).__name__.upper()} is no statement that is known here")
    replaces = bool(node.args.get("replace"))
    if node.args.get("clone") is not None:
        return cloned(node, replaces=replaces)
    options = properties(node)
    if exp.DynamicProperty in options:
        return dynamic_table(node, options, definition, lookup)
    refuse_unknown(node, frozenset({"this", "kind", "replace", "expression"}), "CREATE")
    if node.kind == "VIEW" and isinstance(node.this, exp.Table):
        bound(definition, lookup)
        return ddl.CreateView(table_name(node.this), definition, replaces)
    if node.kind != "TABLE" or not isinstance(node.this, exp.Schema) or node.expression is not None:
        raise Refused(f"CREATE {node.kind} of this form", "is not supported")
    columns = tuple(column_of(one) for one in node.this.expressions)
    return ddl.CreateTable(table_name(node.this.this), columns, replaces)


def column_of(node: Any) -> Field:
    """A column of CREATE TABLE."""
    if not isinstance(node, exp.ColumnDef) or node.args.get("kind") is None:
        raise Refused(f"{node.sql(dialect=DIALECT)}", "is not supported as a column")
    return Field(folded(node.this), type_of(node.args["kind"]))


def cloned(node: Any, *, replaces: bool) -> Statement:
    """CREATE ... CLONE."""
    if replaces:
        raise Refused("OR REPLACE with CLONE", "is not supported: drop the old one first")
    if node.args["clone"].args.get("expression") is not None:
        raise Refused("CLONE AT or BEFORE", "is not supported")
    original, made = table_name(node.args["clone"].this), table_name(node.this)
    return ddl.CloneSchema(original, made) if node.kind == "SCHEMA" else ddl.Clone(original, made)


def properties(node: Any) -> dict[Any, Any]:
    """The options of CREATE: their values by name in lower case, others by their type."""
    found: dict[Any, Any] = {}
    holder = node.args.get("properties")
    for one in () if holder is None else holder.expressions:
        name = one.name.lower() if type(one) is exp.Property else type(one)
        if name in found:
            raise InputError(f"{str(name).upper()} is given twice")
        found[name] = one.args.get("value")
    return found


def dynamic_table(node: Any, options: dict[Any, Any], definition: Definition, lookup: Lookup) -> Statement:
    """CREATE DYNAMIC TABLE: warehouse and target lag are required (R-DVS-01)."""
    handled = frozenset({"this", "kind", "replace", "expression", "properties"})
    refuse_unknown(node, handled, "CREATE DYNAMIC TABLE")
    name = table_name(node.this)
    del options[exp.DynamicProperty]
    if "warehouse" not in options:
        raise InputError(f"{name} has no WAREHOUSE to refresh it: write WAREHOUSE = NAME")
    if "target_lag" not in options:
        raise InputError(f"{name} has no TARGET_LAG: write TARGET_LAG = '1 minute' or DOWNSTREAM")
    if node.expression is None:
        raise InputError(f"{name} has no query: write AS SELECT ...")
    warehouse, lag = options.pop("warehouse").name.lower(), options.pop("target_lag")
    mode = word(options.pop("refresh_mode", None), AUTO)
    initialize = word(options.pop("initialize", None), ddl.Initialize.ON_CREATE.value)
    if options:
        raise Refused(f"{' and '.join(str(one).upper() for one in options)}", "is not supported in CREATE")
    return ddl.CreateDynamicTable(
        name=name,
        definition=definition,
        lag=target_lag(lag.name, quoted=bool(lag.args.get("is_string"))),
        warehouse=warehouse,
        mode=refresh_mode(mode, definition, lookup),
        initialize=member(ddl.Initialize, initialize, "INITIALIZE"),
        replace=bool(node.args.get("replace")),
    )


def word(node: Any, default: str) -> str:
    """The value of an option, in upper case."""
    return default if node is None else str(node.name).upper()


def member(kind: Any, value: str, option: str) -> Any:
    """The member of an enumeration that an option names."""
    known = [one.value for one in kind]
    if value not in known:
        raise InputError(f"{option} is {' or '.join(known)}, not {value}")
    return kind(value)


def refresh_mode(mode: str, definition: Definition, lookup: Lookup) -> ddl.Mode:
    """The mode of a table; AUTO is decided here, once for all (R-DVS-20).

    Raises:
        Refused: INCREMENTAL is asked for, and the query has what it cannot maintain.
    """
    query = bound(definition, lookup)
    if mode == AUTO:
        return ddl.Mode.INCREMENTAL if query.incremental else ddl.Mode.FULL
    chosen: ddl.Mode = member(ddl.Mode, mode, "REFRESH_MODE")
    if chosen is ddl.Mode.INCREMENTAL:
        query.require_incremental()
    return chosen


def target_lag(value: str, *, quoted: bool) -> TargetLag:
    """A target lag: DOWNSTREAM, or a number and a unit in quotes, at least a minute (R-DVS-12)."""
    if not quoted and value.upper() == DOWNSTREAM.value:
        return DOWNSTREAM
    count, _, unit = value.strip().lower().partition(" ")
    length = UNITS_US.get(unit.strip().removesuffix("s"))
    if not quoted or not count.isdigit() or length is None:
        raise InputError(f"TARGET_LAG is DOWNSTREAM or like '5 minutes', not {value!r}")
    lag_us = int(count) * length
    check_target_lag(lag_us)
    return lag_us


def read_drop(tokens: Tokens) -> Statement:
    """DROP."""
    tokens.one_of(*OBJECTS)
    return ddl.Drop(tokens.name())


def read_undrop(tokens: Tokens) -> Statement:
    """UNDROP."""
    tokens.one_of(*OBJECTS)
    return ddl.Undrop(tokens.name())


def read_alter(tokens: Tokens) -> Statement:
    """ALTER."""
    kind = tokens.one_of("DYNAMIC TABLE", "TABLE", "VIEW", "SCHEMA")
    name = tokens.name()
    changes = ALTERATIONS[kind]
    return changes[tokens.one_of(*changes)](tokens, name)


def add_column(tokens: Tokens, name: str) -> Statement:
    """ADD COLUMN."""
    column, written = tokens.part(), tokens.rest()
    try:
        found = exp.DataType.build(written, dialect=DIALECT)
    except SqlglotError:
        raise InputError(f"{written!r} is no type of a column") from None
    return ddl.AddColumn(name, Field(column, type_of(found)))


def set_lag(tokens: Tokens, name: str) -> Statement:
    """SET TARGET_LAG."""
    tokens.expect("=")
    value, quoted = tokens.value()
    return ddl.SetLag(name, target_lag(value, quoted=quoted))


def read_grant(tokens: Tokens) -> Statement:
    """GRANT."""
    privilege, name = privilege_on(tokens)
    tokens.expect("TO", "ROLE")
    return ddl.Grant(privilege, name, tokens.part())


def read_revoke(tokens: Tokens) -> Statement:
    """REVOKE."""
    privilege, name = privilege_on(tokens)
    tokens.expect("FROM", "ROLE")
    return ddl.Revoke(privilege, name, tokens.part())


def privilege_on(tokens: Tokens) -> tuple[ddl.Privilege, str]:
    """A privilege, and the table that it is on."""
    privilege = ddl.Privilege(tokens.one_of(*(one.value for one in ddl.Privilege)))
    tokens.expect("ON")
    tokens.one_of(*OBJECTS)
    return privilege, tokens.name()


READERS: Mapping[str, Callable[[Tokens], Statement]] = {
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
