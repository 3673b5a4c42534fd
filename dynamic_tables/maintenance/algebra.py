"""Relational algebra over bags of rows with ids: what the query of a dynamic table is bound to.

Each relation has `fields`, its columns. What it means is in `bags`, how it changes in `differentiation`.
"""

import enum
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from dynamic_tables.values.expressions import Expression
from dynamic_tables.values.types import INTEGER, TEXT, VARIANT, Field, Type


class JoinKind(enum.Enum):
    """Which rows without a partner a join keeps."""

    INNER = "INNER"
    LEFT = "LEFT"
    RIGHT = "RIGHT"
    FULL = "FULL"


@dataclass(frozen=True, slots=True)
class Scan:
    """Some columns of a source.

    Attributes:
        source: The identity of the table, view-expanded and independent of its present name.
        fields: The columns that are read, by their names in the source.
        positions: Where they stand in the rows of the source; None: they are its rows.
    """

    source: str
    fields: tuple[Field, ...]
    positions: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Filter:
    """The rows of which a condition is TRUE."""

    child: "Relation"
    condition: Expression

    @property
    def fields(self) -> tuple[Field, ...]:
        """The child's."""
        return self.child.fields


@dataclass(frozen=True, slots=True)
class Project:
    """One expression for each column."""

    child: "Relation"
    columns: tuple[Expression, ...]
    names: tuple[str, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The expressions, as named."""
        return tuple(Field(name, column.type) for name, column in zip(self.names, self.columns, strict=True))


@dataclass(frozen=True, slots=True)
class UnionAll:
    """The rows of all inputs, whose columns have the same types; names are the first's."""

    inputs: tuple["Relation", ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The first input's."""
        return self.inputs[0].fields


@dataclass(frozen=True, slots=True)
class Join:
    """Pairs of rows whose keys are equal and of which the rest of the condition is TRUE.

    Attributes:
        left_keys: Over the left row; as many as `right_keys`. NULL equals nothing; without keys, each pair.
        residual: Over the columns of the left row followed by those of the right.
    """

    left: "Relation"
    right: "Relation"
    kind: JoinKind
    left_keys: tuple[Expression, ...]
    right_keys: tuple[Expression, ...]
    residual: Expression | None = None

    @property
    def fields(self) -> tuple[Field, ...]:
        """The left's, then the right's."""
        return self.left.fields + self.right.fields


@dataclass(frozen=True, slots=True)
class Explode:
    """Each row once for each element of a list or member of an object (LATERAL FLATTEN).

    Attributes:
        elements: A list or an object; anything else has no elements.
        outer: Whether a row without elements stays, with NULLs.
        keyed: Whether the name of a member is a column too; it is NULL for an element of a list.
    """

    child: "Relation"
    elements: Expression
    outer: bool = False
    keyed: bool = False

    @property
    def fields(self) -> tuple[Field, ...]:
        """The child's, then the name if keyed, the ordinal from 0 (NULL for a member), and the value."""
        return (*self.child.fields, *self.added)

    @property
    def added(self) -> tuple[Field, ...]:
        """The columns that the child lacks."""
        found = (Field("key", TEXT), Field("index", INTEGER), Field("value", VARIANT))
        return found if self.keyed else found[1:]


@dataclass(frozen=True, slots=True)
class Distinct:
    """Each row once; NULL equals NULL here."""

    child: "Relation"

    @property
    def fields(self) -> tuple[Field, ...]:
        """The child's."""
        return self.child.fields


@dataclass(frozen=True, slots=True)
class Aggregate:
    """One aggregate of a group.

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

    Without keys there is one row always; bags have that, changes do not (R-DVS-22).
    """

    child: "Relation"
    keys: tuple[Expression, ...]
    aggregates: tuple[Aggregate, ...]
    names: tuple[str, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        """Keys, then aggregates, as named."""
        columns: tuple[Expression | Aggregate, ...] = (*self.keys, *self.aggregates)
        return tuple(Field(name, column.type) for name, column in zip(self.names, columns, strict=True))


@dataclass(frozen=True, slots=True)
class Order:
    """One term of ORDER BY."""

    expression: Expression
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """The rows around one that a window function sees, as offsets from it; None is unbounded.

    Attributes:
        peers: Whether rows that tie with the last count too (RANGE).
    """

    first: int | None = None
    last: int | None = None
    peers: bool = False


@dataclass(frozen=True, slots=True)
class WindowFunction:
    """One function over the ordered rows of a partition.

    Attributes:
        function: A name in `windows.WINDOWS`, or one in `aggregates.AGGREGATES` taken over the frame.
        offset: Of LAG and LEAD.
        default: Of LAG and LEAD, where there is no such row.
    """

    function: str
    argument: Expression | None
    order: tuple[Order, ...]
    type: Type
    frame: Frame = Frame()
    offset: int = 1
    default: Expression | None = None


@dataclass(frozen=True, slots=True)
class Window:
    """Each row with functions over its partition; ties in their order are broken by row id."""

    child: "Relation"
    partition: tuple[Expression, ...]
    functions: tuple[WindowFunction, ...]
    names: tuple[str, ...]

    @property
    def fields(self) -> tuple[Field, ...]:
        """The child's, then the functions, as named."""
        added = zip(self.names, self.functions, strict=True)
        return (*self.child.fields, *(Field(name, function.type) for name, function in added))


Relation: TypeAlias = Scan | Filter | Project | UnionAll | Join | Explode | Distinct | Group | Window


def inputs(relation: Relation) -> tuple[Relation, ...]:
    """The relations that one is directly computed from."""
    match relation:
        case Scan():
            return ()
        case UnionAll():
            return relation.inputs
        case Join():
            return (relation.left, relation.right)
    return (relation.child,)


def with_inputs(relation: Relation, below: tuple[Relation, ...]) -> Relation:
    """The same operator over other inputs, as many as it has."""
    match relation:
        case Scan():
            return relation
        case UnionAll():
            return UnionAll(below)
        case Join():
            return replace(relation, left=below[0], right=below[1])
    return replace(relation, child=below[0])


def walk(relation: Relation) -> Iterator[Relation]:
    """A relation and all that it is computed from, in the order in which they are written."""
    yield relation
    for below in inputs(relation):
        yield from walk(below)


def scans(relation: Relation) -> tuple[Scan, ...]:
    """Each scan of a relation; a source that is read twice has two."""
    return tuple(node for node in walk(relation) if isinstance(node, Scan))
