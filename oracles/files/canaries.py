"""Canaries: the statistics of a Parquet file over rows that are all one, but for their number.

If the row satisfies a predicate, the rows that come back are those that were not skipped, to the page. If it
does not (the none-match twin), rows that come back were declared to match without being read.

The row may lie outside of the bounds, and an engine that simplifies a predicate by them judges the row by
what is left: a canary's row must satisfy *each* comparison, not one of several in an OR, and the row of a
none-match twin must satisfy none. For `a >= 0 AND a <= 5` it has a NULL: an engine that has proved `a >= 0`
returns -99.

Shares   nothing of the rules; no statistic is computed or understood here, only carried.
Trusts   pyarrow to write as many rows as it is told, and to read them again. That a row group of it is one
         page is checked where pages matter.
Removes  the engine's own word for what it skipped, and the rows by which it could be right by chance.
Leaves   statistics in page headers, of which a canary has none, and dictionaries, which are its own.
"""

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from oracles.files.counterfactual_files import (
    COLUMN_INDEX,
    FIRST_ROW,
    LOCATIONS,
    OF_META,
    drop,
    first_page,
    first_rows,
    graft,
    put,
    stored,
)
from oracles.files.footers import (
    BINARY,
    I32,
    I64,
    LIST,
    STRUCT,
    InChunk,
    InElement,
    InFile,
    InGroup,
    InMeta,
    Malformed,
    Struct,
    chunks_of,
    decoded,
    encoded,
    meta_of,
    name_of,
    number,
    parted,
    path_of,
    read,
    structs,
    whole,
)

# In PageLocation and PageHeader.
_PAGE_OFFSET, _PAGE_SIZE, _PAGE_BYTES = 1, 2, 3
_INT32, _INT64, _INT96 = 1, 2, 3
_KNOWN = signature(pq.ParquetWriter.__init__).parameters


def canary(
    original: Path,
    into: Path,
    row: Mapping[str, Any],
    *,
    schema: pa.Schema,
    numbered: str = "rid",
    first: int = 0,
    dictionary: bool = False,
) -> Path:
    """Write a file whose every row is `row`, which satisfies a predicate, under the original's statistics.

    Its row groups, and its pages where the original has an offset index, have the original's rows. The column
    index of a list is left out where its pages begin within rows.

    Args:
        row: A value for each column, for `numbered` too or not; the predicate must not name that column.
        schema: The original's columns.
        numbered: The column that numbers the rows.
        first: The number of the first row.
        dictionary: Whether the pages of the other columns are written with a dictionary.
    Raises:
        ValueError: the original cannot be taken apart, or is not of this schema as pyarrow writes it.
    """
    source, stated = read(original)
    elements = _subtrees(stated)
    _check_names(list(elements), schema, row, numbered)
    columns = _Columns(
        elements=elements, schema=schema, row=row, numbered=numbered, first=first, dictionary=dictionary
    )
    body, footer = _uniform(source, stated, columns)
    columns.check(whole(body, footer))
    return put(into, graft(body, footer, source, stated), original)


def none_match(original: Path, into: Path, row: Mapping[str, Any], **options: Any) -> Path:
    """Write a canary of a row that satisfies *no* comparison of the predicate; `canary` has the arguments."""
    return canary(original, into, row, **options)


