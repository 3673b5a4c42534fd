"""Mutants of the isolation checker: a known history notices each rule that is left out or bent."""

from collections.abc import Iterator

import pytest
from histories_known import KNOWN

from mutants.isolation_checker import MUTANTS
from oracles import isolation


def misjudged_histories() -> Iterator[str]:
    """Yield the names of the known histories that are not judged as they are known."""
    for name, known in KNOWN.items():
        result = isolation.check(known.history)
        judgement = " ".join(result.phenomena), " ".join(result.strongest)
        expected = None if known.edges is None else set(known.edges.split())
        if judgement != (known.phenomena, known.strongest) or expected not in (None, result.edges()):
            yield name


def test_each_known_history_is_judged_as_it_is_known() -> None:
    """Without this, a mutant could be noticed where the checker itself is wrong."""
    assert list(misjudged_histories()) == []


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_known_history_notices_the_mutant(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for replacement in MUTANTS[mutant]:
        monkeypatch.setattr(*replacement)
    assert next(misjudged_histories(), None)
