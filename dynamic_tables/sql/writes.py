"""SQL statements that change the rows of a base table, bound to queries that give the changes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from dynamic_tables.maintenance.algebra import Project, Relation, Scan
from dynamic_tables.maintenance.narrowing import narrow_relation
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.sql.definitions import parse_statement
from dynamic_tables.sql.expressions import Binder
from dynamic_tables.sql.names import NAME_PARTS, fold_name, refuse_unknown, sql_text, table_name
from dynamic_tables.sql.relations import BoundTable, BoundView, Lookup, Names, bind_query, cast_columns
from dynamic_tables.sql.scopes import Scope
from dynamic_tables.values.changes import Row
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.evaluation import compile_expression
from dynamic_tables.values.expressions import Column, Literal
from dynamic_tables.values.functions import as_type
from dynamic_tables.values.types import BOOLEAN, NULL, TEXT, Field, Type
from pruning.errors import InputError

# The name under which queries read the table that is changed, with its row ids behind its columns.
TARGET = "_changed_table"
ROW_ID = "_row_id"
NO_COLUMNS = Scan("", ())


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """The changes of one table.

    Attributes:
        table: The identity of the table.
        new_rows: Rows to insert.
        new_query: A query whose rows are to be inserted; None if there is none.
        changed_query: A query of the rows to change: the row id, TRUE for a row to delete, the cells that the
            row has, and those that it is to have; None if there is none. Its source has rows with their id
            behind their cells.
    """

    table: str
    new_rows: tuple[Row, ...] = ()
    new_query: Query | None = None
    changed_query: Query | None = None

    @property
    def sources(self) -> tuple[str, ...]:
        """The identities of the tables that the queries read."""
        queries = [query for query in (self.new_query, self.changed_query) if query is not None]
        return tuple(dict.fromkeys(source for query in queries for source in query.sources))


def read_write(text: str, lookup: Lookup) -> Write | None:
    """Read INSERT, UPDATE, DELETE, MERGE or TRUNCATE; None for another statement.

    Raises:
        InputError: A table or column does not exist, or a value does not fit its column.
        Refused: A clause is not supported.

    >>> from dynamic_tables.values.types import INTEGER
    >>> tables = {"t": BoundTable("t1", (Field("k", INTEGER), Field("v", TEXT)))}
    >>> read_write("INSERT INTO t (v) VALUES ('a'), (upper('b'))", tables.get).new_rows
    ((None, 'a'), (None, 'B'))
    """
    tree = parse_statement(text)
    reader = READERS.get(type(tree))
    return None if reader is None else reader(tree, lookup)


class Target:
    """The table that a statement changes."""

    def __init__(self, node: Any, lookup: Lookup) -> None:
        if not isinstance(node, exp.Table):
            raise Refused(f"{sql_text(node)}", "cannot be written")
        refuse_unknown(node, NAME_PARTS | {"alias"}, "the name of a table that is changed")
        name = table_name(node)
        bound = lookup(name)
        if bound is None:
            raise InputError(f"there is no table {name}; create it, or name one that there is")
        if isinstance(bound, BoundView):
            raise InputError(f"{name} is a view and cannot be written")
        self.bound = bound
        self.alias = fold_name(node.args["alias"].this) if node.args.get("alias") else fold_name(node.this)
        self.names = [field.name for field in bound.fields]
        self.types = [field.type for field in bound.fields]
        self.outer_lookup = lookup

    def lookup(self, name: str) -> BoundTable | BoundView | None:
        """Resolve a name; `TARGET` is the table with its row ids."""
        width = len(self.names)
        if name == TARGET:
            fields = (*self.bound.fields, Field(ROW_ID, TEXT))
            return BoundTable(self.bound.identity, fields, tuple(range(width + 1)))
        other = self.outer_lookup(name)
        if isinstance(other, BoundTable) and other.identity == self.bound.identity:
            return BoundTable(other.identity, other.fields, tuple(range(width)))
        return other

    def node(self) -> Any:
        """Return the table with its row ids as an item of FROM."""
        identifier = exp.to_identifier(self.alias, quoted=True)
        return exp.Table(this=exp.to_identifier(TARGET, quoted=True), alias=exp.TableAlias(this=identifier))

    def column(self, name: str) -> Any:
        """Return a column of the table."""
        return exp.column(exp.to_identifier(name, quoted=True), exp.to_identifier(self.alias, quoted=True))

    def columns(self) -> list[Any]:
        """Return all columns of the table."""
        return list(map(self.column, self.names))

    def place(self, name: str) -> int:
        """Return the position of a column."""
        if name not in self.names:
            raise InputError(f"the table has no column {name}; it has {', '.join(self.names)}")
        return self.names.index(name)

    def query(self, tree: Any, types: Sequence[Type]) -> Query:
        """Return a query whose columns are cast to types."""
        relation = cast_to(bind_query(tree, Names(self.lookup, {})), types)
        return Query(narrow_relation(relation))

    def new_cells(self, columns: Sequence[str], values: Sequence[Any]) -> list[Any]:
        """Return an expression for each column, from values of some columns; others are NULL."""
        if len(columns) != len(values):
            raise InputError(f"{len(values)} values are given for {len(columns)} columns")
        by_place = {self.place(name): value for name, value in zip(columns, values, strict=True)}
        return [by_place.get(place, exp.Null()) for place in range(len(self.names))]

    def assigned_cells(self, assignments: Iterable[Any]) -> list[Any]:
        """Return an expression for each column, from the assignments of SET; others stay."""
        cells = self.columns()
        if not isinstance(assignments, list):
            raise Refused("UPDATE *", "is not supported: write SET")
        for assignment in assignments:
            if not isinstance(assignment, exp.EQ) or not isinstance(assignment.this, exp.Column):
                raise Refused(f"{sql_text(assignment)}", "is not supported in SET")
            cells[self.place(fold_name(assignment.this.this))] = assignment.expression
        return cells

    def changes(self, source: Any, deleted: Any, cells: Sequence[Any]) -> Query:
        """Return the query of changed rows, of a SELECT that has its FROM and WHERE."""
        items = [self.column(ROW_ID), deleted, *self.columns(), *cells]
        tree = source.copy()
        tree.set("expressions", [with_alias(item, f"c{place}") for place, item in enumerate(items)])
        return self.query(tree, [TEXT, BOOLEAN, *self.types, *self.types])


def with_alias(item: Any, name: str) -> Any:
    """Return an item of a select list under a name."""
    return exp.alias_(item.copy(), name, quoted=True)


def cast_to(relation: Relation, types: Sequence[Type]) -> Relation:
    """Return a relation with its columns cast to types, where a cast is needed."""
    if len(relation.fields) != len(types):
        raise InputError(f"{len(relation.fields)} columns are given for {len(types)}")
    return cast_columns(relation, list(types))


def read_insert(node: Any, lookup: Lookup) -> Write:
    """Read INSERT of values or of a query."""
    refuse_unknown(node, frozenset({"this", "expression", "overwrite"}), "INSERT")
    listed = isinstance(node.this, exp.Schema)
    target = Target(node.this.this if listed else node.this, lookup)
    columns = [fold_name(column) for column in node.this.expressions] if listed else target.names
    changed = None
    if node.args.get("overwrite"):
        changed = target.changes(exp.select().from_(target.node()), exp.true(), target.columns())
    values = node.expression
    if isinstance(values, exp.Values):
        binder = Binder(Scope(NO_COLUMNS, ()), {})
        rows = tuple(
            literal_row(target.new_cells(columns, row.expressions), target.types, binder)
            for row in values.expressions
        )
        return Write(table=target.bound.identity, new_rows=rows, changed_query=changed)
    relation = bind_query(values, Names(target.lookup, {}))
    new = narrow_relation(in_place(relation, target, columns))
    return Write(table=target.bound.identity, new_query=Query(new), changed_query=changed)


def literal_row(cells: Sequence[Any], types: Sequence[Type], binder: Binder) -> Row:
    """Return the row of expressions that name no columns."""
    expressions = [as_type(binder.bind(cell), type_) for cell, type_ in zip(cells, types, strict=True)]
    return tuple([compile_expression(expression)(()) for expression in expressions])


def in_place(relation: Relation, target: Target, columns: Sequence[str]) -> Relation:
    """Return a query's rows with the columns of the table."""
    if len(relation.fields) != len(columns):
        raise InputError(f"{len(relation.fields)} columns are given for {len(columns)}")
    by_place = {
        target.place(name): Column(index, relation.fields[index].type) for index, name in enumerate(columns)
    }
    cells = (by_place.get(place, Literal(None, NULL)) for place in range(len(target.names)))
    cast = tuple(as_type(cell, type_) for cell, type_ in zip(cells, target.types, strict=True))
    return Project(relation, cast, tuple(target.names))


