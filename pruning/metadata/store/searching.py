"""Search of the kept block metadata of a large table for what a query may need ([M] 5.1, 5.8).

The metadata is not loaded whole. Summaries of groups of blocks are asked first, those of all packs at once;
then the blocks of the groups that are left. What comes back is the metadata of those files that may hold a
needed row. Blocks are read by threads, or by Spark's tasks if there are very many.
"""

import logging
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias, overload

import numpy as np
import pyarrow as pa

from pruning.errors import DamagedMetadataWarning
from pruning.metadata.footers.thrift_lanes import Mask
from pruning.metadata.store.contents import PackedShard, packed_shards
from pruning.metadata.store.group_summaries import (
    Groups,
    UnitedSummaries,
    alike_tables,
    groups_of_pack,
    renumber,
)
from pruning.metadata.store.packs import Damaged, open_pack
from pruning.metadata.table.blocks import Shard
from pruning.metadata.table.summaries import summarize

# So many blocks are classified together: enough that starting costs little, few enough for the memory.
_BATCH_BLOCKS = 65_536
# With more blocks than this to read, Spark's tasks read them.
SPARK_BLOCKS_MIN = 20_000_000

_log = logging.getLogger(__name__)

# Marks the blocks of block metadata that may hold a needed row; shape (blocks,). It can be pickled.
Question: TypeAlias = Callable[[pa.Table], Mask]


@dataclass(frozen=True, slots=True, eq=False)
class PackToSearch:
    """A pack of blocks, and those of its files that are asked for.

    Attributes:
        path: The pack's path.
        rows: The rows of these files in the pack.
        names_of: Returns the names of files by their rows; of one that is not asked for, "".
    """

    path: str
    rows: np.ndarray
    names_of: Callable[[Sequence[int]], Sequence[str]]


@dataclass(frozen=True, slots=True, eq=False)
class PacksToSearch:
    """The packs with the block metadata of a table.

    Attributes:
        packs: The packs.
        summaries: The united summaries of some of them, each with the places of its packs in `packs`, -1 for
            one that is not there; shape (packs of the summaries,).
    """

    packs: list[PackToSearch]
    summaries: list[tuple[UnitedSummaries, np.ndarray]] = field(default_factory=list)


class ExcludedFiles(NamedTuple):
    """Files of which no row is needed, and whose block metadata is not in memory.

    Attributes:
        files: Their names.
        blocks: The number of their blocks.
        summary: The block metadata of all of them as one larger block.
    """

    files: Sequence[str]
    blocks: int
    summary: pa.Table


@dataclass(slots=True)
class SearchResult:
    """The result of a search.

    Attributes:
        shards: The block metadata of the files that may hold a needed row.
        excluded: The other files.
        damaged: A sentence about each pack that could not be read; its files may be missing.
        groups_read: The number of groups whose blocks were read.
        groups_total: The number of groups that have some of the files.
    """

    shards: list[Shard] = field(default_factory=list)
    excluded: list[ExcludedFiles] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    groups_read: int = 0
    groups_total: int = 0


class _GroupsToRead(NamedTuple):
    """Some groups of a shard.

    Attributes:
        pack: The pack that has the shard.
        shard: The number of the shard in the pack.
        groups: The numbers of the groups in the shard.
        rows: The rows of their files; shape (files,).
        blocks: The number of their blocks.
    """

    pack: PackToSearch
    shard: int
    groups: tuple[int, ...]
    rows: np.ndarray
    blocks: int


class FilesOfPack(NamedTuple):
    """Files whose block metadata is in memory.

    Attributes:
        pack: The pack that they are in.
        rows: Their rows; shape (files,).
        blocks: Their numbers of blocks; shape (files,).
    """

    pack: PackToSearch
    rows: np.ndarray
    blocks: np.ndarray


@dataclass(frozen=True, slots=True)
class _Names(Sequence[str]):
    """The names of files of packs, which are spelled when they are read."""

    parts: Sequence[tuple[PackToSearch, np.ndarray]]

    def __len__(self) -> int:
        return sum(len(rows) for _, rows in self.parts)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[str]: ...

    def __getitem__(self, place: int | slice) -> str | Sequence[str]:
        return list(self)[place]

    def __iter__(self) -> Iterator[str]:
        for pack, rows in self.parts:
            yield from pack.names_of(rows.tolist())


