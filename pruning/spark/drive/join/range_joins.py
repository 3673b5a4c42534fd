"""Joins of two large tables that are clustered on the key: range by range, without a shuffle ([M] 7).

A join of the analyzed plan becomes the union of one join for each range of keys. Each of them reads the files
and row groups that may hold its range, of both sides, and broadcasts its slice of one of them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pruning.expressions.plans import Equality, Join, JoinKind, Plan, Scan, is_filtered_scan, scans
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Expression, type_of
from pruning.spark.drive.analyzed_plans import AnalyzedJoin, AnalyzedPlan, leaf_number
from pruning.spark.drive.join.hints import BROADCAST_SIDES, original_join, size_in_bytes
from pruning.spark.drive.join.range_unions import SideSlices, union_of_ranges, why_not_copied
from pruning.spark.drive.join.shuffles import is_shuffled, serves_others
from pruning.spark.drive.leaf_tables import is_part
from pruning.spark.drive.queries import Query
from pruning.spark.drive.range_filters import RANGED
from pruning.spark.drive.scans import TableScan
from pruning.spark.jvm.gateway import Java, jvm
from pruning.spark.lake.columns_read import bytes_read
from pruning.spark.lake.row_groups import open_cost
from pruning.spark.lake.tables import Unprunable
from pruning.techniques.join.costs import Reads
from pruning.techniques.join.range_cuts import SMALL_SIDE, NoRanges, RangePlan, SideBlocks, plan_ranges
from pruning.techniques.plan.raising import may_raise
from pruning.techniques.plan.reachability import key_paths

# The name of the technique in reports.
RANGES = "ranges"
_SIDES = ("left", "right")
# The sides of which a join keeps every row.
_PRESERVED = {JoinKind.LEFT: ("left",), JoinKind.ANTI: ("left",), JoinKind.RIGHT: ("right",)}
# The sides without whose rows a join of each kind gives none.
_NEEDED = {**_PRESERVED, JoinKind.INNER: ("left", "right"), JoinKind.SEMI: ("left", "right")}
# The equalities of a join whose keys are tried.
_EQUALITIES_MAX = 4
# The driver holds all slices until the query ends; they take at most this share of its memory.
_DRIVER_SHARE = 4
# What marks such columns in a schema.
_CHAR = "__CHAR_VARCHAR_TYPE_STRING"
_OTHER_FORM = "Spark runs the join in another form than the query has it"
_ELSEWHERE = "a side is read otherwise too, or not as files of Parquet"


def range_joins(
    analyzed: AnalyzedPlan,
    queries: Sequence[Query],
    sole_scans: Mapping[int, TableScan],
    hints: Sequence[tuple[Java, str]],
) -> list[tuple[Java, Java]]:
    """Return the joins of the analyzed plan that are to be joined by ranges, each with its union.

    The scans' reports say what is read twice, or why a join of two large tables stays as it is.

    Args:
        analyzed: The analyzed plan.
        queries: The query and its subqueries, after all techniques.
        sole_scans: The scans of the leaves that one part of the query reads, by the leaves' numbers.
        hints: The joins that get a hint to broadcast a side, with that side.
    """
    joins = [
        (query, node)
        for query in queries
        for node in query.live_nodes(query.tree)
        if isinstance(node, Join) and _has_form(query, node)
    ]
    if not joins:
        return []
    threshold = analyzed.spark._jsparkSession.sessionState().conf().autoBroadcastJoinThreshold()
    hinted, originals = {id(java) for java, _ in hints}, list[AnalyzedJoin]()
    unions, held_bytes = [], 0
    for query, join in joins:
        site = _Site(query, join, threshold, held_bytes)
        if not site.has_large_sides():
            continue
        outcome = site.choice()
        if isinstance(outcome, NoRanges):
            if not site.is_broadcast():
                site.decline(outcome)
            continue
        originals = originals or list(analyzed.joins())
        original = original_join(query, join, originals)
        if original is not None and id(original.java) in hinted:
            continue
        union = site.union(outcome, original, sole_scans)
        if isinstance(union, NoRanges):
            site.decline(union)
        else:
            unions.append(union)
            held_bytes += outcome.plan.broadcast_bytes
    return unions


def _has_form(query: Query, join: Join) -> bool:
    """Tell whether a join is one on equal keys of two tables under filters and projections."""
    sides = (join.left, join.right)
    return bool(join.equalities) and all(
        is_filtered_scan(side) and scans(side)[0] in query.scans for side in sides
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Site:
    """A join of two tables.

    Attributes:
        query: The query or subquery that the join is in.
        join: The join.
        threshold: The most bytes that Spark broadcasts by itself.
        held_bytes: The bytes of the slices of other joins, which the driver holds, too.
    """

    query: Query
    join: Join
    threshold: int
    held_bytes: int

    def child(self, side: str) -> Plan:
        """Return a side of the join."""
        return self.join.left if side == "left" else self.join.right

    def node(self, side: str) -> Scan:
        """Return the leaf of a side."""
        return scans(self.child(side))[0]

    def scan(self, side: str) -> TableScan:
        """Return the scan of a side."""
        return self.query.scans[self.node(side)]

    def decline(self, no_ranges: NoRanges) -> None:
        """Note at both scans why the join stays as it is."""
        for side in _SIDES:
            self.scan(side).decline(RANGES, no_ranges.reason, no_ranges.remedy)

    def has_large_sides(self) -> bool:
        """Tell whether Spark, by its estimates for the query as it is, broadcasts no side of the join."""
        sides = BROADCAST_SIDES[self.join.kind] or _SIDES
        # Spark's estimate is seldom more than the bytes of the files, and takes calls into Java.
        return (
            self.threshold > 0
            and all(self.scan(side).listed_bytes() > self.threshold for side in sides)
            and all(
                size_in_bytes(self.query.trees.javas[self.child(side)]) > self.threshold for side in sides
            )
        )

    def is_broadcast(self) -> bool:
        """Tell whether Spark is likely to broadcast what pruning has left of a side."""
        sides = BROADCAST_SIDES[self.join.kind]
        return any(size_in_bytes(self.query.java(self.child(side))) <= self.threshold for side in sides)

    def has_hint(self) -> bool:
        """Tell whether the query says how the join is done."""
        hint = self.query.trees.javas[self.join].hint()
        return not (hint.leftHint().isEmpty() and hint.rightHint().isEmpty())

    def union(
        self, choice: "_Choice", original: AnalyzedJoin | None, sole_scans: Mapping[int, TableScan]
    ) -> tuple[Java, Java] | NoRanges:
        """Return the join of the analyzed plan and the union that replaces it, or why it stays."""
        reason = self._why_not_replaced(original, sole_scans)
        if reason is not None:
            return NoRanges(reason)
        assert original is not None
        if not is_shuffled(self.query, self.join):
            return NoRanges("Spark joins the tables without a shuffle of both")
        slices = [self._slices(choice, side) for side in _SIDES]
        needed = [place for place, side in enumerate(_SIDES) if side in _NEEDED[self.join.kind]]
        places = [
            place
            for place in range(len(choice.plan.ranges))
            if all(slices[number].may_have_rows(place) for number in needed)
        ]
        try:
            union = union_of_ranges(
                self.query.spark, original.java, slices, places or [0], build_is_left=choice.build == "left"
            )
        except Unprunable as stays:
            return NoRanges(str(stays))
        for side in slices:
            side.note_reads()
        self._note(choice, len(places))
        return original.java, union

    def _why_not_replaced(
        self, original: AnalyzedJoin | None, sole_scans: Mapping[int, TableScan]
    ) -> str | None:
        """Return why the join may not be replaced; None if it may."""
        if original is None or original.is_nested:
            return _OTHER_FORM
        for side in _SIDES:
            scan, number = self.scan(side), leaf_number(self.query.trees.leaves[self.node(side)].node)
            if number is None or sole_scans.get(number) is not scan or scan.is_shared or is_part(scan.table):
                return _ELSEWHERE
            if _CHAR in str(scan.leaf.node.schema().json()):
                # Spark would pad the cuts, to other lengths on the other side.
                return "a table has columns of type CHAR or VARCHAR"
        return why_not_copied(self.query.spark, original.java)

    def choice(self) -> "_Choice | NoRanges":
        """Return the cheapest ranges, or why there are none that pay."""
        if self.join.kind is JoinKind.FULL:
            return NoRanges("Spark can broadcast no side of a full outer join")
        if self.join.kind not in _NEEDED:
            return NoRanges(_OTHER_FORM)
        if self.has_hint():
            return NoRanges("the query has a hint for the join")
        if serves_others(self.query.tree, self.join):
            return NoRanges("the shuffle serves another join or a window by the same keys, too")
        choices: list[_Choice] = []
        open_bytes = open_cost(self.query.spark)
        refusal = NoRanges("no equality of the join is between keys whose order is known")
        for equality in self.join.equalities[:_EQUALITIES_MAX]:
            keys = self._keys(equality)
            if keys is None:
                continue
            blocks = {side: self._blocks(side, keys[side], equality) for side in _SIDES}
            for build in BROADCAST_SIDES[self.join.kind]:
                outcome = self._ranges(blocks, build, open_bytes)
                if outcome == SMALL_SIDE:
                    return SMALL_SIDE
                if isinstance(outcome, NoRanges):
                    refusal = outcome
                else:
                    choices.append(_Choice(outcome, build, blocks, keys))
        if not choices:
            return refusal
        cheapest = min(choices, key=lambda choice: choice.plan.cost(open_bytes))
        return cheapest if cheapest.plan.pays(open_bytes) else _too_dear(cheapest.plan, open_bytes)

    def _keys(self, equality: Equality) -> dict[str, Expression] | None:
        """Return the keys of both sides over the tables' columns; None if they cannot be cut into ranges."""
        keys = {}
        for side, key in (("left", equality.left), ("right", equality.right)):
            paths = list(key_paths(self.child(side), (key,)))
            column = paths[0].keys[0] if len(paths) == 1 else None
            if column is None or type_of(column).kind not in RANGED or may_raise(column):
                return None
            keys[side] = column
        return keys if type_of(keys["left"]) == type_of(keys["right"]) else None

    def _blocks(self, side: str, key: Expression, equality: Equality) -> SideBlocks:
        """Return the blocks of a side."""
        scan = self.scan(side)
        bounds = scan.bounds(key)
        scan_set = scan.read_scan_set()
        unknown = scan_set.unknown_files & scan_set.kept_files
        unknown_bytes = int(scan.all_files.sizes[unknown].sum()) if unknown.any() else 0
        return SideBlocks(
            keys=bounds,
            keep=scan_set.keep,
            row_counts=scan_set.row_counts,
            byte_counts=bytes_read(scan_set.metadata.combine_chunks(), scan.columns_read),
            row_bytes=int(self.query.trees.javas[self.child(side)].schema().defaultSize()),
            file_of_block=scan_set.file_of_block,
            others=Reads(int(unknown.sum()), unknown_bytes),
            keeps_null=equality.null_safe or side in _PRESERVED.get(self.join.kind, ()),
        )

    def _ranges(self, blocks: Mapping[str, SideBlocks], build: str, open_bytes: int) -> RangePlan | NoRanges:
        """Return ranges whose slices of one side are broadcast."""
        probe = "left" if build == "right" else "right"
        if blocks[build].others.files:
            return NoRanges("of the side that would be broadcast, the rows of some files are not known")
        plan = plan_ranges(
            blocks[probe],
            blocks[build],
            broadcast_max=self.threshold,
            open_bytes=open_bytes,
        )
        if isinstance(plan, NoRanges):
            return plan
        memory = int(jvm(self.query.spark).java.lang.Runtime.getRuntime().maxMemory())
        held_bytes = self.held_bytes + plan.broadcast_bytes
        if held_bytes > memory // _DRIVER_SHARE:
            return NoRanges(
                f"the driver would hold {held_bytes:,} bytes of slices that are broadcast",
                "more memory for the driver",
            )
        return plan

    def _slices(self, choice: "_Choice", side: str) -> SideSlices:
        """Return the slices of a side."""
        return SideSlices(
            scan=self.scan(side),
            ranges=choice.plan.ranges,
            blocks=choice.blocks[side],
            key=choice.keys[side],
        )

    def _note(self, choice: "_Choice", ranges: int) -> None:
        """Note in the report what is joined range by range."""
        keys = " = ".join(to_sql(choice.keys[side]) for side in _SIDES)
        self.query.notes.append(
            f"the join on {keys} is done in {ranges} ranges of keys, without a shuffle: the {choice.build} "
            f"side's slices, at most {choice.plan.broadcast_bytes:,} bytes, are broadcast"
        )
        again = choice.plan.again
        for side in _SIDES:
            self.scan(side).notes.append(
                f"read in {ranges} ranges of {to_sql(choice.keys[side])}; of both sides of the join, "
                f"{again.files:,} files and {again.byte_count:,} bytes are read once more"
            )
            self.scan(side).declined.pop(RANGES, None)


@dataclass(frozen=True, slots=True, eq=False)
class _Choice:
    """Ranges of a join, the side that is broadcast, and the blocks and keys of both sides."""

    plan: RangePlan
    build: str
    blocks: Mapping[str, SideBlocks]
    keys: Mapping[str, Expression]


def _too_dear(plan: RangePlan, open_bytes: int) -> NoRanges:
    """Return the reason for which ranges do not pay."""
    return NoRanges(
        f"{len(plan.ranges)} ranges of keys cost as much as reading {plan.cost(open_bytes):,} bytes: row "
        f"groups of {plan.again.byte_count:,} bytes lie in several, {plan.broadcast_bytes:,} bytes would be "
        f"broadcast; the shuffle is of {plan.shuffle_bytes:,} bytes",
        "clustering both tables by the keys lets fewer row groups lie in several ranges",
    )
