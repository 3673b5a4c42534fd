"""What differentiation rewrites a relation into: plans that give changes, over snapshots of two moments.

A node equals itself alone: one that is used twice is computed once. A `Derivative` stands for what is not
yet rewritten; a finished plan has none (R-DVS-93).
"""

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from dynamic_tables.maintenance.algebra import Join, Relation, Scan, scans
from dynamic_tables.values.expressions import Expression


class Moment(enum.Enum):
    """An end of the interval."""

    BEFORE = "before"
    AFTER = "after"


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The rows of a relation at one end of the interval."""

    relation: Relation
    moment: Moment


@dataclass(frozen=True, eq=False)
class Keys:
    """The keys of changed rows: one expression list for each list of changes.

    Attributes:
        changes: Where the rows come from.
        expressions: What their keys are; over as many places in each.
    """

    changes: tuple["Changes", ...]
    expressions: tuple[tuple[Expression, ...], ...]


@dataclass(frozen=True, eq=False)
class Restricted:
    """The rows of a snapshot whose key is among the changed ones; NULL equals NULL.

    Attributes:
        nulls_of: For keys that match nothing with a NULL: a row with such a key is taken only if it is itself
            among these changes. None where such rows are a group like others.
    """

    rows: Snapshot
    expressions: tuple[Expression, ...]
    among: Keys
    nulls_of: "Changes | None" = None


@dataclass(frozen=True, eq=False)
class Derivative:
    """The changes of a relation, not yet rewritten."""

    relation: Relation


@dataclass(frozen=True, eq=False)
class SourceChanges:
    """The changes of a source, of the columns that are read."""

    scan: Scan


@dataclass(frozen=True, eq=False)
class Linear:
    """An operator that works row by row, over changed rows: each result has its row's action."""

    operator: Relation
    inputs: tuple["Changes", ...]


@dataclass(frozen=True, eq=False)
class Paired:
    """Changed rows of one side of an inner join with the rows of the other at one moment."""

    operator: Join
    left: "Changes | Snapshot"
    right: "Changes | Snapshot"


@dataclass(frozen=True, eq=False)
class Met:
    """The pairs of an inner join with a changed row: as they were, deleted, and as they are, inserted.

    Attributes:
        left: The net changes of the left side.
        before, after: Left and right side at each moment.
    """

    operator: Join
    left: "Changes"
    right: "Changes"
    before: tuple[Snapshot, Snapshot]
    after: tuple[Snapshot, Snapshot]


@dataclass(frozen=True, eq=False)
class Sum:
    """The changes of all inputs."""

    inputs: tuple["Changes", ...]


@dataclass(frozen=True, eq=False)
class Recomputed:
    """An operator over some rows as they were, deleted, and over those rows as they are, inserted."""

    operator: Relation
    before: tuple[Restricted, ...]
    after: tuple[Restricted, ...]


@dataclass(frozen=True, eq=False)
class Netted:
    """Changes without the deletions and insertions of the same row under the same id."""

    changes: "Changes"
    relation: Relation


Changes: TypeAlias = Derivative | SourceChanges | Linear | Paired | Met | Sum | Recomputed | Netted
Plan: TypeAlias = Changes | Snapshot | Keys | Restricted


def parts(plan: Plan) -> tuple[Plan, ...]:
    """The plans that one is directly made of."""
    match plan:
        case Linear() | Sum():
            return plan.inputs
        case Paired():
            return (plan.left, plan.right)
        case Met():
            return (plan.left, plan.right, *plan.before, *plan.after)
        case Recomputed():
            return (*plan.before, *plan.after)
        case Netted():
            return (plan.changes,)
        case Restricted():
            return (plan.rows, plan.among, *(() if plan.nulls_of is None else (plan.nulls_of,)))
        case Keys():
            return plan.changes
    return ()


def walk(plan: Plan, met: set[int] | None = None) -> Iterator[Plan]:
    """A plan and all that it is made of, each node once however often it is used."""
    met = set() if met is None else met
    if id(plan) in met:
        return
    met.add(id(plan))
    yield plan
    for part in parts(plan):
        yield from walk(part, met)


def derivatives(plan: Plan) -> tuple[Relation, ...]:
    """The relations whose changes are not rewritten yet."""
    return tuple(node.relation for node in walk(plan) if isinstance(node, Derivative))


def reads(plan: Plan) -> frozenset[tuple[int, Moment]]:
    """The scans, by identity, that a plan reads whole at each moment (R-DVS-94)."""
    whole = (node for node in walk(plan) if isinstance(node, Snapshot))
    return frozenset((id(scan), node.moment) for node in whole for scan in scans(node.relation))
