"""What some tests need that an environment may lack."""

import importlib.util
from pathlib import Path

import pytest

from pruning.metadata.table.coverings import is_available

CORPUS = Path(__file__).parents[2] / "shared" / "corpus"
# Files that other projects wrote; they are no part of the repository.
needs_corpus = pytest.mark.skipif(
    not CORPUS.is_dir(),
    reason="files that other projects wrote are no part of the repository; put some in ../shared/corpus",
)
needs_s2 = pytest.mark.skipif(not is_available(), reason="needs the package s2geometry")


def needs_package(name: str) -> None:
    """Skip a test of an engine that is not installed, without importing it here: a worker does."""
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} is not installed; pyproject.toml names the group or the extra that has it")
