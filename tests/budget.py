"""Which cases and how many examples a run takes, and searches that only show that something occurs."""

from collections.abc import Container, Iterable
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings


def examples(ratio: float) -> settings:
    """The profile's settings with `ratio` times its examples: more for cheap properties, fewer for jobs.

    A plain `max_examples` would hold in every profile, and a deep run would go no deeper.
    """
    return settings(max_examples=max(1, round(settings.default.max_examples * ratio)))


def sampled(cases: Iterable[Any], *, default: Container[Any]) -> list[Any]:
    """Parameters for a test whose cases guard much the same; a default run takes only those in `default`."""
    return [pytest.param(case, marks=() if case in default else pytest.mark.deep) for case in cases]


def unshrunk(max_examples: int) -> settings:
    """Settings for `find`, the same in every profile; what is found is not shrunk: nobody reads it."""
    return settings(
        max_examples=max_examples,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        # They judge how a property draws; a search may reject, and take, as much as it needs.
        suppress_health_check=list(HealthCheck),
    )
