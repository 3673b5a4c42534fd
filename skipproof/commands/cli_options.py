"""Options that several commands have, and how their values are checked."""

import math
from typing import Annotated

import typer

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def check_positive(seconds: float | None) -> float | None:
    """Refuse a duration that is no positive number.

    Raises:
        BadParameter: it is zero, negative, infinite or NaN.
    """
    if seconds is not None and not 0 < seconds < math.inf:
        raise typer.BadParameter("give a number of seconds that is more than 0")
    return seconds
