"""Reads of a node from the object store: requests wait for their turn, fail, and share a link."""

from collections import OrderedDict
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from simpy.events import Event as Waiting

from pruning.expressions.traversal import columns
from sim.kernel.draws import cumulative
from sim.kernel.model import MICROSECONDS
from sim.scans.events import BlocksRead, FootersRead, ReadFailed, ranges
from sim.scans.layouts import Request, RequestOptions
from sim.scans.messages import Task
from sim.scans.network import RateLimiter, RunContext
from sim.scans.planning import ScanPlan

Waits: TypeAlias = Generator[Waiting, Any, None]
# A table, a block of it, and the number of columns.
Piece: TypeAlias = tuple[str, int, int]


@dataclass(slots=True)
class BlockCache:
    """A node's cache of blocks that it read; the least recently used is evicted first."""

    bytes_max: int
    _held: OrderedDict[Piece, int] = field(default_factory=OrderedDict)
    _bytes: int = 0

    def holds(self, piece: Piece) -> bool:
        """Tell whether the cache holds a piece."""
        if piece not in self._held:
            return False
        self._held.move_to_end(piece)
        return True

    def keep(self, piece: Piece, size: int) -> None:
        """Add a piece that was read."""
        if size > self.bytes_max or piece in self._held:
            return
        self._held[piece] = size
        self._bytes += size
        while self._bytes > self.bytes_max:
            self._bytes -= self._held.popitem(last=False)[1]


class StoreReader:
    """One node's access to the object store.

    Draws: the streams "store/<number>/latency" and "store/<number>/failure".
    """

    def __init__(self, number: int, context: RunContext) -> None:
        """Create a reader with an empty cache, for the node of that number."""
        self.number, self.world = number, context.world
        self._clock, self._troubles = context.clock, context.troubles
        self._turns, self._emit = context.turns, context.emit
        self._latency = context.draws.stream(f"store/{number}/latency")
        self._failure = context.draws.stream(f"store/{number}/failure")
        self._link = RateLimiter(self.world.warehouse.link_bytes_per_s)
        self._cache = BlockCache(self.world.warehouse.cache_bytes)

    @property
    def _now(self) -> int:
        return int(self._clock.now)

    def footers(self, task: Task, blocks: np.ndarray) -> Waits:
        """Read the footers of the files of blocks, one after the other. Waits on the store."""
        began, files = self._now, task.plan.table.layout.files(blocks)
        size = self.world.metadata.footer_bytes * files
        yield self._clock.timeout(self._transfer(files, self._latencies(files), size))
        self._emit(
            FootersRead(
                at_us=self._now,
                scan=task.plan.name,
                task=task.number,
                node=self.number,
                incarnation=task.incarnation,
                blocks=len(blocks),
                began_us=began,
                requests=files,
                bytes=size,
            )
        )

    def read(self, task: Task, blocks: np.ndarray) -> Generator[Waiting, Any, list[int]]:
        """Read blocks, one request after the other; return those that could be read. Waits on the store."""
        plan, began = task.plan, self._now
        table, wide = plan.table, plan.query.columns_read
        latency, requests, wanted = 0, 0, 0
        held = np.array([self._cache.holds((table.name, block, wide)) for block in blocks.tolist()], bool)
        missed: set[int] = set()
        for parts, size in self._requests(plan, np.sort(blocks[~held])):
            tries, waited, is_answered = self.tries(plan, parts)
            requests += tries
            latency += waited
            if is_answered:
                wanted += size
            else:
                missed.update(parts.tolist())
        there = [block for block in blocks.tolist() if block not in missed]
        for block in there:
            self._cache.keep((table.name, block, wide), int(table.layout.sizes[block]))
        yield self._clock.timeout(self._transfer(requests, latency, wanted))
        if there:
            self._emit(
                BlocksRead(
                    at_us=self._now,
                    scan=plan.name,
                    task=task.number,
                    node=self.number,
                    incarnation=task.incarnation,
                    blocks=ranges(np.array(there)),
                    began_us=began,
                    requests=requests,
                    bytes=wanted,
                    cached=int(table.layout.sizes[blocks[held]].sum()),
                )
            )
        return there

    def _requests(self, plan: ScanPlan, blocks: np.ndarray) -> Iterator[Request]:
        """Yield the requests for blocks: page indexes first, if they are used."""
        layout, wide = plan.table.layout, plan.query.columns_read
        store = self.world.store
        ways = RequestOptions(gap_bytes=store.gap_bytes, request_bytes_max=store.request_bytes_max)
        rows = plan.rows(blocks) if self.world.warehouse.page_index else None
        if rows is not None and plan.predicate is not None:
            # To find the pages of a column takes its index, too.
            indexed = max(len(columns(plan.predicate)), wide or layout.columns)
            yield from layout.index_requests(blocks, ways, columns=indexed)
        yield from layout.requests(blocks, ways, columns_read=wide, rows=rows)

    def tries(self, plan: ScanPlan, blocks: np.ndarray) -> tuple[int, int, bool]:
        """Return the attempts of a request, the latency of them all, and True if one was answered."""
        store, failing = self.world.store, self._troubles.failed_percent(self._now)
        waited = 0
        for attempt in range(1, store.attempts_max + 1):
            waited += self._latencies(1)
            if not failing or self._failure.random() * 100 >= failing:
                return attempt, waited, True
            self._emit(
                ReadFailed(
                    at_us=self._now, scan=plan.name, node=self.number, block=int(blocks[0]), attempt=attempt
                )
            )
            waited += store.retry_us << (attempt - 1)
        return store.attempts_max, waited, False

    def _latencies(self, requests: int) -> int:
        store = self.world.store
        *_, total = cumulative(self._latency, store.first_byte_us_min, store.first_byte_us_max, requests)
        return total

    def _transfer(self, requests: int, latency_us: int, size: int) -> int:
        """Return the time until requests had their turn and their bytes came over the link."""
        now, store = self._now, self.world.store
        if not requests:
            return 0
        begins = self._turns.until(now, requests, per_s=self._troubles.requests_per_s(now))
        alone = latency_us + size * MICROSECONDS // store.bytes_per_s
        ends = begins + alone * self._troubles.slowdown(self.number, now)
        return max(ends, self._link.until(begins, size)) - now
