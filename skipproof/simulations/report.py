"""The report of a simulation as one HTML page: what was measured, what was violated, and pictures.

The page asks nothing of the network and runs no script. The pictures of one run are those of the first seed
that violates an invariant, else of the first one; it is run again for them, as traces are not kept.
"""

import functools
from pathlib import Path

import msgspec
from jinja2 import Environment

from sim.kernel.faults import FOREVER_US, Fault
from sim.kernel.scenario_schema import Played
from sim.refreshes.scenario import Refreshes
from sim.refreshes.timelines import said
from sim.scans.scenario import Scanned, Scenario
from skipproof import pages
from skipproof.simulations import look, of_refreshes, of_scans
from skipproof.simulations.look import Picture
from skipproof.simulations.simulating import Ran, Simulated
from skipproof.simulations.summaries import compared

RUNS_TOLD_MAX, VIOLATIONS_TOLD_MAX, MISSED_TOLD_MAX = 50, 10, 100
STATEMENTS_TOLD_MAX = 100
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
    run = played.run if isinstance(played, Scanned | Refreshes) else None
    of_all, of_run = _pictures(played, simulated, chosen)
    statements = said(played.trace)
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
            faults=[_fault(fault) for fault in run.faults] if run else [],
            of_run=of_run,
            of_all=of_all,
            said=[(one, look.duration(one.at_us)) for one in statements[:STATEMENTS_TOLD_MAX]],
            said_more=len(statements[STATEMENTS_TOLD_MAX:]),
            asked=scenario.query if isinstance(scenario, Scenario) else [],
        )
    )


def _pictures(played: Played, simulated: Simulated, chosen: Ran) -> tuple[list[Picture], list[Picture]]:
    """Those of all runs, and those of one."""
    if isinstance(played, Refreshes):
        return of_refreshes.of_all(simulated.runs), of_refreshes.of_run(played.run, chosen)
    if isinstance(played, Scanned):
        drawn = isinstance(simulated.scenario, Scenario) and simulated.scenario.drawn
        return of_scans.of_all(simulated.runs, drawn=drawn), of_scans.of_run(played.run, chosen)
    return [], []


def _fault(fault: Fault) -> dict[str, str]:
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
