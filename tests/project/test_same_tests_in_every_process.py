"""Tests have the same names and examples in every process, so that workers agree and a failure repeats."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis.internal.conjecture import providers

import pruning

CONFTEST = Path(__file__).parents[1] / "conftest.py"


@pytest.mark.parametrize("value", [frozenset("ab"), object()], ids=["a set", "an address"])
def test_a_name_that_depends_on_the_process_is_refused(pytestconfig: pytest.Config, value: object) -> None:
    def item(value: object) -> Any:
        return SimpleNamespace(nodeid=f"test.py::test[{value}]", get_closest_marker=lambda _: None)

    check = pytestconfig.pluginmanager.get_plugin(str(CONFTEST)).pytest_collection_modifyitems
    check(pytestconfig, [item("1-x")])
    with pytest.raises(pytest.UsageError, match="give its cases ids"):
        check(pytestconfig, [item(value)])


def test_what_is_drawn_depends_on_no_module_that_is_imported(deep: bool) -> None:
    """Hypothesis draws constants of the modules that a process has imported; those of workers differ.

    A deep run, whose examples differ each time, draws them.
    """
    assert pruning.__file__
    assert bool(len(providers._get_local_constants())) is deep


def test_the_list_of_slow_tests_names_tests() -> None:
    """`make test-times` writes it; a test that was renamed since would be taken for fast."""
    for line in (CONFTEST.with_name("slow_tests.txt")).read_text(encoding="utf-8").split():
        file, _, name = line.partition("::")
        assert f"def {name.rpartition('::')[2]}(" in (CONFTEST.parents[1] / file).read_text(
            encoding="utf-8"
        ), line
