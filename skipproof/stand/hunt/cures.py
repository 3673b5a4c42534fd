"""The cures of a finding: variations of its world, each of which alone makes the engine's answer right."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import monotonic

from oracles.answers.contradictions import Discrepancy
from skipproof.stand.hunt.causes import AGAINST_THE_REFERENCE
from skipproof.stand.hunt.examining import QuestionResult, Write, examine
from skipproof.stand.hunt.rewriting import FILTER_ALONE
from skipproof.stand.hunt.state import Finding
from skipproof.stand.hunt.varying import Cure, CureKind, variations
from skipproof.stand.workers.workers import EngineClient
from strategies.engines.worlds import World

# The times that the question of a finding is asked to see whether it is always wrong; and if it is not, the
# times that it is asked in each variation.
_TIMES, _TIMES_UNSTEADY = 3, 10
# The time for the variations of a finding: an engine that hangs needs its time limit for each.
_SECONDS_TO_VARY = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """The cures of a finding, and the class of questions that is at fault.

    Attributes:
        cures: The variations that make the answer right.
        area: The class of questions; `filter` if the filter alone is answered wrongly too.
    """

    cures: tuple[Cure, ...]
    area: str

    def names(self, *kinds: CureKind) -> frozenset[str]:
        """Return the names of the cures of some kinds."""
        return frozenset(cure.name for cure in self.cures if cure.kind in kinds)


def find_signature(worker: EngineClient, finding: Finding, *, write: Write) -> Signature:
    """Ask the question of a finding in the variations of its world, as many as there is time for."""
    deadline = monotonic() + _SECONDS_TO_VARY
    question = finding.outcome.question
    world = replace(finding.world, questions=(question,))
    times = _times(worker, world, write)
    cures: list[Cure] = []
    area = question.area
    for cure, variation in _variations(worker, finding, world):
        if monotonic() > deadline:
            break
        outcomes = examine(worker, replace(variation, questions=variation.questions * times), write=write)
        if all(is_cured(finding, outcome) for outcome in outcomes):
            cures.append(cure)
        elif cure.name == FILTER_ALONE and any(outcome.contradiction is not None for outcome in outcomes):
            area = "filter"
    return Signature(cures=tuple(cures), area=area)


def _times(worker: EngineClient, world: World, write: Write) -> int:
    """Return how often to ask in each variation: more than once if the answers of an engine are unsteady."""
    (question,) = world.questions
    if question.change is not None:
        return 1
    outcomes = examine(worker, replace(world, questions=(question,) * _TIMES), write=write)
    return 1 if all(outcome.contradiction is not None for outcome in outcomes) else _TIMES_UNSTEADY


def _variations(worker: EngineClient, finding: Finding, world: World) -> Iterator[tuple[Cure, World]]:
    """Yield the variations of a world that may be cures."""
    own_tables = worker.hello.tables == "own"
    for cure, variation in variations(world, switches=worker.hello.settings, own_tables=own_tables):
        # Tables with nothing to prune by have no statistics.
        if cure.kind is not CureKind.STATISTICS or AGAINST_THE_REFERENCE not in finding.traits:
            yield cure, variation


def is_cured(finding: Finding, outcome: QuestionResult) -> bool:
    """Tell whether the answer to a variation is right and was compared.

    If the reference contradicts the finding, it must have an opinion of the variation. Where rows were lost,
    an empty answer that is right says nothing: there is no row to lose.
    """
    assert finding.outcome.contradiction is not None
    if outcome.contradiction is not None or outcome.refused:
        return False
    if outcome.no_opinion and AGAINST_THE_REFERENCE in finding.traits:
        return False
    loses_rows = finding.outcome.contradiction.verdict is Discrepancy.LOST
    return not loses_rows or bool(outcome.expected["rows"])
