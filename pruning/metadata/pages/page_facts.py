"""The facts of page indexes as files have them: read with few requests, before any is judged."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from pruning.metadata.footers.footer import ByteRange, Chunk
from pruning.metadata.footers.thrift_layout import Malformed, parse_column_index, parse_offset_index

# One request for neighbouring indexes costs less than two, unless more than so many bytes lie between.
GAP_MAX = 64 * 1024
# A longer index is a damaged length; one of 10,000 pages with bounds of 1 KB takes 20 MB.
INDEX_BYTES_MAX = 64 * 1024 * 1024
_INT64_MIN, _INT64_MAX = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnIndexFacts:
    """The column index of a chunk as it is written; `null_counts` is None if it is absent.

    The order that it states of its pages is left out, because nothing depends on it.
    """

    null_pages: list[bool]
    min_values: list[bytes]
    max_values: list[bytes]
    null_counts: list[int] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class OffsetIndexFacts:
    """The offset index of a chunk as it is written: of each page its place, bytes and first row."""

    offsets: list[int]
    sizes: list[int]
    first_rows: list[int]


@dataclass(frozen=True, slots=True)
class PageFacts:
    """The two indexes of a chunk; None if one is absent or cannot be read."""

    column_index: ColumnIndexFacts | None
    offset_index: OffsetIndexFacts | None


def read_page_facts(handle: Any, chunks: Collection[Chunk]) -> list[PageFacts]:
    """Return the indexes of chunks of an open file, which are read with as few requests as `GAP_MAX` allows.

    Raises:
        OSError, pa.ArrowException: the file cannot be read.
    """
    size = handle.size()
    wanted = {index for chunk in chunks for index in chunk.indexes}
    possible = [index for index in wanted if index.size <= INDEX_BYTES_MAX and index.end <= size]
    raw: dict[ByteRange, bytes] = {}
    for read in coalesce(possible):
        data = handle.read_at(read.size, read.offset)
        for index in possible:
            if read.offset <= index.offset and index.end <= read.end:
                raw[index] = data[index.offset - read.offset : index.end - read.offset]
    return [
        PageFacts(
            None if chunk.column_index is None else column_index_facts(raw.get(chunk.column_index, b"")),
            None if chunk.offset_index is None else offset_index_facts(raw.get(chunk.offset_index, b"")),
        )
        for chunk in chunks
    ]


def coalesce(ranges: Iterable[ByteRange]) -> list[ByteRange]:
    """Return the ranges in order, those joined that overlap or have at most `GAP_MAX` bytes between them."""
    joined: list[ByteRange] = []
    for range_ in sorted(ranges):
        if joined and range_.offset - joined[-1].end <= GAP_MAX:
            end = max(joined[-1].end, range_.end)
            joined[-1] = ByteRange(joined[-1].offset, end - joined[-1].offset)
        else:
            joined.append(range_)
    return joined


def column_index_facts(raw: bytes) -> ColumnIndexFacts | None:
    """Return a column index from its bytes; None if they are not one."""
    try:
        index = parse_column_index(raw)
    except Malformed:
        return None
    if not (
        _is_list_of(index.null_pages, bool)
        and _is_list_of(index.min_values, bytes)
        and _is_list_of(index.max_values, bytes)
        and (index.null_counts is None or _is_list_of(index.null_counts, int))
    ):
        return None
    return ColumnIndexFacts(
        null_pages=index.null_pages,
        min_values=index.min_values,
        max_values=index.max_values,
        null_counts=index.null_counts,
    )


def offset_index_facts(raw: bytes) -> OffsetIndexFacts | None:
    """Return an offset index from its bytes; None if they are not one."""
    try:
        places = parse_offset_index(raw).page_locations
    except Malformed:
        return None
    facts = OffsetIndexFacts(
        offsets=[place.offset for place in places or []],
        sizes=[place.compressed_page_size for place in places or []],
        first_rows=[place.first_row_index for place in places or []],
    )
    return facts if all(_is_list_of(numbers, int) for numbers in _lists(facts)) else None


def _lists(facts: OffsetIndexFacts) -> tuple[list[int], ...]:
    return facts.offsets, facts.sizes, facts.first_rows


def _is_list_of(elements: Any, type_: type) -> bool:
    """Tell whether a parsed list has elements of a type alone; numbers must have 64 bits."""
    if not isinstance(elements, list) or any(type(element) is not type_ for element in elements):
        return False
    return type_ is not int or all(_INT64_MIN <= number <= _INT64_MAX for number in elements)
