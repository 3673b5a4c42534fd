"""Groups of blocks in packs and their summaries, of many packs in one file ([M] 5.8).

A search asks the summaries of all groups of a table first. Each pack has those of its own groups, but to open
hundreds of packs takes longer than to ask. So the summaries of many packs are also written together, as a
pack in which each group stands as one block. Which files a group has is written with them, so what they
exclude is true whatever becomes of the packs; what they leave is read from the packs, and the rows tell
whether a pack still has the same groups.
"""

import contextlib
import os
import uuid
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from pruning.metadata.files.object_stores import files_at
from pruning.metadata.files.places import Place, access_of, list_place, write_shared
from pruning.metadata.store.contents import (
    PackedShard,
    block_pieces,
    count_blocks,
    packed_shards,
    table_in,
)
from pruning.metadata.store.log import FOLDER
from pruning.metadata.store.packs import Damaged, Pack, open_pack
from pruning.metadata.table.blocks import Shard
from pruning.metadata.table.structs import whole
from pruning.metadata.table.summaries import summarize

EXTENSION = ".summaries"
# The packs that are opened one by one; of more, the summaries are united.
_SINGLE_PACKS_MAX = 8
_GROUPS = "groups"
_FILE = "file"
_SCHEMA = pa.schema(
    [
        pa.field("pack", pa.int32(), nullable=False),
        pa.field("shard", pa.int32(), nullable=False),
        pa.field("group", pa.int32(), nullable=False),
        pa.field("blocks", pa.int64(), nullable=False),
        pa.field("rows", pa.list_(pa.field("item", pa.int32(), nullable=False)), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """Groups of files in packs, whose columns agree.

    Attributes:
        pack: The number of each group's pack; shape (groups,).
        shard: The number of the shard in the pack; shape (groups,).
        group: The number of the group in the shard; shape (groups,).
        blocks: The number of blocks; shape (groups,).
        sizes: The number of files; shape (groups,).
        rows: The rows of the files in their packs, those of one group after those of another; shape (files,).
        summaries: The block metadata of each group as one block; None if nobody has made it.
    """

    pack: np.ndarray
    shard: np.ndarray
    group: np.ndarray
    blocks: np.ndarray
    sizes: np.ndarray
    rows: np.ndarray
    summaries: pa.Table | None

    @property
    def starts(self) -> np.ndarray:
        """The start of the rows of each group; shape (groups,)."""
        starts: np.ndarray = np.cumsum(self.sizes) - self.sizes
        return starts

    def rows_of(self, place: int) -> np.ndarray:
        """Return the rows of the files of the group at a place."""
        start = int(self.starts[place])
        rows: np.ndarray = self.rows[start : start + int(self.sizes[place])]
        return rows


def groups_of_pack(pack: Pack, number: int, columns: Collection[str] | None) -> list[Groups]:
    """Return the groups of each shard of a pack of blocks.

    Args:
        pack: The pack.
        number: The number to give it.
        columns: The top-level columns of the summaries to read; None for all.
    Raises:
        Damaged: the pack is not as it was written.
    """
    return [
        _groups(packed, number, shard, packed.summaries(columns))
        for shard, packed in enumerate(packed_shards(pack))
    ]


def _groups(packed: PackedShard, number: int, shard: int, summaries: pa.Table | None) -> Groups:
    count = len(packed.groups)
    return Groups(
        pack=np.full(count, number),
        shard=np.full(count, shard),
        group=np.arange(count),
        blocks=np.array([group.blocks for group in packed.groups]),
        sizes=np.array([group.files for group in packed.groups]),
        rows=packed.rows,
        summaries=summaries,
    )


class UnitedSummaries:
    """The summaries of the groups of many packs.

    Attributes:
        blocks_of: The number of blocks of each pack, by its name.
    """

    def __init__(self, pack: Pack) -> None:
        """Describe an opened pack of summaries."""
        self._pack = pack
        self.blocks_of: dict[str, int] = dict(
            zip(pack.notes["packs"], pack.notes["blocks_of_packs"], strict=True)
        )

    def delete(self) -> None:
        """Delete the file, if that is permitted; the next search writes another one."""
        with contextlib.suppress(OSError):
            files_at(self._pack.path).delete(self._pack.path)

    def groups(self, columns: Collection[str] | None) -> list[Groups]:
        """Return the groups of all packs; a pack's number is its place in `blocks_of`.

        Args:
            columns: The top-level columns of the summaries to read; None for all.
        Raises:
            Damaged: the pack is not as it was written.
        """
        result = []
        for number, packed in enumerate(packed_shards(self._pack)):
            described = table_in(self._pack, f"{_GROUPS}.{number}")
            rows = whole(described["rows"])
            result.append(
                Groups(
                    **{name: described[name].to_numpy() for name in ("pack", "shard", "group", "blocks")},
                    sizes=rows.value_lengths().to_numpy(),
                    rows=rows.values.to_numpy(),
                    summaries=packed.blocks(range(len(packed.groups)), columns),
                )
            )
        return result


def united_summaries(place: Place, paths: Mapping[str, str], suffix: str) -> UnitedSummaries | None:
    """Return the united summaries of packs, which are written now if too many packs are not among them.

    Args:
        place: Where the packs are kept.
        paths: The files of the packs of which the summaries are needed, by the names of the packs.
        suffix: The end of the name of the file of summaries, except for its extension.
    Returns:
        The summaries of at least some of the packs, or of others too; None if there are none.
    """
    if len(paths) <= _SINGLE_PACKS_MAX:
        return None
    newest = _newest_summaries(place, suffix)
    others = paths if newest is None else paths.keys() - newest.blocks_of.keys()
    if len(others) <= _SINGLE_PACKS_MAX:
        return newest
    try:
        return UnitedSummaries(open_pack(_write_summaries(place, paths, newest, suffix)))
    except (Damaged, OSError):
        return newest


def _newest_summaries(place: Place, suffix: str) -> UnitedSummaries | None:
    for path in summary_files(place, suffix)[::-1]:
        with contextlib.suppress(Damaged):
            return UnitedSummaries(open_pack(path))
    return None


def summary_files(place: Place, suffix: str) -> list[str]:
    """Return the paths of the united summaries of a place, the newest last.

    Args:
        place: The place.
        suffix: The end of their names, except for the extension.
    """
    aged: list[tuple[float, str]] = []
    with contextlib.suppress(OSError):
        for name, read_status in list_place(place, FOLDER).items():
            if name.endswith(f"{suffix}{EXTENSION}"):
                with contextlib.suppress(OSError):
                    aged.append((-read_status().age_seconds, os.path.join(place.folder, FOLDER, name)))
    return [path for _, path in sorted(aged)]


def _write_summaries(
    place: Place, paths: Mapping[str, str], before: UnitedSummaries | None, suffix: str
) -> str:
    """Write the summaries of packs, of which some may be in the ones before; return the path.

    Raises:
        Damaged: the summaries before are not as they were written.
        OSError: the summaries cannot be written.
    """
    names = list(paths)
    parts: list[Groups] = []
    blocks = [0] * len(names)
    if before is not None:
        numbers = {name: number for number, name in enumerate(names)}
        places = np.array([numbers.get(name, -1) for name in before.blocks_of])
        parts += [renumber(part, places) for part in before.groups(None)]
        for name, count in before.blocks_of.items():
            if name in numbers:
                blocks[numbers[name]] = count
    mode = ~0
    for number, (name, path) in enumerate(paths.items()):
        mode &= access_of(place, path)
        if before is None or name not in before.blocks_of:
            pack = open_pack(path)
            blocks[number] = count_blocks(pack)
            parts += [
                _with_summaries(packed, part)
                for packed, part in zip(packed_shards(pack), groups_of_pack(pack, number, None), strict=True)
            ]
    classes = [
        unite_groups([parts[at] for at in alike]) for alike in alike_tables([p.summaries for p in parts])
    ]
    content = block_pieces(
        [_as_shard(part) for part in classes],
        {"packs": names, "blocks_of_packs": blocks},
        {f"{_GROUPS}.{number}": _table_of_groups(part) for number, part in enumerate(classes)},
        summarizes=False,
    )
    path = os.path.join(place.folder, FOLDER, f"{uuid.uuid4().hex}-{suffix}{EXTENSION}")
    write_shared(place, path, content, mode)
    return path


def _with_summaries(packed: PackedShard, groups: Groups) -> Groups:
    """Return groups with summaries, which a shard with a single group has not kept."""
    if groups.summaries is not None:
        return groups
    return replace(groups, summaries=summarize(packed.blocks([0], None), groups.blocks.tolist()))


def _as_shard(groups: Groups) -> Shard:
    assert groups.summaries is not None
    numbers = tuple(map(str, range(len(groups.pack))))
    return Shard(numbers, groups.summaries.set_column(0, _FILE, pa.array(numbers, pa.string())))


def _table_of_groups(groups: Groups) -> pa.Table:
    ends = np.concatenate([[0], np.cumsum(groups.sizes)]).astype(np.int32)
    rows = pa.ListArray.from_arrays(pa.array(ends), pa.array(groups.rows, pa.int32()))
    columns = [pa.array(getattr(groups, field.name), field.type) for field in _SCHEMA if field.name != "rows"]
    return pa.Table.from_arrays([*columns, rows.cast(_SCHEMA.field("rows").type)], schema=_SCHEMA)


def renumber(groups: Groups, numbers: np.ndarray) -> Groups:
    """Return the groups of some packs under other numbers.

    Args:
        groups: The groups.
        numbers: The new number of each pack, at the place of the old one; -1 for one to leave out.
    """
    new = numbers[groups.pack]
    keep = new >= 0
    if keep.all():
        return replace(groups, pack=new)
    return Groups(
        pack=new[keep],
        shard=groups.shard[keep],
        group=groups.group[keep],
        blocks=groups.blocks[keep],
        sizes=groups.sizes[keep],
        rows=groups.rows[np.repeat(keep, groups.sizes)],
        summaries=None if groups.summaries is None else groups.summaries.filter(pa.array(keep)),
    )


def unite_groups(parts: Sequence[Groups]) -> Groups:
    """Return groups whose summaries have the same columns as one."""
    lanes = ("pack", "shard", "group", "blocks", "sizes", "rows")
    return Groups(
        **{lane: np.concatenate([getattr(part, lane) for part in parts]) for lane in lanes},
        summaries=pa.concat_tables([part.summaries for part in parts]).combine_chunks(),
    )


def alike_tables(tables: Sequence[pa.Table]) -> list[list[int]]:
    """Return the places of tables in lists, each of those with the same schema."""
    places_by_schema: dict[str, list[int]] = {}
    for place, table in enumerate(tables):
        schema = table.schema
        places_by_schema.setdefault(f"{schema.remove_metadata()}{schema.metadata}", []).append(place)
    return list(places_by_schema.values())
