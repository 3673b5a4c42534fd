"""Isolation checks of the histories that simulators record; the checker shares no code with simulators."""

from collections.abc import Iterable, Iterator

from oracles.isolation import Verdict, check
from sim.kernel.scenario_schema import IsolationClaim, Violation


def lost_levels(histories: Iterable[IsolationClaim]) -> Iterator[tuple[IsolationClaim, str]]:
    """Yield the histories that do not satisfy their level or cannot be judged, each with the reason."""
    for history in histories:
        result = check(history.history)
        verdict = result.verdict(history.level)
        if verdict is not Verdict.VALID:
            reason = result.problem or ", ".join(
                f"{name}: {' '.join(str(witness).split())}" for name, witness in result.witness.items()
            )
            yield history, f"{verdict.value} at {history.level}: {reason}"


def judge_histories(histories: Iterable[IsolationClaim]) -> tuple[dict[str, float], list[Violation]]:
    """Return the number of histories that lost their level, by measure, and the violations among them."""
    counts: dict[str, float] = {}
    wrong = []
    for history, reason in lost_levels(histories):
        name = f"lost_{history.invariant}"
        counts[name] = counts.get(name, 0) + 1
        if history.required:
            wrong.append(Violation(invariant=history.invariant, at_us=0, what=reason))
    return counts, wrong
