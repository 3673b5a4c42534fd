"""Top-k pruning on Spark: waves of files, until no other file can hold one of the first rows ([P] 5)."""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from pruning.expressions.plans import Limit, Offset, Window, is_filtered_scan
from pruning.expressions.sql import literal_sql, to_sql
from pruning.expressions.traversal import leaf_names
from pruning.expressions.trees import Expression, type_of
from pruning.expressions.types import Value
from pruning.metadata.table.schema import column_types, columns_only
from pruning.rules.interpreters.arrow.interpreter import lane_type
from pruning.rules.interpreters.arrow.kernels import reinterpret
from pruning.spark.drive.cache.first_rows import FirstRows
from pruning.spark.drive.cache.keys import NotCached, top_k_key
from pruning.spark.drive.cache.questions import TECHNIQUE, CacheQuestion, keep_groups
from pruning.spark.drive.cache.row_places import with_row_files, with_row_places
from pruning.spark.drive.cache.scan_blocks import ScanBlocks
from pruning.spark.drive.materials import Rows, expression_values, with_limit
from pruning.spark.drive.queries import Query, complete_scan_sets
from pruning.spark.drive.repeating import has_repeatable_keys
from pruning.spark.drive.scans import TableScan
from pruning.spark.jvm.gateway import elements, first_line, sequence
from pruning.spark.versioned.tables import VersionTable
from pruning.techniques.plan.reachability import KeyPath, key_paths
from pruning.techniques.plan.sites import TopKSite
from pruning.techniques.topk.boundary import Boundary, strictest
from pruning.techniques.topk.orders import SortOrder
from pruning.techniques.topk.topk import TopK
from pruning.techniques.topk.upfront import boundary_by_counts, boundary_by_maxima
from pruning.verdicts.bounding import key_bounds

# The most rows that waves may hold in the driver; 97 in 100 queries of [P] Figure 6 ask for no more.
ROWS_MAX = 10_000
# Each wave reads the other scans of the query again; they may have at most this share of the scan's bytes.
BESIDE_SHARE_MAX = 0.1
# A job takes about as long as Spark takes to read so many bytes.
WAVE_BYTES_MIN = 8_000_000


def prune_by_top_k(query: Query, site: TopKSite, *, runtime: bool) -> None:
    """Narrow the scans that the first key of an ORDER BY with LIMIT comes from.

    Metadata alone may give a boundary. With `runtime`, files that are likely to hold the first rows are read
    in waves, which give a stricter boundary.
    """
    if site.wanted == 0:
        return
    paths = query.narrowable_paths(key_paths(site.sort.child, (site.first.key,)))
    for path in paths:
        if not path.monotone or not query.scans[path.scan].read_scan_set().is_complete:
            query.scans[path.scan].decline("top-k", "not each of its rows is sure to be among those sorted")
            continue
        question = _cache_question(query, site, path)
        if question is not None and question.apply(query.scans[path.scan]):
            continue
        top_k = _TopKPruning.of(query, site, path)
        if top_k.look_inside():
            top_k = _TopKPruning.of(query, site, path)
        top_k.apply()
        # The wave that reads all files tells which have first rows; then the query reads these alone.
        may_gain = question is not None or top_k.has_choice
        if runtime and may_gain and _are_waves_worthwhile(query, site, path):
            top_k.run(question)
            top_k.apply()


def _cache_question(query: Query, site: TopKSite, path: KeyPath) -> CacheQuestion | None:
    """Return the question to the predicate cache about the first rows; None, with a reason, where none is."""
    if query.cache is None:
        return None
    scan = query.scans[path.scan]
    try:
        return CacheQuestion.of(query.cache, scan, top_k_key(scan, site, path))
    except NotCached as reason:
        scan.decline(TECHNIQUE, str(reason))
        return None


def _are_waves_worthwhile(query: Query, site: TopKSite, path: KeyPath) -> bool:
    """Tell whether waves can save files, and cost little compared to the scan."""
    scan = query.scans[path.scan]
    if not path.sole_source or site.wanted > ROWS_MAX or scan.file_count < 2:
        return False
    if any(isinstance(node, Limit | Offset | Window) for node in query.live_nodes(site.sort.child)):
        # SQL does not define which rows these give, so that each wave might get others.
        return False
    others = [other for other in query.live_scans(site.sort.child) if other is not scan]
    scan_sets = complete_scan_sets(others)
    if scan_sets is None:
        return False
    bytes_beside = sum(scan_set.bytes_kept for scan_set in scan_sets)
    if bytes_beside > BESIDE_SHARE_MAX * scan.read_scan_set().bytes_kept:
        return False
    return has_repeatable_keys(query, site.sort.child)


