"""The bloom filters that are stored in Parquet files, and one table of doubts about them.

A filter belongs to one column of one row group, is stored at the offset that the row group names, and is
probed with the bytes that the column stores.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pruning.metadata.files.locations import locate
from pruning.metadata.footers.evidence import provenance
from pruning.metadata.footers.footer import Footer
from pruning.metadata.footers.thrift_layout import Malformed, parse_filter_header
from pruning.metadata.index.block_values import IndexableColumn
from pruning.metadata.index.bloom import BLOCK_BYTES
from pruning.metadata.index.encodings import Encoding, encoding_of
from pruning.metadata.index.own_filters import BloomFilter

# A header with the supported algorithms takes about 15 bytes.
_HEADER_BYTES = 64
# Parquet's own limit is 128 MiB.
FILTER_BYTES_MAX = 128 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterEvidence:
    """The facts that doubts about one filter may use; `header` is None if it cannot be read."""

    column: IndexableColumn
    bounded: bool
    encoding: Encoding | None
    shared: bool
    header: Any
    bits: bytes
    values: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterDoubt:
    """A reason not to believe a filter."""

    name: str
    reason: str
    applies: Callable[[FilterEvidence], bool]


DOUBTS: tuple[FilterDoubt, ...] = (
    FilterDoubt(
        name="no header",
        reason="what stands at the offset is not the header of a filter",
        applies=lambda e: e.header is None,
    ),
    FilterDoubt(
        name="another algorithm",
        reason="the filter names an algorithm, hash or compression that is not the one we know",
        applies=lambda e: e.header is not None and not _is_supported(e.header),
    ),
    FilterDoubt(
        name="not whole",
        reason="the filter's size is not one that filters have, or the file ends before it does",
        applies=lambda e: e.header is not None and len(e.bits) != _filter_bytes(e.header),
    ),
    FilterDoubt(
        name="no one encoding",
        reason="a value of this type has several encodings in Parquet, and one of them was hashed",
        applies=lambda e: e.encoding is None,
    ),
    FilterDoubt(
        name="shared filter",
        reason="a filter that two chunks point to is that of one of them at most",
        applies=lambda e: e.shared,
    ),
    FilterDoubt(
        name="empty filter",
        reason="a filter without a bit set excludes every value, and the chunk may have some",
        applies=lambda e: e.values != 0 and not any(e.bits),
    ),
    FilterDoubt(
        name="numbers outside of the type",
        reason="readers wrap a number that does not fit, so that it equals another than was hashed",
        applies=lambda e: e.column.is_narrow and not e.bounded,
    ),
)


def read_filters(
    file: str, footer: Footer, columns: dict[str, IndexableColumn], bounded: dict[str, list[bool]]
) -> list[dict[str, BloomFilter]]:
    """Return, for each row group, the believed filters of the columns.

    Raises:
        OSError, pa.ArrowException: the file cannot be read.
    """
    offsets = Counter(chunk.filter_offset for group in footer.row_groups for chunk in group.chunks)
    rebased = provenance(footer).rebased
    encodings = {
        name: encoding_of(column.leaf.element, column.storage, rebased=rebased)
        for name, column in columns.items()
    }
    filters: list[dict[str, BloomFilter]] = []
    system, path = locate(file)
    with system.open_input_file(path) as handle:
        for ordinal, group in enumerate(footer.row_groups):
            filters.append({})
            for name, column in columns.items():
                chunk = group.chunks[column.leaf.chunk]
                if chunk.filter_offset is None:
                    continue
                header, bits = _read_filter(handle, chunk.filter_offset)
                evidence = FilterEvidence(
                    column=column,
                    bounded=bounded[name][ordinal],
                    encoding=encodings[name],
                    shared=offsets[chunk.filter_offset] > 1,
                    header=header,
                    bits=bits,
                    values=chunk.value_count,
                )
                filter_ = believed_filter(evidence)
                if filter_ is not None:
                    filters[-1][name] = filter_
    return filters


def believed_filter(evidence: FilterEvidence) -> BloomFilter | None:
    """Return the filter, or None if some doubt applies."""
    if any(doubt.applies(evidence) for doubt in DOUBTS):
        return None
    assert evidence.encoding is not None
    return BloomFilter(evidence.bits, evidence.encoding)


def _read_filter(handle: Any, offset: int) -> tuple[Any, bytes]:
    """Read a filter's header and its bits, as far as the file has them.

    The length in newer footers is ignored, because some writers include the header and some do not.
    """
    left = max(0, handle.size() - offset)
    start: bytes = handle.read_at(min(_HEADER_BYTES, left), offset) if left else b""
    try:
        header, taken = parse_filter_header(start)
    except Malformed:
        return None, b""
    size = min(_filter_bytes(header), left - taken)
    return header, handle.read_at(size, offset + taken) if size > 0 else b""


def _is_supported(header: Any) -> bool:
    unions = (header.algorithm, header.hash, header.compression)
    fields = ("BLOCK", "XXHASH", "UNCOMPRESSED")
    return all(
        union is not None and getattr(union, field) is not None
        for union, field in zip(unions, fields, strict=True)
    )


def _filter_bytes(header: Any) -> int:
    """Return the size of a filter's bits by its header; -1 if it is not a possible size."""
    size = header.numBytes
    usable = size is not None and 0 < size <= FILTER_BYTES_MAX and size % BLOCK_BYTES == 0
    return size if usable else -1
