"""Wrong rules of what a corpus keeps, and of the order in which it is asked."""

from collections.abc import Sequence

from skipproof.stand.hunt.corpus import KeptWorld
from skipproof.stand.hunt.novelty import Novelty
from strategies.engines.questions import Question


class BlindToDecisions(Novelty):
    """It takes no notice of what the engine decided."""

    def add(self, question: Question, effects: Sequence[str]) -> bool:
        """Judge the question as of an engine that tells nothing."""
        return super().add(question, effects[:1])


def as_kept(kept: Sequence[KeptWorld]) -> list[int]:
    """Return the ordinals of worlds in the order in which they were kept."""
    return list(range(len(kept)))


def most_features_of_all(kept: Sequence[KeptWorld]) -> list[int]:
    """Return the ordinals of worlds by the number of their features, although others have the same."""
    return sorted(range(len(kept)), key=lambda ordinal: -len(kept[ordinal].features))
