"""Plans that compute the changes of a relation, over snapshots at the two ends of the interval.

A node equals only itself: a node that is used twice is computed once. A `Derivative` stands for changes that
are not yet rewritten; a finished plan has none (R-DVS-93).
"""

import enum
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dynamic_tables.maintenance.algebra import Group, Join, Relation, Scan, scans
from dynamic_tables.values.expressions import Expression


class Moment(enum.Enum):
    """One end of the interval."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The rows of a relation at one end of the interval."""

    relation: Relation
    moment: Moment


@dataclass(frozen=True, eq=False)
class PartialSnapshot:
    """The result of an operator over some rows of its inputs, all at one moment."""

    operator: Relation
    inputs: tuple["Rows", ...]


@dataclass(frozen=True, eq=False)
class InsertedRows:
    """The rows that changes insert."""

    changes: "Changes"


@dataclass(frozen=True, eq=False)
class RowsAfter:
    """Some rows of a source before the interval as they are after it, with inserted rows.

    Attributes:
        before: The rows before the interval.
        changes: The changes of the source; the deleted rows are left out.
        inserted: The inserted rows that are added.
    """

    before: "Rows"
    changes: "SourceChanges"
    inserted: "Rows"


@dataclass(frozen=True, eq=False)
class Keys:
    """The keys of changed rows or of other rows, by a list of expressions for each plan.

    Attributes:
        plans: The plans that give the rows.
        expressions: The keys of these rows, of equal length for all plans.
    """

    plans: tuple["Changes | Rows", ...]
    expressions: tuple[tuple[Expression, ...], ...]

    def part(self, places: Sequence[int]) -> "Keys":
        """Return some parts of these keys."""
        return Keys(self.plans, tuple(tuple(parts[place] for place in places) for parts in self.expressions))


@dataclass(frozen=True, eq=False)
class AffectedRows:
    """The rows at one moment whose key is among others; NULL equals NULL.

    Attributes:
        nulls_of: Set for keys in which a NULL matches nothing: a row with such a key is taken only if it is
            among these changes itself. None if rows with a NULL form a group like others.
    """

    rows: "Rows"
    expressions: tuple[Expression, ...]
    among: Keys
    nulls_of: "Changes | None" = None


@dataclass(frozen=True, eq=False)
class WithChanged:
    """Rows at one moment with all changed rows of that moment: the deleted ones, or the inserted ones."""

    rows: "Rows"
    changes: "Changes"
    moment: Moment


@dataclass(frozen=True, eq=False)
class Derivative:
    """The changes of a relation that are not yet rewritten."""

    relation: Relation


@dataclass(frozen=True, eq=False)
class SourceChanges:
    """The changes of a source, in the columns that are read."""

    scan: Scan


@dataclass(frozen=True, eq=False)
class NoChanges:
    """The changes of a relation that never changes."""

    relation: Relation


@dataclass(frozen=True, eq=False)
class Linear:
    """A row-by-row operator applied to changed rows; each result has its row's action."""

    operator: Relation
    inputs: tuple["Changes", ...]


@dataclass(frozen=True, eq=False)
class DeltaJoin:
    """The changed rows of one side of an inner join, paired with the rows of the other at one moment."""

    operator: Join
    left: "Changes | Snapshot"
    right: "Changes | Snapshot"


@dataclass(frozen=True, eq=False)
class ChangedPairs:
    """The pairs of an inner join that contain a changed row: old pairs deleted, new pairs inserted.

    Attributes:
        left, right: The net changes of the sides.
        before, after: The left and the right side at each moment: at least the rows that match a changed row
            of the other side.
    """

    operator: Join
    left: "Changes"
    right: "Changes"
    before: tuple["Rows", "Rows"]
    after: tuple["Rows", "Rows"]


@dataclass(frozen=True, eq=False)
class Sum:
    """The changes of all inputs together."""

    inputs: tuple["Changes", ...]


@dataclass(frozen=True, eq=False)
class Recomputation:
    """An operator's result over the affected rows before, deleted, and after, inserted."""

    operator: Relation
    before: tuple["Rows", ...]
    after: tuple["Rows", ...]


@dataclass(frozen=True, eq=False)
class GroupAdjustment:
    """Groups whose rows after the interval follow from their rows before it and the changes of the input.

    Attributes:
        operator: A group whose aggregates are all counts and sums of exact numbers.
        changes: The net changes of its input.
        places: The position of each of its columns in the rows of the maintained result.
    """

    operator: Group
    changes: "Changes"
    places: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class AdjustedGroups:
    """The changes of the groups that an adjustment can tell."""

    adjustment: GroupAdjustment


@dataclass(frozen=True, eq=False)
class UnadjustedInput:
    """The changes of the input in the groups that an adjustment cannot tell, which are to be recomputed."""

    adjustment: GroupAdjustment


@dataclass(frozen=True, eq=False)
class NetChanges:
    """Changes without rows that are deleted and inserted unchanged under the same id."""

    changes: "Changes"
    relation: Relation


Changes: TypeAlias = (
    Derivative
    | SourceChanges
    | NoChanges
    | Linear
    | DeltaJoin
    | ChangedPairs
    | Sum
    | Recomputation
    | AdjustedGroups
    | UnadjustedInput
    | NetChanges
)
# Rows at one moment.
Rows: TypeAlias = Snapshot | PartialSnapshot | InsertedRows | RowsAfter | AffectedRows | WithChanged
Plan: TypeAlias = Changes | Rows | Keys | GroupAdjustment


def parts(plan: Plan) -> tuple[Plan, ...]:
    """Return the plans that a plan directly consists of."""
    match plan:
        case Linear() | Sum() | PartialSnapshot():
            return plan.inputs
        case DeltaJoin():
            return (plan.left, plan.right)
        case ChangedPairs():
            return (plan.left, plan.right, *plan.before, *plan.after)
        case Recomputation():
            return (*plan.before, *plan.after)
        case NetChanges() | InsertedRows() | GroupAdjustment():
            return (plan.changes,)
        case AdjustedGroups() | UnadjustedInput():
            return (plan.adjustment,)
        case AffectedRows():
            return (plan.rows, plan.among, *(() if plan.nulls_of is None else (plan.nulls_of,)))
        case WithChanged():
            return (plan.rows, plan.changes)
        case RowsAfter():
            return (plan.before, plan.changes, plan.inserted)
        case Keys():
            return plan.plans
    return ()


def nodes(plan: Plan, visited: set[int] | None = None) -> Iterator[Plan]:
    """Yield a plan and all plans inside it, each node once."""
    visited = set() if visited is None else visited
    if id(plan) in visited:
        return
    visited.add(id(plan))
    yield plan
    for part in parts(plan):
        yield from nodes(part, visited)


def derivatives(plan: Plan) -> tuple[Relation, ...]:
    """Return the relations whose changes are not rewritten yet."""
    return tuple(node.relation for node in nodes(plan) if isinstance(node, Derivative))


def scan_reads(plan: Plan) -> list[tuple[Scan, Moment]]:
    """Return the scans that a plan reads, each as often as it is read, with the moments (R-DVS-94)."""
    snapshots = (node for node in nodes(plan) if isinstance(node, Snapshot))
    return [(scan, node.moment) for node in snapshots for scan in scans(node.relation)]
