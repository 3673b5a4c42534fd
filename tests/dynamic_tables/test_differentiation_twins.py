"""Each broken twin of a rule is caught by comparison with full evaluation; few are by validations alone."""

from random import Random

import pytest

from dynamic_tables.algebra import Join
from dynamic_tables.bag_backend import BagBackend
from strategies.dynamic_cases import Finding, drawn_case, outcomes
from strategies.dynamic_twins import TWINS, not_consolidated, of_inner, with_rule

DEPTH = 3
SEEDS_MAX = 1_500


def first_finding(backend: BagBackend, seeds: int = SEEDS_MAX) -> Finding | None:
    for seed in range(seeds):
        random = Random(seed)
        for outcome in outcomes(random, drawn_case(random, DEPTH), backend):
            if outcome.finding is not None:
                return outcome.finding
    return None


@pytest.mark.parametrize("name", TWINS)
def test_comparison_with_full_evaluation_kills_each_twin(name: str) -> None:
    """DVS-DIFF can fail."""
    assert first_finding(TWINS[name]) is not None


def test_join_inputs_that_are_not_consolidated_give_the_same_changes() -> None:
    """Netting counts rows, so consolidation below a join saves reads and decides nothing (trap 48)."""
    assert first_finding(with_rule(Join, of_inner(not_consolidated)), 150) is None
