"""The examples in the docstrings of public functions give the output that they show."""

import doctest
import sys
from types import FunctionType
from typing import Any

import pytest

import pruning
from pruning import dml, geography

WITHOUT_SPARK = [pruning.backfill, pruning.blocks, pruning.collect, pruning.index, dml.plan_merge]
ON_SPARK = [
    pruning.prune,
    pruning.explain,
    pruning.PredicateCache,
    pruning.classify,
    pruning.table,
    dml.plan_delete,
    dml.plan_update,
    dml.merge,
    dml.delete,
    dml.update,
    geography.within_box,
    geography.within_distance,
    geography.within_polygon,
    geography.register,
]


def run_example(function: FunctionType | type, **names: Any) -> tuple[int, str]:
    """Run the example in a docstring; return the number of its statements and the differences."""
    runner = doctest.DocTestRunner()
    differences: list[str] = []
    attempted = 0
    namespace = {**vars(sys.modules[function.__module__]), **names}
    for example in doctest.DocTestFinder(recurse=False).find(function, globs=namespace):
        attempted += runner.run(example, out=differences.append).attempted
    return attempted, "".join(differences)


@pytest.mark.parametrize("function", WITHOUT_SPARK, ids=lambda function: function.__name__)
def test_the_example_of_a_function_without_spark_gives_what_it_shows(function: FunctionType) -> None:
    """The output of each statement is compared with the one shown."""
    attempted, differences = run_example(function)
    assert attempted > 0
    assert not differences


@pytest.mark.parametrize("function", ON_SPARK, ids=lambda function: function.__name__)
def test_the_example_of_a_function_on_spark_gives_what_it_shows(
    spark: Any, function: FunctionType | type
) -> None:
    """The example uses a session named `spark`, as in Spark's shell."""
    if function is geography.register and spark.version.startswith("3."):
        pytest.skip("Spark 3 has no functions written in SQL")
    attempted, differences = run_example(function, spark=spark)
    assert attempted > 0
    assert not differences


def test_every_public_function_has_an_example() -> None:
    """A new public function is added to one of the lists above."""
    named = {function.__name__ for function in (*WITHOUT_SPARK, *ON_SPARK)}
    assert named >= {*pruning.__all__, *(name for name in dml.__all__ if name.islower())}


def wrong() -> None:
    """Show another value than the one that is printed.

    Example:
        >>> 1 + 1
        3
    """


def test_an_example_that_shows_another_output_fails() -> None:
    """Otherwise the tests above would prove nothing."""
    attempted, differences = run_example(wrong)
    assert attempted == 1
    assert "Got:\n    2" in differences
