"""Tells a duplicate of a finding from a failure of another cause that looks like it, and the reverse."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TypeAlias

from skipproof.stand.hunt.causes import traits
from skipproof.stand.hunt.cures import is_cured
from skipproof.stand.hunt.examining import QuestionResult
from skipproof.stand.hunt.state import Finding
from skipproof.stand.hunt.varying import Cure, CureKind, variations
from strategies.engines.worlds import World

Examine: TypeAlias = Callable[[World], QuestionResult]
Switches: TypeAlias = Mapping[str, Sequence[str]]
# The times that a failure must be wrong, and its variation right: answers of an engine may be unsteady.
_TIMES = 3


def another_cure(
    failure: Finding, finding_traits: frozenset[str], *, examine: Examine, switches: Switches
) -> Cure | None:
    """Return a cure that takes a trait away that a finding does without, or None if there is none.

    If there is one, the failure has another cause than the finding. Other forms of the question are not
    tried, because one cause shows in questions of many forms.

    Args:
        failure: A failure with all traits of the finding.
        examine: Asks the one question of a world, and compares the answers.
        switches: The switches of the engine with their values, the default first.
    """
    cures = (
        (cure, variation)
        for cure, variation in _variations(failure.world, switches)
        if finding_traits <= _traits_of(variation, failure) < failure.traits
        and is_cured(failure, examine(variation))
    )
    for cure, variation in cures:
        if not all(examine(failure.world).contradiction is not None for _ in range(_TIMES)):
            return None
        if all(is_cured(failure, examine(variation)) for _ in range(_TIMES - 1)):
            return cure
    return None


def has_cure(world: World, cure: Cure, *, examine: Examine, switches: Switches) -> bool:
    """Tell whether a failing world is not wrong once it is varied; it is wrong if it cannot be.

    An answer without rows will do, so that a world that shrinks may lose all rows that are answered rightly.
    """
    return any(
        other == cure and examine(variation).contradiction is None
        for other, variation in _variations(world, switches)
    )


def _variations(world: World, switches: Switches) -> Iterator[tuple[Cure, World]]:
    """Yield the variations of all but the question."""
    for cure, variation in variations(world, switches=switches, own_tables=False):
        if cure.kind not in (CureKind.EXPRESSION, CureKind.QUESTION):
            yield cure, variation


def _traits_of(variation: World, failure: Finding) -> frozenset[str]:
    """Return the traits that a variation would have if it failed like the failure."""
    assert failure.outcome.contradiction is not None
    return traits(variation, variation.questions[0], failure.outcome.contradiction)
