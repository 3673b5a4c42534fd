"""Faults that several findings of a hunt show, as the cures that these share tell."""

from oracles.answers.contradictions import Discrepancy
from skipproof.stand.hunt import fences
from skipproof.stand.hunt.causes import AGAINST_THE_REFERENCE
from skipproof.stand.hunt.cures import is_cured
from skipproof.stand.hunt.duplicates import Examine, Switches
from skipproof.stand.hunt.state import FINDINGS_PER_CAUSE, Finding
from skipproof.stand.hunt.varying import Cure, CureKind, variations

# Many faults are cured by one switch, that of the feature they are in; few need the same two.
_SWITCHES_MIN = 2


class KnownFaults:
    """The faults that a hunt knows: each has `FINDINGS_PER_CAUSE` findings with the same cures.

    Args:
        examine, switches: As in `duplicates.another_cure`.
    """

    def __init__(self, *, examine: Examine, switches: Switches) -> None:
        self._examine, self._switches = examine, switches
        # By the ordinals of findings their cures, where these tell what is at fault.
        self._cures: dict[int, frozenset[Cure]] = {}

    def learn(self, finding: Finding, ordinal: int) -> None:
        """Look for cures of a finding that tell what is at fault."""
        cures = cures_at_fault(finding, examine=self._examine, switches=self._switches)
        if cures:
            self._cures[ordinal] = cures

    def first_finding(self, failure: Finding) -> int | None:
        """Return the ordinal of the first finding of a known fault that a failure shows, too, or None.

        It shows the fault if each of the cures cures it. One in `WORLDS_PER_OPEN_WORLD` shows none, by when
        it failed, which stays while it waits: another fault may need the same cures.
        """
        if failure.examples % fences.WORLDS_PER_OPEN_WORLD == 0:
            return None
        for cures in dict.fromkeys(self._cures.values()):
            ordinals = [ordinal for ordinal, others in self._cures.items() if cures <= others]
            if len(ordinals) >= FINDINGS_PER_CAUSE and _is_cured_by_each(
                failure, cures, examine=self._examine, switches=self._switches
            ):
                return ordinals[0]
        return None


def cures_at_fault(finding: Finding, *, examine: Examine, switches: Switches) -> frozenset[Cure]:
    """Return cures of a shrunk finding that tell what is at fault, whatever the question; empty if none do.

    Where pruning is wrong, these are the defaults of switches, if it needs two or more with other values.
    Where both forms are wrong, they are other forms of an expression. An error has its words instead.

    Args:
        examine, switches: As in `duplicates.another_cure`.
    """
    wrong = finding.outcome.contradiction
    assert wrong is not None
    if wrong.verdict is Discrepancy.RAISED:
        return frozenset()
    is_against, world = AGAINST_THE_REFERENCE in finding.traits, finding.world
    defaults = {f"{name}={switches[name][0]}" for name in world.settings if name in switches}
    cures = frozenset(
        cure
        for cure, variation in variations(world, switches=switches, own_tables=False)
        if (cure.kind is CureKind.EXPRESSION if is_against else cure.name in defaults)
        and is_cured(finding, examine(variation))
    )
    return cures if is_against or len(cures) >= _SWITCHES_MIN else frozenset()


def _is_cured_by_each(
    failure: Finding, cures: frozenset[Cure], *, examine: Examine, switches: Switches
) -> bool:
    """Tell whether each of some cures alone makes the answer to a failure right, and it is wrong without.

    The answer to a race may be right by chance.

    Args:
        examine, switches: As in `duplicates.another_cure`.
    """
    applicable = {
        cure: variation
        for cure, variation in variations(failure.world, switches=switches, own_tables=False)
        if cure in cures
    }
    return (
        applicable.keys() == cures
        and all(is_cured(failure, examine(variation)) for variation in applicable.values())
        and examine(failure.world).contradiction is not None
    )
