"""Query plans as far as pruning must understand them, with Spark's meaning.

Inside a plan an attribute is a `Column` named by `attribute_name`; a scan says which column of its table
each of its attributes is. What is not understood is `Other`, through which nothing is concluded. Nodes
compare by identity: equal scans in two places are two scans.
"""

import enum
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pruning.expressions.trees import Column, Expression


def attribute_name(id_: int) -> str:
    """What an attribute of a plan is called, by its expression id."""
    return f"#{id_}"


class JoinKind(enum.Enum):
    """What a join gives for each row of its left side and its partners on the right."""

    INNER = "each pair"
    LEFT = "each pair, and left rows without a partner"
    RIGHT = "each pair, and right rows without a partner"
    FULL = "each pair, and the rows without a partner of both sides"
    SEMI = "left rows with a partner"
    ANTI = "left rows without a partner"
    EXISTENCE = "left rows, and whether they have a partner"


@dataclass(frozen=True, slots=True)
class Equality:
    """A conjunct of a join's condition that equates an expression of each side; `null_safe` is `<=>`."""

    left: Expression
    right: Expression
    null_safe: bool


@dataclass(frozen=True, slots=True)
class Ordering:
    """One ORDER BY item."""

    key: Expression
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """A leaf that reads a table: the table's column by attribute; `number` tells scans of a plan apart."""

    number: int
    columns: Mapping[str, Column]


@dataclass(frozen=True, slots=True, eq=False)
class Filter:
    """The rows on which a condition is TRUE."""

    child: "Plan"


@dataclass(frozen=True, slots=True, eq=False)
class Project:
    """Row by row, new attributes; `definitions` are over the child's attributes."""

    child: "Plan"
    definitions: Mapping[str, Expression]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Join:
    """Two sides under a conjunction; `equalities` are those of its parts that equate the sides."""

    left: "Plan"
    right: "Plan"
    kind: JoinKind
    condition: tuple[Expression, ...] = ()
    equalities: tuple[Equality, ...] = ()
    left_attributes: frozenset[str] = frozenset()
    right_attributes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Aggregate:
    """A row per group, also DISTINCT; `definitions` has those output attributes that it groups by."""

    child: "Plan"
    definitions: Mapping[str, Expression]


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """Row by row, values computed within partitions; `partition_by` are the attributes that make these.

    `limited` says that only some rows of each partition leave it.
    """

    child: "Plan"
    partition_by: frozenset[str]
    limited: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Sort:
    """The same rows; in the order of the items, where `total` says that it is one over all partitions."""

    child: "Plan"
    items: tuple[Ordering, ...]
    total: bool


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """The same rows, spread otherwise over tasks."""

    child: "Plan"


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """At most `count` rows; of each partition where `local`. A negative count is one that is not known."""

    child: "Plan"
    count: int
    local: bool


@dataclass(frozen=True, slots=True, eq=False)
class Offset:
    """All rows but the first `count`, of which a negative one is not known."""

    child: "Plan"
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    """UNION ALL; `definitions` has for each branch the branch's attribute behind each of the union's."""

    branches: tuple["Plan", ...]
    definitions: tuple[Mapping[str, Expression], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Other:
    """A node that is not understood, above what it reads."""

    inputs: tuple["Plan", ...] = field(default=())


Plan: TypeAlias = (
    Scan | Filter | Project | Join | Aggregate | Window | Sort | Exchange | Limit | Offset | Union | Other
)


def inputs(plan: Plan) -> tuple[Plan, ...]:
    """What a node reads, left to right."""
    match plan:
        case Scan():
            return ()
        case Join(left=left, right=right):
            return (left, right)
        case Union(branches):
            return branches
        case Other(below):
            return below
        case _:
            return (plan.child,)


def nodes(plan: Plan, *, without: Container[Plan] = ()) -> Iterator[Plan]:
    """The nodes of a plan, parents first and from left to right, except some and all that is below them."""
    pending = [plan]
    while pending:
        node = pending.pop()
        if node not in without:
            yield node
            pending.extend(reversed(inputs(node)))


def scans(plan: Plan) -> list[Scan]:
    """The scans of a plan, left to right."""
    return [node for node in nodes(plan) if isinstance(node, Scan)]


def near(plan: Plan) -> bool:
    """Whether a plan is a scan under nothing but filters and projections."""
    while isinstance(plan, Filter | Project):
        plan = plan.child
    return isinstance(plan, Scan)
