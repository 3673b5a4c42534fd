"""Binding of queries to relations: FROM with its joins, the stages of a SELECT, unions, WITH."""

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
from dynamic_tables.sql.constants import bind_values
from dynamic_tables.sql.expressions import Binder
from dynamic_tables.sql.flatten import bind_flatten
from dynamic_tables.sql.joins import conjuncts, with_keys
from dynamic_tables.sql.names import fold_name, refuse_unknown, sql_text, table_name
from dynamic_tables.sql.scopes import Scope, joined_scope, scope_of
from dynamic_tables.sql.stages import Stages, expand_stars
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.expressions import Column, Expression
from dynamic_tables.values.functions import as_type, call
from dynamic_tables.values.types import Field, Type, common_type
from pruning.errors import InputError

# The most views that are expanded inside each other.
NESTING_MAX = 50


@dataclass(frozen=True, slots=True)
class BoundTable:
    """The base table or dynamic table that a name denotes.

    Attributes:
        positions: The positions of the columns in stored rows; None: in order, and there are no others.
    """

    identity: str
    fields: tuple[Field, ...]
    positions: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class BoundView:
    """The view that a name denotes.

    Attributes:
        tree: The parsed query.
        lookup: Resolves the names in the query.
    """

    tree: Any
    lookup: "Lookup"


# Returns the table or view with a name; None if there is none.
Lookup: TypeAlias = Callable[[str], BoundTable | BoundView | None]


@dataclass(frozen=True, slots=True)
class Names:
    """The meaning of table names at one place of a query."""

    lookup: Lookup
    within: Mapping[str, Relation]
    nesting: int = 0


def bind_query(node: Any, names: Names) -> Relation:
    """Bind a query."""
    with_clause = node.args.get("with_")
    if with_clause is not None:
        names = with_names(with_clause, names)
    match node:
        case exp.Subquery():
            refuse_unknown(node, frozenset({"this", "alias", "with_"}), "a subquery")
            return bind_query(node.this, names)
        case exp.Union():
            return bind_union(node, names)
        case exp.Select():
            return bind_select(node, names)
        case exp.Values():
            return bind_values(node)
    operator = {exp.Intersect: "INTERSECT", exp.Except: "EXCEPT"}.get(type(node))
    raise Refused(operator or sql_text(node), "is not supported as a query")


def with_names(clause: Any, names: Names) -> Names:
    """Return the names together with those of a WITH clause."""
    if clause.args.get("recursive"):
        raise Refused("WITH RECURSIVE", "is not supported")
    for part in clause.expressions:
        name = fold_name(part.args["alias"].this)
        relation = rename_columns(bind_query(part.this, names), part.args["alias"].args.get("columns") or ())
        names = replace(names, within={**names.within, name: relation})
    return names


def rename_columns(relation: Relation, columns: Any) -> Relation:
    """Return a relation with its columns renamed; without a list, the relation itself."""
    if not columns:
        return relation
    if len(columns) != len(relation.fields):
        raise InputError(f"{len(columns)} names are given for {len(relation.fields)} columns")
    return Project(relation, all_columns(relation), tuple(map(fold_name, columns)))


def all_columns(relation: Relation) -> tuple[Expression, ...]:
    """Return references to all columns of a relation."""
    return tuple(Column(place, field.type) for place, field in enumerate(relation.fields))


def bind_union(node: Any, names: Names) -> Relation:
    """Bind UNION ALL of consecutive inputs, or UNION, which removes duplicates."""
    refuse_unknown(node, frozenset({"this", "expression", "distinct", "with_", "order"}), "UNION")
    united = union_all([bind_query(branch, names) for branch in union_inputs(node)])
    return Distinct(united) if node.args.get("distinct") else united


def union_inputs(node: Any) -> list[Any]:
    """Return the inputs of unions that are nested to the left and of the same kind."""
    later_inputs = [node.expression]
    distinct = bool(node.args.get("distinct"))
    below = node.this
    while (
        isinstance(below, exp.Union)
        and bool(below.args.get("distinct")) == distinct
        and "with_" not in below.args
    ):
        later_inputs.append(below.expression)
        below = below.this
    return [below, *reversed(later_inputs)]


def union_all(inputs: list[Relation]) -> Relation:
    """Return the union of relations whose columns are cast to common types."""
    widths = {len(relation.fields) for relation in inputs}
    if len(widths) > 1:
        raise InputError(f"the inputs of a UNION have {' and '.join(map(str, sorted(widths)))} columns")
    columns = zip(*(relation.fields for relation in inputs), strict=True)
    types = [reduce(common_type, (field.type for field in column)) for column in columns]
    return UnionAll(tuple(cast_columns(relation, types) for relation in inputs))


def cast_columns(relation: Relation, types: list[Type]) -> Relation:
    """Return a relation with its columns cast, where a cast is needed."""
    if [field.type for field in relation.fields] == types:
        return relation
    columns = tuple(as_type(column, kind) for column, kind in zip(all_columns(relation), types, strict=True))
    return Project(relation, columns, tuple(field.name for field in relation.fields))


