"""Twins of a Parquet file: what an engine skips is seen by what it answers from them.

- The *stripped* twin holds the same rows and nothing to prune by.
- The *forgetful* twin holds the same rows and some of the statistics.
- The *grafted* twin has the statistics of another file over its own rows, which `oracles.files.canaries`
  makes.
- The *trapped* twin has a row group that cannot be read: a query fails if and only if it reads it.

Shares   nothing of the rules; no statistic is computed or understood here, only carried.
Trusts   `oracles.files.footers`.
Removes  the engine's own word for what it skipped.
Leaves   statistics in page headers: they stay where they are.
"""

from collections.abc import Collection, Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from oracles.files.footers import (
    I32,
    I64,
    LIST,
    TRUE,
    InChunk,
    InElement,
    InFile,
    InGroup,
    InMeta,
    Malformed,
    Struct,
    chunks_of,
    decoded,
    inner,
    meta_of,
    name_of,
    number,
    path_of,
    read,
    structs,
    whole,
)

OF_META = (InMeta.STATISTICS, InMeta.SIZE_STATISTICS, InMeta.GEO_STATISTICS)
_BLOOM = (InMeta.BLOOM, InMeta.BLOOM_SIZE)
COLUMN_INDEX = (InChunk.COLUMN_INDEX, InChunk.COLUMN_INDEX_SIZE)
_OFFSET_INDEX = (InChunk.OFFSET_INDEX, InChunk.OFFSET_INDEX_SIZE)
# What says of a file how its statistics are to be understood, and whether they are believed.
_OF_FILE = (InFile.SCHEMA, InFile.KEYS, InFile.CREATED_BY, InFile.COLUMN_ORDERS)
# In ColumnIndex, OffsetIndex, PageLocation and BloomFilterHeader.
_NULL_PAGES, LOCATIONS, FIRST_ROW, _BLOOM_BYTES = 1, 1, 3, 1
# In Statistics: max and min as they were and as they are, whether these are exact; the count of NULLs.
KINDS = {"bounds": (1, 2, 5, 6, 7, 8), "null_count": (3,), "column_index": ()}
_FIXED = 7  # FIXED_LEN_BYTE_ARRAY


def stripped(path: Path, into: Path) -> Path:
    """Write the same rows without statistics, page indexes, bloom filters and a stated sort order.

    Page headers keep statistics if they hold any, encoding statistics stay, and so do all keys and values.

    Raises:
        ValueError: the file cannot be taken apart, or `into` is the file itself.
    """
    body, footer = read(path)
    for group in structs(footer, InFile.ROW_GROUPS):
        group.pop(InGroup.SORTING, None)
        for chunk in structs(group, InGroup.CHUNKS):
            _strip(chunk)
            drop(chunk, *_OFFSET_INDEX)
    return put(into, whole(body, footer), path)


def forgetful(
    path: Path, into: Path, kinds: Collection[str], *, row_groups: Collection[int] | None = None
) -> Path:
    """Write the same rows without some kinds of statistics, as some writers leave them out.

    Args:
        kinds: Of `bounds`, `null_count` and `column_index`; page indexes keep the places of the pages.
        row_groups: The ordinals of those that lose them; None is all.
    Raises:
        ValueError: there is no such kind, the file cannot be taken apart, or `into` is the file itself.
    """
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown:
        raise ValueError(f"no statistics are called {unknown[0]}; there are {', '.join(KINDS)}")
    body, footer = read(path)
    for ordinal, chunks in enumerate(chunks_of(footer)):
        if row_groups is None or ordinal in row_groups:
            for chunk in chunks:
                _forget(chunk, kinds)
    return put(into, whole(body, footer), path)


def _forget(chunk: Struct, kinds: Collection[str]) -> None:
    meta = meta_of(chunk)
    if InMeta.STATISTICS in meta:
        drop(inner(meta, InMeta.STATISTICS), *(field for kind in kinds for field in KINDS[kind]))
    if "column_index" in kinds:
        drop(chunk, *COLUMN_INDEX)


