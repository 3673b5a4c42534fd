"""The numbers of pruned blocks, by technique and place, and of read blocks over time."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from sim.scans.events import Accepted, Pruned, QueryEnded, count
from sim.scans.queries import query_name
from sim.scans.run import ScanRun

READ = "read"
CANCELLED = "of cancelled queries"


@dataclass(frozen=True, slots=True, kw_only=True)
class PruneTimeline:
    """The number of blocks that were settled by each instant.

    Attributes:
        total: Blocks of the scans of all queries.
        at_us: Instants, from 0 on; each value holds until the next instant.
        blocks: The counts at each instant, by `technique at place`, `READ` and `CANCELLED`.
    """

    total: int
    at_us: tuple[int, ...]
    blocks: Mapping[str, tuple[int, ...]]

    @property
    def names(self) -> tuple[str, ...]:
        """The ways in which blocks were settled: pruned ones first, then read, then no longer wanted."""
        return tuple(self.blocks)


def prune_timeline(run: ScanRun, *, closer_us: int) -> PruneTimeline:
    """Return the timeline of a run.

    Args:
        closer_us: Events that follow an instant within this time are counted at that instant.
    """
    totals: Counter[str] = Counter()
    for scan, blocks in run.blocks.items():
        totals[query_name(scan)] += blocks
    so_far: Counter[str] = Counter()
    settled: Counter[str] = Counter()
    steps: list[tuple[int, Counter[str]]] = [(0, Counter())]
    for event in run.trace:
        match event:
            case Pruned():
                name, blocks = f"{event.technique} at {event.where}", count(event.blocks)
                query = query_name(event.scan)
            case Accepted():
                name, blocks, query = READ, count(event.blocks), query_name(event.scan)
            case QueryEnded(cancelled=True):
                name, query = CANCELLED, event.query
                blocks = totals[query] - settled[query]
            case _:
                continue
        so_far[name] += blocks
        settled[query] += blocks
        if event.at_us - steps[-1][0] >= max(closer_us, 1):
            steps.append((event.at_us, so_far.copy()))
        else:
            steps[-1] = (steps[-1][0], so_far.copy())
    names = [
        *sorted(so_far.keys() - {READ, CANCELLED}),
        *(name for name in (READ, CANCELLED) if so_far[name]),
    ]
    return PruneTimeline(
        total=totals.total(),
        at_us=tuple(at for at, _ in steps),
        blocks={name: tuple(step[name] for _, step in steps) for name in names},
    )