def search_packs(
    table: PacksToSearch, columns: Collection[str] | None, question: Question, *, spark: Any = None
) -> SearchResult:
    """Search packs for the files that may hold a needed row.

    Args:
        table: The packs.
        columns: The top-level columns to read; None for all.
        question: Marks the blocks that may hold a needed row.
        spark: A session whose tasks read the blocks if there are very many. They need this package, and the
            packs under the same paths; if a task fails, threads of this process read them.
    """
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        result = SearchResult()
        groups = _groups_to_read(_open_groups(table, columns, pool, result), table.packs, question, result)
        batches = list(_batches(groups))
        search = partial(_search_batch, columns=columns, question=question)
        if spark is not None and sum(part.blocks for part in groups) >= SPARK_BLOCKS_MIN:
            answers = _search_in_spark(batches, search, spark)
        else:
            answers = None
        return _unite([result, *(pool.map(search, batches) if answers is None else answers)])


def _search_in_spark(
    batches: Sequence[list[_GroupsToRead]], search: Callable[[list[_GroupsToRead]], SearchResult], spark: Any
) -> list[SearchResult] | None:
    """Search in Spark's tasks; return None if that fails, whatever the reason."""
    try:
        answers: list[SearchResult] = (
            spark.sparkContext.parallelize(batches, len(batches)).map(search).collect()
        )
    # Whatever stops the job, the packs can still be searched here; damage is met again then.
    except Exception as error:
        _log.warning("searching by Spark failed (%s); searching in threads", type(error).__name__)
        return None
    return answers


def _open_groups(
    table: PacksToSearch, columns: Collection[str] | None, pool: ThreadPoolExecutor, result: SearchResult
) -> list[Groups]:
    """Return the groups of all packs with their summaries; add to the result what is damaged."""
    groups: list[Groups] = []
    single = np.ones(len(table.packs), bool)
    for united, places in table.summaries:
        try:
            groups += [renumber(part, places) for part in united.groups(columns)]
        except Damaged as damage:
            warnings.warn(f"{damage}; it is made again", DamagedMetadataWarning, stacklevel=2)
            united.delete()
            continue
        single[places[places >= 0]] = False

    def open_groups(number: int) -> list[Groups] | str:
        try:
            return groups_of_pack(open_pack(table.packs[number].path), number, columns)
        except Damaged as damage:
            return str(damage)

    for opened in pool.map(open_groups, np.flatnonzero(single).tolist()):
        if isinstance(opened, str):
            result.damaged.append(opened)
        else:
            groups += opened
    return groups


def _groups_to_read(
    parts: Sequence[Groups], packs: Sequence[PackToSearch], question: Question, result: SearchResult
) -> list[_GroupsToRead]:
    """Return the groups whose blocks must be read; add the files of the others to the result as excluded."""
    answers = iter(_ask([part.summaries for part in parts if part.summaries is not None], question))
    left: dict[tuple[int, int], list[tuple[Groups, int]]] = {}
    for part in parts:
        counts = np.add.reduceat(_asked_for(part, packs), part.starts, dtype=np.int64)
        # The summary of a group is about all of its files, so a group of which others are not asked for is
        # read.
        needed = counts < part.sizes
        if part.summaries is not None:
            needed |= next(answers)
        else:
            needed[:] = True
        result.groups_total += int((counts > 0).sum())
        for place in np.flatnonzero(counts > 0).tolist():
            if needed[place]:
                left.setdefault((int(part.pack[place]), int(part.shard[place])), []).append((part, place))
            else:
                files = _Names([(packs[part.pack[place]], part.rows_of(place))])
                assert part.summaries is not None
                summary = part.summaries.slice(place, 1)
                result.excluded.append(ExcludedFiles(files, int(part.blocks[place]), summary))
    return [_to_read(packs[pack], shard, groups) for (pack, shard), groups in left.items()]


def _asked_for(groups: Groups, packs: Sequence[PackToSearch]) -> Mask:
    """Return the marks of the files that are asked for; shape (files,)."""
    pack_of_file = np.repeat(groups.pack, groups.sizes)
    # Each row of each pack has a place in one array of marks.
    lengths = np.array([int(pack.rows.max(initial=-1)) + 1 for pack in packs])
    if len(groups.pack):
        np.maximum.at(lengths, groups.pack, np.maximum.reduceat(groups.rows, groups.starts) + 1)
    starts = np.cumsum(lengths) - lengths
    marks = np.zeros(int(lengths.sum()), bool)
    for pack, start in zip(packs, starts.tolist(), strict=True):
        marks[start + pack.rows] = True
    asked_for: Mask = marks[starts[pack_of_file] + groups.rows]
    return asked_for


def _to_read(pack: PackToSearch, shard: int, groups: Sequence[tuple[Groups, int]]) -> _GroupsToRead:
    return _GroupsToRead(
        pack=pack,
        shard=shard,
        groups=tuple(int(part.group[place]) for part, place in groups),
        rows=np.concatenate([part.rows_of(place) for part, place in groups]),
        blocks=sum(int(part.blocks[place]) for part, place in groups),
    )


