"""The metadata service: the time of a scan of block metadata, and how long it is waited for ([M] 5, 7)."""

from pruning.expressions.traversal import columns
from sim.kernel.model import MICROSECONDS
from sim.scans.faults import ScanFaultPlan
from sim.scans.model import Metadata, MetadataLocation
from sim.scans.planning import ScanPlan


class MetadataService:
    """Columns of block metadata; those that were scanned before are in memory."""

    def __init__(self, model: Metadata, troubles: ScanFaultPlan) -> None:
        self._model, self._troubles = model, troubles
        self._hot: set[tuple[str, str]] = set()

    def availability(self, now_us: int) -> tuple[bool, int]:
        """Return True if there will be metadata, and the time until this is known."""
        if self._model.keeping is MetadataLocation.FOOTERS:
            return False, 0
        waits = self._model.latency_us + self._troubles.metadata_delay_us(now_us)
        return waits <= self._model.wait_us_max, min(waits, self._model.wait_us_max)

    def scan_us(self, plan: ScanPlan, blocks: int) -> int:
        """Return the time of a scan of the metadata columns of so many blocks that the query needs."""
        total = 0
        for column in _columns(plan):
            is_hot = self._model.hot and (plan.table.name, column) in self._hot
            rate = self._model.hot_bytes_per_s if is_hot else self._model.bytes_per_s
            total += blocks * self._model.bytes_per_block * MICROSECONDS // rate
        return total

    def keep_hot(self, plan: ScanPlan) -> None:
        """Keep the metadata columns of a scan in memory."""
        self._hot.update((plan.table.name, column) for column in _columns(plan))


def _columns(plan: ScanPlan) -> list[str]:
    keys = [part.key for part in (plan.top_k, plan.probe_side, plan.build_side) if part is not None]
    expressions = [*keys, *([] if plan.predicate is None else [plan.predicate])]
    return sorted({name for expression in expressions for name in columns(expression)})
