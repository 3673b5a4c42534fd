"""The metadata service: how long a scan of block metadata takes, and how long it is waited for ([M] 5, 7)."""

from pruning.expressions.traversal import columns
from sim.kernel.model import MICROSECONDS
from sim.scans.faults import Troubles
from sim.scans.model import Keeping, Metadata
from sim.scans.planning import ScanPlan


class MetadataService:
    """Columns of block metadata, those that were scanned before in memory."""

    def __init__(self, model: Metadata, troubles: Troubles) -> None:
        self._model, self._troubles = model, troubles
        self._hot: set[tuple[str, str]] = set()

    def answers(self, now_us: int) -> tuple[bool, int]:
        """Whether there will be metadata, and how long it takes to know."""
        if self._model.keeping is Keeping.FOOTERS:
            return False, 0
        waits = self._model.latency_us + self._troubles.metadata_delay_us(now_us)
        return waits <= self._model.wait_us_max, min(waits, self._model.wait_us_max)

    def scan_us(self, plan: ScanPlan, blocks: int) -> int:
        """How long the scan of so many blocks' metadata takes: of the columns that the query asks for."""
        total = 0
        for column in _columns(plan):
            is_hot = self._model.hot and (plan.table.name, column) in self._hot
            rate = self._model.hot_bytes_per_s if is_hot else self._model.bytes_per_s
            total += blocks * self._model.bytes_per_block * MICROSECONDS // rate
        return total

    def scanned(self, plan: ScanPlan) -> None:
        """All the metadata of a scan was read, and stays in memory."""
        self._hot.update((plan.table.name, column) for column in _columns(plan))


def _columns(plan: ScanPlan) -> list[str]:
    keys = [part.key for part in (plan.ordered, plan.probed, plan.built) if part is not None]
    asked = [*keys, *([] if plan.predicate is None else [plan.predicate])]
    return sorted({name for one in asked for name in columns(one)})
