"""The rounds in which a hunt draws its worlds: a few at a time, from seeds that no other hunt has.

Most rounds have small tables, whose failures are small too. A question of a large table takes as long as ten
or more of a small one, so large tables have a share of the work. Work is counted in rows: the same seed draws
the same everywhere.
"""

from collections.abc import Callable

from hypothesis import HealthCheck, Phase, given, seed, settings

from oracles.answers.contradictions import whole_questions
from strategies.constants import no_constants_of_modules
from strategies.engines.capabilities import Capabilities
from strategies.engines.engine_rows import LARGE, SMALL
from strategies.engines.worlds import World, worlds

# Hypothesis draws the first examples of a run independently: beyond ten it mostly varies earlier ones, and
# from ten on it keeps some of them small. The first one is the simplest world, the same in each round.
ROUND = 9
# Writing a large table takes long, and so do the questions of it, so that few make a round.
_LARGE_ROUND = 3
_LARGE_SHARE = 0.1
# Of an engine's own tables whose row groups always have thousands of rows, most dead in small tables.
_LARGE_SHARE_OF_OWN = 0.5
# So many rows take DuckDB, Polars or pyarrow about as long as the rest of a question.
_ROWS_PER_QUESTION = 2_000
# The work, in questions of small tables, after which the first large table comes.
_WORK_BEFORE_LARGE = 300
# No hunt has more rounds, so that the hunts of two seeds have none in common.
_ROUNDS_MAX = 2**32


class Rounds:
    """The rounds of a hunt; their worlds depend on nothing but the seed and what the engine supports.

    Args:
        before: How many rounds of the seed are left out, because another hunt had them.

    Attributes:
        count: The number of rounds of the seed until now, with those before.
        number: The number of the round that was drawn last, which no hunt of another seed has.
    """

    def __init__(self, able: Capabilities, hunt_seed: int, *, before: int = 0) -> None:
        self._able = able
        self._first = hunt_seed * _ROUNDS_MAX
        self._work, self._work_of_large = 0.0, 0.0
        has_small_groups = able.layouts is None or "rows_per_group" in able.layouts
        self._large_share = _LARGE_SHARE if has_small_groups else _LARGE_SHARE_OF_OWN
        self.count = before
        self.number = self._first + before

    def draw(self, visit: Callable[[World], None]) -> None:
        """Draw the next round, and visit each of its worlds but the simplest."""
        self.number = self._first + self.count
        self.count += 1
        is_large = self._work_of_large < (self._work - _WORK_BEFORE_LARGE) * self._large_share
        strategy = worlds(self._able, repeats=LARGE if is_large else SMALL)
        is_simplest = True

        def test(world: World) -> None:
            nonlocal is_simplest
            if not is_simplest:
                self._count(world)
                visit(world)
            is_simplest = False

        test = settings(
            max_examples=_LARGE_ROUND if is_large else ROUND,
            phases=(Phase.generate,),
            database=None,
            deadline=None,
            report_multiple_bugs=False,
            # Health checks judge the speed and size of examples; here they depend on the engine and the hunt.
            suppress_health_check=list(HealthCheck),
        )(given(strategy)(test))
        with no_constants_of_modules():
            seed(self.number)(test)()

    def _count(self, world: World) -> None:
        """Count the work that a world will take."""
        work = work_of_questions(world)
        self._work += work
        if row_count(world) > _ROWS_PER_QUESTION:
            self._work_of_large += work


def work_of_questions(world: World) -> float:
    """Return the work of asking all questions of a world, in questions of tables with few rows.

    Questions that differ in LIMIT and OFFSET alone share the answer that takes the most.
    """
    whole, _ = whole_questions(world.questions)
    return len(whole) * (1 + row_count(world) / _ROWS_PER_QUESTION)


def row_count(world: World) -> int:
    """Return the number of rows of all tables."""
    return sum(len(block) for table in world.tables.values() for block in table.blocks)
