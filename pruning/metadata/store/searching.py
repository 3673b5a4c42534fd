"""Search of the kept block metadata of a large table for what a query may need ([M] 5.1, 5.8).

The metadata is not loaded whole. Summaries of groups of blocks are asked first, those of all packs at once;
then the blocks of the groups that are left. What comes back is the metadata of those files that may hold a
needed row. Blocks are read by threads, or by Spark's tasks if there are very many.
"""

import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from pruning.metadata.footers.thrift_lanes import Mask
from pruning.metadata.store.contents import PackedShard, packed_shards
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


class PackToSearch(NamedTuple):
    """A pack of blocks, and the names of those of its files that are asked for, by their rows as texts."""

    path: str
    names: Mapping[str, str]


class ExcludedFiles(NamedTuple):
    """Files of which no row is needed, and whose block metadata is not in memory.

    Attributes:
        files: Their names.
        blocks: The number of their blocks.
        summary: The block metadata of all of them as one larger block.
    """

    files: tuple[str, ...]
    blocks: int
    summary: pa.Table


@dataclass(frozen=True, slots=True)
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


class _Groups(NamedTuple):
    """Some groups of a shard.

    Attributes:
        pack: The pack that has the shard.
        shard: The number of the shard in the pack.
        groups: The numbers of the groups in the shard.
        blocks: The number of their blocks.
    """

    pack: PackToSearch
    shard: int
    groups: tuple[int, ...]
    blocks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Summaries:
    """The groups of a shard that have files that are asked for.

    Attributes:
        pack, shard: As for `_Groups`.
        packed: The opened shard.
        wanted: The numbers of those groups.
        whole: True for those all of whose files are asked for; shape (wanted,).
        table: The summaries of all groups of the shard, if it has any and some wanted group is whole.
    """

    pack: PackToSearch
    shard: int
    packed: PackedShard
    wanted: np.ndarray
    whole: Mask
    table: pa.Table | None


def search_packs(
    packs: Sequence[PackToSearch], columns: Collection[str] | None, question: Question, *, spark: Any = None
) -> SearchResult:
    """Search packs for the files that may hold a needed row.

    Args:
        packs: The packs.
        columns: The top-level columns to read; None for all.
        question: Marks the blocks that may hold a needed row.
        spark: A session whose tasks read the blocks if there are very many. They need this package, and the
            packs under the same paths; if a task fails, threads of this process read them.
    """
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        opened = list(pool.map(partial(_open_summaries, columns=columns), packs))
        summaries = [part for of_pack in opened if not isinstance(of_pack, str) for part in of_pack]
        result = SearchResult(
            damaged=[sentence for sentence in opened if isinstance(sentence, str)],
            groups_total=sum(len(part.wanted) for part in summaries),
        )
        groups = _groups_left(summaries, question, result.excluded)
        batches = list(_batches(groups))
        search = partial(_search_batch, columns=columns, question=question)
        if spark is not None and sum(part.blocks for part in groups) >= SPARK_BLOCKS_MIN:
            answers = _search_in_spark(batches, search, spark)
        else:
            answers = None
        return _unite([result, *(pool.map(search, batches) if answers is None else answers)])


