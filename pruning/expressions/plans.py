"""Query plans, as far as pruning needs to understand them, with Spark's meaning.

Inside a plan, an attribute is a `Column` named by `attribute_name`; a scan maps its attributes to columns
of its table. An operator that is not understood becomes `Other`, and nothing is concluded through it.
Nodes compare by identity: equal scans in two places are two scans.
"""

import enum
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pruning.expressions.trees import Column, Comparison, Expression


def attribute_name(id_: int) -> str:
    """Return the name of a plan's attribute, made from its expression id."""
    return f"#{id_}"


class JoinKind(enum.Enum):
    """The types of joins, by the rows that they return."""

    INNER = "each pair"
    LEFT = "each pair, and left rows without a partner"
    RIGHT = "each pair, and right rows without a partner"
    FULL = "each pair, and the rows without a partner of both sides"
    SEMI = "left rows with a partner"
    ANTI = "left rows without a partner"
    EXISTENCE = "left rows, and whether they have a partner"


@dataclass(frozen=True, slots=True)
class Equality:
    """A conjunct `left = right` of a join's condition, or `left <=> right` if `null_safe`."""

    left: Expression
    right: Expression
    null_safe: bool


@dataclass(frozen=True, slots=True)
class Inequality:
    """A conjunct `left < right` of a join's condition, or with another comparison of order."""

    left: Expression
    right: Expression
    comparison: Comparison


@dataclass(frozen=True, slots=True)
class SortItem:
    """One ORDER BY item."""

    key: Expression
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """A leaf that reads a table; `columns` maps attributes to the table's columns, `number` is unique."""

    number: int
    columns: Mapping[str, Column]


@dataclass(frozen=True, slots=True, eq=False)
class Filter:
    """A filter: the child's rows on which its condition is TRUE."""

    child: "Plan"


@dataclass(frozen=True, slots=True, eq=False)
class Project:
    """A projection; `definitions` gives each output attribute in terms of the child's attributes."""

    child: "Plan"
    definitions: Mapping[str, Expression]


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Join:
    """A join; of the conjuncts of its `condition`, some equate the two sides, and some order them."""

    left: "Plan"
    right: "Plan"
    kind: JoinKind
    condition: tuple[Expression, ...] = ()
    equalities: tuple[Equality, ...] = ()
    inequalities: tuple[Inequality, ...] = ()
    left_attributes: frozenset[str] = frozenset()
    right_attributes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Aggregate:
    """An aggregation or DISTINCT: a row per group; `definitions` has the output attributes it groups by."""

    child: "Plan"
    definitions: Mapping[str, Expression]


@dataclass(frozen=True, slots=True, eq=False)
class Window:
    """A window function: values computed row by row within the partitions made by `partition_by`.

    `limited` is True if the node returns only some rows of each partition.
    """

    child: "Plan"
    partition_by: frozenset[str]
    limited: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Sort:
    """The child's rows, sorted by the items; `total` is True if the order spans all partitions."""

    child: "Plan"
    items: tuple[SortItem, ...]
    total: bool


@dataclass(frozen=True, slots=True, eq=False)
class Exchange:
    """A shuffle: the child's rows, distributed differently over tasks."""

    child: "Plan"


@dataclass(frozen=True, slots=True, eq=False)
class Limit:
    """At most `count` rows, of each partition if `local`; a negative count means that it is unknown."""

    child: "Plan"
    count: int
    local: bool


@dataclass(frozen=True, slots=True, eq=False)
class Offset:
    """All rows but the first `count`; a negative count means that it is unknown."""

    child: "Plan"
    count: int


@dataclass(frozen=True, slots=True, eq=False)
class Union:
    """UNION ALL; `definitions` gives, for each branch, the branch's attribute for each of the union's."""

    branches: tuple["Plan", ...]
    definitions: tuple[Mapping[str, Expression], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Other:
    """A node that is not understood; `inputs` are the nodes that it reads."""

    inputs: tuple["Plan", ...] = field(default=())


Plan: TypeAlias = (
    Scan | Filter | Project | Join | Aggregate | Window | Sort | Exchange | Limit | Offset | Union | Other
)


def inputs(plan: Plan) -> tuple[Plan, ...]:
    """Return the nodes that a node reads, left to right."""
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
    """Yield the nodes of a plan, parents first, left to right; subtrees at nodes in `without` are omitted."""
    pending = [plan]
    while pending:
        node = pending.pop()
        if node not in without:
            yield node
            pending.extend(reversed(inputs(node)))


def scans(plan: Plan) -> list[Scan]:
    """Return the scans of a plan, left to right."""
    return [node for node in nodes(plan) if isinstance(node, Scan)]


def is_filtered_scan(plan: Plan) -> bool:
    """Tell whether a plan is a scan under nothing but filters and projections."""
    while isinstance(plan, Filter | Project):
        plan = plan.child
    return isinstance(plan, Scan)
