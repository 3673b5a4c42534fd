"""Public names stay functions, whichever modules were imported, and refuse what they cannot use."""

import subprocess
import sys

import pytest

PROGRAM = """
import importlib, pkgutil, sys
package = importlib.import_module(sys.argv[1])
for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
    importlib.import_module(module.name)
from pruning.errors import InputError
for name in package.__all__:
    value = getattr(package, name)
    if not callable(value):
        continue
    try:
        value(None)
    except (InputError, TypeError, ValueError, AttributeError):
        pass
    print(name)
"""


@pytest.mark.parametrize("package", ["pruning", "oracles.isolation"])
def test_public_functions_can_be_called_when_every_module_is_imported(package: str) -> None:
    """A sub-package that has the name of a public function would take its place."""
    done = subprocess.run([sys.executable, "-c", PROGRAM, package], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()