@dataclass(slots=True, kw_only=True)
class _TopKPruning:
    """The pruning of one scan by one top-k of a query."""

    query: Query
    site: TopKSite
    path: KeyPath
    scan: TableScan
    key: Expression
    order: SortOrder
    machine: TopK
    start: str

    @classmethod
    def of(cls, query: Query, site: TopKSite, path: KeyPath) -> "_TopKPruning":
        """Start with the boundary that metadata gives, if any."""
        scan, key, first = query.scans[path.scan], path.keys[0], site.first
        assert key is not None
        order = SortOrder(first.descending, first.nulls_first)
        bounds, scan_set = scan.bounds(key), scan.read_scan_set()
        blocks = (scan_set.matches, scan_set.row_counts)
        by_bounds = by_rows = None
        if path.preserving:
            by_bounds = _boundary_by_maxima(scan, key, order, site.wanted, distinct=not path.rowwise)
            # A count of rows is no count of groups.
            by_rows = boundary_by_counts(bounds, *blocks, order, site.wanted) if path.rowwise else None
        start = strictest(order, by_bounds, by_rows)
        start_source = "exact bounds" if start is by_bounds else "counts of rows"
        top_k = TopK(
            bounds,
            *blocks,
            order,
            wanted=site.wanted,
            keeps_ties=len(site.sort.items) > 1 or not path.rowwise or not path.sole_source,
            distinct=not path.rowwise,
            start=start,
            densities=scan.match_densities(),
        )
        return cls(
            query=query,
            site=site,
            path=path,
            scan=scan,
            key=key,
            order=order,
            machine=top_k,
            start=start_source,
        )

    def look_inside(self) -> bool:
        """Cut the large row groups that may hold one of the first rows at pages; tell whether any was cut."""
        needed = np.zeros(len(self.scan.read_scan_set().keep), bool)
        needed[self.machine.needed_blocks] = True
        return self.scan.look_inside_for_order(self.key, needed)

    @property
    def has_choice(self) -> bool:
        """True if a first wave would leave files unread, which its rows may then exclude.

        Of row groups that are cut at pages, little may be needed of each file; then what is left must be
        worth a job.
        """
        needed = self.machine.needed_blocks
        first = self._files_of(self.machine.next_blocks())
        if len(first) >= len(self._files_of(needed)):
            return False
        scan_set = self.scan.read_scan_set()
        if scan_set.paging is None:
            return True
        left = np.zeros(len(scan_set.keep), bool)
        left[needed] = True
        left[self._blocks_of(first)] = False
        return scan_set.bytes_of(left) >= WAVE_BYTES_MIN

    def run(self, question: CacheQuestion | None) -> None:
        """Read waves of files until no other file can hold one of the first rows.

        Args:
            question: The question to the predicate cache that the rows of the waves answer.
        """
        read: list[str] = []
        blocks_of_scan = ScanBlocks.of(self.scan) if self.traces_rows else None
        first_rows = None if blocks_of_scan is None else FirstRows(blocks_of_scan)
        for scan in self.query.live_scans(self.site.sort.child):
            if scan is not None:
                scan.is_pinned = True
        try:
            while len(blocks := self.machine.next_blocks()):
                files = self._files_of(blocks)
                rows = self._read_wave(files, with_places=first_rows is not None)
                read += files
                keys = self._keys(rows)
                self.machine.observe(self._blocks_of(files), keys)
                places = self._places(rows) if first_rows is not None else None
                if places is None or not (first_rows and first_rows.add(keys, places)):
                    first_rows = None
        except (Py4JError, PySparkException, pa.ArrowException) as error:
            # The query may fail in the same way, or only if it reads all files.
            self.query.notes.append(f"the first rows could not be looked for: {first_line(error)}")
            return
        because = f"{self._order_by()}: no other file reaches the first rows"
        if read and first_rows is not None:
            groups = first_rows.groups(self.order, self.machine.boundary, self.site.wanted, self.keeps_ties)
            keep_groups(self.scan, groups, "top-k", because)
            if question is not None:
                question.record(groups)
        elif read and self.path.rowwise:
            self.scan.keep_files("top-k", read, because=because)

    def apply(self) -> None:
        """Exclude the blocks that cannot reach the boundary, if there is one."""
        boundary = self.machine.boundary
        self.scan.decline(
            "top-k",
            "its metadata tells no value that the first rows reach"
            if boundary is None
            else "each row group may hold one of the first rows",
        )
        if boundary is None or not self.query.is_live(self.site.sort.child):
            return
        # The query reads the rows of the waves again, and so needs all rows that tie with the boundary.
        condition = boundary.condition(self.key, self.order, ties=True)
        value = literal_sql(boundary.value, type_of(self.key))
        how = "as waves have shown" if boundary.held else f"by {self.start}"
        because = f"{self._order_by()}: {self.site.wanted:,} rows reach {value}, {how}"
        self.scan.apply_condition("top-k", condition, because=because)

    def _order_by(self) -> str:
        direction = "DESC" if self.order.descending else "ASC"
        return f"ORDER BY {to_sql(self.key)} {direction}"

    def _files_of(self, blocks: np.ndarray) -> list[str]:
        places = self.scan.read_scan_set().file_of_block[blocks]
        return [self.scan.table.files[place] for place in dict.fromkeys(places.tolist())]

    def _blocks_of(self, files: list[str]) -> np.ndarray:
        return np.flatnonzero(self.scan.all_files.mask_of(files)[self.scan.read_scan_set().file_of_block])

    def _read_wave(self, files: list[str], *, with_places: bool) -> Rows:
        """Run the sorted part of the query over some files of the scan, and return its first rows.

        Args:
            files: The files.
            with_places: True for rows with their places as last columns, where Spark can tell them.
        """
        query, sort = self.query, self.query.trees.javas[self.site.sort]
        child = query.java(self.site.sort.child, only={self.path.scan: files})
        located = None
        if with_places:
            is_version = isinstance(self.scan.table, VersionTable)
            located = (with_row_files if is_version else with_row_places)(query.spark, child)
        child = child if located is None else located.plan
        plan = with_limit(query.spark, sort.withNewChildren(sequence(query.spark, [child])), self.site.wanted)
        beside = {scan: scan.files() for scan in query.live_scans(self.site.sort.child) if scan is not None}
        return query.run("wave of a top-k", plan, {**beside, self.scan: files})

    @property
    def traces_rows(self) -> bool:
        """True if rows of a wave can tell which file they are from: only filters are above the scan."""
        return self.path.sole_source and is_filtered_scan(self.site.sort.child)

    @property
    def keeps_ties(self) -> bool:
        """True if rows that tie with the boundary may belong to the answer, by other keys."""
        return len(self.site.sort.items) > 1

    def _places(self, rows: Rows) -> list[tuple[str, int]] | None:
        """Return the file and the ordinal of each row of a wave, if its last columns have them."""
        output = list(elements(rows.leaf.output()))
        if len(output) != self.query.trees.javas[self.site.sort].output().length() + 2:
            return None
        files, ordinals = expression_values(self.query.spark, rows.leaf, output[-2:])
        return list(zip(files.to_pylist(), ordinals.to_pylist(), strict=True))

    def _keys(self, rows: Rows) -> list[Value | None]:
        key = self.query.trees.javas[self.site.sort].order().apply(0).child()
        (key_values,) = expression_values(self.query.spark, rows.leaf, [key])
        keys: list[Value | None] = reinterpret(key_values, lane_type(type_of(self.key))).to_pylist()
        return keys


def _boundary_by_maxima(
    scan: TableScan, key: Expression, order: SortOrder, wanted: int, *, distinct: bool
) -> Boundary | None:
    """Return the boundary by bounds that rows attain: those of row groups, as no bound of a page is exact."""
    scan_set = scan.read_scan_set()
    groups, matches = scan_set.row_groups, scan_set.group_matches
    if scan_set.paging is None:
        bounds = scan.bounds(key)
    elif set(leaf_names(key)) <= column_types(groups).keys():
        bounds = key_bounds(key, columns_only(groups, leaf_names(key)))
    else:
        return None
    rows: np.ndarray = groups.column("row_count").to_numpy()
    return boundary_by_maxima(bounds, matches, rows, order, wanted, distinct=distinct)
