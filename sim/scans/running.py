"""A query that the control plane has taken up, and what it comes to."""

from collections import Counter
from dataclasses import dataclass

from pruning.techniques.join.summaries import JoinSummary
from sim.scans.gathering import Gathering
from sim.scans.queries import Answer, Query, answered
from sim.scans.scan_state import Board
from sim.scans.tables import RowTable


@dataclass(slots=True)
class Running:
    """A query that is not over.

    Attributes:
        boards: One for each scan, the build side of a join first.
        gathering: The parts of the build side's summary.
        summary: Of the whole build side.
    """

    query: Query
    boards: list[Board]
    gathering: Gathering
    summary: JoinSummary | None = None

    @property
    def done(self) -> bool:
        """Whether each block of each scan is settled."""
        return all(board.done for board in self.boards)

    @property
    def pruned(self) -> dict[str, int]:
        """How many blocks need not be read, by technique and place, in the order of these."""
        found: Counter[str] = Counter()
        for board in self.boards:
            for (technique, where), blocks in board.pruned.items():
                found[f"{technique} at {where}"] += blocks
        return {name: blocks for name, blocks in sorted(found.items()) if blocks}

    def answer(self) -> tuple[Answer, ...] | None:
        """What the rows that were read answer; None where tables have no rows."""
        if not all(isinstance(board.plan.table, RowTable) for board in self.boards):
            return None
        return tuple(answered(self.query, {board.plan.scan: board.rows for board in self.boards}))
