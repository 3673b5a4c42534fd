"""The pictures of runs of scans."""

from collections.abc import Sequence

from sim.scans.prune_timeline import settling
from sim.scans.run import Run
from sim.scans.timelines import Room, over_us, timeline
from skipproof.simulations import look
from skipproof.simulations.along import along, apart
from skipproof.simulations.curves import Axis, curves_picture
from skipproof.simulations.lanes import lanes_picture, rows_each
from skipproof.simulations.latency import latency_picture
from skipproof.simulations.look import Picture
from skipproof.simulations.shares import pruned_picture, settling_picture
from skipproof.simulations.simulating import Ran

LANES_MAX, STEPS_MAX = 32, 400


def of_run(run: Run, ran: Ran) -> list[Picture]:
    """What each node did in one run, and what became of the blocks."""
    over = over_us(run)
    found_us = [one.at_us for one in ran.violations if one.invariant != "ends"]
    until_us = max(1, int(1.03 * max([over, *found_us])))
    lanes = min(run.world.warehouse.nodes, LANES_MAX)
    line = timeline(run, until_us=until_us, room=Room(lanes=lanes, rows=rows_each(lanes)))
    return [
        lanes_picture(line, seed=ran.seed, violations_us=sorted(set(found_us))),
        settling_picture(settling(run, closer_us=until_us // STEPS_MAX), until_us=until_us, seed=ran.seed),
    ]


def of_all(runs: Sequence[Ran], *, drawn: bool) -> list[Picture]:
    """How much was pruned, and how long queries took.

    Args:
        drawn: Whether each seed has queries of its own.
    """
    ended = [ran for ran in runs if not any(one.invariant == "ends" for one in ran.violations)]
    told = [ran for ran in ended if ran.measures["blocks"]]
    prunes = any(ran.measures["blocks_pruned"] for ran in told)
    cases = len({ran.case.name for ran in runs})
    if cases > 1:
        pictures = [_latencies_along(told), *([_pruned_along(told)] if prunes else [])] if told else []
    else:
        measured = [ran.measures for ran in told]
        pictures = [pruned_picture(measured, left_out=len(runs) - len(told))] if prunes else []
    # Of one run in each case, or of many cases, it would show nothing.
    spread = None
    if cases == 1 or cases < min(len(runs), len(look.STYLES) + 1):
        spread = latency_picture(_curves(drawn, runs, cases), runs=len(runs))
    return [*pictures, *([] if spread is None else [spread])]


def _latencies_along(runs: Sequence[Ran]) -> Picture:
    found = [(ran.case.settings, ran.measures["latency_us"]) for ran in runs]
    unit, scale = look.unit_of(max(latency for _, latency in found))
    axis = Axis(label=f"latency of the slowest query ({unit})", scale=scale)
    return curves_picture(along(found), axis, name="latency-along", title="Latency by settings")


def _pruned_along(runs: Sequence[Ran]) -> Picture:
    found = [
        (ran.case.settings, 100 * ran.measures["blocks_pruned"] / ran.measures["blocks"]) for ran in runs
    ]
    axis = Axis(label="share of blocks pruned (%)", most=103)
    return curves_picture(along(found), axis, name="pruned-along", title="Pruned share by settings")


def _curves(drawn: bool, runs: Sequence[Ran], cases: int) -> dict[str, list[float]]:
    """Latencies by case, or by query; of all queries together where each seed has others."""
    if cases > 1:
        return apart([(ran.case.settings, ran.measures["latency_us"]) for ran in runs])
    found: dict[str, list[float]] = {}
    for ran in runs:
        for name, latency_us in sorted(ran.latencies_us.items()):
            found.setdefault("all queries" if drawn else name, []).append(latency_us)
    return found
