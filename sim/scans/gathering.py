"""Build the summary of a join's build side from the parts of its blocks, in whatever order they arrive."""

from collections.abc import Iterable

import pyarrow as pa

from pruning.metadata.table.schema import arrow_type
from pruning.techniques.join.summaries import JoinSummary, SummaryParts, summarise_keys
from sim.scans.planning import ScanPlan


class SummaryBuilder:
    """The parts of one build scan; their number is known only when all its metadata was read."""

    def __init__(self, plan: ScanPlan, bytes_max: int) -> None:
        self._plan, self._bytes_max = plan, bytes_max
        self._early: dict[int, JoinSummary] = {}
        self._ordinals: dict[int, int] = {}
        self.parts: SummaryParts | None = None

    def add_part(self, block: int, part: JoinSummary) -> None:
        """Add the part of a block that was read."""
        if self.parts is None:
            self._early[block] = part
        else:
            self.parts = self.parts.observe(self._ordinals[block], part)

    def add_empty(self, blocks: Iterable[int]) -> None:
        """Add empty parts for blocks that need not be read."""
        for block in blocks:
            at = self._ordinals.get(block)
            if at is not None and self.parts is not None and at not in self.parts.reported:
                self.parts = self.parts.observe(at, self._nothing())

    def set_blocks(self, blocks_left: Iterable[int]) -> None:
        """Set the blocks that are still to be read; no others will follow."""
        blocks = sorted({*blocks_left, *self._early})
        self._ordinals = {block: at for at, block in enumerate(blocks)}
        self.parts = SummaryParts(max(1, len(blocks)))
        for block, part in self._early.items():
            self.add_part(block, part)
        if not blocks:
            self.parts = self.parts.observe(0, self._nothing())

    def merge(self) -> JoinSummary | None:
        """Return the summary of the whole side; None while a part is missing."""
        return None if self.parts is None else self.parts.merge()

    def _nothing(self) -> JoinSummary:
        """Return the summary of no rows."""
        built = self._plan.build_side
        assert built is not None
        no_row = pa.array([], arrow_type(built.type))
        return summarise_keys([built.type], [no_row], bytes_max=self._bytes_max, null_safe=[built.null_safe])
