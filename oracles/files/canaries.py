"""Canaries: Parquet files with the statistics of an original, whose rows are all the same but for a number.

If the row satisfies a predicate, the rows that an engine returns are those that it did not skip, down to the
page. If it does not (a none-match file), each returned row was declared to match without being read.

The row may lie outside the bounds, and an engine that simplifies a predicate by the bounds evaluates only
what is left of it. So a canary's row must satisfy *each* comparison, not only one of several in an OR, and
the row of a none-match file must satisfy none. For `a >= 0 AND a <= 5` it has a NULL: an engine that has
proved `a >= 0` would return -99.

Shares   nothing of the rules; no statistic is computed or understood here, only carried.
Trusts   pyarrow to write as many rows as it is given, and to read them again. Where pages matter, it is
         checked that each row group has one page.
Removes  the engine's own report of what it skipped, and rows that could make its answer right by chance.
Leaves   statistics in page headers, of which a canary has none, and dictionaries, which are the canary's own.
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
    drop_fields,
    first_page,
    first_rows,
    graft,
    storage_facts,
    write_apart,
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
    decode_struct,
    encode_struct,
    int_field,
    join_file,
    meta_of,
    name_of,
    path_of,
    read_footer,
    split_file,
    struct_list,
)

# Field numbers in PageLocation and PageHeader.
_PAGE_OFFSET, _PAGE_SIZE, _PAGE_BYTES = 1, 2, 3
_INT32, _INT64, _INT96 = 1, 2, 3
_WRITER_PARAMETERS = signature(pq.ParquetWriter.__init__).parameters


def write_canary(
    original: Path,
    into: Path,
    row: Mapping[str, Any],
    *,
    schema: pa.Schema,
    numbered: str = "rid",
    first: int = 0,
    dictionary: bool = False,
) -> Path:
    """Write a file of copies of `row`, which satisfies a predicate, with the original's statistics.

    Its row groups, and its pages if the original has an offset index, have as many rows as the original's.
    The column index of a list is left out where its pages begin inside a row.

    Args:
        row: A value for each column, optionally also for `numbered`, which the predicate must not name.
            schema: The columns of the original.
            numbered: The column that numbers the rows.
            first: The number of the first row.
            dictionary: True if the pages of the other columns are written with a dictionary.
        Raises:
            ValueError: The original cannot be parsed, or pyarrow does not write this schema as it has it.

    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> schema = pa.schema({"rid": pa.int64(), "a": pa.int64()})
    >>> table = pa.table({"rid": range(6), "a": range(6)}, schema=schema)
    >>> pq.write_table(table, folder / "plain.parquet", row_group_size=3)
    >>> canary = write_canary(folder / "plain.parquet", folder / "canary.parquet", {"a": 4}, schema=schema)
    >>> pq.read_table(canary)["a"].to_pylist()
    [4, 4, 4, 4, 4, 4]
    >>> pq.read_table(canary, filters=[("a", ">=", 3)])["rid"].to_pylist()  # the first row group is skipped
    [3, 4, 5]
    """
    source, stated = read_footer(original)
    elements = _subtrees(stated)
    _check_column_names(list(elements), schema, row, numbered)
    columns = _Columns(
        elements=elements, schema=schema, row=row, numbered=numbered, first=first, dictionary=dictionary
    )
    body, footer = _uniform_file(source, stated, columns)
    columns.check(join_file(body, footer))
    return write_apart(into, graft(body, footer, source, stated), original)


def write_none_match(original: Path, into: Path, row: Mapping[str, Any], **options: Any) -> Path:
    """Write a canary whose row satisfies *no* comparison of the predicate; see `write_canary`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> schema = pa.schema({"rid": pa.int64(), "a": pa.int64()})
    >>> table = pa.table({"rid": range(6), "a": range(6)}, schema=schema)
    >>> pq.write_table(table, folder / "plain.parquet", row_group_size=3)
    >>> file = write_none_match(folder / "plain.parquet", folder / "none.parquet", {"a": -1}, schema=schema)
    >>> pq.read_table(file, filters=[("a", ">=", 3)]).num_rows  # rows would come without being tested
    0
    """
    return write_canary(original, into, row, **options)


@dataclass(frozen=True, slots=True)
class _Pages:
    """One column chunk as pyarrow wrote it: dictionary page, data pages and metadata."""

    dictionary: bytes
    data: tuple[bytes, ...]
    meta: Struct


@dataclass(frozen=True, slots=True, kw_only=True)
class _Columns:
    """The columns of a canary, with the arguments of `write_canary`."""

    elements: Mapping[str, list[Struct]]
    schema: pa.Schema
    row: Mapping[str, Any]
    numbered: str
    first: int
    dictionary: bool

    def pages(self, name: str, leaf: int, start: int, counts: Sequence[int]) -> _Pages:
        """Return the pages of a leaf of a column, with these row counts, from row `start` on."""
        elements = self.elements[name]
        required = int_field(elements[0], InElement.REPETITION, 0) == 0
        field = pa.field(name, self.schema.field(name).type, nullable=not required)
        column = self._write_column(field, start, counts, elements)
        footer = split_file(column)[1]
        if [storage_facts(element) for element in _subtrees(footer)[name]] != [
            storage_facts(e) for e in elements
        ]:
            raise ValueError(f"pyarrow stores {field.type} otherwise than the original stores {name}")
        return _join_chunks(name, [_chunk_pages(column, chunks[leaf]) for chunks in chunks_of(footer)])

    def _write_column(
        self, field: pa.Field, start: int, counts: Sequence[int], elements: list[Struct]
    ) -> bytes:
        """Return a Parquet file of one column, with a row group for each page to be made."""
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
        """Raise ValueError unless pyarrow reads the row back from a file under the original's schema."""
        file = pq.ParquetFile(pa.BufferReader(data))
        groups = (file.read_row_group(at) for at in range(file.num_row_groups))
        rows = next((group.slice(0, 1).to_pylist()[0] for group in groups if group.num_rows), None)
        for name, value in {} if rows is None else rows.items():
            value_written = self.first if name == self.numbered else self.row[name]
            (meant,) = pa.array([value_written], self.schema.field(name).type).to_pylist()
            if value != meant and repr(value) != repr(meant):
                raise ValueError(f"{name} is read as {value!r} by the original's schema, not as {meant!r}")


