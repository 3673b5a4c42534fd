"""A query that the control plane runs, and its outcome."""

from collections import Counter
from dataclasses import dataclass

from pruning.techniques.join.summaries import JoinSummary
from sim.scans.gathering import SummaryBuilder
from sim.scans.queries import Answer, Query, query_answer
from sim.scans.scan_state import ScanState
from sim.scans.tables import RowTable


@dataclass(slots=True)
class RunningQuery:
    """A query that is not over.

    Attributes:
        states: The state of each scan, the build side of a join first.
        summary_builder: The parts of the build side's summary.
        summary: The summary of the whole build side.
    """

    query: Query
    states: list[ScanState]
    summary_builder: SummaryBuilder
    summary: JoinSummary | None = None

    @property
    def is_done(self) -> bool:
        """True if all blocks of all scans are settled."""
        return all(state.is_done for state in self.states)

    @property
    def pruned_counts(self) -> dict[str, int]:
        """The number of blocks that need not be read, sorted by technique and place."""
        counts: Counter[str] = Counter()
        for state in self.states:
            for (technique, where), blocks in state.pruned.items():
                counts[f"{technique} at {where}"] += blocks
        return {name: blocks for name, blocks in sorted(counts.items()) if blocks}

    def answer(self) -> tuple[Answer, ...] | None:
        """Return the answer of the rows that were read; None if tables have no rows."""
        if not all(isinstance(state.plan.table, RowTable) for state in self.states):
            return None
        return tuple(query_answer(self.query, {state.plan.scan: state.rows for state in self.states}))
