"""Mutants of the isolation checker: a known history notices each rule that is left out or bent."""

import pytest
from histories_known import KNOWN

from mutants.isolation_checker import MUTANTS
from oracles import isolation


def noticed() -> list[str]:
    """The known histories that are not judged as they are known."""
    found = []
    for name, known in KNOWN.items():
        result = isolation.check(known.history)
        told = " ".join(result.phenomena), " ".join(result.strongest)
        expected = None if known.edges is None else set(known.edges.split())
        if told != (known.phenomena, known.strongest) or expected not in (None, result.edges()):
            found.append(name)
    return found


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_known_history_notices_the_mutant(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert noticed() == []
    for replacement in MUTANTS[mutant]:
        monkeypatch.setattr(*replacement)
    assert noticed()