def read_delete(node: Any, lookup: Lookup) -> Write:
    """Read DELETE, also with USING."""
    refuse_unknown(node, frozenset({"this", "where", "using"}), "DELETE")
    target = Target(node.this, lookup)
    return changed_rows(target, node.args.get("using") or (), node, exp.true(), target.columns())


def read_update(node: Any, lookup: Lookup) -> Write:
    """Read UPDATE, also with FROM."""
    refuse_unknown(node, frozenset({"this", "expressions", "where", "from_"}), "UPDATE")
    target = Target(node.this, lookup)
    source = node.args.get("from_")
    cells = target.assigned_cells(node.expressions)
    return changed_rows(target, () if source is None else (source.this,), node, exp.false(), cells)


def changed_rows(
    target: Target, others: Sequence[Any], node: Any, deleted: Any, cells: Sequence[Any]
) -> Write:
    """Return the write of rows that meet the WHERE, which may name other tables."""
    where = node.args.get("where")
    condition = exp.true() if where is None else where.this
    select = exp.select().from_(target.node())
    if others:
        for other in others[:-1]:
            select = select.join(other.copy(), on=exp.true(), join_type="inner")
        select = select.join(others[-1].copy(), on=condition.copy(), join_type="inner")
    elif where is not None:
        select = select.where(condition.copy())
    changes = target.changes(select, deleted, cells)
    return Write(table=target.bound.identity, changed_query=changes)