def _check_column_names(
    names: Sequence[str], schema: pa.Schema, row: Mapping[str, Any], numbered: str
) -> None:
    if names != schema.names:
        raise ValueError(f"the original's columns are {names}, and the schema's are {schema.names}")
    missing = [name for name in names if name not in row and name != numbered]
    if missing or numbered not in names:
        raise ValueError(f"{missing or numbered} is missing from the {'row' if missing else 'columns'}")


def _subtrees(footer: Struct) -> dict[str, list[Struct]]:
    """Return the schema elements of each top-level column, starting with the column's own."""
    elements = struct_list(footer, InFile.SCHEMA)
    columns: dict[str, list[Struct]] = {}
    left = 0  # the number of elements still missing from the current column
    for element in elements[1:]:
        if not left:
            kind, name = element.get(InElement.NAME, (None, b""))
            if kind != BINARY or name.decode(errors="replace") in columns:
                raise Malformed(f"a column's name, {name!r}, is missing or stands twice")
            current = columns.setdefault(name.decode(errors="replace"), [])
            left = 1
        current.append(element)
        left += int_field(element, InElement.CHILDREN, 0) - 1
    return columns


def _options(type_: pa.DataType, elements: list[Struct]) -> dict[str, Any]:
    """Return the settings with which pyarrow writes a row group as one page, stored as in the original."""
    options: dict[str, Any] = {
        "compression": "NONE",
        "write_statistics": False,
        "data_page_size": 2**30,
        "dictionary_pagesize_limit": 2**30,
        "write_batch_size": 2**30,
        "max_rows_per_page": 2**30,
    }
    physical = {int_field(element, InElement.TYPE, -1) for element in elements}
    if pa.types.is_decimal(type_) and physical <= {_INT32, _INT64}:
        options["store_decimal_as_integer"] = True
    if _INT96 in physical:
        options["use_deprecated_int96_timestamps"] = True
    # Older releases lack some settings: they have no such limit, or write a file that `pages` refuses.
    return {name: value for name, value in options.items() if name in _WRITER_PARAMETERS}


def _chunk_pages(data: bytes, chunk: Struct) -> _Pages:
    """Return the pages of a chunk of a file that pyarrow wrote."""
    meta = meta_of(chunk)
    start, first = first_page(meta), int_field(meta, InMeta.DATA_PAGE)
    end = start + int_field(meta, InMeta.COMPRESSED)
    return _Pages(data[start:first], (data[first:end],), meta)


def _join_chunks(name: str, parts: Sequence[_Pages]) -> _Pages:
    """Join several chunks, in order, into one."""
    if len({part.dictionary for part in parts}) > 1:
        raise ValueError(f"pyarrow writes different dictionaries for pages of {name}")
    meta = dict(parts[0].meta)
    meta[InMeta.VALUES] = (I64, sum(int_field(part.meta, InMeta.VALUES) for part in parts))
    drop_fields(meta, InMeta.ENCODING_STATS, *OF_META)
    return _Pages(parts[0].dictionary, tuple(page for part in parts for page in part.data), meta)


