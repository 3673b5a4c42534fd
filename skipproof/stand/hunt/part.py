"""One part of a hunt: an engine, a class of questions, and some seeds."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The part of a hunt that one test item runs.

    Attributes:
        label: The name of the engine in items and on the command line.
        area: The class of questions.
        ordinal: The number of the item among those of its engine and class.
        examples: The number of questions.
        seed: The seed of the hunt; two hunts have no round in common.
        findings: The directory in which a folder is made for each finding, or None.
    """

    label: str
    area: str
    ordinal: int
    examples: int
    seed: int
    findings: Path | None
