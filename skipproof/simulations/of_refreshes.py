"""The pictures of runs of dynamic tables."""

from collections.abc import Sequence

from sim.refreshes.graphs import graph
from sim.refreshes.run import RefreshRun
from sim.refreshes.sawtooths import sawtooths
from sim.refreshes.timelines import RefreshTimelineLimits, timeline
from skipproof.simulations import look
from skipproof.simulations.along import curves_along_setting
from skipproof.simulations.curves import Axis, curves_picture
from skipproof.simulations.graphs import graph_picture
from skipproof.simulations.lags import lags_picture, teeth_picture
from skipproof.simulations.look import Picture
from skipproof.simulations.refreshes import refreshes_picture
from skipproof.simulations.simulating import MeasuredRun

# A run is divided into so many intervals; of the catalog's states in one interval a picture shows the last.
NEAR = 1_000


def run_pictures(run: RefreshRun, scenario_run: MeasuredRun) -> list[Picture]:
    """Return the pictures of one run; violations found at the end of the run have no line."""
    violations_us = sorted(
        {violation.at_us for violation in scenario_run.violations if violation.at_us < run.ended_us}
    )
    lags = sawtooths(run, closer_us=run.ended_us // NEAR)
    pictures: list[Picture | None] = [graph_picture(graph(run), seed=scenario_run.seed)]
    if lags:
        pictures += [
            lags_picture(lags, until_us=run.ended_us, seed=scenario_run.seed),
            teeth_picture(lags[0], seed=scenario_run.seed),
        ]
    pictures.append(
        refreshes_picture(
            timeline(run, room=RefreshTimelineLimits()), seed=scenario_run.seed, violations_us=violations_us
        )
    )
    return [picture for picture in pictures if picture is not None]


def summary_pictures(runs: Sequence[MeasuredRun]) -> list[Picture]:
    """Return a picture of the greatest lag along a setting; none if the scenario varies nothing."""
    if len({run.case.name for run in runs}) == 1:
        return []
    peaks = [(run.case.settings, run.measures["peak_us_max"]) for run in runs]
    unit, scale = look.time_unit(max(peak_us for _, peak_us in peaks))
    axis = Axis(label=f"greatest lag of any table ({unit})", scale=scale)
    return [
        curves_picture(curves_along_setting(peaks), axis, name="lag-along", title="Greatest lag by settings")
    ]
