"""The report of histories as one HTML page: what each satisfies, and what shows that it is no more."""

import functools
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment

from oracles.isolation import LEVELS, PHENOMENA
from skipproof import pages
from skipproof.histories.drawing import dot, svg
from skipproof.histories.judging import Judged, by_steps, steps_told

SHOWN_MAX = 300
_TEMPLATE = "report.html.jinja"


def write_report(found: Sequence[Judged], path: Path) -> None:
    """Write the page of some histories."""
    pages.write(render(found), path)


def render(found: Sequence[Judged]) -> str:
    """The page of some histories."""
    witnessed = [one for one in found if one.result.witness or one.result.problem]
    return (
        _environment()
        .get_template(_TEMPLATE)
        .render(
            found=found[:SHOWN_MAX],
            left=max(0, len(found) - SHOWN_MAX),
            total=len(found),
            witnessed=len(witnessed),
            levels=list(LEVELS),
            phenomena=PHENOMENA,
            by_steps=by_steps,
            steps_told=steps_told,
            dot=dot,
            svg=svg,
        )
    )


@functools.cache
def _environment() -> Environment:
    return pages.environment(Path(__file__).parent)
