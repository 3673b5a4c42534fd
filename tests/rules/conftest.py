"""Arithmetic on decimals that loses a digit raises: Python's default context rounds to 28."""

import decimal
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module", autouse=True)
def _exact_decimals() -> Iterator[None]:
    with decimal.localcontext() as context:
        context.traps[decimal.Inexact] = True
        yield
