"""The facts of page indexes as files have them: read with few requests, before any is judged."""

from collections.abc import Callable, Iterable, Mapping, Sequence
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


# Reads so many bytes of the files at these places, or fewer at the end of a file.
RangeReader = Callable[[Sequence[tuple[str, ByteRange]]], Sequence[bytes]]


def read_page_facts(
    chunks_of_files: Mapping[str, Sequence[Chunk]], read: RangeReader
) -> dict[str, list[PageFacts]]:
    """Return the indexes of chunks of each file, which are read with as few requests as `GAP_MAX` allows.

    Args:
        chunks_of_files: The chunks, by their files.
        read: Reads the files.
    """
    wanted = {file: _index_places(chunks) for file, chunks in chunks_of_files.items()}
    requests = [(file, range_) for file, places in wanted.items() for range_ in coalesce(places)]
    raw: dict[tuple[str, ByteRange], bytes] = {}
    for (file, request), data in zip(requests, read(requests), strict=True):
        for index in wanted[file]:
            if request.offset <= index.offset and index.end <= request.end:
                raw[file, index] = data[index.offset - request.offset : index.end - request.offset]
    return {
        file: [
            PageFacts(
                None
                if (place := chunk.column_index) is None
                else column_index_facts(raw.get((file, place), b"")),
                None
                if (place := chunk.offset_index) is None
                else offset_index_facts(raw.get((file, place), b"")),
            )
            for chunk in chunks
        ]
        for file, chunks in chunks_of_files.items()
    }


def _index_places(chunks: Iterable[Chunk]) -> list[ByteRange]:
    """Return the places of the indexes of chunks, each once; one that no file can have is left out."""
    places = {index for chunk in chunks for index in chunk.indexes}
    return sorted(place for place in places if place.offset >= 0 and 0 <= place.size <= INDEX_BYTES_MAX)


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
