"""The pictures of runs of dynamic tables."""

from collections.abc import Sequence

from sim.refreshes.graphs import graph
from sim.refreshes.run import Run
from sim.refreshes.sawtooths import sawtooths
from sim.refreshes.timelines import Room, timeline
from skipproof.simulations import look
from skipproof.simulations.along import along
from skipproof.simulations.curves import Axis, curves_picture
from skipproof.simulations.graphs import graph_picture
from skipproof.simulations.lags import lags_picture, teeth_picture
from skipproof.simulations.look import Picture
from skipproof.simulations.refreshes import refreshes_picture
from skipproof.simulations.simulating import Ran

# Of states of the catalog nearer to each other than this share of a run, a picture shows the last.
NEAR = 1_000


def of_run(run: Run, ran: Ran) -> list[Picture]:
    """Those of one run; its checks tell of its end too, which no line marks."""
    found_us = sorted({one.at_us for one in ran.violations if one.at_us < run.ended_us})
    lags = sawtooths(run, closer_us=run.ended_us // NEAR)
    pictures: list[Picture | None] = [graph_picture(graph(run), seed=ran.seed)]
    if lags:
        pictures += [
            lags_picture(lags, until_us=run.ended_us, seed=ran.seed),
            teeth_picture(lags[0], seed=ran.seed),
        ]
    pictures.append(refreshes_picture(timeline(run, room=Room()), seed=ran.seed, violations_us=found_us))
    return [picture for picture in pictures if picture is not None]


def of_all(runs: Sequence[Ran]) -> list[Picture]:
    """How far behind tables came along what varies, where something does."""
    if len({ran.case.name for ran in runs}) == 1:
        return []
    found = [(ran.case.settings, ran.measures["peak_us_max"]) for ran in runs]
    unit, scale = look.unit_of(max(peak_us for _, peak_us in found))
    axis = Axis(label=f"greatest lag of any table ({unit})", scale=scale)
    return [curves_picture(along(found), axis, name="lag-along", title="Greatest lag by settings")]
