"""Questions that every engine can be asked: a small closed language, and its JSON.

Types are words: boolean, int8 to int64, uint8 to uint64, float32, float64, decimal(p,s), string, binary,
date, timestamp(ms), timestamp(us), timestamp(ns) and timestamp(us,UTC). Values are JSON already: text for
decimals and for the floats that JSON lacks (NaN, -NaN, Infinity, -Infinity), hexadecimal digits for bytes,
days since 1970 for dates, and counts of the unit since 1970 for timestamps.

This module draws nothing; `docs/reference/stand.md` has the language in full.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, Union

Json: TypeAlias = Any
Row: TypeAlias = tuple[Json, ...]

# The classes of questions.
AREAS = ("filter", "limit", "topk", "join", "aggregate", "window", "set", "subquery", "dml")
# The column that numbers the rows of a table, from 0.
ROW_NUMBER = "rid"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table, and as an expression its value."""

    name: str
    type: str

    def json(self) -> Json:
        """Return the column as an expression in JSON."""
        return {"column": self.name}


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant, None for NULL."""

    value: Json
    type: str

    def json(self) -> Json:
        """Return the literal as an expression in JSON."""
        return {"literal": self.value, "type": self.type}


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the language; `type` is the type of a cast."""

    function: str
    of: tuple["Term", ...]
    type: str = "boolean"

    def json(self) -> Json:
        """Return the call as an expression in JSON."""
        cast = {"type": self.type} if "cast" in self.function else {}
        return {"call": self.function, "of": [term.json() for term in self.of], **cast}


# A union by `|` cannot name a class that comes later.
Term: TypeAlias = Union[Column, Literal, Call, "Subquery"]


