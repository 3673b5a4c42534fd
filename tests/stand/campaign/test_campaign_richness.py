"""Estimates of what is left: worked by hand, never below what was seen, near what is there."""

import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutants.stand.campaigns import RICHNESS
from skipproof.stand.campaign.richness import estimate_richness

#         counts                 expected lower   upper    next is new
CASES = [([1, 1, 1, 1, 2, 2, 5], 11.0,    7.5571, 35.7211, 4 / 13),  # 7 + 16 / 4, variance 2 (2 + 8 + 4)
         ([1, 1, 1, 4],           7.0,    4.3735, 28.0953, 3 / 7),   # 4 + 3, variance 3 + 18.75 - 81 / 28
         ([3, 3],                 2.0,    2.0,     2.7393, 0.0),     # no cause was seen once
         ([1],                    1.0,    1.0,     3.0772, 1.0),     # one cause, once: nothing to go by
         ([1, 1],                 3.0,    2.0811, 14.3262, 1.0),     # 2 + 1, variance 1 + 4.5 - 16 / 12
         ([],                     0.0,    0.0,     0.0,    None)]  # fmt: skip


def check_worked_cases() -> None:
    for counts, expected, lower, upper, next_is_new in CASES:
        richness = estimate_richness(counts)
        assert richness.expected == pytest.approx(expected)
        assert (richness.lower, richness.upper) == pytest.approx((lower, upper), abs=1e-3)
        assert richness.next_is_new == pytest.approx(next_is_new)


def test_the_cases_that_were_worked_by_hand() -> None:
    check_worked_cases()


def test_singletons_and_doubletons_are_counted() -> None:
    richness = estimate_richness([1, 2, 2, 3, 9])
    assert (richness.failures, richness.causes, richness.once, richness.twice) == (17, 5, 1, 2)
    assert richness.to_dict()["next_is_new"] == 0.059


@given(st.lists(st.integers(1, 12) | st.integers(1, 100_000), max_size=60))
def test_the_estimate_is_at_least_what_was_seen_and_within_its_interval(counts: list[int]) -> None:
    richness = estimate_richness(counts)
    assert richness.causes <= richness.lower <= richness.expected <= richness.upper
    assert richness.next_is_new is None or 0 <= richness.next_is_new <= 1


@given(st.lists(st.integers(1, 12), min_size=1, max_size=60))
def test_a_new_cause_never_lowers_the_estimate(counts: list[int]) -> None:
    assert estimate_richness([*counts, 1]).expected > estimate_richness(counts).expected


def test_equally_frequent_causes_are_estimated_well() -> None:
    """Of 40 causes, 60 failures show about 31; Chao1 has no bias there, and its interval holds 40 mostly."""
    estimates = []
    for seed in range(300):
        drawn_causes = random.Random(seed).choices(range(40), k=60)
        estimates.append(estimate_richness(Counter(drawn_causes).values()))
    mean = sum(richness.expected for richness in estimates) / len(estimates)
    assert 37 < mean < 43
    covered = sum(richness.lower <= 40 <= richness.upper for richness in estimates)
    assert covered >= 0.9 * len(estimates)
    # The probability that the next failure is new is the share of causes not seen.
    unseen = sum(1 - richness.causes / 40 for richness in estimates)
    assert sum(richness.next_is_new or 0 for richness in estimates) == pytest.approx(unseen, rel=0.1)


@pytest.mark.parametrize("mutant", RICHNESS.values(), ids=RICHNESS)
def test_a_wrong_estimate_is_found_out(mutant, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*mutant)
    with pytest.raises(AssertionError):
        check_worked_cases()
