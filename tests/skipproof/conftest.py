"""The command line, run in the test's own process."""

import sys
from collections.abc import Callable

import pytest

from skipproof.commands import cli


@pytest.fixture
def run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs `skipproof ARGUMENTS`; returns status, output and errors."""

    def run(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["skipproof", *arguments])
        with pytest.raises(SystemExit) as left:
            cli.main()
        shown = capsys.readouterr()
        return int(left.value.code or 0), shown.out, shown.err

    return run
