"""Summaries of the groups of many packs that say something of other groups."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from mutants.replacements import Replacement
from pruning.metadata.store import contents, group_summaries, packs, searching

_as_shard, _renumber = group_summaries._as_shard, group_summaries.renumber


def _in_reverse(groups: Any) -> Any:
    return _as_shard(replace(groups, summaries=groups.summaries.take(np.arange(len(groups.pack))[::-1])))


def _under_old_numbers(groups: Any, numbers: np.ndarray) -> Any:
    return replace(_renumber(groups, numbers), pack=groups.pack[numbers[groups.pack] >= 0])


def _read_unchecked(part: Any, columns: Any) -> Any:
    packed = contents.packed_shards(packs.open_pack(part.pack.path))[part.shard]
    _, blocks = packed.files_of_groups(part.groups)
    return packed.blocks(part.groups, columns), searching.FilesOfPack(part.pack, part.rows, blocks)


MUTANTS: Mapping[str, Replacement] = {
    "summaries in reverse": Replacement(group_summaries, "_as_shard", _in_reverse),
    "packs keep their old numbers": Replacement(searching, "renumber", _under_old_numbers),
    "groups of a pack that was written again are read unchecked": Replacement(
        searching, "_read_groups", _read_unchecked
    ),
}