def _uniform_file(source: bytes, stated: Struct, columns: _Columns) -> tuple[bytes, Struct]:
    """Return pages of copies of the row, and the original's footer over them, without statistics."""
    out = bytearray(b"PAR1")
    groups, start = [], 0
    for group in struct_list(stated, InFile.ROW_GROUPS):
        groups.append(_uniform_group(out, source, group, start, columns))
        start += int_field(group, InGroup.ROWS)
    return bytes(out), {**stated, InFile.ROW_GROUPS: (LIST, (STRUCT, groups))}


def _uniform_group(out: bytearray, source: bytes, group: Struct, start: int, columns: _Columns) -> Struct:
    """Append the pages of one row group, and return its metadata."""
    rows, at = int_field(group, InGroup.ROWS), len(out)
    chunks: list[Struct] = []
    leaf_counts: Counter[str] = Counter()
    for chunk in struct_list(group, InGroup.CHUNKS):
        firsts = _page_starts(chunk, first_rows(source, chunk))
        counts = _page_counts(firsts or [0], rows, chunk)
        name = path_of(chunk)[0].decode(errors="replace")
        pages = columns.pages(name, leaf_counts[name], start, counts)
        leaf_counts[name] += 1
        pages.meta[InMeta.PATH] = meta_of(chunk)[InMeta.PATH]
        chunks.append(_append_chunk(out, pages))
        if firsts is not None:
            _append_offset_index(out, chunks[-1], pages.data, counts)
    size = sum(int_field(meta_of(chunk), InMeta.COMPRESSED) for chunk in chunks)
    facts = {InGroup.SIZE: (I64, size), InGroup.COMPRESSED: (I64, size), InGroup.OFFSET: (I64, at)}
    kept = {field: fact for field, fact in facts.items() if field in group}
    return {**group, **kept, InGroup.CHUNKS: (LIST, (STRUCT, chunks))}


def _page_starts(chunk: Struct, firsts: list[int] | None) -> list[int] | None:
    """Return the rows at which pages can begin; drop a list's column index if pages begin inside rows."""
    if firsts is None or len(set(firsts)) == len(firsts) or len(path_of(chunk)) == 1:
        return firsts
    drop_fields(chunk, *COLUMN_INDEX)
    return sorted(set(firsts))


def _page_counts(firsts: Sequence[int], rows: int, chunk: Struct) -> list[int]:
    """Return the number of rows of each page."""
    counts = [end - begin for begin, end in pairwise([*firsts, rows])]
    if firsts[0] != 0 or (min(counts) <= 0 and rows):
        raise Malformed(f"the offset index of {name_of(chunk)} does not number {rows} rows in order")
    return counts


def _append_chunk(out: bytearray, pages: _Pages) -> Struct:
    """Append the pages of a column chunk, and return its metadata."""
    start = len(out)
    out += pages.dictionary
    meta = {**pages.meta, InMeta.DATA_PAGE: (I64, len(out))}
    meta.pop(InMeta.DICTIONARY_PAGE, None)
    if pages.dictionary:
        meta[InMeta.DICTIONARY_PAGE] = (I64, start)
    out += b"".join(pages.data)
    meta[InMeta.COMPRESSED] = meta[InMeta.UNCOMPRESSED] = (I64, len(out) - start)
    return {InChunk.FILE_OFFSET: (I64, 0), InChunk.META: (STRUCT, meta)}


def _append_offset_index(
    out: bytearray, chunk: Struct, pages: Sequence[bytes], counts: Sequence[int]
) -> None:
    """Append the offset index of a chunk."""
    at, row, locations = int_field(meta_of(chunk), InMeta.DATA_PAGE), 0, []
    for page, count in zip(pages, counts, strict=True):
        if count:
            header, end = decode_struct(page)
            if end + int_field(header, _PAGE_BYTES) != len(page):
                raise ValueError(f"pyarrow writes {count} rows of {name_of(chunk)} as several pages")
            place = {_PAGE_OFFSET: (I64, at), _PAGE_SIZE: (I32, len(page)), FIRST_ROW: (I64, row)}
            locations.append(place)
        at, row = at + len(page), row + count
    raw = encode_struct({LOCATIONS: (LIST, (STRUCT, locations))})
    chunk[InChunk.OFFSET_INDEX] = (I64, len(out))
    chunk[InChunk.OFFSET_INDEX_SIZE] = (I32, len(raw))
    out += raw
