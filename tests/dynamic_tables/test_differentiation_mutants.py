"""Each mutant of a rule is caught by comparison with full evaluation; few are by validations alone."""

from random import Random

import pytest
from searches import find_seed

from dynamic_tables.bags.bag_backend import BagBackend
from mutants.differentiation import MUTANTS
from strategies.dynamic.cases import drawn_case, interval_outcomes

DEPTH = 3
SEEDS_MAX = 1_500


def has_finding(backend: BagBackend, seed: int) -> bool:
    """Tell whether the case of a seed shows a difference between maintenance and full evaluation."""
    random = Random(seed)
    outcomes = interval_outcomes(random, drawn_case(random, DEPTH), backend)
    return any(outcome.finding is not None for outcome in outcomes)


@pytest.mark.parametrize("name", MUTANTS)
def test_comparison_with_full_evaluation_kills_each_mutant(name: str) -> None:
    """DIFF-1 can fail."""
    assert find_seed(SEEDS_MAX, lambda seed: has_finding(MUTANTS[name], seed)) is not None
