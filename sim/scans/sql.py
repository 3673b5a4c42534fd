"""Parse the SQL of scenario files into plans of the project's own expressions; refuse the rest by name.

    SELECT * FROM t [[LEFT | RIGHT | FULL | SEMI | ANTI] JOIN u ON t.k = u.k]
    [WHERE conditions, each of one table] [ORDER BY v [DESC] [NULLS LAST]] [LIMIT n]

The dialect is Spark's. The right side of a join is the build side unless the scenario says otherwise.

"""

from collections.abc import Iterator, Mapping

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from pruning.errors import InputError
from pruning.expressions.plans import Equality, Filter, Join, JoinKind, Limit, Plan, Scan, Sort, SortItem
from pruning.expressions.trees import (
    And,
    Column,
    Compare,
    Comparison,
    Expression,
    In,
    IsNull,
    Literal,
    Not,
    Or,
)
from pruning.expressions.types import Kind as TypeKind
from pruning.expressions.types import Type, Value
from sim.scans.queries import FilteredTable, Query, QueryKind

Types = Mapping[str, Mapping[str, Type]]

_COMPARISONS: Mapping[type[exp.Expr], Comparison] = {
    exp.EQ: Comparison.EQUAL,
    exp.NullSafeEQ: Comparison.NULL_SAFE_EQUAL,
    exp.LT: Comparison.LESS,
    exp.LTE: Comparison.AT_MOST,
    exp.GT: Comparison.GREATER,
    exp.GTE: Comparison.AT_LEAST,
}
_KINDS = {
    ("", ""): JoinKind.INNER,
    ("", "INNER"): JoinKind.INNER,
    ("LEFT", ""): JoinKind.LEFT,
    ("RIGHT", ""): JoinKind.RIGHT,
    ("FULL", ""): JoinKind.FULL,
    ("", "SEMI"): JoinKind.SEMI,
    ("LEFT", "SEMI"): JoinKind.SEMI,
    ("", "ANTI"): JoinKind.ANTI,
    ("LEFT", "ANTI"): JoinKind.ANTI,
}
_PARTS = frozenset({"expressions", "from_", "joins", "where", "order", "limit"})


def parse_query(name: str, text: str, types: Types, *, build: str = "", arrives_us: int = 0) -> Query:
    """Parse a query.

    Args:
        types: The columns of each table.
        build: The table of a join whose rows are read first.
    Raises:
        InputError: the text is no SQL, or asks for something that the simulator lacks.
    """
    try:
        parsed = sqlglot.parse_one(text, read="spark")
    except SqlglotError as error:
        raise InputError(f"Query {name}: {str(error).splitlines()[0]}") from error
    return _QueryParser(name, text, types).query(parsed, build, arrives_us)


