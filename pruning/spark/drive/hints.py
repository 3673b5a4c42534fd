"""What pruning tells the optimizer: which side of a join is small enough to broadcast ([M] 5.6)."""

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
from pruning.spark.drive.queries import Query
from pruning.spark.drive.scans import complete_scan_sets
from pruning.spark.jvm.gateway import Java

# The sides that a join of the kind can build a broadcast relation of, the usual one first.
_BROADCAST = {
    JoinKind.INNER: ("right", "left"),
    JoinKind.LEFT: ("right",),
    JoinKind.RIGHT: ("left",),
    JoinKind.FULL: (),
    JoinKind.SEMI: ("right",),
    JoinKind.ANTI: ("right",),
    JoinKind.EXISTENCE: ("right",),
}


def broadcast_hints(query: Query, analyzed: AnalyzedPlan) -> list[tuple[Java, str]]:
    """Return the joins of the analyzed plan, each with the side of which pruning has left few rows.

    Spark sees which files are left, but not which row groups, nor how many rows: a side that it would
    shuffle by the size of its files may be small. A user's own hint is left alone. Spark reorders no inner
    join that has a hint; so there are none where the optimizer has changed the order of the joins.
    """
    hints = _HintFinder(query)
    if not any(map(hints.has_few_rows, _joins(query))):
        return []
    originals = [_original_join(query, join, analyzed) for join in _joins(query)]
    if any(
        original is None and join.kind is JoinKind.INNER
        for join, original in zip(_joins(query), originals, strict=True)
    ):
        return []
    sides = [(original, hints.side(join)) for join, original in zip(_joins(query), originals, strict=True)]
    return [(original.java, side) for original, side in sides if original is not None and side is not None]


def _joins(query: Query) -> list[Join]:
    return [node for node in nodes(query.tree) if isinstance(node, Join)]


def _original_join(query: Query, join: Join, analyzed: AnalyzedPlan) -> AnalyzedJoin | None:
    """The join of the analyzed plan that joins the same leaves in the same way, if there is just one."""
    left, right = (_leaf_numbers(query, side) for side in (join.left, join.right))
    if left is None or right is None:
        return None
    kind = str(query.trees.javas[join].joinType().toString())
    same = [one for one in analyzed.joins() if (one.kind, one.left, one.right) == (kind, left, right)]
    return same[0] if len(same) == 1 else None


def _leaf_numbers(query: Query, plan: Plan) -> frozenset[int] | None:
    """The numbers of the leaves below; None where there is none, or one that has no number."""
    numbers = [leaf_number(query.trees.leaves[scan].node) for scan in scans(plan)]
    known = frozenset(number for number in numbers if number is not None)
    return known if known and len(known) == len(numbers) else None


@dataclass(frozen=True, slots=True)
class _HintFinder:
    """Finds sides of the joins of a query that are small enough to broadcast."""

    query: Query

    def has_few_rows(self, join: Join) -> bool:
        """Return whether pruning has narrowed a side that Spark can broadcast."""
        sides = {"left": join.left, "right": join.right}
        return bool(join.equalities) and any(
            self._rows_left(sides[side]) is not None for side in _BROADCAST[join.kind]
        )

    def side(self, join: Join) -> str | None:
        """Return the side to broadcast; None where Spark broadcasts one by itself, or neither is small."""
        if not self.has_few_rows(join):
            return None
        java = self.query.java(join, with_materials=False)
        if not java.hint().leftHint().isEmpty() or not java.hint().rightHint().isEmpty():
            return None
        threshold = self.query.spark._jsparkSession.sessionState().conf().autoBroadcastJoinThreshold()
        children = {"left": join.left, "right": join.right}
        javas = {"left": java.left(), "right": java.right()}
        rows = {side: self._rows_left(children[side]) for side in _BROADCAST[join.kind]}
        sizes = {side: _size_in_bytes(javas[side]) for side in rows}
        small = [side for side, size in sizes.items() if size <= threshold]
        for side in [min(small, key=lambda side: sizes[side])] if small else sizes:
            count = rows[side]
            if count is None or _size_in_bytes(self.query.trees.javas[children[side]]) <= threshold:
                continue
            if count * int(javas[side].schema().defaultSize()) <= threshold:
                self.query.notes.append(
                    f"the {side} side of a join has at most {count:,} rows left: broadcast"
                )
                # What Spark itself sees to be small needs no hint.
                return None if small else side
        return None

    def _rows_left(self, plan: Plan) -> int | None:
        """A number of rows that pruning has brought a part of the plan down to; None where it has not."""
        return self._rows_at_most(plan) if self._narrowed(plan) else None

    def _narrowed(self, plan: Plan) -> bool:
        """Whether pruning has changed what a part of the plan reads."""
        if plan in self.query.materials:
            return True
        if isinstance(plan, Scan):
            return plan in self.query.scans and bool(self.query.scans[plan].removals)
        return any(map(self._narrowed, inputs(plan)))

    def _rows_at_most(self, plan: Plan) -> int | None:
        """A number of rows that a part of the plan cannot exceed; None where none is known."""
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


def _size_in_bytes(java: Java) -> int:
    """What Spark takes a plan's result to be."""
    return int(str(java.stats().sizeInBytes()))
