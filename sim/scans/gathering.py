"""The summary of a join's build side, from the parts of its blocks, in whatever order they come."""

from collections.abc import Iterable

import pyarrow as pa

from pruning.metadata.table.schema import arrow_type
from pruning.techniques.join.summaries import JoinSummary, SummaryParts, summarise_keys
from sim.scans.planning import ScanPlan


class Gathering:
    """The parts of one build scan; how many there are is known only when all its metadata was looked at."""

    def __init__(self, plan: ScanPlan, bytes_max: int) -> None:
        self._plan, self._bytes_max = plan, bytes_max
        self._early: dict[int, JoinSummary] = {}
        self._ordinals: dict[int, int] = {}
        self.parts: SummaryParts | None = None

    def found(self, block: int, part: JoinSummary) -> None:
        """A block was read."""
        if self.parts is None:
            self._early[block] = part
        else:
            self.parts = self.parts.observe(self._ordinals[block], part)

    def spared(self, blocks: Iterable[int]) -> None:
        """Blocks need not be read, so that they have no key."""
        for block in blocks:
            at = self._ordinals.get(block)
            if at is not None and self.parts is not None and at not in self.parts.reported:
                self.parts = self.parts.observe(at, self._nothing())

    def count(self, asked: Iterable[int]) -> None:
        """These blocks are still to be read, and none beside."""
        blocks = sorted({*asked, *self._early})
        self._ordinals = {block: at for at, block in enumerate(blocks)}
        self.parts = SummaryParts(max(1, len(blocks)))
        for block, part in self._early.items():
            self.found(block, part)
        if not blocks:
            self.parts = self.parts.observe(0, self._nothing())

    def merged(self) -> JoinSummary | None:
        """The summary of the whole side; None as long as a part is missing."""
        return None if self.parts is None else self.parts.merge()

    def _nothing(self) -> JoinSummary:
        """The summary of no row."""
        built = self._plan.built
        assert built is not None
        no_row = pa.array([], arrow_type(built.type))
        return summarise_keys([built.type], [no_row], bytes_max=self._bytes_max, null_safe=[built.null_safe])