def bind_from(node: Any, names: Names) -> Scope:
    """Return the scope of one item of FROM."""
    alias = node.args.get("alias")
    columns = () if alias is None else alias.args.get("columns") or ()
    if isinstance(node, exp.Subquery):
        name = "" if alias is None or alias.this is None else fold_name(alias.this)
        return scope_of(rename_columns(bind_query(node, names), columns), name)
    if isinstance(node, exp.Values):
        name = "" if alias is None or alias.this is None else fold_name(alias.this)
        return scope_of(rename_columns(bind_values(node), columns), name)
    if not isinstance(node, exp.Table) or not isinstance(node.this, exp.Identifier):
        raise Refused(f"{sql_text(node)}", "is not supported in FROM")
    refuse_unknown(node, frozenset({"this", "db", "catalog", "alias"}), "FROM")
    name = fold_name(node.this) if alias is None or alias.this is None else fold_name(alias.this)
    return scope_of(rename_columns(named_relation(table_name(node), names), columns), name)


def named_relation(name: str, names: Names) -> Relation:
    """Return the relation that a name denotes; views are expanded.

    Raises:
        InputError: The name does not exist, or a view reads itself.
    """
    if name in names.within:
        return names.within[name]
    target = names.lookup(name)
    if target is None:
        raise InputError(f"there is no table or view {name}; create it, or name one that there is")
    if isinstance(target, BoundTable):
        return Scan(target.identity, target.fields, target.positions)
    if names.nesting == NESTING_MAX:
        raise InputError(f"the view {name} reads itself, or is nested more than {NESTING_MAX} deep")
    return bind_query(target.tree, Names(target.lookup, {}, names.nesting + 1))


def bind_join(left: Scope, node: Any, names: Names) -> Scope:
    """Return the scope of a join of the scope to the left with one more item."""
    if isinstance(node.this, (exp.Lateral, exp.TableFromRows)):
        return bind_flatten(left, node)
    method, kind, side = (str(node.args.get(part) or "").upper() for part in ("method", "kind", "side"))
    if method or kind in ("SEMI", "ANTI", "STRAIGHT"):
        raise Refused(f"{method or kind} JOIN", "is not supported")
    refuse_unknown(node, frozenset({"this", "kind", "side", "on", "using"}), "JOIN")
    right = bind_from(node.this, names)
    if {column.table for column in left.visible} & {column.table for column in right.visible} - {""}:
        raise InputError(f"two tables in FROM are called {right.visible[0].table}: give one an alias")
    join_kind = JoinKind(side or "INNER")
    pair = Join(left.relation, right.relation, join_kind, (), ())
    using = [fold_name(column) for column in node.args.get("using") or ()]
    if using and join_kind in (JoinKind.RIGHT, JoinKind.FULL):
        raise Refused(f"USING in a {side} JOIN", "is not supported: write ON")
    tests = [using_equality(left, right, name) for name in using]
    both = joined_scope(left, right, pair, frozenset(using))
    if node.args.get("on") is not None:
        tests += conjuncts(Binder(both, {}).condition(node.args["on"]))
    return replace(both, relation=with_keys(pair, tests))


def using_equality(left: Scope, right: Scope, name: str) -> Expression:
    """Return the equality that a name in USING means."""
    return call("=", using_column(left, name), shift_column(using_column(right, name), left))


def using_column(scope: Scope, name: str) -> Column:
    """Return a column that USING names."""
    column = scope.find(name, None)
    if column is None:
        raise InputError(f"the column {name} of USING is not in both tables")
    return column


def shift_column(column: Column, left: Scope) -> Column:
    """Return a column of the right side, in joined rows."""
    return replace(column, index=column.index + len(left.relation.fields))


SELECT_CLAUSES = frozenset(
    {
        "expressions",
        "from_",
        "joins",
        "where",
        "group",
        "having",
        "qualify",
        "distinct",
        "with_",
        "order",
        "windows",
    }
)


def bind_select(node: Any, names: Names) -> Relation:
    """Bind a SELECT, stage by stage; ORDER BY has no effect on a bag."""
    refuse_unknown(node, SELECT_CLAUSES, "a dynamic table")
    if node.args.get("from_") is None:
        raise Refused("SELECT without FROM", "is not supported")
    scope = bind_from(node.args["from_"].this, names)
    for join in node.args.get("joins") or ():
        scope = bind_join(scope, join, names)
    items = expand_stars(node.expressions, scope)
    aliases = {fold_name(item.args["alias"]): item.this for item in items if isinstance(item, exp.Alias)}
    below = Binder(scope, aliases)
    relation = scope.relation
    if node.args.get("where") is not None:
        relation = Filter(relation, below.condition(node.args["where"].this))
    return Stages(node, items, below).relation(relation)
