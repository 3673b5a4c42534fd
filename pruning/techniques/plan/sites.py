"""Where in a plan a limit, a top-k or a join stands, and what there is to know of it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pruning.expressions.plans import (
    Filter,
    Join,
    JoinKind,
    Limit,
    Offset,
    Other,
    Plan,
    Project,
    Scan,
    Sort,
    SortItem,
    inputs,
    is_filtered_scan,
)
from pruning.expressions.trees import Expression


@dataclass(frozen=True, slots=True)
class LimitSite:
    """LIMIT without an order: any `wanted` rows of `source`, OFFSET included, are enough."""

    source: Plan
    wanted: int


@dataclass(frozen=True, slots=True)
class TopKSite:
    """The first `wanted` rows of `sort`, OFFSET included."""

    sort: Sort
    wanted: int

    @property
    def first(self) -> SortItem:
        """The ORDER BY item that blocks are pruned by."""
        return self.sort.items[0]


@dataclass(frozen=True, slots=True)
class JoinSite:
    """Rows of the probe side without a partner on the build side may be left out of a join."""

    join: Join
    build_is_left: bool

    @property
    def build(self) -> Plan:
        """The side whose keys are summarised."""
        return self.join.left if self.build_is_left else self.join.right

    @property
    def probe(self) -> Plan:
        """The side that may leave rows out."""
        return self.join.right if self.build_is_left else self.join.left

    @property
    def build_keys(self) -> tuple[Expression, ...]:
        """What partners agree on, over the build side's attributes."""
        return tuple(one.left if self.build_is_left else one.right for one in self.join.equalities)

    @property
    def probe_keys(self) -> tuple[Expression, ...]:
        """The same over the probe side's."""
        return tuple(one.right if self.build_is_left else one.left for one in self.join.equalities)

    @property
    def null_safe(self) -> tuple[bool, ...]:
        """Of which keys NULL agrees with NULL."""
        return tuple(one.null_safe for one in self.join.equalities)


# The sides whose rows without a partner a join drops, or looks at no further.
_PRUNABLE = {
    JoinKind.INNER: ("left", "right"),
    JoinKind.LEFT: ("right",),
    JoinKind.RIGHT: ("left",),
    JoinKind.FULL: (),
    JoinKind.SEMI: ("left", "right"),
    JoinKind.ANTI: ("right",),
    JoinKind.EXISTENCE: ("right",),
}


def limit_sites(plan: Plan) -> Iterator[LimitSite | TopKSite]:
    """The limits of a plan, from above; what is there only to serve one above is part of that."""
    pending = [plan]
    while pending:
        node = pending.pop()
        if isinstance(node, Limit) and not node.local:
            place, below = _limit_site(node)
            if place is not None:
                yield place
            pending.append(below)
        else:
            pending.extend(reversed(inputs(node)))


def _limit_site(top: Limit) -> tuple[LimitSite | TopKSite | None, Plan]:
    """What a limit asks for, and the first node below it that is not part of it."""
    wanted, node, source = top.count, top.child, top.child
    known, projected = top.count >= 0, False
    while isinstance(node, Offset | Project) or (isinstance(node, Limit) and node.local):
        if isinstance(node, Offset):
            known, wanted, source = known and node.count >= 0, wanted + node.count, node.child
            # What is computed above an offset is not on the way from `source`.
            known = known and not projected
        elif isinstance(node, Limit):
            known = known and node.count >= wanted
        else:
            projected = True
        node = node.child
    if not known:
        return None, node
    if isinstance(node, Sort) and node.total and node.items:
        return TopKSite(node, wanted), node
    return LimitSite(source, wanted), node


def join_sites(plan: Plan) -> Iterator[JoinSite]:
    """What may be left out on either side of the joins of a plan, from below."""
    for below in inputs(plan):
        yield from join_sites(below)
    if isinstance(plan, Join) and plan.equalities:
        for side in _PRUNABLE[plan.kind]:
            yield JoinSite(plan, build_is_left=side == "right")


def is_restrictive(plan: Plan, filtered: Callable[[Scan], bool]) -> bool:
    """Whether a plan may give fewer keys than its scans hold.

    Args:
        plan: A build side.
        filtered: Whether the filters right above a scan ask for more than values.
    """
    match plan:
        case Scan():
            return filtered(plan)
        case Filter(child) if is_filtered_scan(child):
            return is_restrictive(child, filtered)
        case Filter() | Limit() | Offset():
            return True
        case Other(()):
            return True
        case _:
            return any(is_restrictive(below, filtered) for below in inputs(plan))
