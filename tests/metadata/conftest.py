"""Fixtures of the tests of block metadata."""

import os
from typing import Any

import pytest

from pruning.metadata.table import reading


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The footers that were really read, by base name."""
    seen: list[str] = []
    read = reading.read_footer

    def record(file: str) -> Any:
        seen.append(os.path.basename(file))
        return read(file)

    monkeypatch.setattr(reading, "read_footer", record)
    return seen
