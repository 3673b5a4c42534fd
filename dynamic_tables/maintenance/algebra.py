"""Relational algebra over bags of rows with ids; the query of a dynamic table is bound to a `Relation`.

Each relation has `fields`, its columns. `bags` computes relations, `differentiation` their changes.
"""

import enum
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import NamedTuple, TypeAlias

from dynamic_tables.values.changes import Row
from dynamic_tables.values.expressions import Expression
from dynamic_tables.values.types import INTEGER, TEXT, VARIANT, Field, Type


class JoinKind(enum.Enum):
    """The side or sides of a join whose rows are kept without a partner."""

    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"


@dataclass(frozen=True, slots=True)
class Scan:
    """The rows of a source, reduced to some of its columns.

    Attributes:
        source: The identity of the table, view-expanded and independent of its present name.
        fields: The columns that are read, by their names in the source.
        positions: The positions of these columns in the source's rows; None: the rows as they are.
    """

    source: str
    fields: tuple[Field, ...]
    positions: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class ConstantRows:
    """Rows that are written in the query (VALUES), and never change.

    Attributes:
        output: The columns.
    """

    rows: tuple[Row, ...]
    output: tuple[Field, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns."""
        return self.output


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows whose condition is TRUE."""

    child: "Relation"
    condition: Expression

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the child."""
        return self.child.fields


@dataclass(frozen=True, slots=True)
class Project:
    """One computed column for each expression."""

    child: "Relation"
    columns: tuple[Expression, ...]
    names: tuple[str, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The expressions, with their names."""
        return tuple(Field(name, column.type) for name, column in zip(self.names, self.columns, strict=True))


@dataclass(frozen=True, slots=True)
class UnionAll:
    """The rows of all inputs, whose columns have the same types; names come from the first input."""

    inputs: tuple["Relation", ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the first input."""
        return self.inputs[0].fields


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of rows whose keys are equal and for which the rest of the condition is TRUE.

    Attributes:
        left_keys: Over the left row, as many as `right_keys`; NULL equals nothing. Without keys all match.
        residual: The rest of the condition, over the columns of the left row followed by the right row's.
    """

    left: "Relation"
    right: "Relation"
    kind: JoinKind
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    residual: Expression | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the left side, then those of the right."""
        return self.left.fields + self.right.fields


@dataclass(frozen=True, slots=True)
class Explode:
    """Each row repeated for each element of a list or member of an object (LATERAL FLATTEN).

    Attributes:
        elements: A list or an object; anything else has no elements.
        outer: True if a row without elements is kept, with NULLs.
        keyed: True if the member's name is a column too; it is NULL for an element of a list.
        recursive: True if the elements of elements count too.
        detailed: True if the path of the element, and the list or object that has it, are columns too.
        prefix: The path of the list or object itself, with which paths begin.
    """

    child: "Relation"
    elements: Expression
    outer: bool = False
    keyed: bool = False
    recursive: bool = False
    detailed: bool = False
    prefix: str = ""

    @property
    def fields(self) -> tuple[Field, ...]:
        """The child's columns, then those that it adds."""
        return (*self.child.fields, *self.added_columns)

    @property
    def added_columns(self) -> tuple[Field, ...]:
        """The name if keyed, the ordinal from 0 (NULL for a member), the value; the others if detailed."""
        columns = (Field("key", TEXT), Field("index", INTEGER), Field("value", VARIANT))
        details = (Field("path", TEXT), Field("this", VARIANT)) if self.detailed else ()
        return (*(columns if self.keyed else columns[1:]), *details)


@dataclass(frozen=True, slots=True)
class Distinct:
    """The distinct rows; NULL equals NULL here."""

    child: "Relation"

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns of the child."""
        return self.child.fields


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate function of a group.

    Attributes:
        function: A name in `aggregates.AGGREGATES`.
        argument: None for COUNT(*).
    """

    function: str
    argument: Expression | None
    distinct: bool
    type: Type


@dataclass(frozen=True, slots=True)
class Group:
    """One row for each key that occurs: the key, then the aggregates. NULL equals NULL in keys.

    Without keys there is always one row; a backend computes it, but no rule maintains it (R-DVS-22).
    """

    child: "Relation"
    keys: tuple[Expression, ...]
    aggregates: tuple[Aggregate, ...]
    names: tuple[str, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The keys, then the aggregates, with their names."""
        columns: tuple[Expression | Aggregate, ...] = (*self.keys, *self.aggregates)
        return tuple(Field(name, column.type) for name, column in zip(self.names, columns, strict=True))


@dataclass(frozen=True, slots=True)
class Order:
    """One term of an ORDER BY."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows around a row over which a window function works, as offsets from it; None is unbounded.

    Attributes:
        peers: True if rows that tie with the first or the last row belong to the frame (RANGE).
    """

    first: int | None = None
    last: int | None = None
    peers: bool = False


@dataclass(frozen=True, slots=True)
class RangeFrame:
    """The rows whose value in the order of a window is near that of a row; None is unbounded.

    The order has one term, of exact numbers or of times. Around a NULL a frame ends at the other NULLs.

    Attributes:
        first, last: The distance from the value, in the direction of the order; microseconds between times.
    """

    first: int | Decimal | None
    last: int | Decimal | None


@dataclass(frozen=True, slots=True)
class WindowFunction:
    """One window function over the ordered rows of a partition.

    Attributes:
        function: A name in `windows.WINDOWS`, or in `aggregates.AGGREGATES` for one over the frame.
        offset: The distance of LAG and LEAD, or the number of groups of NTILE.
        default: The value of LAG and LEAD where there is no row at that distance.
    """

    function: str
    argument: Expression | None
    order: tuple[Order, ...]
    type: Type
    frame: Frame | RangeFrame = Frame()
    offset: int = 1
    default: Expression | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """Each row followed by window functions over its partition; ties in the order are broken by row id."""

    child: "Relation"
    partition: tuple[Expression, ...]
    functions: tuple[WindowFunction, ...]
    names: tuple[str, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The child's columns, then the functions, with their names."""
        added = zip(self.names, self.functions, strict=True)
        return (*self.child.fields, *(Field(name, function.type) for name, function in added))


class TimeKind(enum.Enum):
    """The value of a call that asks for the time."""

    TIMESTAMP = "timestamp"
    LOCAL = "local timestamp"
    DATE = "date"
    SECONDS = "seconds"


class TimeCall(NamedTuple):
    """A call that asks for the time, at a place in the text of a query."""

    start: int
    end: int
    kind: TimeKind


@dataclass(frozen=True, slots=True)
class Opaque:
    """The rows of a query in the SQL of an engine, which is not looked into; it is computed in full only.

    Attributes:
        text: The query.
        tables: The names in it of what it reads.
        children: What it reads, in the same order.
        output: The columns that it gives.
        times: Where it asks for the time, in the order of the text.
        at_us: The time, microseconds since 1970; None before it is known.
    """

    text: str
    tables: tuple[str, ...]
    children: "tuple[Relation, ...]"
    output: tuple[Field, ...]
    times: tuple[TimeCall, ...] = ()
    at_us: int | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        """The columns that it gives."""
        return self.output


Relation: TypeAlias = (
    Scan | ConstantRows | Filter | Project | UnionAll | Join | Explode | Distinct | Group | Window | Opaque
)


def inputs(relation: Relation) -> tuple[Relation, ...]:
    """Return the direct inputs of a relation."""
    match relation:
        case Scan() | ConstantRows():
            return ()
        case UnionAll():
            return relation.inputs
        case Join():
            return (relation.left, relation.right)
        case Opaque():
            return relation.children
    return (relation.child,)


def with_inputs(relation: Relation, below: tuple[Relation, ...]) -> Relation:
    """Return the operator with its inputs replaced, in the order of `inputs`."""
    match relation:
        case Scan() | ConstantRows():
            return relation
        case UnionAll():
            return UnionAll(below)
        case Join():
            return replace(relation, left=below[0], right=below[1])
        case Opaque():
            return replace(relation, children=below)
    return replace(relation, child=below[0])


def subrelations(relation: Relation) -> Iterator[Relation]:
    """Yield a relation and all relations below it, in the order in which they are written."""
    yield relation
    for below in inputs(relation):
        yield from subrelations(below)


def scans(relation: Relation) -> tuple[Scan, ...]:
    """Return all scans of a relation; a source that is read twice has two."""
    return tuple(node for node in subrelations(relation) if isinstance(node, Scan))
