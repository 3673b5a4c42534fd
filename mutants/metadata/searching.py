"""Searches of kept metadata that leave out files with needed blocks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from mutants.replacements import Replacement
from pruning.metadata.store import searching

_ask, _batches = searching._ask, searching._batches
_search_blocks = searching.search_blocks


def _asked_in_reverse(tables: Sequence[pa.Table], question: searching.Question) -> list[Any]:
    return [answer[::-1] for answer in _ask(tables, question)]


def _without_last_batch(groups: Iterable[Any]) -> Iterator[list[Any]]:
    return iter(list(_batches(groups))[:-1])


def _all_whole(groups: Any, packs: Sequence[searching.PackToSearch]) -> Any:
    return np.ones(len(groups.rows), bool)


def _by_first_blocks(
    files: Sequence[searching.FilesOfPack], table: pa.Table, question: searching.Question
) -> searching.SearchResult:
    counts = np.concatenate([part.blocks for part in files])
    firsts = np.cumsum(counts) - counts

    def first_only(metadata: pa.Table) -> np.ndarray:
        marks = np.zeros(len(metadata), bool)
        starts = firsts[counts > 0]
        marks[starts] = question(metadata)[starts]
        return marks

    return _search_blocks(files, table, first_only)


MUTANTS: Mapping[str, Replacement] = {
    "answers in reverse": Replacement(searching, "_ask", _asked_in_reverse),
    "the last batch is left out": Replacement(searching, "_batches", _without_last_batch),
    "groups that are asked for in part count as whole": Replacement(searching, "_asked_for", _all_whole),
    "the first block decides on a file": Replacement(searching, "search_blocks", _by_first_blocks),
}
