"""The examples of the public functions of `dynamic_tables`."""

import doctest
import inspect
import subprocess
import sys

import pytest

import dynamic_tables

FUNCTIONS = {
    name: function
    for name in dynamic_tables.__all__
    if inspect.isfunction(function := getattr(dynamic_tables, name))
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
    assert set(dynamic_tables.__all__) <= set(dir(dynamic_tables))
    for name in dynamic_tables.__all__:
        assert getattr(dynamic_tables, name) is not None
    assert not hasattr(dynamic_tables, "no_such_name")


def test_importing_the_package_imports_no_extra() -> None:
    extras = {"numpy", "pyarrow", "pyspark", "sqlglot"}
    code = f"import sys, dynamic_tables; print(sorted({extras!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
