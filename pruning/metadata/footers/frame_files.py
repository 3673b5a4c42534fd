"""The facts of the files that have one frame."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from pruning.metadata.footers.chunk_facts import ChunkFacts, chunk_facts
from pruning.metadata.footers.footer import Footer
from pruning.metadata.footers.frames import Frame, frame_of
from pruning.metadata.footers.thrift_lanes import Numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameFiles:
    """The facts of files that have one frame; the row groups of a file are adjacent, in their order.

    Attributes:
        group_counts: The number of row groups of each file.
        row_counts: The number of rows of each row group.
        first_chunks: The index in `chunks` of the first chunk of each row group; its others follow it.
        chunk_count: The number of chunks of each row group.
    """

    frame: Frame
    files: tuple[str, ...]
    group_counts: Numbers
    row_counts: Numbers
    first_chunks: Numbers
    chunk_count: int
    chunks: ChunkFacts


def facts_of_footers(footers: Iterable[tuple[str, Footer]]) -> list[FrameFiles]:
    """Return the facts of footers that were read one by one, each given with its file."""
    alike: dict[tuple[Frame, int], list[tuple[str, Footer]]] = {}
    for file, footer in footers:
        chunk_count = len(footer.row_groups[0].chunks) if footer.row_groups else 0
        alike.setdefault((frame_of(footer), chunk_count), []).append((file, footer))
    return [_facts_of_members(frame, chunk_count, members) for (frame, chunk_count), members in alike.items()]


def _facts_of_members(frame: Frame, chunk_count: int, members: Sequence[tuple[str, Footer]]) -> FrameFiles:
    groups = [group for _, footer in members for group in footer.row_groups]
    return FrameFiles(
        frame=frame,
        files=tuple(file for file, _ in members),
        group_counts=np.array([len(footer.row_groups) for _, footer in members], np.int64),
        row_counts=np.array([group.row_count for group in groups], np.int64),
        first_chunks=np.arange(len(groups)) * chunk_count,
        chunk_count=chunk_count,
        chunks=chunk_facts([chunk for group in groups for chunk in group.chunks]),
    )