def read_merge(node: Any, lookup: Lookup) -> Write:
    """Read MERGE; of several clauses of one kind, the first whose condition is met applies."""
    refuse_unknown(node, frozenset({"this", "using", "on", "whens"}), "MERGE")
    target = Target(node.this, lookup)
    matched: list[tuple[Any, Any, list[Any]]] = []
    unmatched: list[tuple[Any, list[Any]]] = []
    for when in node.args["whens"].expressions:
        refuse_unknown(when, frozenset({"matched", "condition", "then"}), "WHEN")
        condition = when.args.get("condition") or exp.true()
        then = when.args["then"]
        if not when.args.get("matched"):
            unmatched.append((condition, inserted_cells(then, target)))
        elif isinstance(then, exp.Update):
            matched.append((condition, exp.false(), target.assigned_cells(then.expressions)))
        else:
            matched.append((condition, exp.true(), target.columns()))
    on, source = node.args["on"], node.args["using"]
    changed = new = None
    if matched:
        select = exp.select().from_(target.node()).join(source.copy(), on=on.copy(), join_type="inner")
        select = select.where(any_of([condition for condition, _, _ in matched]))
        deleted = first_case([(condition, deletes) for condition, deletes, _ in matched])
        cells = [
            first_case([(condition, cells[place]) for condition, _, cells in matched])
            for place in range(len(target.names))
        ]
        changed = target.changes(select, deleted, cells)
    if unmatched:
        select = exp.select().from_(source.copy()).join(target.node(), on=on.copy(), join_type="left")
        missing = exp.Is(this=target.column(ROW_ID), expression=exp.Null())
        select = select.where(exp.and_(missing, any_of([condition for condition, _ in unmatched])))
        items = [
            with_alias(first_case([(condition, cells[place]) for condition, cells in unmatched]), f"c{place}")
            for place in range(len(target.names))
        ]
        new = target.query(select.select(*items), target.types)
    return Write(table=target.bound.identity, new_query=new, changed_query=changed)


def inserted_cells(then: Any, target: Target) -> list[Any]:
    """Return the cells of WHEN NOT MATCHED THEN INSERT."""
    if not isinstance(then, exp.Insert) or not isinstance(then.expression, exp.Tuple):
        raise Refused(f"{sql_text(then)}", "is not supported in WHEN NOT MATCHED")
    columns = (
        target.names if then.this is None else [fold_name(column.this) for column in then.this.expressions]
    )
    return target.new_cells(columns, then.expression.expressions)


def any_of(conditions: Sequence[Any]) -> Any:
    """Return the disjunction of conditions."""
    return exp.or_(*[condition.copy() for condition in conditions])


def first_case(choices: Sequence[tuple[Any, Any]]) -> Any:
    """Return the value of the first choice whose condition is met."""
    case = exp.Case()
    for condition, value in choices:
        case = case.when(condition.copy(), value.copy())
    return case


def read_truncate(node: Any, lookup: Lookup) -> Write:
    """Read TRUNCATE TABLE."""
    refuse_unknown(node, frozenset({"expressions"}), "TRUNCATE")
    if len(node.expressions) != 1:
        raise Refused("TRUNCATE of several tables", "is not supported")
    return read_delete(exp.Delete(this=node.expressions[0]), lookup)


READERS: Mapping[type[Any], Callable[[Any, Lookup], Write]] = {
    exp.Insert: read_insert,
    exp.Delete: read_delete,
    exp.Update: read_update,
    exp.Merge: read_merge,
    exp.TruncateTable: read_truncate,
}