def grafted(onto: Path, statistics_of: Path, into: Path) -> Path:
    """Write the pages of one file under the statistics, column indexes and bloom filters of another.

    What tells how statistics are to be read comes with them: the schema's annotations, the writer's name, the
    column orders, the keys and values, and the stated sort order. Offset indexes remain those of `onto`.

    Raises:
        ValueError: the files differ in columns, row groups, rows, or in the rows of the pages of a column
            whose index is grafted; one cannot be taken apart; or `into` is one of them.
    """
    body, footer = read(onto)
    source, stated = read(statistics_of)
    return put(into, graft(body, footer, source, stated), onto, statistics_of)


def trapped(path: Path, row_group: int, into: Path) -> Path:
    """Write a copy in which each byte of one row group's pages is 0xFF.

    Raises:
        ValueError: there is no such row group, it has no bytes, or they are also those of something else.
    """
    body, footer = read(path)
    spans = [list(_spans(group, len(body))) for group in structs(footer, InFile.ROW_GROUPS)]
    if not 0 <= row_group < len(spans):
        raise ValueError(f"{path} has no row group {row_group}; it has {len(spans)}")
    if not any(end > start for start, end in spans[row_group]):
        raise ValueError(f"row group {row_group} of {path} has no bytes that could be a trap")
    if _overlap([span for group in spans for span in group]):
        raise ValueError(f"{path} has column chunks whose bytes overlap")
    changed = bytearray(body)
    for start, end in spans[row_group]:
        changed[start:end] = b"\xff" * (end - start)
    return put(into, whole(bytes(changed), footer), path)


def row_group_rows(path: Path) -> tuple[int, ...]:
    """How many rows each row group has, by the footer."""
    return tuple(number(group, InGroup.ROWS) for group in structs(read(path)[1], InFile.ROW_GROUPS))


def put(into: Path, data: bytes, *sources: Path) -> Path:
    """Write bytes where no source is."""
    for source in sources:
        if into.exists() and into.samefile(source):
            raise ValueError(f"the twin of {source} would take its place; name another file")
    into.write_bytes(data)
    return into


def drop(struct: Struct, *fields: int) -> None:
    """Remove fields, where they are."""
    for field in fields:
        struct.pop(field, None)


def _strip(chunk: Struct) -> None:
    """Remove a chunk's statistics, column index and bloom filter."""
    drop(meta_of(chunk), *OF_META, *_BLOOM)
    drop(chunk, *COLUMN_INDEX)


def graft(body: bytes, footer: Struct, source: bytes, stated: Struct) -> bytes:
    """The bytes of a file with the pages of one file and the statistics of another.

    Args:
        body: What precedes the footer of the file whose pages they are.
        footer: That footer; it is changed.
        source: What precedes the footer of the file whose statistics they are.
        stated: That footer.
    Raises:
        ValueError: as `grafted`.
    """
    _check_alike(footer, stated)
    out = bytearray(body)
    groups = (structs(file, InFile.ROW_GROUPS) for file in (footer, stated))
    for group, other in zip(*groups, strict=True):
        _carry(group, other, (InGroup.SORTING,))
    for chunks, others in zip(chunks_of(footer), chunks_of(stated), strict=True):
        for chunk, other in zip(chunks, others, strict=True):
            _strip(chunk)
            _carry(meta_of(chunk), meta_of(other), OF_META)
            _graft_column_index(out, body, chunk, source, other)
            _graft_bloom(out, meta_of(chunk), source, meta_of(other))
    _carry(footer, stated, _OF_FILE)
    return whole(bytes(out), footer)


def _carry(ours: Struct, theirs: Struct, fields: Sequence[int]) -> None:
    """Give one structure the fields of another, absent where they are."""
    for field in fields:
        ours.pop(field, None)
        if field in theirs:
            ours[field] = theirs[field]


def _graft_column_index(out: bytearray, body: bytes, chunk: Struct, source: bytes, other: Struct) -> None:
    """Put the other's column index behind what there is, if its pages begin at the same rows as ours."""
    if InChunk.COLUMN_INDEX not in other:
        return
    raw = _cut(source, number(other, InChunk.COLUMN_INDEX), number(other, InChunk.COLUMN_INDEX_SIZE))
    name, pages = name_of(other), first_rows(body, chunk)
    if pages is None or pages != first_rows(source, other):
        raise ValueError(f"the pages of {name} begin at other rows, so that its column index means nothing")
    _, (_, null_pages) = decoded(raw)[0].get(_NULL_PAGES, (LIST, (TRUE, [])))
    if len(null_pages) != len(pages):
        raise ValueError(f"the column index of {name} is of {len(null_pages)} pages, not {len(pages)}")
    chunk[InChunk.COLUMN_INDEX] = (I64, len(out))
    chunk[InChunk.COLUMN_INDEX_SIZE] = (I32, len(raw))
    out += raw


