"""Counterfactual files: changed copies of a Parquet file whose answers show what an engine skips.

- A *stripped* file holds the same rows and nothing to prune by.
- A *forgetful* file holds the same rows and only some of the statistics.
- A *grafted* file holds its own rows under the statistics of another file, which `oracles.files.canaries`
  writes.
- A *trapped* file has a row group that cannot be read: a query fails if and only if it reads it.

Shares   nothing of the rules; no statistic is computed or understood here, only carried.
Trusts   `oracles.files.footers`.
Removes  the engine's own report of what it skipped.
Leaves   statistics in page headers, which stay as they are.
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
    decode_struct,
    inner_struct,
    int_field,
    join_file,
    meta_of,
    name_of,
    path_of,
    read_footer,
    struct_list,
)

OF_META = (InMeta.STATISTICS, InMeta.SIZE_STATISTICS, InMeta.GEO_STATISTICS)
_BLOOM = (InMeta.BLOOM, InMeta.BLOOM_SIZE)
COLUMN_INDEX = (InChunk.COLUMN_INDEX, InChunk.COLUMN_INDEX_SIZE)
_OFFSET_INDEX = (InChunk.OFFSET_INDEX, InChunk.OFFSET_INDEX_SIZE)
# The fields of a file that tell how its statistics are to be read, and whether they are trusted.
_OF_FILE = (InFile.SCHEMA, InFile.KEYS, InFile.CREATED_BY, InFile.COLUMN_ORDERS)
# Field numbers in ColumnIndex, OffsetIndex, PageLocation and BloomFilterHeader.
_NULL_PAGES, LOCATIONS, FIRST_ROW, _BLOOM_BYTES = 1, 1, 3, 1
# Field numbers in Statistics: max and min in the old and the new form, whether they are exact; the NULL
# count.
KINDS = {"bounds": (1, 2, 5, 6, 7, 8), "null_count": (3,), "column_index": ()}
_FIXED = 7  # FIXED_LEN_BYTE_ARRAY


def write_stripped(path: Path, into: Path) -> Path:
    """Write a copy without statistics, page indexes, bloom filters and the stated sort order.

    Statistics in page headers, encoding statistics, and keys and values stay.

    Raises:
        ValueError: The file cannot be parsed, or `into` is the file itself.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> folder = Path(tempfile.mkdtemp())
    >>> plain = folder / "plain.parquet"
    >>> pq.write_table(pa.table({"a": range(6)}), plain, row_group_size=3)
    >>> stripped = write_stripped(plain, folder / "stripped.parquet")
    >>> pq.read_table(stripped)["a"].to_pylist()
    [0, 1, 2, 3, 4, 5]
    >>> pq.ParquetFile(stripped).metadata.row_group(0).column(0).statistics is None
    True
    """
    body, footer = read_footer(path)
    for group in struct_list(footer, InFile.ROW_GROUPS):
        group.pop(InGroup.SORTING, None)
        for chunk in struct_list(group, InGroup.CHUNKS):
            _strip(chunk)
            drop_fields(chunk, *_OFFSET_INDEX)
    return write_apart(into, join_file(body, footer), path)


def write_forgetful(
    path: Path, into: Path, kinds: Collection[str], *, row_groups: Collection[int] | None = None
) -> Path:
    """Write a copy without some kinds of statistics, which some writers leave out.

    Args:
        kinds: Of `bounds`, `null_count` and `column_index`; offset indexes stay.
            row_groups: The ordinals of the row groups that lose them; None is all.
        Raises:
            ValueError: There is no such kind, the file cannot be parsed, or `into` is the file itself.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> folder = Path(tempfile.mkdtemp())
    >>> plain = folder / "plain.parquet"
    >>> pq.write_table(pa.table({"a": range(6)}), plain, row_group_size=3)
    >>> forgetful = write_forgetful(plain, folder / "forgetful.parquet", ["null_count"])
    >>> statistics = pq.ParquetFile(forgetful).metadata.row_group(0).column(0).statistics
    >>> statistics.min, statistics.max, statistics.has_null_count
    (0, 2, False)
    """
    unknown = sorted(set(kinds) - set(KINDS))
    if unknown:
        raise ValueError(f"no statistics are called {unknown[0]}; there are {', '.join(KINDS)}")
    body, footer = read_footer(path)
    for ordinal, chunks in enumerate(chunks_of(footer)):
        if row_groups is None or ordinal in row_groups:
            for chunk in chunks:
                _forget(chunk, kinds)
    return write_apart(into, join_file(body, footer), path)


def _forget(chunk: Struct, kinds: Collection[str]) -> None:
    meta = meta_of(chunk)
    if InMeta.STATISTICS in meta:
        drop_fields(
            inner_struct(meta, InMeta.STATISTICS), *(field for kind in kinds for field in KINDS[kind])
        )
    if "column_index" in kinds:
        drop_fields(chunk, *COLUMN_INDEX)


def write_grafted(onto: Path, statistics_of: Path, into: Path) -> Path:
    """Write the pages of one file under the statistics, column indexes and bloom filters of another.

    The facts that tell how statistics are to be read are copied with them: the schema's annotations, the
    writer's name, the column orders, keys and values, and the stated sort order. Offset indexes stay.

    Raises: ValueError: The files differ in columns, row groups or rows, or in the pages of a column whose
        index is copied; one cannot be parsed; or `into` is one of them.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> folder = Path(tempfile.mkdtemp())
    >>> plain = folder / "plain.parquet"
    >>> pq.write_table(pa.table({"a": range(6)}), plain, row_group_size=3)
    >>> other = folder / "other.parquet"
    >>> pq.write_table(pa.table({"a": range(100, 106)}), other, row_group_size=3)
    >>> grafted = write_grafted(plain, other, folder / "grafted.parquet")
    >>> pq.read_table(grafted)["a"].to_pylist()
    [0, 1, 2, 3, 4, 5]
    >>> pq.read_table(grafted, filters=[("a", "<", 10)]).num_rows  # all are skipped by the other's statistics
    0
    """
    body, footer = read_footer(onto)
    source, stated = read_footer(statistics_of)
    return write_apart(into, graft(body, footer, source, stated), onto, statistics_of)


def write_trapped(path: Path, row_group: int, into: Path) -> Path:
    """Write a copy in which every byte of one row group's pages is 0xFF.

    Raises:
        ValueError: There is no such row group, it has no bytes, or its bytes also belong to others.

    >>> import tempfile
    >>> from pathlib import Path
    >>> import pyarrow as pa, pyarrow.parquet as pq
    >>> folder = Path(tempfile.mkdtemp())
    >>> plain = folder / "plain.parquet"
    >>> pq.write_table(pa.table({"a": range(6)}), plain, row_group_size=3)
    >>> trapped = pq.ParquetFile(write_trapped(plain, 1, folder / "trapped.parquet"))
    >>> trapped.read_row_group(0)["a"].to_pylist()
    [0, 1, 2]
    >>> try:
    ...     trapped.read_row_group(1)
    ... except OSError:
    ...     print("cannot be read")
    cannot be read
    """
    body, footer = read_footer(path)
    spans = [list(_page_spans(group, len(body))) for group in struct_list(footer, InFile.ROW_GROUPS)]
    if not 0 <= row_group < len(spans):
        raise ValueError(f"{path} has no row group {row_group}; it has {len(spans)}")
    if not any(end > start for start, end in spans[row_group]):
        raise ValueError(f"row group {row_group} of {path} has no bytes that could be a trap")
    if _has_overlap([span for group in spans for span in group]):
        raise ValueError(f"{path} has column chunks whose bytes overlap")
    changed = bytearray(body)
    for start, end in spans[row_group]:
        changed[start:end] = b"\xff" * (end - start)
    return write_apart(into, join_file(bytes(changed), footer), path)


def row_group_rows(path: Path) -> tuple[int, ...]:
    """Return the number of rows of each row group, from the footer."""
    return tuple(
        int_field(group, InGroup.ROWS) for group in struct_list(read_footer(path)[1], InFile.ROW_GROUPS)
    )


def write_apart(into: Path, data: bytes, *sources: Path) -> Path:
    """Write bytes to a path, which must not be one of the sources."""
    for source in sources:
        if into.exists() and into.samefile(source):
            raise ValueError(f"the counterfactual file of {source} would take its place; name another file")
    into.write_bytes(data)
    return into


def drop_fields(struct: Struct, *fields: int) -> None:
    """Remove the fields that are present."""
    for field in fields:
        struct.pop(field, None)


def _strip(chunk: Struct) -> None:
    """Remove a chunk's statistics, column index and bloom filter."""
    drop_fields(meta_of(chunk), *OF_META, *_BLOOM)
    drop_fields(chunk, *COLUMN_INDEX)


