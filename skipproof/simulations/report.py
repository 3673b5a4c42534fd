"""The report of a simulation as one HTML page: what was measured, what was violated, and pictures.

The page asks nothing of the network and runs no script. The pictures of one run are those of the first seed
that violates an invariant, else of the first one; it is run again for them, as traces are not kept.
"""

import functools
from collections.abc import Sequence
from pathlib import Path

import msgspec
from jinja2 import Environment

from sim.faults import FOREVER_US, AnyFault
from sim.run import Run
from sim.scenario import Scanned, Scenario
from sim.settling import settling
from sim.timelines import Room, over_us, timeline
from skipproof import pages
from skipproof.simulating import Ran, Simulated
from skipproof.simulations import look
from skipproof.simulations.along import along, apart
from skipproof.simulations.curves import Axis, curves_picture
from skipproof.simulations.lanes import lanes_picture, rows_each
from skipproof.simulations.latency import latency_picture
from skipproof.simulations.look import Picture
from skipproof.simulations.shares import pruned_picture, settling_picture
from skipproof.simulations.summaries import compared

RUNS_TOLD_MAX, VIOLATIONS_TOLD_MAX, MISSED_TOLD_MAX = 50, 10, 100
LANES_MAX, STEPS_MAX = 32, 400
_TEMPLATE = "report.html.jinja"


def write_report(simulated: Simulated, path: Path) -> None:
    """Write the page of a scenario's runs.

    Raises:
        InputError: it cannot be written there.
    """
    pages.write(render(simulated), path)


def render(simulated: Simulated) -> str:
    """The page of a scenario's runs."""
    wrong = [ran for ran in simulated.runs if ran.violations]
    chosen = (wrong or simulated.runs)[0]
    scenario = chosen.case.scenario
    played = scenario.play(chosen.seed)
    scanned = played if isinstance(played, Scanned) else None
    return (
        _environment()
        .get_template(_TEMPLATE)
        .render(
            simulated=simulated,
            scenario=simulated.scenario,
            wrong=wrong[:RUNS_TOLD_MAX],
            wrong_count=len(wrong),
            violations_max=VIOLATIONS_TOLD_MAX,
            missed=simulated.missed[:MISSED_TOLD_MAX],
            summaries=simulated.summaries,
            compared=list(compared(simulated.scenario, simulated.runs)),
            chosen=chosen,
            faults=[_fault(fault) for fault in scanned.run.faults] if scanned else [],
            of_run=_pictures_of_run(scanned.run, chosen) if scanned else [],
            of_all=_pictures_of_all(simulated, scenario) if isinstance(scenario, Scenario) else [],
            asked=scenario.query if isinstance(scenario, Scenario) else [],
        )
    )


def _pictures_of_run(run: Run, ran: Ran) -> list[Picture]:
    over = over_us(run)
    found_us = [one.at_us for one in ran.violations if one.invariant != "ends"]
    until_us = max(1, int(1.03 * max([over, *found_us])))
    lanes = min(run.world.warehouse.nodes, LANES_MAX)
    line = timeline(run, until_us=until_us, room=Room(lanes=lanes, rows=rows_each(lanes)))
    return [
        lanes_picture(line, seed=ran.seed, violations_us=sorted(set(found_us))),
        settling_picture(settling(run, closer_us=until_us // STEPS_MAX), until_us=until_us, seed=ran.seed),
    ]


def _pictures_of_all(simulated: Simulated, scenario: Scenario) -> list[Picture]:
    runs = simulated.runs
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
        spread = latency_picture(_curves(scenario.drawn, runs, cases), runs=len(runs))
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


def _fault(fault: AnyFault) -> dict[str, str]:
    """A fault for people: its kind, when it was, and what is not as by default."""
    facts = msgspec.to_builtins(fault)
    kind, first, last = facts.pop("kind"), facts.pop("from_us"), facts.pop("until_us")
    return {
        "kind": kind.replace("_", " "),
        "from": look.duration(first),
        "until": "for ever" if last >= FOREVER_US else "" if kind == "cancel" else look.duration(last),
        "what": ", ".join(f"{name} = {value}" for name, value in facts.items() if value != ""),
    }


@functools.cache
def _environment() -> Environment:
    return pages.environment(Path(__file__).parent)