def _graft_bloom(out: bytearray, meta: Struct, source: bytes, other: Struct) -> None:
    """Put the other's bloom filter behind what there is."""
    if InMeta.BLOOM not in other:
        return
    start = number(other, InMeta.BLOOM)
    _cut(source, start, 0)
    header, end = decoded(source, start)
    raw = _cut(source, start, end - start + number(header, _BLOOM_BYTES))
    meta[InMeta.BLOOM] = (I64, len(out))
    if InMeta.BLOOM_SIZE in other:
        meta[InMeta.BLOOM_SIZE] = (I32, len(raw))
    out += raw


def _cut(data: bytes, start: int, size: int) -> bytes:
    if not 0 <= start <= start + size <= len(data):
        raise Malformed(f"{size} bytes at offset {start} lie outside the {len(data)} before the footer")
    return data[start : start + size]


def first_rows(data: bytes, chunk: Struct) -> list[int] | None:
    """The row that each page of a chunk begins with, by its offset index; None without one."""
    if InChunk.OFFSET_INDEX not in chunk:
        return None
    raw = _cut(data, number(chunk, InChunk.OFFSET_INDEX), number(chunk, InChunk.OFFSET_INDEX_SIZE))
    return [number(page, FIRST_ROW) for page in structs(decoded(raw)[0], LOCATIONS)]


def _check_alike(ours: Struct, theirs: Struct) -> None:
    """Raise where statistics of the one could not be about rows of the other."""
    if _shape(ours) != _shape(theirs):
        raise ValueError("the files differ in their columns")
    rows = [
        [number(group, InGroup.ROWS) for group in structs(file, InFile.ROW_GROUPS)] for file in (ours, theirs)
    ]
    if rows[0] != rows[1]:
        raise ValueError(f"the files differ in the rows of their row groups: {rows[0]} and {rows[1]}")
    paths = [[[path_of(chunk) for chunk in chunks] for chunks in chunks_of(file)] for file in (ours, theirs)]
    if paths[0] != paths[1]:
        raise ValueError("the files differ in the columns of their row groups")


def _shape(footer: Struct) -> list[tuple[Any, ...]]:
    """What each schema element but the root tells of how its values are stored."""
    elements = structs(footer, InFile.SCHEMA)[1:]
    return [(element.get(InElement.NAME), *stored(element)) for element in elements]


def stored(element: Struct) -> tuple[int, int, int, int]:
    """What a schema element tells of how its values are stored: type, length, repetition, children."""
    type_ = number(element, InElement.TYPE, -1)
    return (
        type_,
        number(element, InElement.LENGTH) if type_ == _FIXED else 0,
        number(element, InElement.REPETITION, -1),
        number(element, InElement.CHILDREN, 0),
    )


def _spans(group: Struct, limit: int) -> Iterator[tuple[int, int]]:
    """Where the pages of each chunk of a row group begin and end."""
    for chunk in structs(group, InGroup.CHUNKS):
        if InChunk.FILE_PATH in chunk:
            raise ValueError(f"the pages of {name_of(chunk)} lie in another file")
        meta = meta_of(chunk)
        start = first_page(meta)
        end = start + number(meta, InMeta.COMPRESSED)
        if not 0 <= start <= end <= limit:
            raise Malformed(
                f"the pages of {name_of(chunk)} cannot lie from {start} to {end} of {limit} bytes"
            )
        yield start, end


def first_page(meta: Struct) -> int:
    """Where a chunk begins; some writers state a dictionary at offset 0 where there is none."""
    data = number(meta, InMeta.DATA_PAGE)
    dictionary = number(meta, InMeta.DICTIONARY_PAGE, 0)
    return dictionary if 0 < dictionary < data else data


def _overlap(spans: Sequence[tuple[int, int]]) -> bool:
    """Whether bytes belong to two column chunks."""
    return any(end > start for (_, end), (start, _) in pairwise(sorted(spans)))
