"""Fixtures of the tests of block metadata."""

import os

import pytest

from pruning.metadata.table import reading


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The footers that were really read, by base name."""
    seen: list[str] = []
    read = reading.read_footer_bytes

    def record(file: str) -> bytes:
        seen.append(os.path.basename(file))
        return read(file)

    monkeypatch.setattr(reading, "read_footer_bytes", record)
    return seen
