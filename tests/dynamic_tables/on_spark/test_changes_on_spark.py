"""Spark computes the rows, ids and changes that the backend in Python computes."""

from collections import Counter
from random import Random
from typing import Any

import pytest
from spark_intervals import (
    changes_by_spark,
    changes_in_python,
    drawn_intervals,
    full_by_spark,
    full_in_python,
)

from dynamic_tables.maintenance.algebra import subrelations
from dynamic_tables.on_spark.operators import KERNELS
from dynamic_tables.on_spark.spark_backend import SparkBackend
from mutants.spark_backends import SPARK_MUTANTS
from strategies.dynamic.cases import Case, drawn_case
from strategies.dynamic.wide_queries import drawn_wide_query

# Seeds of cases that together have each operator, and that the mutants below die in.
SEEDS = (7, 17, 21, 23, 73)
SEEDS_DEEP = range(200)
# Seeds of wide queries: a frame of values, and a tree.
WIDE_SEEDS = (3, 6)
# By mutant, a seed of a case that it dies in, and whether full evaluation suffices.
KILLING = {
    "ids of a union have no branch": (5, True),
    "rows without partner are lost": (8, True),
    "equal cells count again": (10, True),
    "unchanged rows go and come": (1, False),
    "deleted rows stay": (0, False),
    "NULL is not NULL": (7, False),
    "the right side's changes are lost": (64, False),
}


def case_of(seed: int) -> tuple[Random, Case]:
    """A case: its query has one operator, or up to three above each other."""
    random = Random(seed)
    return random, drawn_case(random, 3 if seed % 2 else 1)


@pytest.mark.parametrize("seed", SEEDS)
def test_spark_agrees_with_python(spark: Any, seed: int) -> None:
    """LOWER-1. For each query and interval: full evaluation and changes, row ids included."""
    intervals, backend = drawn_intervals(*case_of(seed)), SparkBackend(spark)
    assert full_by_spark(backend, intervals) == full_in_python(intervals)
    assert changes_by_spark(backend, intervals) == changes_in_python(intervals)


@pytest.mark.parametrize("seed", WIDE_SEEDS)
def test_spark_agrees_with_python_about_wide_queries(spark: Any, seed: int) -> None:
    """LOWER-1, of aggregates, windows and frames that no other query has."""
    random = Random(seed)
    intervals = drawn_intervals(random, drawn_case(random, 1 + seed % 2, drawn_wide_query))
    backend = SparkBackend(spark)
    assert full_by_spark(backend, intervals) == full_in_python(intervals)
    assert changes_by_spark(backend, intervals) == changes_in_python(intervals)


@pytest.mark.deep
@pytest.mark.parametrize("seed", SEEDS_DEEP)
def test_spark_agrees_with_python_about_two_hundred_queries(spark: Any, seed: int) -> None:
    """LOWER-1 again, for 200 queries over eight intervals."""
    intervals, backend = drawn_intervals(*case_of(seed)), SparkBackend(spark)
    if intervals.changes:
        assert full_by_spark(backend, intervals) == full_in_python(intervals)
        assert changes_by_spark(backend, intervals) == changes_in_python(intervals)


def test_cases_reach_each_operator_and_changes_of_several_tables() -> None:
    """Of the cases of a default run, together; of the deep run, each operator in at least ten."""
    cases = [case_of(seed)[1] for seed in SEEDS_DEEP]
    operators = [{type(node) for node in subrelations(case.query.relation)} for case in cases]
    counts = Counter(operator for kinds in operators for operator in kinds)
    assert set(KERNELS) == set().union(*[operators[seed] for seed in SEEDS])
    assert min(counts[operator] for operator in KERNELS) >= 10
    several = [seed for seed in SEEDS_DEEP if len(cases[seed].query.sources) > 1]
    assert sum(map(changes_both_sides, several)) >= 0.3 * len(several)


def changes_both_sides(seed: int) -> bool:
    """Tell whether some interval changes each source of a query."""
    intervals = drawn_intervals(*case_of(seed))
    return any(all(changes[source] for source in intervals.query.sources) for changes in intervals.changes)


@pytest.mark.parametrize("mutant", SPARK_MUTANTS)
def test_a_mutant_of_the_backend_on_spark_is_found_out(spark: Any, mutant: str) -> None:
    """LOWER-1 can fail."""
    seed, in_full = KILLING[mutant]
    intervals, backend = drawn_intervals(*case_of(seed)), SPARK_MUTANTS[mutant](spark)
    if in_full:
        with pytest.raises(AssertionError):
            assert full_by_spark(backend, intervals) == full_in_python(intervals)
    else:
        with pytest.raises(AssertionError):
            assert changes_by_spark(backend, intervals) == changes_in_python(intervals)