def graft(body: bytes, footer: Struct, source: bytes, stated: Struct) -> bytes:
    """Return a file with the pages of one file and the statistics of another.

    Args:
        body: The bytes before the footer of the file with the pages.
            footer: That footer, which is changed.
            source: The bytes before the footer of the file with the statistics.
            stated: That footer.
        Raises:
            ValueError: As in `write_grafted`.
    """
    _check_same_layout(footer, stated)
    out = bytearray(body)
    groups = (struct_list(file, InFile.ROW_GROUPS) for file in (footer, stated))
    for group, other in zip(*groups, strict=True):
        _copy_fields(group, other, (InGroup.SORTING,))
    for chunks, others in zip(chunks_of(footer), chunks_of(stated), strict=True):
        for chunk, other in zip(chunks, others, strict=True):
            _strip(chunk)
            _copy_fields(meta_of(chunk), meta_of(other), OF_META)
            _graft_column_index(out, body, chunk, source, other)
            _graft_bloom(out, meta_of(chunk), source, meta_of(other))
    _copy_fields(footer, stated, _OF_FILE)
    return join_file(bytes(out), footer)


def _copy_fields(ours: Struct, theirs: Struct, fields: Sequence[int]) -> None:
    """Replace fields of one structure by those of another; a field absent there is removed."""
    for field in fields:
        ours.pop(field, None)
        if field in theirs:
            ours[field] = theirs[field]


