"""The report of a simulation as one HTML page: measures, violations and pictures.

The page loads nothing from the network and runs no script. The pictures of one run show the first seed that
violates an invariant, else the first seed; the seed is run again for them, because traces are not kept.
"""

import functools
from pathlib import Path

import msgspec
from jinja2 import Environment

from sim.kernel.faults import FOREVER_US, Fault
from sim.kernel.scenario_schema import ScenarioRun
from sim.refreshes.scenario import RefreshScenarioRun
from sim.refreshes.timelines import executed_statements
from sim.scans.scenario import ScanScenarioRun, Scenario
from skipproof import pages
from skipproof.simulations import look, of_refreshes, of_scans
from skipproof.simulations.look import Picture
from skipproof.simulations.simulating import MeasuredRun, SimulationResult
from skipproof.simulations.summaries import ratio_rows

RUNS_TOLD_MAX, VIOLATIONS_TOLD_MAX, MISSED_TOLD_MAX = 50, 10, 100
STATEMENTS_TOLD_MAX = 100
_TEMPLATE = "report.html.jinja"


def write_report(simulated: SimulationResult, path: Path) -> None:
    """Write the page of a scenario's runs.

    Raises:
        InputError: it cannot be written there.
    """
    pages.write_page(render(simulated), path)


def render(simulated: SimulationResult) -> str:
    """Return the page of a scenario's runs."""
    wrong = [run for run in simulated.runs if run.violations]
    chosen = (wrong or simulated.runs)[0]
    scenario = chosen.case.scenario
    played = scenario.play(chosen.seed)
    run = played.run if isinstance(played, ScanScenarioRun | RefreshScenarioRun) else None
    summary_pictures, run_pictures = _pictures(played, simulated, chosen)
    statements = executed_statements(played.trace)
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
            ratios=list(ratio_rows(simulated.scenario, simulated.runs)),
            chosen=chosen,
            faults=[_fault(fault) for fault in run.faults] if run else [],
            run_pictures=run_pictures,
            summary_pictures=summary_pictures,
            statements=[
                (statement, look.duration(statement.at_us)) for statement in statements[:STATEMENTS_TOLD_MAX]
            ],
            statements_left=len(statements[STATEMENTS_TOLD_MAX:]),
            queries=scenario.query if isinstance(scenario, Scenario) else [],
        )
    )


def _pictures(
    played: ScenarioRun, simulated: SimulationResult, chosen: MeasuredRun
) -> tuple[list[Picture], list[Picture]]:
    """Return the pictures of all runs, and the pictures of the chosen run."""
    if isinstance(played, RefreshScenarioRun):
        return of_refreshes.summary_pictures(simulated.runs), of_refreshes.run_pictures(played.run, chosen)
    if isinstance(played, ScanScenarioRun):
        draws_queries = isinstance(simulated.scenario, Scenario) and simulated.scenario.drawn
        return of_scans.summary_pictures(simulated.runs, draws_queries=draws_queries), of_scans.run_pictures(
            played.run, chosen
        )
    return [], []


def _fault(fault: Fault) -> dict[str, str]:
    """Return a fault as texts: its kind, its times, and its parameters that have a value."""
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
    """Return the environment of this folder's templates."""
    return pages.template_environment(Path(__file__).parent)
