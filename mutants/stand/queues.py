"""Queues that a loud fault fills or holds up, and failures that are taken for what they were shrunk to."""

from collections.abc import Mapping
from dataclasses import replace

from skipproof.stand.hunt.causes import AGAINST_THE_REFERENCE
from skipproof.stand.hunt.duplicates import Examine, Switches
from skipproof.stand.hunt.failures import Failures
from skipproof.stand.hunt.known_faults import KnownFaults
from skipproof.stand.hunt.state import Finding
from skipproof.stand.hunt.waiting import WAITING_MAX, Shrinking, Waiting


class AsTheyCome(Waiting):
    """It leaves out whatever comes once all places are taken."""

    def add(self, shrinking: Shrinking) -> bool:
        """Let a failure wait if a place is free."""
        return len(self) < WAITING_MAX and super().add(shrinking)


class SimplestFirst(Waiting):
    """It forgets which symptoms have had their turn."""

    def pop(self) -> Shrinking:
        """Remove and return the simplest failure."""
        shrinking = super().pop()
        self._turns.clear()
        return shrinking


class NewOnesFirst(Waiting):
    """A failure whose shrinking was paused has to wait for its turn again."""

    def pop(self) -> Shrinking:
        """Remove and return a failure as if it were new."""
        shrinking = super().pop()
        shrinking.is_its_turn = False
        return shrinking


class ShrunkOnce(Failures):
    """A failure is not compared with the finding that it was shrunk to."""

    def _start_again(self, shrinking: Shrinking) -> None:
        """Leave it at that."""


class ShrunkAtOnce(Failures):
    """A new failure is begun before those that wait."""

    def _take_up(self, shrinking: Shrinking) -> None:
        """Shrink it."""
        self._shrink(shrinking)


class ComparedEachTime(Failures):
    """A failure that goes on is compared with the findings again."""

    def _go_on(self, shrinking: Shrinking) -> None:
        """Look for a cure before each step."""
        ordinal = self._state.duplicated_finding(shrinking.start.traits)
        if ordinal is not None:
            self._cure_of_another_cause(shrinking.start, ordinal)
        super()._go_on(shrinking)


class AnyWrongRowsFirst(Waiting):
    """It takes what both forms get wrong before what pruning gets wrong."""

    def pop(self) -> Shrinking:
        """Remove and return a failure, one that the reference contradicts if there is any."""
        aside = {key: other for key, other in self._by_key.items() if AGAINST_THE_REFERENCE not in key[1]}
        if len(aside) == len(self._by_key):
            return super().pop()
        for key in aside:
            del self._by_key[key]
        shrinking = super().pop()
        self._by_key.update(aside)
        return shrinking


class AnyRankLeavesFirst(Waiting):
    """It leaves out the failure with the commonest symptoms, of whatever rank."""

    def _count_of_rank(self, rank: tuple[bool, bool]) -> int:
        """Return the same for each rank."""
        return 0


class KnowsNoFault(KnownFaults):
    """Each failure of a fault that many findings show is shrunk."""

    def first_finding(self, failure: Finding) -> int | None:
        """Return None."""
        return None


class ForeverKnown(KnownFaults):
    """No failure is handled as if no fault were known."""

    def first_finding(self, failure: Finding) -> int | None:
        """Look for a fault as if the failure were of another world."""
        return super().first_finding(replace(failure, examples=1))


class TakenByTheirSwitches(KnownFaults):
    """It takes a failure for one of a known fault if it has its switches, whether it needs them or not."""

    def __init__(self, *, examine: Examine, switches: Switches) -> None:
        super().__init__(examine=examine, switches=switches)
        self._settings: list[Mapping[str, str]] = []

    def learn(self, finding: Finding, ordinal: int) -> None:
        """Keep the switches of a finding."""
        super().learn(finding, ordinal)
        self._settings.append(finding.world.settings)

    def first_finding(self, failure: Finding) -> int | None:
        """Compare a failure with the switches of each finding so far."""
        own = failure.world.settings.items()
        return 0 if self._settings and all(other.items() <= own for other in self._settings) else None


class ComparedWithoutTime(Failures):
    """It asks for the cures of known faults even if shrinking has had its share."""

    def _take_up(self, shrinking: Shrinking) -> None:
        """Count a failure of a known fault; else shrink it, or let it wait."""
        ordinal = self._known_faults.first_finding(shrinking.failure)
        if ordinal is None:
            super()._take_up(shrinking)
        else:
            self._count_duplicate(ordinal)
