"""The list of tests that the default run leaves out names tests that exist."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LIST = ROOT / "tests" / "deep_tests.md"


def test_each_test_that_is_named_exists() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", LIST.read_text(encoding="utf-8"))
    assert len(named) >= 7
    missing = [
        f"{file}::{name}"
        for file, name in named
        if f"def {name}(" not in (ROOT / file).read_text(encoding="utf-8")
    ]
    assert missing == []
