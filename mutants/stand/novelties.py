"""Wrong rules of what a corpus keeps."""

from dataclasses import replace

from skipproof.stand.hunt.examining import QuestionResult
from skipproof.stand.hunt.novelty import Novelty


class BlindToDecisions(Novelty):
    """It takes no notice of what the engine decided."""

    def is_new(self, outcome: QuestionResult) -> bool:
        """Judge the question as of an engine that tells nothing."""
        return super().is_new(replace(outcome, features=()))
