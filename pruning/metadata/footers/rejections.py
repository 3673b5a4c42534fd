"""The statistics that footers state and that are not believed, each with the doubt that rejects it."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from pruning.metadata.footers.chunk_facts import ChunkFacts
from pruning.metadata.footers.evidence import Claim, evidence_of
from pruning.metadata.footers.frame_files import FrameFiles
from pruning.metadata.footers.thrift_lanes import ABSENT, Mask
from pruning.metadata.footers.trust import doubts


class Rejection(NamedTuple):
    """A doubt about a column of files that have one frame.

    Attributes:
        part: The files.
        column: The column's name in block metadata.
        doubt: The place of the doubt in `DOUBTS`.
        row_groups: True for the row groups of `part` that have rows and a statistic that it takes away.
    """

    part: FrameFiles
    column: str
    doubt: int
    row_groups: Mask


def rejections(parts: Iterable[FrameFiles]) -> Iterator[Rejection]:
    """Yield each doubt that takes away a statistic of some row group, by files, columns and doubts."""
    for part in parts:
        for column in part.frame.columns:
            facts = part.chunks.take(part.first_chunks + column.chunk)
            evidence = evidence_of(facts, part.row_counts, column.traits, part.frame.source)
            for place, (doubt, chunks) in enumerate(doubts(evidence)):
                rejected = chunks & (part.row_counts > 0) & _states(facts, doubt.takes)
                if rejected.any():
                    yield Rejection(part, column.name, place, rejected)


def _states(facts: ChunkFacts, claims: Claim) -> Mask:
    """Return the column chunks that have a statistic of the given kinds."""
    mask: Mask = np.zeros(len(facts.null_counts), np.bool_)
    if Claim.NULL_COUNT in claims:
        mask |= facts.null_counts != ABSENT
    if Claim.MIN in claims:
        mask |= facts.min_value.present | facts.deprecated_min.present
    if Claim.MAX in claims:
        mask |= facts.max_value.present | facts.deprecated_max.present
    return mask
