"""Processor time and memory of what is measured side by side."""

import statistics
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pyarrow as pa

from pruning.expressions.traversal import columns
from pruning.expressions.trees import Expression


def medians(contestants: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median processor seconds of each; all run in turn, after an uncounted round."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for counted in range(-1, rounds):
        for name, run in contestants.items():
            began = time.process_time()
            run()
            if counted >= 0:
                times[name].append(time.process_time() - began)
    return {name: statistics.median(taken) for name, taken in times.items()}


@contextmanager
def peak_bytes() -> Iterator[list[int]]:
    """Append to the list the peak bytes of Arrow and numpy, beyond those at the start."""
    before, pool = pa.default_memory_pool(), pa.proxy_memory_pool(pa.default_memory_pool())
    found: list[int] = []
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        yield found
    finally:
        found.append(pool.max_memory() + tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        pa.set_memory_pool(before)


def named_bytes(predicate: Expression, metadata: pa.Table) -> int:
    """Return the bytes of the metadata that a predicate uses: its columns' bounds and counts, row counts."""
    structs = metadata.column("columns").chunk(0)
    parts = ("min", "max", "null_count")
    bounds = [structs.field(name).field(part).nbytes for name in columns(predicate) for part in parts]
    return sum(bounds) + int(metadata.column("row_count").nbytes)
