"""The examples of the public functions of `oracles` and `oracles.isolation`."""

import doctest
import inspect
import subprocess
import sys

import pytest

import oracles
from oracles import isolation

FUNCTIONS = {
    f"{package.__name__}.{name}": function
    for package in (oracles, isolation)
    for name in package.__all__
    if inspect.isfunction(function := getattr(package, name))
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_each_public_function_has_an_example_that_runs(name: str) -> None:
    function = FUNCTIONS[name]
    examples = [test for test in doctest.DocTestFinder().find(function, name) if test.examples]
    assert examples
    runner = doctest.DocTestRunner()
    for test in examples:
        runner.run(test)
    assert runner.failures == 0


def test_each_public_name_is_there() -> None:
    assert set(oracles.__all__) <= set(dir(oracles))
    for name in oracles.__all__:
        assert getattr(oracles, name) is not None
    assert not hasattr(oracles, "no_such_name")


def test_importing_the_package_imports_no_extra() -> None:
    extras = {"numpy", "pyarrow", "pyspark", "scipy", "z3"}
    code = f"import sys, oracles; print(sorted({extras!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
