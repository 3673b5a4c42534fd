"""LIMIT of the questions to engines: some end within the first block, others reach into several."""

from itertools import accumulate

import pytest

from skipproof.stand.hunt.rounds import Rounds
from strategies.engines.capabilities import Capabilities
from strategies.engines.worlds import World

# Drawing the worlds takes seconds.
pytestmark = pytest.mark.slow


def test_a_fifth_of_limits_in_small_tables_end_where_a_block_does() -> None:
    """Or one row before or after. A LIMIT that the first rows reach shows nothing of other files."""
    at_end = []

    def visit(world: World) -> None:
        ends = list(accumulate(map(len, world.tables["t"].blocks)))
        if ends[-1] > 100:
            return
        near = {end + step for end in ends for step in (-1, 0, 1)}
        at_end.extend(
            question.limit in near and question.limit > 5 for question in world.questions if question.limit
        )

    rounds = Rounds(Capabilities(areas=("limit",)), 0)
    for _ in range(40):
        rounds.draw(visit)
    assert sum(at_end) > len(at_end) / 5
