"""Estimates of what a campaign has not met yet, from how often it has met each cause.

Chao1 is a lower bound of the number of causes: A. Chao, "Nonparametric estimation of the number of classes
in a population", Scandinavian Journal of Statistics 11 (1984). Its interval is that of A. Chao, "Estimating
the population size for capture-recapture data with unequal catchability", Biometrics 43 (1987), where the
number of unseen causes is taken to be log-normal. The share of unseen causes is that of I. J. Good, "The
population frequencies of species and the estimation of population parameters", Biometrika 40 (1953).

All take failures for independent draws, in which each cause has a probability that stays the same.
"""

import math
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

# Of the normal distribution, for 95 %.
_QUANTILE = 1.96


@dataclass(frozen=True, slots=True, kw_only=True)
class Richness:
    """An estimate of the number of causes.

    Attributes:
        failures: The number of failures.
        causes: The number of causes seen.
        once, twice: The number of causes seen once, and twice.
        expected: Chao1, at least `causes`.
        lower, upper: The 95 % interval around it; both are 0 where there is no failure.
        next_is_new: The Good-Turing estimate of the probability that the next failure is of a new cause; None
            where there is no failure.
    """

    failures: int
    causes: int
    once: int
    twice: int
    expected: float
    lower: float
    upper: float
    next_is_new: float | None

    def to_dict(self) -> dict[str, Any]:
        """Return the estimate in JSON."""
        return {
            name: round(value, 3) if isinstance(value, float) else value
            for name, value in asdict(self).items()
        }


def estimate_richness(counts: Iterable[int]) -> Richness:
    """Estimate the number of causes.

    Args:
        counts: The number of failures of each cause seen, each at least 1.
    """
    all_counts = list(counts)
    assert all(count > 0 for count in all_counts)
    failures, causes = sum(all_counts), len(all_counts)
    once, twice = all_counts.count(1), all_counts.count(2)
    unseen = _unseen_causes(once, twice)
    if unseen > 0:
        lower, upper = _interval(causes, unseen, _variance(once, twice, causes + unseen))
    else:
        lower, upper = float(causes), _upper_bound_without_singletons(failures, causes)
    return Richness(
        failures=failures,
        causes=causes,
        once=once,
        twice=twice,
        expected=float(causes + unseen),
        lower=lower,
        upper=upper,
        next_is_new=once / failures if failures else None,
    )


def _unseen_causes(once: int, twice: int) -> float:
    """Return Chao1's number of unseen causes; the form without bias where no cause was seen twice."""
    return once * once / (2 * twice) if twice else once * (once - 1) / 2


def _variance(once: int, twice: int, expected: float) -> float:
    """Return the variance of Chao1, which has a form of its own where no cause was seen twice."""
    if not twice:
        return once * (once - 1) / 2 + once * (2 * once - 1) ** 2 / 4 - once**4 / (4 * expected)
    ratio = once / twice
    return twice * (ratio**2 / 2 + ratio**3 + ratio**4 / 4)


def _interval(causes: int, unseen: float, variance: float) -> tuple[float, float]:
    """Return the log-normal interval, whose lower bound is never below the number of causes seen."""
    spread = math.exp(_QUANTILE * math.sqrt(math.log(1 + variance / unseen**2)))
    return causes + unseen / spread, causes + unseen * spread


def _upper_bound_without_singletons(failures: int, causes: int) -> float:
    """Return the upper bound where Chao1 expects no unseen cause.

    Each cause is then taken to be as frequent as the mean of those seen, by Poisson's distribution.
    """
    if not causes:
        return 0.0
    missed = math.exp(-failures / causes)
    return causes / (1 - missed) + _QUANTILE * math.sqrt(causes * missed / (1 - missed))