class _QueryParser:
    """The parser of one text."""

    def __init__(self, name: str, text: str, types: Types) -> None:
        self._name, self._text, self._types = name, text, types
        self._tables: list[str] = []

    def query(self, parsed: exp.Expr, build: str, arrives_us: int) -> Query:
        """Return the whole query."""
        if not isinstance(parsed, exp.Select):
            raise self._refusal(parsed)
        for part, value in parsed.args.items():
            if value and part not in _PARTS:
                raise self._refusal(value[0] if isinstance(value, list) else value)
        if [type(item) for item in parsed.expressions] != [exp.Star]:
            raise InputError(f"Query {self._name}: it must begin with SELECT *: {self._text}")
        joins = parsed.args.get("joins") or []
        self._tables = [self._table(parsed.args["from_"].this), *(self._table(join.this) for join in joins)]
        conditions = self._conditions(parsed)
        order, limit = parsed.args.get("order"), parsed.args.get("limit")
        if joins:
            if len(joins) > 1 or order or limit:
                raise InputError(
                    f"Query {self._name}: a join of two tables has no ORDER BY and no LIMIT: {self._text}"
                )
            return self._join(joins[0], conditions, build or self._tables[1], arrives_us)
        (table,) = self._tables
        source = FilteredTable(table=table, predicate=conditions.get(table))
        scan = Scan(0, {column: Column(column, type_) for column, type_ in self._types[table].items()})
        plan: Plan = scan if source.predicate is None else Filter(scan)
        kind = QueryKind.FILTER
        if order is not None:
            plan = Sort(plan, (self._ordering(order),), total=True)
        if limit is not None:
            kind = QueryKind.LIMIT if order is None else QueryKind.TOPK
            plan = Limit(plan, self._count(limit.expression), local=False)
        elif order is not None:
            raise InputError(f"Query {self._name}: ORDER BY needs a LIMIT: {self._text}")
        return Query(name=self._name, kind=kind, plan=plan, scans={scan: source}, arrives_us=arrives_us)

    def _join(
        self, join: exp.Join, conditions: Mapping[str, Expression], build: str, arrives_us: int
    ) -> Query:
        kind = _KINDS.get((join.side, join.kind))
        on = join.args.get("on")
        if kind is None or not isinstance(on, exp.EQ | exp.NullSafeEQ):
            raise self._refusal(join)
        if len(set(self._tables)) < 2 or build not in self._tables:
            raise InputError(
                f"Query {self._name}: a join is of two tables, one of which is the build side: {self._text}"
            )
        scans = {
            table: Scan(
                at, {f"#{at}{column}": Column(column, type_) for column, type_ in self._types[table].items()}
            )
            for at, table in enumerate(self._tables)
        }
        keys = {self._owner(side): self._column(side) for side in (on.left, on.right)}
        if set(keys) != set(self._tables):
            raise self._refusal(on)
        left, right = (
            Column(f"#{scans[table].number}{keys[table].name}", keys[table].type) for table in self._tables
        )
        sources = {
            table: FilteredTable(table=table, predicate=conditions.get(table)) for table in self._tables
        }
        sides = [
            scans[table] if sources[table].predicate is None else Filter(scans[table])
            for table in self._tables
        ]
        plan = Join(
            left=sides[0],
            right=sides[1],
            kind=kind,
            equalities=(Equality(left, right, null_safe=isinstance(on, exp.NullSafeEQ)),),
            left_attributes=frozenset(scans[self._tables[0]].columns),
            right_attributes=frozenset(scans[self._tables[1]].columns),
        )
        first = sorted(self._tables, key=lambda table: table != build)
        return Query(
            name=self._name,
            kind=QueryKind.JOIN,
            plan=plan,
            scans={scans[table]: sources[table] for table in first},
            arrives_us=arrives_us,
        )

    def _conditions(self, parsed: exp.Select) -> dict[str, Expression]:
        """Return the conjuncts of WHERE by table."""
        where = parsed.args.get("where")
        by_table: dict[str, list[Expression]] = {}
        for conjunct in [] if where is None else _conjuncts(where.this):
            owners = {self._owner(column) for column in conjunct.find_all(exp.Column)}
            if len(owners) != 1:
                raise InputError(f"Query {self._name}: a condition is of one table: {conjunct.sql('spark')}")
            by_table.setdefault(owners.pop(), []).append(self._predicate(conjunct))
        return {
            table: parts[0] if len(parts) == 1 else And(tuple(parts)) for table, parts in by_table.items()
        }

    def _predicate(self, node: exp.Expr) -> Expression:
        match node:
            case exp.Paren():
                return self._predicate(node.this)
            case exp.And() | exp.Or():
                combine = And if isinstance(node, exp.And) else Or
                return combine((self._predicate(node.left), self._predicate(node.right)))
            case exp.Not():
                return Not(self._predicate(node.this))
            case exp.NEQ():
                return Not(self._comparison(Comparison.EQUAL, node.left, node.right))
            case exp.Between():
                low, high = node.args["low"], node.args["high"]
                return And(
                    (
                        self._comparison(Comparison.AT_LEAST, node.this, low),
                        self._comparison(Comparison.AT_MOST, node.this, high),
                    )
                )
            case exp.In():
                column = self._column(node.this)
                return In(column, tuple(self._constant(member, column.type) for member in node.expressions))
            case exp.Is() if isinstance(node.expression, exp.Null):
                return IsNull(self._column(node.this))
            case _ if type(node) in _COMPARISONS:
                return self._comparison(_COMPARISONS[type(node)], node.this, node.expression)
        raise self._refusal(node)

    def _comparison(self, how: Comparison, left: exp.Expr, right: exp.Expr) -> Expression:
        column = self._column(left)
        return Compare(how, column, self._constant(right, column.type))

    def _constant(self, node: exp.Expr, type_: Type) -> Literal:
        text = node.sql("spark")
        if isinstance(node, exp.Literal) and node.is_string and type_.kind is TypeKind.STRING:
            return Literal(node.name.encode(), type_)
        try:
            value: Value = float(text) if type_.floating else int(text)
        except ValueError:
            value = b""
        if value == b"" or type_.kind is TypeKind.STRING:
            raise InputError(f"Query {self._name}: {text} is no constant of the column's type, {type_}")
        return Literal(value, type_)

    def _column(self, node: exp.Expr) -> Column:
        if not isinstance(node, exp.Column):
            raise self._refusal(node)
        return Column(node.name, self._types[self._owner(node)][node.name])

    def _owner(self, node: exp.Expr) -> str:
        """Return the table of a column."""
        if not isinstance(node, exp.Column):
            raise self._refusal(node)
        owners = [
            table for table in self._tables if node.name in self._types[table] and node.table in ("", table)
        ]
        if len(owners) != 1:
            raise InputError(f"Query {self._name}: {node.sql('spark')} is a column of {len(owners)} tables")
        return owners[0]

    def _table(self, node: exp.Expr) -> str:
        if not isinstance(node, exp.Table) or node.name not in self._types:
            tables = ", ".join(sorted(self._types))
            raise InputError(
                f"Query {self._name}: {node.sql('spark')} is no table of the scenario ({tables})"
            )
        return node.name

    def _ordering(self, order: exp.Order) -> SortItem:
        if len(order.expressions) > 1:
            raise self._refusal(order)
        (item,) = order.expressions
        return SortItem(
            self._column(item.this), bool(item.args.get("desc")), bool(item.args.get("nulls_first"))
        )

    def _count(self, node: exp.Expr) -> int:
        if not isinstance(node, exp.Literal) or not node.name.isdigit():
            raise self._refusal(node)
        return int(node.name)

    def _refusal(self, node: exp.Expr) -> InputError:
        return InputError(
            f"Query {self._name}: the simulator has no {type(node).__name__} here: {node.sql('spark')}"
        )


def _conjuncts(node: exp.Expr) -> Iterator[exp.Expr]:
    if isinstance(node, exp.Paren):
        yield from _conjuncts(node.this)
    elif isinstance(node, exp.And):
        yield from _conjuncts(node.left)
        yield from _conjuncts(node.right)
    else:
        yield node