def _ask(tables: Sequence[pa.Table], question: Question) -> list[Mask]:
    """Return the answers for tables; those with the same columns are asked about at once."""
    answers: list[Mask] = [np.zeros(0, bool)] * len(tables)
    for places in alike_tables(tables):
        mask = question(pa.concat_tables([tables[place] for place in places]).combine_chunks())
        ends = accumulate(len(tables[place]) for place in places)
        for place, end in zip(places, ends, strict=True):
            answers[place] = mask[end - len(tables[place]) : end]
    return answers


def _batches(groups: Iterable[_GroupsToRead]) -> Iterator[list[_GroupsToRead]]:
    """Yield groups in lists of limited size."""
    batch: list[_GroupsToRead] = []
    blocks = 0
    for part in groups:
        batch.append(part)
        blocks += part.blocks
        if blocks >= _BATCH_BLOCKS:
            yield batch
            batch, blocks = [], 0
    if batch:
        yield batch


def _search_batch(
    batch: Sequence[_GroupsToRead], *, columns: Collection[str] | None, question: Question
) -> SearchResult:
    """Read the blocks of groups, and search them."""
    damaged: list[str] = []
    read: list[tuple[pa.Table, FilesOfPack]] = []
    for part in batch:
        try:
            read.append(_read_groups(part, columns))
        except Damaged as damage:
            damaged.append(str(damage))
    result = SearchResult(damaged=damaged, groups_read=sum(len(part.groups) for part in batch))
    searched = [
        search_blocks(
            [read[place][1] for place in places],
            pa.concat_tables([read[place][0] for place in places]).combine_chunks(),
            question,
        )
        for places in alike_tables([table for table, _ in read])
    ]
    return _unite([result, *searched])


def _read_groups(part: _GroupsToRead, columns: Collection[str] | None) -> tuple[pa.Table, FilesOfPack]:
    """Return the blocks of groups, and their files.

    Raises:
        Damaged: the pack is not as it was written, or has other groups now.
    """
    shards = packed_shards(open_pack(part.pack.path))
    if _has_groups(shards, part):
        packed = shards[part.shard]
        rows, blocks = packed.files_of_groups(part.groups)
        if np.array_equal(rows, part.rows):
            return packed.blocks(part.groups, columns), FilesOfPack(part.pack, rows, blocks)
    raise Damaged(f"{part.pack.path}: was written again with other groups")


def _has_groups(shards: Sequence[PackedShard], part: _GroupsToRead) -> bool:
    return part.shard < len(shards) and max(part.groups) < len(shards[part.shard].groups)


def search_blocks(files: Sequence[FilesOfPack], table: pa.Table, question: Question) -> SearchResult:
    """Divide files whose block metadata is in memory into those that may hold a needed row and the others.

    Args:
        files: The files of the metadata, in its order; those that nobody asks for are in neither part.
        table: The metadata; its field of files is not read.
        question: Marks the blocks that may hold a needed row.
    """
    counts = np.concatenate([part.blocks for part in files])
    asked_for = np.concatenate([np.isin(part.rows, part.pack.rows) for part in files])
    file_of_block = np.repeat(np.arange(len(counts)), counts)
    # A file without blocks is left to the reader.
    needed = (np.bincount(file_of_block[question(table)], minlength=len(counts)) > 0) | (counts == 0)
    kept, others = asked_for & needed, asked_for & ~needed
    result = SearchResult()
    if kept.any():
        names = tuple(_names_of_chosen(files, kept))
        blocks = kept[file_of_block]
        place = (np.cumsum(kept) - 1)[file_of_block[blocks]]
        file = pa.field("file", pa.string(), nullable=False)
        spelled = pa.array(names, pa.string()).take(pa.array(place))
        result.shards.append(Shard(names, table.filter(pa.array(blocks)).set_column(0, file, spelled)))
    if others.any():
        excluded = table.filter(pa.array(others[file_of_block]))
        summary = summarize(excluded, [len(excluded)])
        result.excluded.append(ExcludedFiles(_names_of_chosen(files, others), len(excluded), summary))
    return result


def _names_of_chosen(files: Sequence[FilesOfPack], mask: Mask) -> _Names:
    """Return the names of the files that a mask of all of them chooses."""
    parts = np.split(mask, np.cumsum([len(part.rows) for part in files])[:-1])
    return _Names([(part.pack, part.rows[chosen]) for part, chosen in zip(files, parts, strict=True)])


def _unite(parts: Sequence[SearchResult]) -> SearchResult:
    return SearchResult(
        [shard for part in parts for shard in part.shards],
        [excluded for part in parts for excluded in part.excluded],
        [sentence for part in parts for sentence in part.damaged],
        sum(part.groups_read for part in parts),
        sum(part.groups_total for part in parts),
    )
