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
from pruning.spark.drive.materials import Rows, expression_values, first_line
from pruning.spark.drive.queries import Query
from pruning.spark.drive.repeating import has_repeatable_keys
from pruning.spark.drive.scans import TableScan, complete_scan_sets
from pruning.spark.jvm.gateway import Java, jvm, sequence, singleton
from pruning.techniques.plan.reachability import KeyPath, key_paths
from pruning.techniques.plan.sites import TopKSite
from pruning.techniques.topk.boundary import strictest
from pruning.techniques.topk.orders import SortOrder
from pruning.techniques.topk.topk import TopK
from pruning.techniques.topk.upfront import boundary_by_counts, boundary_by_maxima

# The first rows are held in the driver; of [P] Figure 6's queries 97 in 100 want no more.
ROWS_MAX = 10_000
# What the rest of the query reads beside the scan it reads again in each wave.
BESIDE_SHARE_MAX = 0.1


def prune_by_top_k(query: Query, place: TopKSite, *, runtime: bool) -> None:
    """Narrow the scans that the first key of an ORDER BY with LIMIT comes from.

    Metadata alone may give a boundary already. With `runtime`, files that are likely to hold the
    first rows are read in waves, which tell what no other row must be compared with.
    """
    if place.wanted == 0:
        return
    found = query.narrowable_paths(key_paths(place.sort.child, (place.first.key,)))
    for way in found:
        if not way.monotone or not query.scans[way.scan].read_scan_set().is_complete:
            query.scans[way.scan].decline("top-k", "not each of its rows is sure to be among those sorted")
            continue
        top_k = _TopKPruning.of(query, place, way)
        if runtime and top_k.has_choice and _are_waves_worthwhile(query, place, way):
            top_k.run()
        top_k.apply()


def _are_waves_worthwhile(query: Query, place: TopKSite, way: KeyPath) -> bool:
    """Whether waves can spare files, and cost little beside them."""
    scan = query.scans[way.scan]
    if not way.sole_source or place.wanted > ROWS_MAX or scan.file_count < 2:
        return False
    if any(isinstance(node, Limit | Offset | Window) for node in query.live_nodes(place.sort.child)):
        # SQL leaves open which rows these give, and each wave might be given others.
        return False
    others = [other for other in query.live_scans(place.sort.child) if other is not scan]
    scan_sets = complete_scan_sets(others)
    if scan_sets is None:
        return False
    bytes_beside = sum(scan_set.bytes_kept for scan_set in scan_sets)
    if bytes_beside > BESIDE_SHARE_MAX * scan.read_scan_set().bytes_kept:
        return False
    return has_repeatable_keys(query, place.sort.child)


@dataclass(slots=True, kw_only=True)
class _TopKPruning:
    """One top-k of a query, over one scan."""

    query: Query
    place: TopKSite
    way: KeyPath
    scan: TableScan
    key: Expression
    order: SortOrder
    machine: TopK
    start: str

    @classmethod
    def of(cls, query: Query, place: TopKSite, way: KeyPath) -> "_TopKPruning":
        """Start with what metadata says."""
        scan, key, first = query.scans[way.scan], way.keys[0], place.first
        assert key is not None
        order = SortOrder(first.descending, first.nulls_first)
        bounds, scan_set = scan.bounds(key), scan.read_scan_set()
        known = (scan_set.matches, scan_set.row_counts)
        by_bounds = by_rows = None
        if way.preserving:
            by_bounds = boundary_by_maxima(bounds, *known, order, place.wanted, distinct=not way.rowwise)
            # Groups are not rows.
            by_rows = boundary_by_counts(bounds, *known, order, place.wanted) if way.rowwise else None
        start = strictest(order, by_bounds, by_rows)
        told = "exact bounds" if start is by_bounds else "counts of rows"
        top_k = TopK(
            bounds,
            *known,
            order,
            wanted=place.wanted,
            keeps_ties=len(place.sort.items) > 1 or not way.rowwise or not way.sole_source,
            distinct=not way.rowwise,
            start=start,
            densities=scan.match_densities(),
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
                scan.is_pinned = True
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
            self.scan.keep_files(
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
        self.scan.apply_condition("top-k", condition, because=because)

    def _order_by(self) -> str:
        direction = "DESC" if self.order.descending else "ASC"
        return f"ORDER BY {to_sql(self.key)} {direction}"

    def _files_of(self, blocks: np.ndarray) -> list[str]:
        places = self.scan.read_scan_set().file_of_block[blocks]
        return [self.scan.table.files[place] for place in dict.fromkeys(places.tolist())]

    def _blocks_of(self, files: list[str]) -> np.ndarray:
        wanted = [place for place, file in enumerate(self.scan.table.files) if file in set(files)]
        return np.flatnonzero(np.isin(self.scan.read_scan_set().file_of_block, wanted))

    def _wave(self, files: list[str]) -> Rows:
        """The first rows of those files, as what is sorted would give them."""
        query, sort = self.query, self.query.trees.javas[self.place.sort]
        child = query.java(self.place.sort.child, only={self.way.scan: files})
        plan = with_limit(query, sort.withNewChildren(sequence(query.spark, [child])), self.place.wanted)
        beside = {scan: scan.files() for scan in query.live_scans(self.place.sort.child) if scan is not None}
        return query.run("wave of a top-k", plan, {**beside, self.scan: files})

    def _keys(self, rows: Rows) -> list[Value | None]:
        key = self.query.trees.javas[self.place.sort].order().apply(0).child()
        (found,) = expression_values(self.query.spark, rows.leaf, [key])
        keys: list[Value | None] = reinterpret(found, lane_type(type_of(self.key))).to_pylist()
        return keys


def with_limit(query: Query, plan: Java, count: int) -> Java:
    """A Catalyst plan under a LIMIT."""
    literal = singleton(query.spark, "org.apache.spark.sql.catalyst.expressions.Literal").apply(count)
    logical = jvm(query.spark).org.apache.spark.sql.catalyst.plans.logical
    return logical.GlobalLimit(literal, logical.LocalLimit(literal, plan))
