"""What some tests need that an environment may lack."""

import importlib.util

import pytest

from pruning.metadata.table.coverings import is_available

needs_s2 = pytest.mark.skipif(not is_available(), reason="needs the package s2geometry")


def needs_package(name: str) -> None:
    """Skip a test of an engine that is not installed, without importing it here: a worker does."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed; pyproject.toml names the group or the extra that has it")
