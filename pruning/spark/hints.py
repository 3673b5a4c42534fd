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
)
from pruning.spark.jvm import Java, machine, singleton, some, with_element
from pruning.spark.queries import Query

_LOGICAL = "org.apache.spark.sql.catalyst.plans.logical"
_HINT = 4

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


@dataclass(frozen=True, slots=True)
class Hints:
    """Asks Spark to broadcast a side of a join of which pruning has left few rows.

    Spark sees which files are left, but not which row groups, nor how many rows: a side that it would
    shuffle by the size of its files may be small. A user's own hint is left alone.
    """

    query: Query

    def __call__(self, plan: Plan, java: Java) -> Java:
        """The node, with a hint where it is a join with a side that has become small."""
        if not isinstance(plan, Join) or not plan.equalities:
            return java
        children = {"left": plan.left, "right": plan.right}
        rows = {side: self._rows_left(children[side]) for side in _BROADCAST[plan.kind]}
        if all(count is None for count in rows.values()):
            return java
        threshold = self.query.spark._jsparkSession.sessionState().conf().autoBroadcastJoinThreshold()
        if not java.hint().leftHint().isEmpty() or not java.hint().rightHint().isEmpty():
            return java
        made = {"left": java.left(), "right": java.right()}
        sizes = {side: _size_in_bytes(made[side]) for side in rows}
        small = [side for side, size in sizes.items() if size <= threshold]
        for side in [min(small, key=lambda side: sizes[side])] if small else sizes:
            count = rows[side]
            if count is None or _size_in_bytes(self.query.trees.javas[children[side]]) <= threshold:
                continue
            if count * int(made[side].schema().defaultSize()) <= threshold:
                self.query.notes.append(
                    f"the {side} side of a join has at most {count:,} rows left: broadcast"
                )
                # What Spark itself sees to be small needs no hint.
                return java if small else self._hinted(java, side)
        return java

    def _hinted(self, java: Java, side: str) -> Java:
        spark = self.query.spark
        logical = machine(spark).org.apache.spark.sql.catalyst.plans.logical
        broadcast = logical.HintInfo(some(spark, singleton(spark, f"{_LOGICAL}.BROADCAST")))
        pair = (some(spark, broadcast), some(spark, None))
        hint = logical.JoinHint(*(pair if side == "left" else pair[::-1]))
        return with_element(spark, java, _HINT, hint)

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
                return scan.rows_kept if scan is not None and scan.certain else None
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
