"""Tests are named alike in every process, so that workers agree on what there is."""

from pathlib import Path
from types import SimpleNamespace

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"


@pytest.mark.parametrize("value", [frozenset("ab"), object()], ids=["a set", "an address"])
def test_a_name_that_depends_on_the_process_is_refused(pytestconfig: pytest.Config, value: object) -> None:
    check = pytestconfig.pluginmanager.get_plugin(str(CONFTEST)).pytest_collection_modifyitems
    check([SimpleNamespace(nodeid="test.py::test[1-x]")])
    with pytest.raises(pytest.UsageError, match="give its cases ids"):
        check([SimpleNamespace(nodeid=f"test.py::test[{value}]")])
