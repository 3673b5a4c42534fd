"""Tests and hunts draw the same in every process, so that workers agree and a failure repeats."""

import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis.internal.conjecture import providers

import pruning
from skipproof.stand.hunt.hunting import capabilities
from skipproof.stand.hunt.rounds import Rounds
from skipproof.stand.reference.engine import SmallEngine
from strategies.engines.world_json import world_json

CONFTEST = Path(__file__).parents[1] / "conftest.py"
# A process with constants of modules prints what a hunt draws there, without them and with them.
SCRIPT = """
from contextlib import nullcontext
from skipproof.stand.hunt import rounds
from test_same_tests_in_every_process import digest_of_rounds

print(digest_of_rounds())
rounds.no_constants_of_modules = nullcontext
print(digest_of_rounds())
"""


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


def digest_of_rounds() -> str:
    """Return a digest of the worlds of some rounds, of which some have a choice of more than 100."""
    rounds, digest = Rounds(capabilities(SmallEngine()), 0, before=45), sha256()
    for _ in range(5):
        rounds.draw(lambda world: digest.update(repr(world_json(world)).encode("utf-8", "surrogatepass")))
    return digest.hexdigest()


def test_a_hunt_draws_the_same_in_a_script_and_in_a_test() -> None:
    """A seed would ask other questions in another checkout, and after a change anywhere in the code."""
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    without, with_constants = ran.stdout.split()
    assert without == digest_of_rounds()
    assert without != with_constants


def test_the_list_of_slow_tests_names_tests() -> None:
    """`make test-times` writes it; a test that was renamed since would be taken for fast."""
    for line in (CONFTEST.with_name("slow_tests.txt")).read_text(encoding="utf-8").split():
        file, _, name = line.partition("::")
        assert f"def {name.rpartition('::')[2]}(" in (CONFTEST.parents[1] / file).read_text(
            encoding="utf-8"
        ), line
