"""What a run came to, in numbers: what scenarios expect, and reports show."""

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
from sim.scans.run import Run


def measures(run: Run) -> dict[str, float]:
    """The numbers of a run, by name.

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
    found: Counter[str] = Counter()
    began: dict[str, int] = {}
    given = {scan: np.zeros(blocks, np.int64) for scan, blocks in run.blocks.items()}
    latency = 0
    for event in run.trace:
        match event:
            case QueryBegan():
                began[event.query] = event.at_us
            case QueryEnded():
                found["blocks"] += event.total
                latency = max(latency, event.at_us - began.get(event.query, event.at_us))
            case ScanPlanned():
                found["unasked_blocks"] += event.unasked
                found["metadata_us"] += event.took_us
            case Pruned():
                found["blocks_pruned"] += count(event.blocks)
                found[f"{event.technique}_pruned_at_{event.where}"] += count(event.blocks)
            case TaskSent():
                found["tasks"] += 1
                found["stolen"] += event.stolen
                for first, last in event.blocks:
                    given[event.scan][first:last] += 1
            case BlocksRead() | FootersRead():
                found["requests"] += event.requests
                found["bytes_read"] += event.bytes
                found["busy_us"] += event.at_us - event.began_us
                if isinstance(event, BlocksRead):
                    found["blocks_read"] += count(event.blocks)
            case ReadFailed():
                found["reads_failed"] += 1
            case NodeCrashed():
                found["crashes"] += 1
            case Ignored():
                found["reports_ignored"] += 1
    found["given_again"] = sum(int((times > 1).sum()) for times in given.values())
    found["latency_us"] = latency
    kinds = {name.partition("_pruned_at_")[0] for name in found if "_pruned_at_" in name}
    found["techniques"] = len(kinds)
    found["work_us"] = found["busy_us"] + found["metadata_us"] * run.world.metadata.workers
    return {**dict.fromkeys(_NAMES, 0), **found, **_shares(run, found)}


def latencies_us(run: Run) -> dict[str, int]:
    """From the beginning of each query to its answer; of those that have one."""
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


def _shares(run: Run, found: Mapping[str, float]) -> dict[str, float]:
    """What is no whole number."""
    store = run.world.store
    usd = found["requests"] * store.request_usd_per_million / 1e6
    usd += found["bytes_read"] * store.egress_usd_per_gb / 1e9
    pruned = 100 * found["blocks_pruned"] / found["blocks"] if found["blocks"] else 0.0
    return {"usd": round(usd, 6), "pruned_percent": round(pruned, 3)}