def _search_in_spark(
    batches: Sequence[list[_Groups]], search: Callable[[list[_Groups]], SearchResult], spark: Any
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


def _open_summaries(pack: PackToSearch, *, columns: Collection[str] | None) -> list[_Summaries] | str:
    """Return the summaries of a pack's shards, or a sentence if it is damaged."""
    try:
        return [
            _summaries_of_shard(pack, number, packed, columns)
            for number, packed in enumerate(packed_shards(open_pack(pack.path)))
        ]
    except Damaged as damage:
        return str(damage)


def _summaries_of_shard(
    pack: PackToSearch, number: int, packed: PackedShard, columns: Collection[str] | None
) -> _Summaries:
    asked_for = np.array([file in pack.names for file in packed.files], bool)
    starts = [group.first_file for group in packed.groups]
    sizes = np.array([group.files for group in packed.groups])
    counts = np.add.reduceat(asked_for, starts, dtype=np.int64)
    wanted = np.flatnonzero(counts)
    # The summary of a group is about all of its files, so a group of which others are not asked for is read.
    whole: Mask = counts[wanted] == sizes[wanted]
    table = packed.summaries(columns) if whole.any() else None
    return _Summaries(pack=pack, shard=number, packed=packed, wanted=wanted, whole=whole, table=table)


def _groups_left(
    summaries: Sequence[_Summaries], question: Question, excluded: list[ExcludedFiles]
) -> list[_Groups]:
    """Return the groups whose blocks must be read; add the files of the others to `excluded`."""
    tables = [part.table for part in summaries if part.table is not None]
    answers = iter(_ask(tables, question))
    left = []
    for part in summaries:
        needed = np.ones(len(part.wanted), bool)
        if part.table is not None:
            needed = next(answers)[part.wanted] | ~part.whole
            excluded += _excluded_groups(part, part.wanted[~needed].tolist())
        places = tuple(part.wanted[needed].tolist())
        if places:
            blocks = sum(part.packed.groups[place].blocks for place in places)
            left.append(_Groups(part.pack, part.shard, places, blocks))
    return left


def _ask(tables: Sequence[pa.Table], question: Question) -> list[Mask]:
    """Return the answers for tables; those with the same columns are asked about at once."""
    answers: list[Mask] = [np.zeros(0, bool)] * len(tables)
    for places in _alike(tables):
        mask = question(pa.concat_tables([tables[place] for place in places]).combine_chunks())
        ends = accumulate(len(tables[place]) for place in places)
        for place, end in zip(places, ends, strict=True):
            answers[place] = mask[end - len(tables[place]) : end]
    return answers


def _excluded_groups(part: _Summaries, groups: Iterable[int]) -> Iterator[ExcludedFiles]:
    assert part.table is not None
    for place in groups:
        group = part.packed.groups[place]
        files = tuple(part.pack.names[file] for file in part.packed.files_of(group))
        yield ExcludedFiles(files, group.blocks, part.table.slice(place, 1))


def _batches(groups: Iterable[_Groups]) -> Iterator[list[_Groups]]:
    """Yield groups in lists of limited size."""
    batch: list[_Groups] = []
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
    batch: Sequence[_Groups], *, columns: Collection[str] | None, question: Question
) -> SearchResult:
    """Read the blocks of groups, and search them."""
    damaged: list[str] = []
    read: list[tuple[pa.Table, list[tuple[str, int]]]] = []
    for part in batch:
        try:
            packed = packed_shards(open_pack(part.pack.path))[part.shard]
            table = packed.blocks(part.groups, columns)
        except Damaged as damage:
            damaged.append(str(damage))
            continue
        files = packed.files_of_groups(part.groups)
        read.append((table, [(part.pack.names.get(file, ""), count) for file, count in files]))
    result = SearchResult(damaged=damaged, groups_read=sum(len(part.groups) for part in batch))
    searched = [
        search_blocks(
            [file for place in places for file in read[place][1]],
            pa.concat_tables([read[place][0] for place in places]).combine_chunks(),
            question,
        )
        for places in _alike([table for table, _ in read])
    ]
    return _unite([result, *searched])


def _alike(tables: Sequence[pa.Table]) -> list[list[int]]:
    """Return the places of tables in lists, each of those with the same schema."""
    places_by_schema: dict[str, list[int]] = {}
    for place, table in enumerate(tables):
        schema = table.schema
        places_by_schema.setdefault(f"{schema.remove_metadata()}{schema.metadata}", []).append(place)
    return list(places_by_schema.values())


def search_blocks(files: Sequence[tuple[str, int]], table: pa.Table, question: Question) -> SearchResult:
    """Divide files whose block metadata is in memory into those that may hold a needed row and the others.

    Args:
        files: The names of the files of the metadata with their numbers of blocks, in its order; of those
            that are not asked for, the name is empty.
        table: The metadata; its field of files is not read.
        question: Marks the blocks that may hold a needed row.
    """
    names = np.array([name for name, _ in files])
    counts = np.array([count for _, count in files])
    file_of_block = np.repeat(np.arange(len(files)), counts)
    # A file without blocks is left to the reader.
    needed = (np.bincount(file_of_block[question(table)], minlength=len(files)) > 0) | (counts == 0)
    kept, others = (names != "") & needed, (names != "") & ~needed
    result = SearchResult()
    if kept.any():
        blocks = kept[file_of_block]
        spelled = pa.array(names.tolist(), pa.string()).take(pa.array(file_of_block[blocks]))
        file = pa.field("file", pa.string(), nullable=False)
        renamed = table.filter(pa.array(blocks)).set_column(0, file, spelled)
        result.shards.append(Shard(tuple(names[kept].tolist()), renamed))
    if others.any():
        excluded = table.filter(pa.array(others[file_of_block]))
        summary = summarize(excluded, [len(excluded)])
        result.excluded.append(ExcludedFiles(tuple(names[others].tolist()), len(excluded), summary))
    return result


def _unite(parts: Sequence[SearchResult]) -> SearchResult:
    return SearchResult(
        [shard for part in parts for shard in part.shards],
        [excluded for part in parts for excluded in part.excluded],
        [sentence for part in parts for sentence in part.damaged],
        sum(part.groups_read for part in parts),
        sum(part.groups_total for part in parts),
    )
