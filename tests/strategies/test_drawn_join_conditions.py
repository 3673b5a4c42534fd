"""Conditions of ON of the questions to engines: beside the equality of keys, and alone."""

from collections import Counter

import pytest

from skipproof.stand.hunt.rounds import Rounds
from strategies.engines.capabilities import Capabilities
from strategies.engines.questions import Column, subterms
from strategies.engines.worlds import World

# Drawing the worlds takes seconds.
pytestmark = pytest.mark.slow
_WITHOUT_EQUAL_KEYS = "join without equal keys"


def kinds_of_conditions(capabilities: Capabilities, *, rounds: int) -> Counter[str]:
    """Return how many joins are drawn with each kind of condition of ON, by what it reads."""
    counts: Counter[str] = Counter()

    def visit(world: World) -> None:
        for question in world.questions:
            join = question.join
            assert join is not None
            if join.on is None:
                counts["none"] += 1
                continue
            assert join.kind != "not in"
            sides = {part.name.startswith("u_") for part in subterms(join.on) if isinstance(part, Column)}
            counts["of both sides" if len(sides) == 2 else "of one side"] += 1
            counts["alone"] += not join.equal

    source = Rounds(capabilities, 0)
    for _ in range(rounds):
        source.draw(visit)
    return counts


def test_some_joins_have_conditions_of_either_kind() -> None:
    counts = kinds_of_conditions(Capabilities(areas=("join",)), rounds=20)
    joins = counts["none"] + counts["of one side"] + counts["of both sides"]
    assert joins / 10 < joins - counts["none"] < joins / 2
    assert min(counts["of one side"], counts["alone"]) > joins / 60
    assert counts["of both sides"] > counts["alone"]


def test_an_engine_that_needs_equal_keys_is_asked_with_them() -> None:
    needs = Capabilities(areas=("join",), functions_missing=frozenset({_WITHOUT_EQUAL_KEYS}))
    counts = kinds_of_conditions(needs, rounds=6)
    assert not counts["alone"]
    assert counts["of both sides"]
    lacks = Capabilities(areas=("join",), functions_missing=frozenset({"join condition"}))
    assert set(kinds_of_conditions(lacks, rounds=6)) == {"none"}
