"""Each mutant of a rule is caught by comparison with full evaluation; few are by validations alone."""

from random import Random

import pytest

from dynamic_tables.bags.bag_backend import BagBackend
from mutants.differentiation import MUTANTS
from strategies.dynamic.cases import MaintenanceFinding, drawn_case, interval_outcomes

DEPTH = 3
SEEDS_MAX = 1_500


def first_finding(backend: BagBackend) -> MaintenanceFinding | None:
    for seed in range(SEEDS_MAX):
        random = Random(seed)
        for outcome in interval_outcomes(random, drawn_case(random, DEPTH), backend):
            if outcome.finding is not None:
                return outcome.finding
    return None


@pytest.mark.parametrize("name", MUTANTS)
def test_comparison_with_full_evaluation_kills_each_mutant(name: str) -> None:
    """DIFF-1 can fail."""
    assert first_finding(MUTANTS[name]) is not None
