"""Where README and the contributing guide lead; links within the documentation are checked as it is built."""

import importlib.util
import re

import pytest
from console import ROOT

WALK_MODULES_MAX = 12
README_LINES_MAX = 130
PACKAGES = (
    "bench",
    "dynamic_tables",
    "oracles",
    "pruning",
    "sim",
    "skipproof",
    "strategies",
    "mutants",
    "tests",
    "tools",
)


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md"])
def test_each_link_leads_to_a_file(name: str) -> None:
    targets = re.findall(r"\]\(([^)#]+)", (ROOT / name).read_text(encoding="utf-8"))
    assert targets
    assert [target for target in targets if "://" not in target and not (ROOT / target).exists()] == []


def test_the_readme_is_read_in_one_go() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= README_LINES_MAX


def test_the_walk_to_a_verdict_names_modules_that_exist() -> None:
    page = (ROOT / "docs" / "explanation" / "architecture.md").read_text(encoding="utf-8")
    modules = re.findall(r"^\d+\. `(pruning\.[\w.]+)`", page, re.MULTILINE)
    assert 1 < len(modules) <= WALK_MODULES_MAX
    assert all(importlib.util.find_spec(module) for module in modules)


def test_the_pages_that_the_code_names_exist() -> None:
    """Docstrings, comments, sentences for users and the changelog name pages by their paths."""
    files = [path for package in PACKAGES for path in (ROOT / package).rglob("*.py")]
    texts = "".join(path.read_text(encoding="utf-8") for path in (*files, ROOT / "CHANGELOG.md"))
    named = set(re.findall(r"\bdocs/[\w/-]+\.md\b", texts))
    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
