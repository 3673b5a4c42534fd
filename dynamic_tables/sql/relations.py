"""Queries of SQL as relations: FROM with its joins, the stages of a SELECT, unions, WITH."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, TypeAlias

from sqlglot import exp

from dynamic_tables.maintenance.algebra import (
    Distinct,
    Filter,
    Join,
    JoinKind,
    Project,
    Relation,
    Scan,
    UnionAll,
)
from dynamic_tables.sql.expressions import Binder, written
from dynamic_tables.sql.joins import conjuncts, flattened, keyed
from dynamic_tables.sql.names import folded, refuse_unknown, table_name
from dynamic_tables.sql.scopes import Scope, beside, scope_of
from dynamic_tables.sql.stages import Stages, expanded
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.expressions import Column, Expression
from dynamic_tables.values.functions import as_type, call
from dynamic_tables.values.types import Field, Type, common
from pruning.errors import InputError

# Views that are expanded within each other.
NESTING_MAX = 50


@dataclass(frozen=True, slots=True)
class Table:
    """What a name of a base table or dynamic table stands for.

    Attributes:
        positions: Where the columns stand in stored rows; None: one after the other, and no others.
    """

    identity: str
    fields: tuple[Field, ...]
    positions: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class View:
    """What a name of a view stands for.

    Attributes:
        tree: Its query.
        lookup: What the names in it mean.
    """

    tree: Any
    lookup: "Lookup"


# What a name stands for; None if there is nothing.
Lookup: TypeAlias = Callable[[str], Table | View | None]


@dataclass(frozen=True, slots=True)
class Names:
    """What the names of tables mean at one place of a query."""

    lookup: Lookup
    within: Mapping[str, Relation]
    nesting: int = 0


def bound_query(node: Any, names: Names) -> Relation:
    """The relation of a query."""
    with_clause = node.args.get("with_")
    if with_clause is not None:
        names = with_names(with_clause, names)
    match node:
        case exp.Subquery():
            refuse_unknown(node, frozenset({"this", "alias", "with_"}), "a subquery")
            return bound_query(node.this, names)
        case exp.Union():
            return bound_union(node, names)
        case exp.Select():
            return bound_select(node, names)
    raise Refused(f"{type(node).__name__.upper()}", "is not supported as a query")


def with_names(clause: Any, names: Names) -> Names:
    """The names with those of a WITH."""
    if clause.args.get("recursive"):
        raise Refused("WITH RECURSIVE", "is not supported")
    for part in clause.expressions:
        name = folded(part.args["alias"].this)
        made = renamed(bound_query(part.this, names), part.args["alias"].args.get("columns") or ())
        names = replace(names, within={**names.within, name: made})
    return names


def renamed(relation: Relation, columns: Any) -> Relation:
    """A relation whose columns are called as listed; without a list as they are."""
    if not columns:
        return relation
    if len(columns) != len(relation.fields):
        raise InputError(f"{len(columns)} names are given for {len(relation.fields)} columns")
    return Project(relation, whole(relation), tuple(map(folded, columns)))


def whole(relation: Relation) -> tuple[Expression, ...]:
    """All columns of a relation."""
    return tuple(Column(place, field.type) for place, field in enumerate(relation.fields))


def bound_union(node: Any, names: Names) -> Relation:
    """UNION ALL of all inputs in a row, and UNION, which makes rows distinct."""
    refuse_unknown(node, frozenset({"this", "expression", "distinct", "with_", "order"}), "UNION")
    united = union_all([bound_query(one, names) for one in branches(node)])
    return Distinct(united) if node.args.get("distinct") else united


def branches(node: Any) -> list[Any]:
    """The inputs of unions that are nested to the left and keep what this one keeps."""
    found = [node.expression]
    distinct = bool(node.args.get("distinct"))
    below = node.this
    while (
        isinstance(below, exp.Union)
        and bool(below.args.get("distinct")) == distinct
        and "with_" not in below.args
    ):
        found.append(below.expression)
        below = below.this
    return [below, *reversed(found)]


def union_all(inputs: list[Relation]) -> Relation:
    """A union of relations whose columns are brought to common types."""
    widths = {len(one.fields) for one in inputs}
    if len(widths) > 1:
        raise InputError(f"the inputs of a UNION have {' and '.join(map(str, sorted(widths)))} columns")
    columns = zip(*(one.fields for one in inputs), strict=True)
    types = [reduce(common, (field.type for field in column)) for column in columns]
    return UnionAll(tuple(in_types(one, types) for one in inputs))


def in_types(relation: Relation, types: list[Type]) -> Relation:
    """A relation with its columns cast, if there is anything to cast."""
    if [field.type for field in relation.fields] == types:
        return relation
    columns = tuple(as_type(column, kind) for column, kind in zip(whole(relation), types, strict=True))
    return Project(relation, columns, tuple(field.name for field in relation.fields))


def bound_from(node: Any, names: Names) -> Scope:
    """The scope of one item of FROM."""
    alias = node.args.get("alias")
    columns = () if alias is None else alias.args.get("columns") or ()
    if isinstance(node, exp.Subquery):
        name = "" if alias is None or alias.this is None else folded(alias.this)
        return scope_of(renamed(bound_query(node, names), columns), name)
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        raise Refused(f"{written(node)}", "is not supported in FROM")
    refuse_unknown(node, frozenset({"this", "db", "catalog", "alias"}), "FROM")
    name = folded(node.this) if alias is None or alias.this is None else folded(alias.this)
    return scope_of(renamed(named(table_name(node), names), columns), name)


def named(name: str, names: Names) -> Relation:
    """The relation that a name stands for; views are expanded.

    Raises:
        InputError: It stands for nothing, or for a view that reads itself.
    """
    if name in names.within:
        return names.within[name]
    found = names.lookup(name)
    if found is None:
        raise InputError(f"there is no table or view {name}; create it, or name one that there is")
    if isinstance(found, Table):
        return Scan(found.identity, found.fields, found.positions)
    if names.nesting == NESTING_MAX:
        raise InputError(f"the view {name} reads itself, or is nested more than {NESTING_MAX} deep")
    return bound_query(found.tree, Names(found.lookup, {}, names.nesting + 1))


def bound_join(left: Scope, node: Any, names: Names) -> Scope:
    """The scope of a join of what is to its left with one more item."""
    if isinstance(node.this, (exp.Lateral, exp.TableFromRows)):
        return flattened(left, node)
    method, kind, side = (str(node.args.get(part) or "").upper() for part in ("method", "kind", "side"))
    if method or kind in ("SEMI", "ANTI", "STRAIGHT"):
        raise Refused(f"{method or kind} JOIN", "is not supported")
    refuse_unknown(node, frozenset({"this", "kind", "side", "on", "using"}), "JOIN")
    right = bound_from(node.this, names)
    if {one.table for one in left.visible} & {one.table for one in right.visible} - {""}:
        raise InputError(f"two tables in FROM are called {right.visible[0].table}: give one an alias")
    join_kind = JoinKind(side or "INNER")
    pair = Join(left.relation, right.relation, join_kind, (), ())
    using = [folded(column) for column in node.args.get("using") or ()]
    if using and join_kind in (JoinKind.RIGHT, JoinKind.FULL):
        raise Refused(f"USING in a {side} JOIN", "is not supported: write ON")
    tests = [same_named(left, right, name) for name in using]
    both = beside(left, right, pair, frozenset(using))
    if node.args.get("on") is not None:
        tests += conjuncts(Binder(both, {}).condition(node.args["on"]))
    return replace(both, relation=keyed(pair, tests))


def same_named(left: Scope, right: Scope, name: str) -> Expression:
    """The equality that a name in USING means."""
    return call("=", there(left, name), shifted(there(right, name), left))


def there(scope: Scope, name: str) -> Column:
    """A column that a USING names."""
    found = scope.find(name, None)
    if found is None:
        raise InputError(f"the column {name} of USING is not in both tables")
    return found


def shifted(column: Column, left: Scope) -> Column:
    """A column of the right side, in rows of both."""
    return replace(column, index=column.index + len(left.relation.fields))


SELECT_CLAUSES = frozenset(
    {"expressions", "from_", "joins", "where", "group", "having", "qualify", "distinct", "with_", "order"}
)


def bound_select(node: Any, names: Names) -> Relation:
    """A SELECT, stage by stage; its ORDER BY says nothing about a bag."""
    refuse_unknown(node, SELECT_CLAUSES, "a dynamic table")
    if node.args.get("from_") is None:
        raise Refused("SELECT without FROM", "is not supported")
    scope = bound_from(node.args["from_"].this, names)
    for join in node.args.get("joins") or ():
        scope = bound_join(scope, join, names)
    items = expanded(node.expressions, scope)
    aliases = {folded(item.args["alias"]): item.this for item in items if isinstance(item, exp.Alias)}
    below = Binder(scope, aliases)
    relation = scope.relation
    if node.args.get("where") is not None:
        relation = Filter(relation, below.condition(node.args["where"].this))
    return Stages(node, items, below).relation(relation)
