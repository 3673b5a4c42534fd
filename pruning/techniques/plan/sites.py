"""The sites of limits, top-k's and joins in a plan."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pruning.expressions.plans import (
    Equality,
    Filter,
    Inequality,
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
from pruning.expressions.trees import MIRRORED, Comparison, Expression
from pruning.techniques.plan.reachability import KeyPath, key_paths


@dataclass(frozen=True, slots=True)
class LimitSite:
    """A LIMIT without an order: any `wanted` rows of `source`, those of OFFSET included, are enough."""

    source: Plan
    wanted: int


@dataclass(frozen=True, slots=True)
class TopKSite:
    """A LIMIT over ORDER BY: the first `wanted` rows of `sort`, those of OFFSET included."""

    sort: Sort
    wanted: int

    @property
    def first(self) -> SortItem:
        """The ORDER BY item that blocks are pruned by."""
        return self.sort.items[0]


@dataclass(frozen=True, slots=True)
class KeyRange:
    """A key of a join's probe side, and the inequalities by which a build row bounds it, where there are."""

    key: Expression
    lower: Inequality | None
    upper: Inequality | None


@dataclass(frozen=True, slots=True)
class JoinSite:
    """A join whose probe side may leave out rows that have no partner on the build side."""

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
        """The keys that partners agree on, over the build side's attributes."""
        return tuple(map(self.build_side, self.join.equalities))

    @property
    def probe_keys(self) -> tuple[Expression, ...]:
        """The keys that partners agree on, over the probe side's attributes."""
        return tuple(
            equality.right if self.build_is_left else equality.left for equality in self.join.equalities
        )

    @property
    def key_ranges(self) -> tuple[KeyRange, ...]:
        """The keys of the probe side that the join's inequalities bound, each once."""
        lowers: dict[Expression, Inequality] = {}
        uppers: dict[Expression, Inequality] = {}
        for inequality in self.join.inequalities:
            key, comparison = inequality.left, inequality.comparison
            if self.build_is_left:
                key, comparison = inequality.right, MIRRORED[comparison]
            ends = lowers if comparison in (Comparison.GREATER, Comparison.AT_LEAST) else uppers
            ends.setdefault(key, inequality)
        return tuple(
            KeyRange(key, lowers.get(key), uppers.get(key)) for key in dict.fromkeys((*lowers, *uppers))
        )

    def probe_paths(self) -> Iterator[KeyPath]:
        """Yield the paths from the probe side's keys, and from those of `key_ranges`, to scans."""
        return key_paths(self.probe, (*self.probe_keys, *(ranged.key for ranged in self.key_ranges)))

    def build_side(self, conjunct: Equality | Inequality) -> Expression:
        """Return the operand of a conjunct that is over the build side's attributes."""
        return conjunct.left if self.build_is_left else conjunct.right

    @property
    def null_safe(self) -> tuple[bool, ...]:
        """Per key, True if NULL agrees with NULL."""
        return tuple(equality.null_safe for equality in self.join.equalities)


# The sides whose rows without a partner change nothing in the join's result.
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
    """Yield the limits of a plan, from the top down.

    A local limit, an offset or a projection right below a limit is part of the limit's site.
    """
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
    """Return the site of a limit, None if its count is unknown, and the first node below that site."""
    wanted, node, source = top.count, top.child, top.child
    is_known, projected = top.count >= 0, False
    while isinstance(node, Offset | Project) or (isinstance(node, Limit) and node.local):
        if isinstance(node, Offset):
            is_known, wanted, source = is_known and node.count >= 0, wanted + node.count, node.child
            # A projection above an offset is not between `source` and the limit's rows.
            is_known = is_known and not projected
        elif isinstance(node, Limit):
            is_known = is_known and node.count >= wanted
        else:
            projected = True
        node = node.child
    if not is_known:
        return None, node
    if isinstance(node, Sort) and node.total and node.items:
        return TopKSite(node, wanted), node
    return LimitSite(source, wanted), node


def join_sites(plan: Plan) -> Iterator[JoinSite]:
    """Yield each side of the joins of a plan that may leave out rows, from the bottom up."""
    for below in inputs(plan):
        yield from join_sites(below)
    if isinstance(plan, Join) and (plan.equalities or plan.inequalities):
        for side in _PRUNABLE[plan.kind]:
            yield JoinSite(plan, build_is_left=side == "right")


def is_restrictive(plan: Plan, filtered: Callable[[Scan], bool]) -> bool:
    """Tell whether a plan may give fewer keys than its scans hold.

    Args:
        plan: A build side.
        filtered: Tells whether the filters right above a scan drop more than NULLs.
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
