"""Environments of releases are made once, whole or not at all, and found again by their pins."""

from pathlib import Path

import pytest

from skipproof.stand.workers import environments
from skipproof.stand.workers.environments import NotInstalled, environment, environment_name

# In the place of pip: what it installs, or why it does not.
PIP = """#!/bin/sh
echo "$@" >> "$(dirname "$0")/installed"
case "$*" in
  *nosuch*) echo "WARNING: old" >&2; echo "ERROR: No matching distribution for nosuch" >&2; exit 1;;
esac
"""


@pytest.fixture(autouse=True)
def quick_environments(monkeypatch):
    """Environments whose interpreter is a script, because a real one takes seconds and the network."""

    def create(place, *, with_pip, clear):
        assert with_pip
        assert clear
        python = Path(place) / "bin" / "python"
        python.parent.mkdir(parents=True, exist_ok=True)
        python.write_text(PIP, encoding="utf-8")
        python.chmod(0o755)

    monkeypatch.setattr(environments.venv, "create", create)


def test_an_environment_is_made_once(tmp_path):
    directory = tmp_path / "new" / "environments"
    python = environment("duckdb-1.1.0", ("duckdb==1.1.0", "pyarrow"), directory)
    assert python == directory / "duckdb-1.1.0" / "bin" / "python"
    assert environment("duckdb-1.1.0", ("duckdb==1.1.0", "pyarrow"), directory) == python
    installed = (python.parent / "installed").read_text(encoding="utf-8")
    assert installed == "-m pip install --quiet duckdb==1.1.0 pyarrow\n"


def test_an_environment_that_is_there_is_used(tmp_path):
    python = tmp_path / "kept-duckdb-1.1.0" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.touch()
    assert environment("duckdb-1.1.0", ("duckdb==1.1.0",), tmp_path) == python


def test_an_environment_that_cannot_be_installed_is_no_environment(tmp_path):
    """The next run tries again; it does not take an empty environment for the release."""
    for _ in range(2):
        with pytest.raises(NotInstalled, match=r"^No matching distribution for nosuch$"):
            environment("nosuch-1", ("nosuch==1",), tmp_path)
    assert environments.find_environment("nosuch-1", tmp_path) is None


@pytest.mark.parametrize(
    ("pins", "others"),
    [
        (("duckdb==1.1.0",), ("duckdb>1.1.0",)),
        (("polars==1.0", "pyarrow"), ("polars==1.0", "pyarrow==20")),
        (("polars==1.0", "pyarrow"), ("polars==1.0",)),
    ],
    ids=["operator", "version of a dependency", "dependency"],
)
def test_other_pins_have_another_environment(pins, others):
    assert environment_name(pins) != environment_name(others)
    assert environment_name(pins) == environment_name(tuple(pins))


def test_the_name_of_an_environment_is_one_of_a_folder():
    name = environment_name(("pyiceberg[sql-sqlite]==0.11.1", "pyarrow"))
    assert name.startswith("pyiceberg-sql-sqlite-0.11.1-")
    assert not set(name) & set("/[]*? ")