def _graft_column_index(out: bytearray, body: bytes, chunk: Struct, source: bytes, other: Struct) -> None:
    """Append the other file's column index, if its pages begin at the same rows as ours."""
    if InChunk.COLUMN_INDEX not in other:
        return
    raw = _slice(source, int_field(other, InChunk.COLUMN_INDEX), int_field(other, InChunk.COLUMN_INDEX_SIZE))
    name, pages = name_of(other), first_rows(body, chunk)
    if pages is None or pages != first_rows(source, other):
        raise ValueError(f"the pages of {name} begin at other rows, so that its column index means nothing")
    _, (_, null_pages) = decode_struct(raw)[0].get(_NULL_PAGES, (LIST, (TRUE, [])))
    if len(null_pages) != len(pages):
        raise ValueError(f"the column index of {name} is of {len(null_pages)} pages, not {len(pages)}")
    chunk[InChunk.COLUMN_INDEX] = (I64, len(out))
    chunk[InChunk.COLUMN_INDEX_SIZE] = (I32, len(raw))
    out += raw


def _graft_bloom(out: bytearray, meta: Struct, source: bytes, other: Struct) -> None:
    """Append the other file's bloom filter."""
    if InMeta.BLOOM not in other:
        return
    start = int_field(other, InMeta.BLOOM)
    _slice(source, start, 0)
    header, end = decode_struct(source, start)
    raw = _slice(source, start, end - start + int_field(header, _BLOOM_BYTES))
    meta[InMeta.BLOOM] = (I64, len(out))
    if InMeta.BLOOM_SIZE in other:
        meta[InMeta.BLOOM_SIZE] = (I32, len(raw))
    out += raw


def _slice(data: bytes, start: int, size: int) -> bytes:
    if not 0 <= start <= start + size <= len(data):
        raise Malformed(f"{size} bytes at offset {start} lie outside the {len(data)} before the footer")
    return data[start : start + size]


def first_rows(data: bytes, chunk: Struct) -> list[int] | None:
    """Return the row at which each page of a chunk begins, from its offset index; None without one."""
    if InChunk.OFFSET_INDEX not in chunk:
        return None
    raw = _slice(data, int_field(chunk, InChunk.OFFSET_INDEX), int_field(chunk, InChunk.OFFSET_INDEX_SIZE))
    return [int_field(page, FIRST_ROW) for page in struct_list(decode_struct(raw)[0], LOCATIONS)]


def _check_same_layout(ours: Struct, theirs: Struct) -> None:
    """Raise ValueError if statistics of one file cannot describe rows of the other."""
    if _shape(ours) != _shape(theirs):
        raise ValueError("the files differ in their columns")
    rows = [
        [int_field(group, InGroup.ROWS) for group in struct_list(file, InFile.ROW_GROUPS)]
        for file in (ours, theirs)
    ]
    if rows[0] != rows[1]:
        raise ValueError(f"the files differ in the rows of their row groups: {rows[0]} and {rows[1]}")
    paths = [[[path_of(chunk) for chunk in chunks] for chunks in chunks_of(file)] for file in (ours, theirs)]
    if paths[0] != paths[1]:
        raise ValueError("the files differ in the columns of their row groups")


def _shape(footer: Struct) -> list[tuple[Any, ...]]:
    """Return the name and storage of each schema element but the root."""
    elements = struct_list(footer, InFile.SCHEMA)[1:]
    return [(element.get(InElement.NAME), *storage_facts(element)) for element in elements]


def storage_facts(element: Struct) -> tuple[int, int, int, int]:
    """Return how a schema element's values are stored: type, length, repetition, children."""
    type_ = int_field(element, InElement.TYPE, -1)
    return (
        type_,
        int_field(element, InElement.LENGTH) if type_ == _FIXED else 0,
        int_field(element, InElement.REPETITION, -1),
        int_field(element, InElement.CHILDREN, 0),
    )


def _page_spans(group: Struct, limit: int) -> Iterator[tuple[int, int]]:
    """Yield the first byte and the end of the pages of each chunk of a row group."""
    for chunk in struct_list(group, InGroup.CHUNKS):
        if InChunk.FILE_PATH in chunk:
            raise ValueError(f"the pages of {name_of(chunk)} lie in another file")
        meta = meta_of(chunk)
        start = first_page(meta)
        end = start + int_field(meta, InMeta.COMPRESSED)
        if not 0 <= start <= end <= limit:
            raise Malformed(
                f"the pages of {name_of(chunk)} cannot lie from {start} to {end} of {limit} bytes"
            )
        yield start, end


def first_page(meta: Struct) -> int:
    """Return the offset of a chunk; some writers state a dictionary at offset 0 where there is none."""
    data = int_field(meta, InMeta.DATA_PAGE)
    dictionary = int_field(meta, InMeta.DICTIONARY_PAGE, 0)
    return dictionary if 0 < dictionary < data else data


def _has_overlap(spans: Sequence[tuple[int, int]]) -> bool:
    """Tell whether some bytes belong to two column chunks."""
    return any(end > start for (_, end), (start, _) in pairwise(sorted(spans)))
