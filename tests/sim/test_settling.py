"""The prune timeline of blocks ends with the control plane's counts, and never exceeds the total."""

from dataclasses import replace

import pytest

from sim.kernel.trace import Trace
from sim.scans.events import Accepted, Pruned, QueryEnded
from sim.scans.prune_timeline import CANCELLED, READ, prune_timeline
from sim.scans.scenario import scenario, world_of_seed
from sim.scans.worlds import small_world

TEXT = (
    'title = ""\nclaim = ""\n[[table]]\nname = "t"\nblocks = 10\nrows_per_block = 2\n'
    '[[query]]\nsql = "SELECT * FROM t"\n[[query]]\nsql = "SELECT * FROM t"\n'
)


@pytest.mark.parametrize("seed", range(20))
def test_blocks_are_settled_as_the_control_plane_counts_them(seed: int) -> None:
    """Over drawn worlds: at the end, by technique and place; never fewer than before, nor more than all."""
    run = small_world(seed).run(seed)
    found = prune_timeline(run, closer_us=0)
    counted: dict[str, int] = {}
    for event in run.trace:
        if isinstance(event, QueryEnded):
            for name, blocks in {**event.pruned, READ: event.read}.items():
                counted[name] = counted.get(name, 0) + blocks
    last = {name: blocks[-1] for name, blocks in found.blocks.items() if name != CANCELLED}
    assert last == {name: blocks for name, blocks in counted.items() if blocks}
    sums = [sum(column) for column in zip(*found.blocks.values(), strict=True)]
    assert sums == sorted(sums)
    assert not sums or sums[-1] <= found.total
    assert list(found.at_us) == sorted(set(found.at_us))
    assert all(len(blocks) == len(found.at_us) for blocks in found.blocks.values())


def test_steps_are_as_many_as_asked_and_the_last_one_stands() -> None:
    run = world_of_seed(scenario(TEXT), 0).run(0)
    trace: Trace = [
        Pruned(at_us=10, scan="q0/t", technique="filter", where="compile", node=None, blocks=((0, 3),)),
        Accepted(at_us=20, scan="q0/t", task=0, node=0, blocks=((3, 4),), rows=2),
        Pruned(at_us=29, scan="q1/t", technique="topk", where="node", node=1, blocks=((0, 1), (4, 6))),
        QueryEnded(at_us=60, query="q0", cancelled=True, answer=None, rows=0, total=10, read=1, pruned={}),
    ]
    found = prune_timeline(replace(run, trace=trace), closer_us=15)
    assert found.total == 20
    assert found.at_us == (0, 20, 60)
    assert dict(found.blocks) == {
        "filter at compile": (3, 3, 3),
        "topk at node": (0, 3, 3),
        READ: (0, 1, 1),
        # Of ten blocks four were settled before the query was cancelled.
        CANCELLED: (0, 0, 6),
    }
    assert found.names == tuple(found.blocks)
