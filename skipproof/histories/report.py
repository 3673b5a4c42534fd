"""The report of histories as one HTML page: the levels of each history, and its witnesses."""

import functools
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment

from oracles.isolation import LEVELS, PHENOMENA
from skipproof import pages
from skipproof.histories.drawing import dot, svg
from skipproof.histories.judging import JudgedHistory, step_sentences, witnesses_by_steps

SHOWN_MAX = 300
_TEMPLATE = "report.html.jinja"


def write_report(histories: Sequence[JudgedHistory], path: Path) -> None:
    """Write the page of judged histories."""
    pages.write_page(render(histories), path)


def render(histories: Sequence[JudgedHistory]) -> str:
    """Return the page of judged histories."""
    witnessed = [history for history in histories if history.result.witness or history.result.problem]
    return (
        _environment()
        .get_template(_TEMPLATE)
        .render(
            histories=histories[:SHOWN_MAX],
            left=max(0, len(histories) - SHOWN_MAX),
            total=len(histories),
            witnessed=len(witnessed),
            levels=list(LEVELS),
            phenomena=PHENOMENA,
            witnesses_by_steps=witnesses_by_steps,
            step_sentences=step_sentences,
            dot=dot,
            svg=svg,
        )
    )


@functools.cache
def _environment() -> Environment:
    """Return the environment of this folder's templates."""
    return pages.template_environment(Path(__file__).parent)
