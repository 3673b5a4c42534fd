"""The page of a campaign: its engines, the causes over time, what is left, and earlier campaigns.

The page loads nothing from the network and runs no script; `skipproof.pages` escapes what engines say.
"""

import functools
from collections.abc import Sequence
from pathlib import Path

from jinja2 import Environment

from skipproof import pages
from skipproof.stand.campaign import curves
from skipproof.stand.campaign.figures import CampaignChange, EngineFigures

_TEMPLATE = "report.html.jinja"
DIFFERENCE_CHARACTERS_MAX = 300


def write_report(figures: Sequence[EngineFigures], changes: Sequence[CampaignChange], path: Path) -> None:
    """Write the page atomically.

    Raises:
        InputError: it cannot be written there.
    """
    pages.write_page(render(figures, changes), path)


def render(figures: Sequence[EngineFigures], changes: Sequence[CampaignChange]) -> str:
    """Return the page."""
    return (
        _environment()
        .get_template(_TEMPLATE)
        .render(
            figures=figures,
            curves=curves.cause_curves(figures),
            changes=changes,
            drawing=curves,
            characters_max=DIFFERENCE_CHARACTERS_MAX,
        )
    )


@functools.cache
def _environment() -> Environment:
    """Return the environment of this folder's templates, with the filters below."""
    environment = pages.template_environment(Path(__file__).parent)
    environment.filters |= {"count": pages.counted_noun, "percent": percent}
    return environment


def percent(share: float) -> str:
    """Return a share in percent; 0 and 100 are shown only if they are exact."""
    rounded = round(100 * share)
    if rounded in (0, 100) and share not in (0, 1):
        return "<1\u2009%" if rounded == 0 else ">99\u2009%"
    return f"{rounded}\u2009%"