@dataclass(frozen=True, slots=True)
class _Pages:
    """One column chunk as pyarrow wrote it: its dictionary page, its data pages, and what it says of them."""

    dictionary: bytes
    data: tuple[bytes, ...]
    meta: Struct


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """The columns of a file all of whose rows are one row, but for a number; `canary` has the arguments."""

    elements: Mapping[str, list[Struct]]
    schema: pa.Schema
    row: Mapping[str, Any]
    numbered: str
    first: int
    dictionary: bool

    def pages(self, name: str, leaf: int, start: int, counts: Sequence[int]) -> _Pages:
        """The pages of a leaf of a column, of so many rows each, the first of which is row `start`."""
        elements = self.elements[name]
        required = number(elements[0], InElement.REPETITION, 0) == 0
        field = pa.field(name, self.schema.field(name).type, nullable=not required)
        column = self._written(field, start, counts, elements)
        footer = parted(column)[1]
        if [stored(element) for element in _subtrees(footer)[name]] != [stored(e) for e in elements]:
            raise ValueError(f"pyarrow stores {field.type} otherwise than the original stores {name}")
        return _joined(name, [_one_chunk(column, chunks[leaf]) for chunks in chunks_of(footer)])

    def _written(self, field: pa.Field, start: int, counts: Sequence[int], elements: list[Struct]) -> bytes:
        """A Parquet file of one column, in which what shall become a page is a row group."""
        sink = io.BytesIO()
        options = _options(field.type, elements)
        dictionary = self.dictionary and field.name != self.numbered
        with pq.ParquetWriter(sink, pa.schema([field]), use_dictionary=dictionary, **options) as writer:
            at = self.first + start
            for count in counts:
                values = pa.array(self._values(field.name, at, count), field.type)
                writer.write_table(pa.table([values], pa.schema([field])), row_group_size=max(count, 1))
                at += count
        return sink.getvalue()

    def _values(self, name: str, at: int, count: int) -> Sequence[Any]:
        return range(at, at + count) if name == self.numbered else [self.row[name]] * count

    def check(self, data: bytes) -> None:
        """Raise unless pyarrow finds the row in a file, as the original's schema has it be read."""
        file = pq.ParquetFile(pa.BufferReader(data))
        groups = (file.read_row_group(at) for at in range(file.num_row_groups))
        rows = next((group.slice(0, 1).to_pylist()[0] for group in groups if group.num_rows), None)
        for name, value in {} if rows is None else rows.items():
            given = self.first if name == self.numbered else self.row[name]
            (meant,) = pa.array([given], self.schema.field(name).type).to_pylist()
            if value != meant and repr(value) != repr(meant):
                raise ValueError(f"{name} is read as {value!r} by the original's schema, not as {meant!r}")


def _check_names(names: Sequence[str], schema: pa.Schema, row: Mapping[str, Any], numbered: str) -> None:
    if names != schema.names:
        raise ValueError(f"the original's columns are {names}, and the schema's are {schema.names}")
    missing = [name for name in names if name not in row and name != numbered]
    if missing or numbered not in names:
        raise ValueError(f"{missing or numbered} is missing from the {'row' if missing else 'columns'}")


def _subtrees(footer: Struct) -> dict[str, list[Struct]]:
    """The schema elements of each top-level column, its own first."""
    elements = structs(footer, InFile.SCHEMA)
    columns: dict[str, list[Struct]] = {}
    left = 0  # elements that the current column still lacks
    for element in elements[1:]:
        if not left:
            kind, name = element.get(InElement.NAME, (None, b""))
            if kind != BINARY or name.decode(errors="replace") in columns:
                raise Malformed(f"a column's name, {name!r}, is missing or stands twice")
            current = columns.setdefault(name.decode(errors="replace"), [])
            left = 1
        current.append(element)
        left += number(element, InElement.CHILDREN, 0) - 1
    return columns


def _options(type_: pa.DataType, elements: list[Struct]) -> dict[str, Any]:
    """Settings by which pyarrow writes one page of a row group, stored as the original stores it."""
    options: dict[str, Any] = {
        "compression": "NONE",
        "write_statistics": False,
        "data_page_size": 2**30,
        "dictionary_pagesize_limit": 2**30,
        "write_batch_size": 2**30,
        "max_rows_per_page": 2**30,
    }
    physical = {number(element, InElement.TYPE, -1) for element in elements}
    if pa.types.is_decimal(type_) and physical <= {_INT32, _INT64}:
        options["store_decimal_as_integer"] = True
    if _INT96 in physical:
        options["use_deprecated_int96_timestamps"] = True
    # Releases that do not know a setting have no such limit, or write what is then refused.
    return {name: value for name, value in options.items() if name in _KNOWN}


def _one_chunk(data: bytes, chunk: Struct) -> _Pages:
    """A chunk of a file that pyarrow wrote."""
    meta = meta_of(chunk)
    start, first = first_page(meta), number(meta, InMeta.DATA_PAGE)
    end = start + number(meta, InMeta.COMPRESSED)
    return _Pages(data[start:first], (data[first:end],), meta)


def _joined(name: str, parts: Sequence[_Pages]) -> _Pages:
    """One chunk of several, in order."""
    if len({part.dictionary for part in parts}) > 1:
        raise ValueError(f"pyarrow writes different dictionaries for pages of {name}")
    meta = dict(parts[0].meta)
    meta[InMeta.VALUES] = (I64, sum(number(part.meta, InMeta.VALUES) for part in parts))
    drop(meta, InMeta.ENCODING_STATS, *OF_META)
    return _Pages(parts[0].dictionary, tuple(page for part in parts for page in part.data), meta)


