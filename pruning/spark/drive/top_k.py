"""Top-k pruning on Spark: waves of files, until no other file can hold one of the first rows ([P] 5)."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from pruning.expressions.plans import Limit, Offset, Window
from pruning.expressions.sql import literal_sql, to_sql
from pruning.expressions.trees import Expression, type_of
from pruning.expressions.types import Value
from pruning.rules.interpreters.arrow.interpreter import lane_type
from pruning.rules.interpreters.arrow.kernels import reinterpret
from pruning.spark.drive.materials import Rows, first_line, values
from pruning.spark.drive.queries import Query
from pruning.spark.drive.repeating import has_repeatable_keys
from pruning.spark.drive.scans import TableScan
from pruning.spark.jvm.gateway import Java, machine, sequence, singleton
from pruning.techniques.plan.reachability import Way, ways
from pruning.techniques.plan.sites import TopKPlace
from pruning.techniques.topk.boundary import stricter
from pruning.techniques.topk.orders import SortOrder
from pruning.techniques.topk.topk import TopK
from pruning.techniques.topk.upfront import by_counts, by_maxima

# The first rows are held in the driver; of [P] Figure 6's queries 97 in 100 want no more.
ROWS_MAX = 10_000
# What the rest of the query reads beside the scan it reads again in each wave.
BESIDE_SHARE_MAX = 0.1


def prune_by_top_k(query: Query, place: TopKPlace, *, runtime: bool) -> None:
    """Narrow the scans that the first key of an ORDER BY with LIMIT comes from.

    Metadata alone may give a boundary already. With `runtime`, files that are likely to hold the
    first rows are read in waves, which tell what no other row must be compared with.
    """
    if place.wanted == 0:
        return
    found = query.narrowable(ways(place.sort.child, (place.first.key,)))
    for way in found:
        if not way.growing or not query.scans[way.scan].certain:
            query.scans[way.scan].decline("top-k", "not each of its rows is sure to be among those sorted")
            continue
        top_k = _TopK.of(query, place, way)
        if runtime and top_k.has_choice and _pays(query, place, way):
            top_k.run()
        top_k.apply()


def _pays(query: Query, place: TopKPlace, way: Way) -> bool:
    """Whether waves can spare files, and cost little beside them."""
    scan = query.scans[way.scan]
    if not way.alone or place.wanted > ROWS_MAX or scan.file_count < 2:
        return False
    if any(isinstance(node, Limit | Offset | Window) for node in query.live(place.sort.child)):
        # SQL leaves open which rows these give, and each wave might be given others.
        return False
    beside = [other for other in query.live_scans(place.sort.child) if other is not scan]
    if any(other is None or not other.certain for other in beside):
        return False
    others = sum(other.bytes_kept for other in beside if other is not None)
    return others <= BESIDE_SHARE_MAX * scan.bytes_kept and has_repeatable_keys(query, place.sort.child)


@dataclass(slots=True, kw_only=True)
class _TopK:
    """One top-k of a query, over one scan."""

    query: Query
    place: TopKPlace
    way: Way
    scan: TableScan
    key: Expression
    order: SortOrder
    machine: TopK
    start: str

    @classmethod
    def of(cls, query: Query, place: TopKPlace, way: Way) -> "_TopK":
        """Start with what metadata says."""
        scan, key, first = query.scans[way.scan], way.keys[0], place.first
        assert key is not None
        order = SortOrder(first.descending, first.nulls_first)
        bounds, known = scan.bounds(key), (scan.matches, scan.row_counts)
        by_bounds = by_rows = None
        if way.preserving:
            by_bounds = by_maxima(bounds, *known, order, place.wanted, distinct=not way.rowwise)
            # Groups are not rows.
            by_rows = by_counts(bounds, *known, order, place.wanted) if way.rowwise else None
        start = stricter(order, by_bounds, by_rows)
        told = "exact bounds" if start is by_bounds else "counts of rows"
        top_k = TopK(
            bounds,
            *known,
            order,
            wanted=place.wanted,
            keeps_ties=len(place.sort.items) > 1 or not way.rowwise or not way.alone,
            distinct=not way.rowwise,
            start=start,
            densities=scan.densities,
        )
        return cls(
            query=query, place=place, way=way, scan=scan, key=key, order=order, machine=top_k, start=told
        )

    @property
    def has_choice(self) -> bool:
        """Whether a first wave would leave files unread, so that something may be learnt from it."""
        first = self._files_of(self.machine.next_blocks())
        return len(first) < len(self._files_of(self.machine.needed))

    def run(self) -> None:
        """Read waves of files until no other file can hold one of the first rows."""
        read: list[str] = []
        for scan in self.query.live_scans(self.place.sort.child):
            if scan is not None:
                scan.pinned = True
        try:
            while len(blocks := self.machine.next_blocks()):
                files = self._files_of(blocks)
                rows = self._wave(files)
                read += files
                self.machine.observe(self._blocks_of(files), self._keys(rows))
        except (Py4JError, PySparkException, pa.ArrowException) as error:
            # It may be that the query fails in the same way, or only where all files are read.
            self.query.notes.append(f"the first rows could not be looked for: {first_line(error)}")
            return
        if read and self.way.rowwise:
            self.scan.choose(
                "top-k", read, because=f"{self._order_by()}: no other file reaches the first rows"
            )

    def apply(self) -> None:
        """Leave out what cannot reach the boundary, as far as one is known."""
        boundary = self.machine.boundary
        self.scan.decline(
            "top-k",
            "its metadata tells no value that the first rows reach"
            if boundary is None
            else "each row group may hold one of the first rows",
        )
        if boundary is None or not self.query.is_live(self.place.sort.child):
            return
        # The query reads the rows of the waves again, and what ties with them.
        condition = boundary.condition(self.key, self.order, ties=True)
        value = literal_sql(boundary.value, type_of(self.key))
        how = "as waves have shown" if boundary.held else f"by {self.start}"
        because = f"{self._order_by()}: {self.place.wanted:,} rows reach {value}, {how}"
        self.scan.learn("top-k", condition, because=because)

    def _order_by(self) -> str:
        direction = "DESC" if self.order.descending else "ASC"
        return f"ORDER BY {to_sql(self.key)} {direction}"

    def _files_of(self, blocks: np.ndarray) -> list[str]:
        places = self.scan.file_of_block[blocks]
        return [self.scan.table.files[place] for place in dict.fromkeys(places.tolist())]

    def _blocks_of(self, files: list[str]) -> np.ndarray:
        wanted = [place for place, file in enumerate(self.scan.table.files) if file in set(files)]
        return np.flatnonzero(np.isin(self.scan.file_of_block, wanted))

    def _wave(self, files: list[str]) -> Rows:
        """The first rows of those files, as what is sorted would give them."""
        query, sort = self.query, self.query.trees.javas[self.place.sort]
        child = query.java(self.place.sort.child, only={self.way.scan: files})
        plan = first_rows(query, sort.withNewChildren(sequence(query.spark, [child])), self.place.wanted)
        beside = {scan: scan.files() for scan in query.live_scans(self.place.sort.child) if scan is not None}
        return query.run("wave of a top-k", plan, {**beside, self.scan: files})

    def _keys(self, rows: Rows) -> list[Value | None]:
        key = self.query.trees.javas[self.place.sort].order().apply(0).child()
        (found,) = values(self.query.spark, rows.leaf, [key])
        keys: list[Value | None] = reinterpret(found, lane_type(type_of(self.key))).to_pylist()
        return keys


def first_rows(query: Query, plan: Java, count: int) -> Java:
    """A Catalyst plan under a LIMIT."""
    literal = singleton(query.spark, "org.apache.spark.sql.catalyst.expressions.Literal").apply(count)
    logical = machine(query.spark).org.apache.spark.sql.catalyst.plans.logical
    return logical.GlobalLimit(literal, logical.LocalLimit(literal, plan))