@dataclass(frozen=True, slots=True)
class Key:
    """One ORDER BY key."""

    by: Term
    descending: bool = False
    nulls_first: bool = False

    def json(self) -> Json:
        """Return the key in JSON."""
        return {"by": self.by.json(), "descending": self.descending, "nulls_first": self.nulls_first}


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """A table, or a subquery over one: filtered, made distinct by its first column, ordered, limited."""

    table: str
    where: Term | None = None
    distinct: str | None = None
    order: tuple[Key, ...] = ()
    limit: int | None = None
    offset: int = 0

    def json(self) -> Json:
        """Return the relation in JSON."""
        return {
            "table": self.table,
            "where": None if self.where is None else self.where.json(),
            "distinct": self.distinct,
            "order": [key.json() for key in self.order],
            "limit": self.limit,
            "offset": self.offset,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Subquery:
    """A subquery as an expression.

    Attributes:
        kind: in, whether the operand is IN the column; exists, whether a row EXISTS in which the column is
            equal to the operand; min, max or count, the aggregate of the column.
        operand: An expression of the outer table; None for aggregates.
    """

    kind: str
    relation: Relation
    column: Column
    operand: Term | None = None

    @property
    def type(self) -> str:
        """The type of its value."""
        return {"in": "boolean", "exists": "boolean", "count": "int64"}.get(self.kind, self.column.type)

    def json(self) -> Json:
        """Return the subquery as an expression in JSON."""
        return {
            "query": self.kind,
            "of": [] if self.operand is None else [self.operand.json()],
            "relation": self.relation.json(),
            "value": self.column.name,
            "type": self.type,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """A join of the first relation with a second one.

    Kinds are inner, left, right, full, semi, anti and not in; the last two differ if a key is NULL.

    Attributes:
        on: A further condition of ON, on columns of both sides.
        equal: Whether the keys must be equal; if not, `on` alone decides.
    """

    kind: str
    right: Relation
    left_key: str
    right_key: str
    null_safe: bool = False
    on: Term | None = None
    equal: bool = True

    def json(self) -> Json:
        """Return the join in JSON; `on` and `equal` stand there only if they say something."""
        return {
            **({} if self.on is None else {"on": self.on.json()}),
            **({} if self.equal else {"equal": False}),
            "kind": self.kind,
            "right": self.right.json(),
            "left_key": self.left_key,
            "right_key": self.right_key,
            "null_safe": self.null_safe,
        }


@dataclass(frozen=True, slots=True)
class Aggregate:
    """count, min, max or sum of an expression, or the count of all rows.

    Attributes:
        distinct: Whether each value counts once.
        where: The condition of FILTER, which rows must satisfy.
    """

    function: str
    of: Term | None = None
    distinct: bool = False
    where: Term | None = None

    @property
    def type(self) -> str:
        """The type of its value."""
        return "int64" if self.of is None or self.function in ("count", "sum") else self.of.type

    def json(self) -> Json:
        """Return the aggregate in JSON; DISTINCT and FILTER stand there only if it has them."""
        others: dict[str, Json] = {"distinct": True} if self.distinct else {}
        if self.where is not None:
            others["where"] = self.where.json()
        return {"function": self.function, "of": _column_or_term(self.of), **others}


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The rows whose place in a window is at most a number; what QUALIFY does, or a subquery.

    Attributes:
        function: row_number, rank or dense_rank.
        partition: The rows of each value of it are numbered by themselves; None is all rows.
        order: Empty for row_number alone, which then numbers rows as they come.
    """

    function: str
    at_most: int
    partition: Term | None = None
    order: tuple[Key, ...] = ()

    def json(self) -> Json:
        """Return the window in JSON."""
        return {
            "function": self.function,
            "partition": None if self.partition is None else self.partition.json(),
            "order": [key.json() for key in self.order],
            "at_most": self.at_most,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class SetOperation:
    """The union, intersect or except of the selected rows and those of a second relation.

    Attributes:
        all: Whether rows that are alike are counted.
        columns: The columns of the second relation, one for each selected one.
    """

    kind: str
    right: Relation
    columns: tuple[str, ...]
    all: bool = False

    def json(self) -> Json:
        """Return the set operation in JSON."""
        return {
            "kind": self.kind,
            "all": self.all,
            "right": self.right.json(),
            "columns": list(self.columns),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question to an engine.

    Attributes:
        area: The class of questions, of `AREAS`.
        select: The columns of the answer, in order; empty with aggregates. The right columns of a join
            have names that no left column has.
        second: A join of the joined rows with a third table.
        window: Applies to the rows after `where`.
        set: Applies to the selected columns, before `order`.
        repeat: The number of times that it is asked in one session; the last answer counts.
        prepared: Whether it is a prepared statement, whose parameters are the literals of its conditions.
        having: A condition on the columns of the answer, which are named as in `answer_columns`.
        order: With aggregates, of columns of the answer too.
        change: delete, or the column that an update sets to `to`; the answer is then the table afterwards.
    """

    area: str
    source: Relation
    select: tuple[str, ...] = ()
    join: Join | None = None
    second: Join | None = None
    where: Term | None = None
    aggregates: tuple[Aggregate, ...] = ()
    group: Term | None = None
    having: Term | None = None
    window: Window | None = None
    set: SetOperation | None = None
    repeat: int = 1
    prepared: bool = False
    order: tuple[Key, ...] = ()
    limit: int | None = None
    offset: int = 0
    change: str | None = None
    to: Literal | None = None

    def json(self) -> Json:
        """Return the question in JSON; `prepared` stands there only if it is."""
        return {
            **({"prepared": True} if self.prepared else {}),
            "area": self.area,
            "source": self.source.json(),
            "select": list(self.select),
            "join": None if self.join is None else self.join.json(),
            "second": None if self.second is None else self.second.json(),
            "where": None if self.where is None else self.where.json(),
            "aggregates": [aggregate.json() for aggregate in self.aggregates],
            "group": _column_or_term(self.group),
            "having": None if self.having is None else self.having.json(),
            "window": None if self.window is None else self.window.json(),
            "set": None if self.set is None else self.set.json(),
            "order": [key.json() for key in self.order],
            "limit": self.limit,
            "offset": self.offset,
            "repeat": self.repeat,
            "change": self.change,
            "to": None if self.to is None else self.to.json(),
        }

    @property
    def relations(self) -> tuple[Relation, ...]:
        """The relations that it reads."""
        others = [part.right for part in (self.join, self.second, self.set) if part is not None]
        return (self.source, *others, *(query.relation for query in self.queries))

    @property
    def queries(self) -> tuple[Subquery, ...]:
        """The subqueries of its condition."""
        where = self.source.where
        if self.area != "subquery" or where is None:
            return ()
        return tuple(part for part in subterms(where) if isinstance(part, Subquery))

    @property
    def conditions(self) -> tuple[Term, ...]:
        """The conditions of WHERE: its own, and those of the relations that it reads."""
        parts: tuple[Question | Relation, ...] = (self, *self.relations)
        return tuple(part.where for part in parts if part.where is not None)

    @property
    def answer_columns(self) -> tuple[str, ...]:
        """The columns of its answer: the selected ones, or `group`, `aggregate 0`, `aggregate 1` ..."""
        if not self.aggregates:
            return self.select
        numbers = range(len(self.aggregates))
        return (*(("group",) if self.group is not None else ()), *(f"aggregate {at}" for at in numbers))

    @property
    def terms(self) -> Iterator[Term]:
        """The expressions of the question, outermost ones only."""
        parts: tuple[Question | Relation, ...] = (self, *self.relations)
        for part in parts:
            yield from (key.by for key in part.order)
            if part.where is not None:
                yield part.where
        for join in (self.join, self.second):
            if join is not None and join.on is not None:
                yield join.on
        for aggregate in self.aggregates:
            yield from (term for term in (aggregate.of, aggregate.where) if term is not None)
        yield from (term for term in (self.group, self.having) if term is not None)
        if self.window is not None:
            yield from (key.by for key in self.window.order)
            if self.window.partition is not None:
                yield self.window.partition


def _column_or_term(term: Term | None) -> Json:
    """Return a term in JSON, a column as its name alone."""
    if term is None:
        return None
    return term.name if isinstance(term, Column) else term.json()


def subterms(term: Term) -> Iterator[Term]:
    """Yield a term and all terms inside it, of a subquery not those of its relation."""
    yield term
    if isinstance(term, Call):
        for part in term.of:
            yield from subterms(part)
    if isinstance(term, Subquery):
        yield term.column
        if term.operand is not None:
            yield from subterms(term.operand)