def _uniform(source: bytes, stated: Struct, columns: _Columns) -> tuple[bytes, Struct]:
    """The original's footer over pages of other rows, without statistics, and those pages before it."""
    out = bytearray(b"PAR1")
    groups, start = [], 0
    for group in structs(stated, InFile.ROW_GROUPS):
        groups.append(_uniform_group(out, source, group, start, columns))
        start += number(group, InGroup.ROWS)
    return bytes(out), {**stated, InFile.ROW_GROUPS: (LIST, (STRUCT, groups))}


def _uniform_group(out: bytearray, source: bytes, group: Struct, start: int, columns: _Columns) -> Struct:
    """One row group, whose pages are put behind what there is."""
    rows, at = number(group, InGroup.ROWS), len(out)
    chunks: list[Struct] = []
    seen: Counter[str] = Counter()
    for chunk in structs(group, InGroup.CHUNKS):
        firsts = _in_order(chunk, first_rows(source, chunk))
        counts = _counts(firsts or [0], rows, chunk)
        name = path_of(chunk)[0].decode(errors="replace")
        pages = columns.pages(name, seen[name], start, counts)
        seen[name] += 1
        pages.meta[InMeta.PATH] = meta_of(chunk)[InMeta.PATH]
        chunks.append(_laid(out, pages))
        if firsts is not None:
            _index(out, chunks[-1], pages.data, counts)
    size = sum(number(meta_of(chunk), InMeta.COMPRESSED) for chunk in chunks)
    facts = {InGroup.SIZE: (I64, size), InGroup.COMPRESSED: (I64, size), InGroup.OFFSET: (I64, at)}
    kept = {field: fact for field, fact in facts.items() if field in group}
    return {**group, **kept, InGroup.CHUNKS: (LIST, (STRUCT, chunks))}


def _in_order(chunk: Struct, firsts: list[int] | None) -> list[int] | None:
    """Rows that pages can begin with; where a list's pages begin within rows, its column index is dropped."""
    if firsts is None or len(set(firsts)) == len(firsts) or len(path_of(chunk)) == 1:
        return firsts
    drop(chunk, *COLUMN_INDEX)
    return sorted(set(firsts))


def _counts(firsts: Sequence[int], rows: int, chunk: Struct) -> list[int]:
    """How many rows each page has."""
    counts = [end - begin for begin, end in pairwise([*firsts, rows])]
    if firsts[0] != 0 or (min(counts) <= 0 and rows):
        raise Malformed(f"the offset index of {name_of(chunk)} does not number {rows} rows in order")
    return counts


def _laid(out: bytearray, pages: _Pages) -> Struct:
    """The column chunk of pages that are put behind what there is."""
    start = len(out)
    out += pages.dictionary
    meta = {**pages.meta, InMeta.DATA_PAGE: (I64, len(out))}
    meta.pop(InMeta.DICTIONARY_PAGE, None)
    if pages.dictionary:
        meta[InMeta.DICTIONARY_PAGE] = (I64, start)
    out += b"".join(pages.data)
    meta[InMeta.COMPRESSED] = meta[InMeta.UNCOMPRESSED] = (I64, len(out) - start)
    return {InChunk.FILE_OFFSET: (I64, 0), InChunk.META: (STRUCT, meta)}


def _index(out: bytearray, chunk: Struct, pages: Sequence[bytes], counts: Sequence[int]) -> None:
    """Put the offset index of a chunk behind what there is."""
    at, row, locations = number(meta_of(chunk), InMeta.DATA_PAGE), 0, []
    for page, count in zip(pages, counts, strict=True):
        if count:
            header, end = decoded(page)
            if end + number(header, _PAGE_BYTES) != len(page):
                raise ValueError(f"pyarrow writes {count} rows of {name_of(chunk)} as several pages")
            place = {_PAGE_OFFSET: (I64, at), _PAGE_SIZE: (I32, len(page)), FIRST_ROW: (I64, row)}
            locations.append(place)
        at, row = at + len(page), row + count
    raw = encoded({LOCATIONS: (LIST, (STRUCT, locations))})
    chunk[InChunk.OFFSET_INDEX] = (I64, len(out))
    chunk[InChunk.OFFSET_INDEX_SIZE] = (I32, len(raw))
    out += raw
