"""The building blocks of whole queries: relations, each a SELECT that can stand inside another one.

Each has sample rows, so that literals hit and predicates distinguish rows at any depth. Samples of computed
columns are only proposals. Every drawn query has one answer, whatever the order of rows, and raises nothing.

"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

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
from strategies.base.text_files import is_plain
from strategies.choices import choose
from strategies.predicates.carrying import values_on_rows
from strategies.predicates.predicates import boolean
from strategies.predicates.scalars import scalar
from strategies.predicates.scope import Scope
from strategies.predicates.sources import Source, plain_comparison
from strategies.queries.queries import PARQUET, SourceKind, TableSource, table_name
from strategies.queries.query_tables import Domain, fact_tables, range_tables, small_tables

SAMPLE_MAX = 48  # rows
_TABLES_MAX = 3
# The sources of sides of joins: those that hold any value, and those that hold plain ones.
_ANY_SOURCES = (SourceKind.PARQUET, SourceKind.CACHED, SourceKind.CHECKPOINT)
_PLAIN_SOURCES = tuple(kind for kind in SourceKind if kind is not SourceKind.RANGE)
_PREDICATE_LEAVES = 5


_Tables: TypeAlias = Callable[[str, tuple[Domain, ...]], SearchStrategy[Table]]


@dataclass(frozen=True, slots=True, kw_only=True)
class SampledRelation:
    """A SELECT with sample rows.

    Attributes:
        sql: Its text.
        sample: Its columns, and rows such as it may have.
        top: A name of the last step that made it, in a word or two.
        unique: Columns whose values differ in every two rows; empty if none are known.
        table: The name of the table whose rows are all of it; empty if it is no table.
        features: The names of its parts.
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
        """The relation as it is written after FROM."""
        return self.table or f"({self.sql})"

    def then(self, sql: str, top: str, *features: str, **changes: Any) -> "SampledRelation":
        """Return the relation after one more step, which `top` names."""
        features_ = self.features | {top, *features}
        return replace(self, sql=sql, top=top, table="", features=features_, **changes)


@dataclass(slots=True)
class Catalog:
    """The tables drawn for a query so far, where they are read from, and the names in use."""

    domains: tuple[Domain, ...]
    tables: list[Table] = field(default_factory=list)
    sources: list[TableSource] = field(default_factory=list)
    tables_max: int = _TABLES_MAX
    _names: int = 0

    def fact(self, draw: DrawFn, source: TableSource = PARQUET) -> SampledRelation:
        """Return all rows of a table of many blocks."""
        return self._scan(draw, fact_tables, source)

    def small(self, draw: DrawFn) -> SampledRelation:
        """Return all rows of a table of few blocks."""
        return self._scan(draw, small_tables)

    def side(self, draw: DrawFn) -> SampledRelation:
        """Return all rows of a table of few blocks, which is read from any source."""
        if choose(draw, (False,) * 7 + (True,)):
            relation = self._scan(draw, lambda prefix, _: range_tables(prefix), TableSource(SourceKind.RANGE))
        else:
            relation = self._scan(draw, small_tables, None)
        kind = self.sources[-1].kind
        return replace(relation, features=relation.features | {f"side from {kind.value}"})

    def fresh(self, letter: str) -> str:
        """Return a name that no column of the query has."""
        self._names += 1
        return f"{letter}{self._names}"

    def _scan(self, draw: DrawFn, tables: _Tables, source: TableSource | None = PARQUET) -> SampledRelation:
        """Return all rows of a new table, or of an earlier one if there are many; None is any source."""
        if len(self.tables) == self.tables_max:
            table = draw(st.integers(0, self.tables_max - 1))
            return with_new_names(self, self._all(table))
        name = table_name(len(self.tables))
        self.tables.append(draw(tables(name, self.domains)))
        if source is None:
            source = TableSource(choose(draw, _PLAIN_SOURCES if is_plain(self.tables[-1]) else _ANY_SOURCES))
        self.sources.append(source)
        return self._all(len(self.tables) - 1)

    def _all(self, ordinal: int) -> SampledRelation:
        table, name = self.tables[ordinal], table_name(ordinal)
        return SampledRelation(
            sql=f"SELECT * FROM {name}",
            sample=table,
            top="scan",
            unique=(table.columns[-1].name,),
            table=name,
        )


