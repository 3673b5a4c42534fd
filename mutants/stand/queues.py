"""A queue of failures that a loud fault fills."""

from skipproof.stand.hunt.waiting import WAITING_MAX, Shrinking, Waiting


class AsTheyCome(Waiting):
    """It leaves out whatever comes once all places are taken."""

    def add(self, shrinking: Shrinking) -> bool:
        """Let a failure wait if a place is free."""
        return len(self) < WAITING_MAX and super().add(shrinking)
