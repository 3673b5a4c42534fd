"""Questions to the predicate cache about one scan, and what their answers exclude."""

from dataclasses import dataclass

import numpy as np

from pruning.spark.drive.cache.keys import NotCached, filter_key
from pruning.spark.drive.cache.scan_blocks import ScanBlocks
from pruning.spark.drive.scans import TableScan
from pruning.techniques.cache_entries import CacheKey
from pruning.techniques.predicate_cache import PredicateCache

TECHNIQUE = "cache"


@dataclass(frozen=True, slots=True, eq=False)
class CacheQuestion:
    """The name of a query in the cache, and the blocks of the scan that it is about."""

    cache: PredicateCache
    key: CacheKey
    blocks: ScanBlocks

    @classmethod
    def of(cls, cache: PredicateCache, scan: TableScan, key: CacheKey) -> "CacheQuestion | None":
        """Return the question; None, with a reason in the report, where the scan has no such blocks."""
        blocks = ScanBlocks.of(scan)
        if blocks is None:
            scan.decline(TECHNIQUE, "rows are deleted by their values, or footers could not be read")
            return None
        return cls(cache, key, blocks)

    def apply(self, scan: TableScan) -> bool:
        """Exclude the blocks that have no row of the answer; tell if the cache knows of all blocks."""
        blocks = frozenset(self.blocks.ids)
        wanted = self.cache.lookup(self.key, blocks)
        if wanted is None:
            scan.decline(TECHNIQUE, "no earlier run of this query is remembered")
            return False
        groups = self.blocks.groups_of(wanted)
        share = f"{int(groups.sum()):,} of {len(groups):,} row groups"
        keep_groups(scan, groups, TECHNIQUE, f"an earlier run of this query had rows in {share}")
        scan.decline(TECHNIQUE, "an earlier run of this query had rows in each row group")
        return self.cache.knows_all(self.key, blocks)

    def record(self, groups: np.ndarray) -> None:
        """Remember the row groups, a mask of shape (row groups,), that had rows of the answer.

        Raises:
            InputError: the cache's directory cannot be written.
        """
        names = zip(self.blocks.ids, groups.tolist(), strict=True)
        self.cache.record(
            self.key,
            version=self.cache.version(self.key.table),
            known_blocks=frozenset(self.blocks.ids),
            contributing=frozenset(block for block, contributes in names if contributes),
            columns=(),
        )


def ask_of_filter(cache: PredicateCache, scan: TableScan) -> CacheQuestion | None:
    """Exclude the blocks in which the scan's own filter was TRUE nowhere when it was run earlier.

    Returns:
        The question, if its answer is to be recorded; None where all is known, or nothing can be.
    """
    try:
        question = CacheQuestion.of(cache, scan, filter_key(scan))
    except NotCached as reason:
        scan.decline(TECHNIQUE, str(reason))
        return None
    return None if question is None or question.apply(scan) else question


def keep_groups(scan: TableScan, groups: np.ndarray, technique: str, because: str) -> None:
    """Exclude all row groups of a scan but those of a mask of shape (row groups,)."""
    scan_set = scan.read_scan_set()
    blocks = groups if scan_set.paging is None else groups[scan_set.paging.groups]
    files = np.unique(scan_set.file_of_group[groups]).tolist()
    scan.keep_files(technique, [scan.table.files[file] for file in files], because=because, blocks=blocks)
