"""A queue that a loud fault fills, and failures that are taken for what they were shrunk to."""

from skipproof.stand.hunt.failures import Failures
from skipproof.stand.hunt.waiting import WAITING_MAX, Shrinking, Waiting


class AsTheyCome(Waiting):
    """It leaves out whatever comes once all places are taken."""

    def add(self, shrinking: Shrinking) -> bool:
        """Let a failure wait if a place is free."""
        return len(self) < WAITING_MAX and super().add(shrinking)


class ShrunkOnce(Failures):
    """A failure is not compared with the finding that it was shrunk to."""

    def _start_again(self, shrinking: Shrinking) -> None:
        """Leave it at that."""
