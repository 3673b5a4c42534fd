"""One part of a hunt: an engine, a class of questions, and some seeds."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What one item asks.

    Attributes:
        label: The engine, as items and the command line call it.
        area: The class of questions.
        ordinal: Of the item among those of its engine and class.
        examples: How many questions.
        seed: Of the first round.
        findings: Where a folder is made for each finding; None makes none.
    """

    label: str
    area: str
    ordinal: int
    examples: int
    seed: int
    findings: Path | None
