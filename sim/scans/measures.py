"""The measures of a run of scans, which scenarios bound and reports show."""

from collections import Counter
from collections.abc import Mapping

import numpy as np

from sim.scans.events import (
    BlocksRead,
    FootersRead,
    Ignored,
    NodeCrashed,
    Pruned,
    QueryBegan,
    QueryEnded,
    ReadFailed,
    ScanPlanned,
    TaskSent,
    count,
)
from sim.scans.run import ScanRun


def measures(run: ScanRun) -> dict[str, float]:
    """Return the measures of a run, by name.

    ======================  =======================================================================
    blocks                  blocks of the scans of all queries
    blocks_read             blocks that workers read, each as often as it was read
    blocks_pruned           blocks that were not needed; also by technique and place, as in
                            `topk_pruned_at_node`
    pruned_percent          blocks that were not needed, of all
    techniques              how many techniques pruned a block
    requests                to the object store, for footers and for blocks
    bytes_read              from the object store
    usd                     for requests and egress
    tasks, stolen           tasks that were given, and those of blocks that waited for another node
    given_again             blocks that were given more than once
    reads_failed, crashes   requests without an answer, nodes that went down
    reports_ignored         reports of what was settled before
    unasked_blocks          blocks whose metadata nodes looked at, not the control plane
    latency_us              of the slowest query, from its beginning to its answer
    metadata_us             from asking for metadata to what was concluded from it, of all scans
    busy_us                 workers' time in reading
    work_us                 that, and the time of the metadata service's workers
    ======================  =======================================================================
    """
    counts: Counter[str] = Counter()
    began: dict[str, int] = {}
    times_given = {scan: np.zeros(blocks, np.int64) for scan, blocks in run.blocks.items()}
    latency = 0
    for event in run.trace:
        match event:
            case QueryBegan():
                began[event.query] = event.at_us
            case QueryEnded():
                counts["blocks"] += event.total
                latency = max(latency, event.at_us - began.get(event.query, event.at_us))
            case ScanPlanned():
                counts["unasked_blocks"] += event.unasked
                counts["metadata_us"] += event.took_us
            case Pruned():
                counts["blocks_pruned"] += count(event.blocks)
                counts[f"{event.technique}_pruned_at_{event.where}"] += count(event.blocks)
            case TaskSent():
                counts["tasks"] += 1
                counts["stolen"] += event.stolen
                for first, last in event.blocks:
                    times_given[event.scan][first:last] += 1
            case BlocksRead() | FootersRead():
                counts["requests"] += event.requests
                counts["bytes_read"] += event.bytes
                counts["busy_us"] += event.at_us - event.began_us
                if isinstance(event, BlocksRead):
                    counts["blocks_read"] += count(event.blocks)
            case ReadFailed():
                counts["reads_failed"] += 1
            case NodeCrashed():
                counts["crashes"] += 1
            case Ignored():
                counts["reports_ignored"] += 1
    counts["given_again"] = sum(int((times > 1).sum()) for times in times_given.values())
    counts["latency_us"] = latency
    kinds = {name.partition("_pruned_at_")[0] for name in counts if "_pruned_at_" in name}
    counts["techniques"] = len(kinds)
    counts["work_us"] = counts["busy_us"] + counts["metadata_us"] * run.world.metadata.workers
    return {**dict.fromkeys(_NAMES, 0), **counts, **_derived_measures(run, counts)}


def latencies_us(run: ScanRun) -> dict[str, int]:
    """Return the time from the beginning of each query to its answer, for the queries that have one."""
    began = {event.query: event.at_us for event in run.trace if isinstance(event, QueryBegan)}
    return {
        event.query: event.at_us - began.get(event.query, event.at_us)
        for event in run.trace
        if isinstance(event, QueryEnded) and not event.cancelled
    }


_NAMES = (
    "blocks", "blocks_read", "blocks_pruned", "requests", "bytes_read", "tasks", "stolen", "given_again",
    "reads_failed", "crashes", "reports_ignored", "unasked_blocks", "latency_us",
    "metadata_us", "busy_us", "work_us",
)  # fmt: skip


def _derived_measures(run: ScanRun, counts: Mapping[str, float]) -> dict[str, float]:
    """Return the measures that are computed from others: cost and share."""
    store = run.world.store
    usd = counts["requests"] * store.request_usd_per_million / 1e6
    usd += counts["bytes_read"] * store.egress_usd_per_gb / 1e9
    pruned = 100 * counts["blocks_pruned"] / counts["blocks"] if counts["blocks"] else 0.0
    return {"usd": round(usd, 6), "pruned_percent": round(pruned, 3)}
