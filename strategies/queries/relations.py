"""What whole queries are built of: relations, each a SELECT that can stand inside another one.

Each has sample rows, so that literals hit and predicates tell rows apart at any depth. Samples of what is
computed are only proposals. Everything that is drawn has one answer, whatever order rows come in, and
nothing raises.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pruning.expressions.names import quoted_name
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import (
    And,
    Column,
    Compare,
    Comparison,
    Expression,
    IsNull,
    Literal,
    Mode,
    Not,
)
from pruning.expressions.types import Type, Value
from strategies.base.tables import Row, Table, sort_key
from strategies.predicates.carrying import reached
from strategies.predicates.predicates import boolean
from strategies.predicates.scalars import scalar
from strategies.predicates.scope import Scope
from strategies.predicates.sources import Source, plainly_compared
from strategies.queries.queries import table_name
from strategies.queries.query_tables import Line, fact_tables, small_tables

SAMPLE_MAX = 48  # rows
_TABLES_MAX = 3
_PREDICATE_LEAVES = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A SELECT.

    Attributes:
        sql: Its text.
        sample: Its columns, and rows such as it may have.
        top: What it is, in a word or two: the last step of those that made it.
        unique: Columns of which no two rows have the same values; none where that is not known.
        table: The name of the table that it is all of; empty where it is not one.
        features: What it is made of.
    """

    sql: str
    sample: Table
    top: str
    unique: tuple[str, ...] = ()
    table: str = ""
    features: frozenset[str] = frozenset()

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns, in order."""
        return self.sample.columns

    @property
    def source(self) -> str:
        """The relation as it stands after FROM."""
        return self.table or f"({self.sql})"

    def then(self, sql: str, top: str, *features: str, **changes: Any) -> "Relation":
        """The relation after one more step, which `top` names."""
        known = self.features | {top, *features}
        return replace(self, sql=sql, top=top, table="", features=known, **changes)


@dataclass(slots=True)
class Catalog:
    """The tables drawn for a query so far, and the names given out."""

    lines: tuple[Line, ...]
    tables: list[Table] = field(default_factory=list)
    _names: int = 0

    def fact(self, draw: DrawFn) -> Relation:
        """All rows of a table of many blocks."""
        return self._scan(draw, small=False)

    def small(self, draw: DrawFn) -> Relation:
        """All rows of a table of few blocks."""
        return self._scan(draw, small=True)

    def fresh(self, letter: str) -> str:
        """A name that no column of the query has."""
        self._names += 1
        return f"{letter}{self._names}"

    def _scan(self, draw: DrawFn, *, small: bool) -> Relation:
        if len(self.tables) == _TABLES_MAX:
            table = draw(st.integers(0, _TABLES_MAX - 1))
            return renamed(self, self._all(table))
        name = table_name(len(self.tables))
        drawn = small_tables if small else fact_tables
        self.tables.append(draw(drawn(name, self.lines)))
        return self._all(len(self.tables) - 1)

    def _all(self, ordinal: int) -> Relation:
        table, name = self.tables[ordinal], table_name(ordinal)
        return Relation(
            sql=f"SELECT * FROM {name}",
            sample=table,
            top="scan",
            unique=(table.columns[-1].name,),
            table=name,
        )


def filtered(draw: DrawFn, relation: Relation) -> Relation:
    """The rows on which a predicate is TRUE."""
    text, feature = condition(draw, relation.sample)
    return relation.then(f"SELECT * FROM {relation.source} WHERE {text}", "filter", feature)


def maybe_filtered(draw: DrawFn, relation: Relation) -> Relation:
    """Some rows more often than all; two filters now and then."""
    for _ in range(draw(st.sampled_from((1, 0, 1, 0, 2)))):
        relation = filtered(draw, relation)
    return relation


def ranged(draw: DrawFn, relation: Relation) -> Relation:
    """The rows from a value of a column on, or up to it: about half of them, so that whole blocks match."""
    known = [column for column in relation.columns if any(v is not None for v in _values(relation, column))]
    if not known:
        return relation
    column = draw(st.sampled_from(known))
    values = sorted({repr(v): v for v in _values(relation, column) if v is not None}.values(), key=sort_key)
    bound = Literal(draw(st.sampled_from(values)), column.type)
    operator = draw(st.sampled_from((Comparison.AT_LEAST, Comparison.AT_MOST, Comparison.GREATER)))
    sql = f"SELECT * FROM {relation.source} WHERE {to_sql(Compare(operator, column, bound))}"
    return relation.then(sql, "filter", "plain filter")


def condition(draw: DrawFn, table: Table) -> tuple[str, str]:
    """A predicate over a table's columns as SQL, and what it is called in tallies.

    Plain comparisons of one column, whose verdicts are often NONE or ALL, more often than the rest.
    """
    if draw(st.sampled_from((False, True, False, False))):
        return to_sql(boolean(draw, scope_of(table), _PREDICATE_LEAVES)), "computed filter"
    source = Source.of(table, "UTC")
    known = [column for column in table.columns if source.cells[column.name]]
    if not known:
        return to_sql(Not(IsNull(draw(st.sampled_from(table.columns))))), "plain filter"
    column = draw(st.sampled_from(known))
    plain = plainly_compared(draw, source, column)
    if draw(st.sampled_from((False, False, True))):
        plain = And((plain, Not(IsNull(draw(st.sampled_from(table.columns))))))
    return to_sql(plain), "plain filter"


def projected(draw: DrawFn, catalog: Catalog, relation: Relation) -> Relation:
    """Some of the columns and one that is computed; what makes rows unique stays."""
    kept = [column for column in relation.columns if column.name in relation.unique or draw(st.booleans())]
    expression = computed(draw, relation)
    named = Column(catalog.fresh("x"), expression[1])
    items = [*map(name, kept), f"{to_sql(expression[0])} AS {name(named)}"]
    rows = tuple(_with_value(relation, kept, expression[0], row) for row in relation.sample.rows)
    return relation.then(
        f"SELECT {', '.join(items)} FROM {relation.source}",
        "projection",
        sample=Table((*kept, named), (rows,)),
    )


def renamed(catalog: Catalog, relation: Relation) -> Relation:
    """The same rows under names of their own, so that a relation can meet itself."""
    fresh = {column.name: catalog.fresh("r") for column in relation.columns}
    items = ", ".join(f"{name(column)} AS {quoted_name(fresh[column.name])}" for column in relation.columns)
    columns = tuple(Column(fresh[column.name], column.type) for column in relation.columns)
    return relation.then(
        f"SELECT {items} FROM {relation.source}",
        relation.top,
        "table read twice",
        sample=Table(columns, relation.sample.blocks),
        unique=tuple(fresh[column] for column in relation.unique),
    )


def computed(draw: DrawFn, relation: Relation, leaves: int = 3) -> tuple[Expression, Type]:
    """An expression over the relation's columns, and its type, which a column has."""
    type_ = draw(st.sampled_from(relation.columns)).type
    return scalar(draw, scope_of(relation.sample), type_, leaves), type_


def scope_of(table: Table) -> Scope:
    """What expressions over a table's columns are drawn from; none of them raises."""
    return Scope.of(
        table,
        modes=(Mode.TRY,),
        session=Mode.ANSI,
        try_remainders=False,
        condition=boolean,
        scalar=scalar,
    )


def names(columns: Sequence[Column]) -> str:
    """The columns as a list in SQL."""
    return ", ".join(map(name, columns))


def name(column: Column) -> str:
    """The column in SQL."""
    return quoted_name(column.name)


def sample_of(columns: Sequence[Column], rows: Sequence[Row]) -> Table:
    """Sample rows, not too many."""
    return Table(tuple(columns), (tuple(rows[:SAMPLE_MAX]),))


def _values(relation: Relation, column: Column) -> tuple[Value | None, ...]:
    return relation.sample.values(column.name)


def _with_value(relation: Relation, kept: Sequence[Column], expression: Expression, row: Row) -> Row:
    cells = relation.sample.named(row)
    value = next(iter(reached(expression, [cells])), None)
    return (*(cells[column.name] for column in kept), value)
