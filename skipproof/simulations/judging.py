"""Histories that simulators recorded, judged by the checker of isolation, which shares no code with them."""

from collections.abc import Iterable, Iterator

from oracles.isolation import Verdict, check
from sim.kernel.scenario_schema import Judgeable, Violation


def lost(histories: Iterable[Judgeable]) -> Iterator[tuple[Judgeable, str]]:
    """The histories that do not satisfy their level, or that cannot be judged, each with the reason."""
    for one in histories:
        result = check(one.history)
        verdict = result.verdict(one.level)
        if verdict is not Verdict.VALID:
            told = result.problem or ", ".join(
                f"{name}: {' '.join(str(witness).split())}" for name, witness in result.witness.items()
            )
            yield one, f"{verdict.value} at {one.level}: {told}"


def judged(histories: Iterable[Judgeable]) -> tuple[dict[str, float], list[Violation]]:
    """How many levels were lost, by the invariant; and what of that must not be."""
    counts: dict[str, float] = {}
    wrong = []
    for one, told in lost(histories):
        name = f"lost_{one.invariant}"
        counts[name] = counts.get(name, 0) + 1
        if one.required:
            wrong.append(Violation(invariant=one.invariant, at_us=0, what=told))
    return counts, wrong
