"""The rounds in which a hunt draws its worlds: a few at a time, from seeds that no other hunt has."""

import itertools
from collections.abc import Callable, Iterator

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.strategies import SearchStrategy

from strategies.engines.engine_questions import World

# Hypothesis draws the first examples of a run independently: beyond ten it mostly varies earlier ones, and
# from ten on it keeps some of them small.
ROUND = 9
# No hunt has more rounds, so that the hunts of two seeds have none in common.
_ROUNDS_MAX = 2**32


def round_numbers(hunt_seed: int) -> Iterator[int]:
    """Yield the numbers of the rounds of a hunt, which no hunt of another seed has."""
    return itertools.count(hunt_seed * _ROUNDS_MAX)


def draw_round(strategy: SearchStrategy[World], number: int, visit: Callable[[World], None]) -> None:
    """Draw the worlds of a round; they depend on nothing but the strategy and the number."""

    def test(world: World) -> None:
        visit(world)

    test = settings(
        max_examples=ROUND,
        phases=(Phase.generate,),
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        # Health checks judge the speed and size of examples; here these depend on the engine and the hunt.
        suppress_health_check=list(HealthCheck),
    )(given(strategy)(test))
    seed(number)(test)()