def with_filter(draw: DrawFn, relation: SampledRelation) -> SampledRelation:
    """Keep the rows on which a predicate is TRUE."""
    text, feature = condition(draw, relation.sample)
    return relation.then(f"SELECT * FROM {relation.source} WHERE {text}", "filter", feature)


def with_filters(draw: DrawFn, relation: SampledRelation) -> SampledRelation:
    """Apply a filter more often than none; sometimes two."""
    for _ in range(choose(draw, (1, 0, 1, 0, 2))):
        relation = with_filter(draw, relation)
    return relation


def with_range(draw: DrawFn, relation: SampledRelation) -> SampledRelation:
    """Keep the rows above or below a value of a column: about half of them, so that whole blocks match."""
    candidates = [
        column for column in relation.columns if any(v is not None for v in _values(relation, column))
    ]
    if not candidates:
        return relation
    column = choose(draw, candidates)
    values = sorted({repr(v): v for v in _values(relation, column) if v is not None}.values(), key=sort_key)
    bound = Literal(choose(draw, values), column.type)
    operator = choose(draw, (Comparison.AT_LEAST, Comparison.AT_MOST, Comparison.GREATER))
    sql = f"SELECT * FROM {relation.source} WHERE {to_sql(Compare(operator, column, bound))}"
    return relation.then(sql, "filter", "plain filter")


def condition(draw: DrawFn, table: Table) -> tuple[str, str]:
    """Draw a predicate over a table's columns as SQL, and its name in tallies.

    Plain comparisons of one column, whose verdicts are often NONE or ALL, are more frequent than the rest.
    """
    if choose(draw, (False, True, False, False)):
        return to_sql(boolean(draw, scope_of(table), _PREDICATE_LEAVES)), "computed filter"
    source = Source.of(table, "UTC")
    candidates = [column for column in table.columns if source.cells[column.name]]
    if not candidates:
        return to_sql(Not(IsNull(choose(draw, table.columns)))), "plain filter"
    column = choose(draw, candidates)
    plain = plain_comparison(draw, source, column)
    if choose(draw, (False, False, True)):
        plain = And((plain, Not(IsNull(choose(draw, table.columns)))))
    return to_sql(plain), "plain filter"


def with_projection(draw: DrawFn, catalog: Catalog, relation: SampledRelation) -> SampledRelation:
    """Select some of the columns and a computed one; columns that make rows unique stay."""
    kept = [column for column in relation.columns if column.name in relation.unique or draw(st.booleans())]
    expression = computed_column(draw, relation)
    named = Column(catalog.fresh("x"), expression[1])
    items = [*map(name, kept), f"{to_sql(expression[0])} AS {name(named)}"]
    rows = tuple(_with_value(relation, kept, expression[0], row) for row in relation.sample.rows)
    return relation.then(
        f"SELECT {', '.join(items)} FROM {relation.source}",
        "projection",
        sample=Table((*kept, named), (rows,)),
    )


def with_new_names(catalog: Catalog, relation: SampledRelation) -> SampledRelation:
    """Rename all columns, so that a relation can be joined with itself."""
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


def computed_column(draw: DrawFn, relation: SampledRelation, leaves: int = 3) -> tuple[Expression, Type]:
    """Draw an expression over the relation's columns, of a type that a column has; return both."""
    type_ = choose(draw, relation.columns).type
    return scalar(draw, scope_of(relation.sample), type_, leaves), type_


def scope_of(table: Table) -> Scope:
    """Return the scope of expressions over a table's columns; none of them raises."""
    return Scope.of(
        table,
        modes=(Mode.TRY,),
        session=Mode.ANSI,
        try_remainders=False,
        condition=boolean,
        scalar=scalar,
    )


def names(columns: Sequence[Column]) -> str:
    """Return the columns as a list in SQL."""
    return ", ".join(map(name, columns))


def name(column: Column) -> str:
    """Return the column in SQL."""
    return quoted_name(column.name)


def sample_of(columns: Sequence[Column], rows: Sequence[Row]) -> Table:
    """Return a table of sample rows, not too many."""
    return Table(tuple(columns), (tuple(rows[:SAMPLE_MAX]),))


def _values(relation: SampledRelation, column: Column) -> tuple[Value | None, ...]:
    return relation.sample.values(column.name)


def _with_value(relation: SampledRelation, kept: Sequence[Column], expression: Expression, row: Row) -> Row:
    cells = relation.sample.as_mapping(row)
    value = next(iter(values_on_rows(expression, [cells])), None)
    return (*(cells[column.name] for column in kept), value)
