"""A fixture of all tests of the predicate cache."""

import pytest

from pruning.spark.drive.cache import recording


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark may tell its listeners late on a busy machine; no test depends on how late."""
    monkeypatch.setattr(recording, "WAIT_MS", 120_000)
