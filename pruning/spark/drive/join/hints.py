"""Broadcast hints for joins of which pruning has made one side small ([M] 5.6)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pruning.expressions.plans import (
    Aggregate,
    Exchange,
    Filter,
    Join,
    JoinKind,
    Limit,
    Offset,
    Plan,
    Project,
    Scan,
    Sort,
    Union,
    Window,
    inputs,
    nodes,
    scans,
)
from pruning.spark.drive.analyzed_plans import AnalyzedJoin, AnalyzedPlan, leaf_number
from pruning.spark.drive.queries import Query, complete_scan_sets
from pruning.spark.jvm.gateway import Java

# The sides that Spark can broadcast in a join of each kind, the usual one first.
BROADCAST_SIDES = {
    JoinKind.INNER: ("right", "left"),
    JoinKind.LEFT: ("right",),
    JoinKind.RIGHT: ("left",),
    JoinKind.FULL: (),
    JoinKind.SEMI: ("right",),
    JoinKind.ANTI: ("right",),
    JoinKind.EXISTENCE: ("right",),
}


def broadcast_hints(query: Query, analyzed: AnalyzedPlan) -> list[tuple[Java, str]]:
    """Return the joins of the analyzed plan that need a hint, each with the side to broadcast.

    Spark knows the files that are left, but neither the row groups nor the number of rows. So it may shuffle
    a side because of the size of its files although few rows are left. A user's own hint is kept. Spark does
    not reorder an inner join with a hint; so none is given where the optimizer has reordered the joins.
    """
    hints, joins = _HintFinder(query), [node for node in nodes(query.tree) if isinstance(node, Join)]
    if not any(map(hints.has_few_rows, joins)):
        return []
    candidates = list(analyzed.joins())
    originals = [original_join(query, join, candidates) for join in joins]
    if any(
        original is None and join.kind is JoinKind.INNER
        for join, original in zip(joins, originals, strict=True)
    ):
        return []
    javas = query.narrowed_nodes()
    sides = [(original, hints.side(join, javas)) for join, original in zip(joins, originals, strict=True)]
    return [(original.java, side) for original, side in sides if original is not None and side is not None]


def original_join(query: Query, join: Join, candidates: Sequence[AnalyzedJoin]) -> AnalyzedJoin | None:
    """Return the only join of the analyzed plan with the same leaves and kind; None if there is not one."""
    left, right = (_leaf_numbers(query, side) for side in (join.left, join.right))
    if left is None or right is None:
        return None
    kind = str(query.trees.javas[join].joinType().toString())
    same = [
        candidate
        for candidate in candidates
        if (candidate.kind, candidate.left, candidate.right) == (kind, left, right)
    ]
    return same[0] if len(same) == 1 else None


def _leaf_numbers(query: Query, plan: Plan) -> frozenset[int] | None:
    """Return the numbers of the leaves of a plan; None where it has no leaf, or one without a number."""
    numbers = [leaf_number(query.trees.leaves[scan].node) for scan in scans(plan)]
    leaf_numbers = frozenset(number for number in numbers if number is not None)
    return leaf_numbers if leaf_numbers and len(leaf_numbers) == len(numbers) else None


@dataclass(frozen=True, slots=True)
class _HintFinder:
    """A search for sides of a query's joins that are small enough to broadcast."""

    query: Query

    def has_few_rows(self, join: Join) -> bool:
        """Tell whether pruning has narrowed a side that Spark can broadcast."""
        sides = {"left": join.left, "right": join.right}
        return bool(join.equalities) and any(
            self._rows_left(sides[side]) is not None for side in BROADCAST_SIDES[join.kind]
        )

    def side(self, join: Join, narrowed: Mapping[Plan, Java]) -> str | None:
        """Return the side to broadcast; None if Spark broadcasts one without a hint, or neither is small.

        Args:
            join: The join.
            narrowed: The nodes of the query over narrowed scans.
        """
        if not self.has_few_rows(join):
            return None
        java = narrowed[join]
        if not java.hint().leftHint().isEmpty() or not java.hint().rightHint().isEmpty():
            return None
        threshold = self.query.spark._jsparkSession.sessionState().conf().autoBroadcastJoinThreshold()
        children = {"left": join.left, "right": join.right}
        javas = {"left": java.left(), "right": java.right()}
        rows = {side: self._rows_left(children[side]) for side in BROADCAST_SIDES[join.kind]}
        sizes = {side: size_in_bytes(javas[side]) for side in rows}
        small = [side for side, size in sizes.items() if size <= threshold]
        for side in [min(small, key=lambda side: sizes[side])] if small else sizes:
            count = rows[side]
            if count is None or size_in_bytes(self.query.trees.javas[children[side]]) <= threshold:
                continue
            if count * int(javas[side].schema().defaultSize()) <= threshold:
                self.query.notes.append(
                    f"the {side} side of a join has at most {count:,} rows left: broadcast"
                )
                # A side that Spark itself knows to be small needs no hint.
                return None if small else side
        return None

    def _rows_left(self, plan: Plan) -> int | None:
        """Return an upper bound of the rows of a part that pruning has narrowed; None if it has not."""
        return self._rows_at_most(plan) if self._is_narrowed(plan) else None

    def _is_narrowed(self, plan: Plan) -> bool:
        """Tell whether pruning has changed what a part of the plan reads."""
        if plan in self.query.materials:
            return True
        if isinstance(plan, Scan):
            return plan in self.query.scans and bool(self.query.scans[plan].removals)
        return any(map(self._is_narrowed, inputs(plan)))

    def _rows_at_most(self, plan: Plan) -> int | None:
        """Return an upper bound of the rows of a part of the plan; None where none is known."""
        if plan in self.query.row_counts:
            return self.query.row_counts[plan]
        match plan:
            case Scan():
                scan = self.query.scans.get(plan)
                scan_sets = complete_scan_sets([scan])
                return None if scan_sets is None else scan_sets[0].rows_kept
            case Limit(child, count, local) if not local and count >= 0:
                below = self._rows_at_most(child)
                return count if below is None else min(count, below)
            case Join(kind=kind, left=left) if kind in (JoinKind.SEMI, JoinKind.ANTI, JoinKind.EXISTENCE):
                return self._rows_at_most(left)
            case Union(branches):
                rows = [self._rows_at_most(branch) for branch in branches]
                return None if None in rows else sum(count for count in rows if count is not None)
            case Filter() | Project() | Aggregate() | Window() | Sort() | Exchange() | Offset() | Limit():
                return self._rows_at_most(plan.child)
        return None


def size_in_bytes(java: Java) -> int:
    """Return Spark's estimate of the bytes of a plan's result."""
    return int(str(java.stats().sizeInBytes()))
