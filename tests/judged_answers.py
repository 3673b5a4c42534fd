"""Judges the answer of an engine of the stand to one question, whose rows are known."""

from typing import Any

from skipproof.stand.hunt.examining import examine
from skipproof.stand.workers.workers import EngineClient
from strategies.engines.worlds import World


def mistake(worker: EngineClient, world: World, rows: list[list[Any]]) -> Any:
    """Return what was refused, what contradicts itself, and the rows, of a wrong answer; None of a right one.

    Rows may come in any order, unless the question orders them.
    """
    (question,) = world.questions
    (outcome,) = examine(worker, world)
    answer = [list(row) for row in outcome.with_statistics.get("rows", ())]
    if not question.order:
        answer, rows = sorted(answer, key=str), sorted(rows, key=str)
    right = answer == rows and not outcome.refused and outcome.contradiction is None
    return None if right else (outcome.refused, outcome.contradiction, answer)
