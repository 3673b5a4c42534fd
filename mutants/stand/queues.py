"""A queue of failures that a loud fault fills, and failures of which another fault is shown."""

from skipproof.stand.hunt.failures import Failures
from skipproof.stand.hunt.waiting import WAITING_MAX, Shrinking, Waiting


class AsTheyCome(Waiting):
    """It leaves out whatever comes once all places are taken."""

    def add(self, shrinking: Shrinking) -> bool:
        """Let a failure wait if a place is free."""
        return len(self) < WAITING_MAX and super().add(shrinking)


class ShrunkOnce(Failures):
    """Whatever a failure was shrunk to stands for it."""

    def _start_again(self, shrinking: Shrinking) -> None:
        """Leave it at that."""
