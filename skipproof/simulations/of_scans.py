"""The pictures of runs of scans."""

from collections.abc import Sequence

from sim.scans.prune_timeline import prune_timeline
from sim.scans.run import ScanRun
from sim.scans.timelines import ScanTimelineLimits, over_us, timeline
from skipproof.simulations import look
from skipproof.simulations.along import curves_along_setting, values_by_settings
from skipproof.simulations.curves import Axis, curves_picture
from skipproof.simulations.lanes import lanes_picture, rows_per_lane
from skipproof.simulations.latency import latency_picture
from skipproof.simulations.look import Picture
from skipproof.simulations.shares import pruned_picture, settling_picture
from skipproof.simulations.simulating import MeasuredRun

LANES_MAX, STEPS_MAX = 32, 400


def run_pictures(run: ScanRun, scenario_run: MeasuredRun) -> list[Picture]:
    """Return the pictures of one run: the timelines of nodes, and the blocks pruned and read."""
    over = over_us(run)
    violations_us = [
        violation.at_us for violation in scenario_run.violations if violation.invariant != "ends"
    ]
    until_us = max(1, int(1.03 * max([over, *violations_us])))
    lanes = min(run.world.warehouse.nodes, LANES_MAX)
    line = timeline(run, until_us=until_us, room=ScanTimelineLimits(lanes=lanes, rows=rows_per_lane(lanes)))
    return [
        lanes_picture(line, seed=scenario_run.seed, violations_us=sorted(set(violations_us))),
        settling_picture(
            prune_timeline(run, closer_us=until_us // STEPS_MAX), until_us=until_us, seed=scenario_run.seed
        ),
    ]


def summary_pictures(runs: Sequence[MeasuredRun], *, draws_queries: bool) -> list[Picture]:
    """Return the pictures of all runs: the pruned blocks, and the latency of queries.

    Args:
        draws_queries: Whether each seed has queries of its own.
    """
    ended = [run for run in runs if not any(violation.invariant == "ends" for violation in run.violations)]
    finished = [run for run in ended if run.measures["blocks"]]
    prunes = any(run.measures["blocks_pruned"] for run in finished)
    cases = len({run.case.name for run in runs})
    if cases > 1:
        pictures = (
            [_latencies_along(finished), *([_pruned_along(finished)] if prunes else [])] if finished else []
        )
    else:
        measured = [run.measures for run in finished]
        pictures = [pruned_picture(measured, left_out=len(runs) - len(finished))] if prunes else []
    # The distribution of latencies needs several runs in each case, and few cases.
    spread = None
    if cases == 1 or cases < min(len(runs), len(look.STYLES) + 1):
        spread = latency_picture(_latency_curves(draws_queries, runs, cases), runs=len(runs))
    return [*pictures, *([] if spread is None else [spread])]


def _latencies_along(runs: Sequence[MeasuredRun]) -> Picture:
    """Return the picture of latencies along a setting."""
    latencies = [(run.case.settings, run.measures["latency_us"]) for run in runs]
    unit, scale = look.time_unit(max(latency for _, latency in latencies))
    axis = Axis(label=f"latency of the slowest query ({unit})", scale=scale)
    return curves_picture(
        curves_along_setting(latencies), axis, name="latency-along", title="Latency by settings"
    )


def _pruned_along(runs: Sequence[MeasuredRun]) -> Picture:
    """Return the picture of pruned shares along a setting."""
    pruned_shares = [
        (run.case.settings, 100 * run.measures["blocks_pruned"] / run.measures["blocks"]) for run in runs
    ]
    axis = Axis(label="share of blocks pruned (%)", most=103)
    return curves_picture(
        curves_along_setting(pruned_shares), axis, name="pruned-along", title="Pruned share by settings"
    )


def _latency_curves(draws_queries: bool, runs: Sequence[MeasuredRun], cases: int) -> dict[str, list[float]]:
    """Return latencies by case, or by query; of all queries together if each seed draws its own."""
    if cases > 1:
        return values_by_settings([(run.case.settings, run.measures["latency_us"]) for run in runs])
    latencies: dict[str, list[float]] = {}
    for run in runs:
        for name, latency_us in sorted(run.latencies_us.items()):
            latencies.setdefault("all queries" if draws_queries else name, []).append(latency_us)
    return latencies
