"""The bloom filters that files bring along: which are believed, in one table of doubts.

A filter belongs to one column of one row group. It is looked up where that row group says, and probed
with the bytes that its column stores.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pruning.metadata.files.locations import locate
from pruning.metadata.footers.evidence import provenance
from pruning.metadata.footers.footer import Footer
from pruning.metadata.footers.thrift_layout import Malformed, parse_filter_header
from pruning.metadata.index.block_values import Indexable
from pruning.metadata.index.bloom import BLOCK_BYTES
from pruning.metadata.index.encodings import Encoding, encoding_of
from pruning.metadata.index.own_filters import Filter

# Headers that name what we know take about 15 bytes.
_HEADER_BYTES = 64
# Parquet's own limit is 128 MiB.
FILTER_BYTES_MAX = 128 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """All that the doubts about one filter may look at; `header` is None where there is no readable one."""

    column: Indexable
    bounded: bool
    encoding: Encoding | None
    shared: bool
    header: Any
    bits: bytes
    values: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """Something about a filter for which it is not believed."""

    name: str
    reason: str
    applies: Callable[[Evidence], bool]


DOUBTS: tuple[Doubt, ...] = (
    Doubt(
        name="no header",
        reason="what stands at the offset is not the header of a filter",
        applies=lambda e: e.header is None,
    ),
    Doubt(
        name="another algorithm",
        reason="the filter names an algorithm, hash or compression that is not the one we know",
        applies=lambda e: e.header is not None and not _known(e.header),
    ),
    Doubt(
        name="not whole",
        reason="the filter's size is not one that filters have, or the file ends before it does",
        applies=lambda e: e.header is not None and len(e.bits) != _size(e.header),
    ),
    Doubt(
        name="no one encoding",
        reason="a value of this type has several encodings in Parquet, and one of them was hashed",
        applies=lambda e: e.encoding is None,
    ),
    Doubt(
        name="shared filter",
        reason="a filter that two chunks point to is that of one of them at most",
        applies=lambda e: e.shared,
    ),
    Doubt(
        name="empty filter",
        reason="a filter without a bit set excludes every value, and the chunk may have some",
        applies=lambda e: e.values != 0 and not any(e.bits),
    ),
    Doubt(
        name="numbers outside of the type",
        reason="readers wrap a number that does not fit, so that it equals another than was hashed",
        applies=lambda e: e.column.narrow and not e.bounded,
    ),
)


def filters(
    file: str, footer: Footer, columns: dict[str, Indexable], bounded: dict[str, list[bool]]
) -> list[dict[str, Filter]]:
    """Per row group, the filters of the columns that are believed.

    Raises:
        OSError, pa.ArrowException: the file cannot be read.
    """
    offsets = Counter(chunk.filter_offset for group in footer.row_groups for chunk in group.chunks)
    rebased = provenance(footer).rebased
    encodings = {
        name: encoding_of(column.leaf.element, column.form, rebased=rebased)
        for name, column in columns.items()
    }
    found: list[dict[str, Filter]] = []
    system, path = locate(file)
    with system.open_input_file(path) as handle:
        for ordinal, group in enumerate(footer.row_groups):
            found.append({})
            for name, column in columns.items():
                chunk = group.chunks[column.leaf.chunk]
                if chunk.filter_offset is None:
                    continue
                header, bits = _read(handle, chunk.filter_offset)
                evidence = Evidence(
                    column=column,
                    bounded=bounded[name][ordinal],
                    encoding=encodings[name],
                    shared=offsets[chunk.filter_offset] > 1,
                    header=header,
                    bits=bits,
                    values=chunk.value_count,
                )
                believed = believed_filter(evidence)
                if believed is not None:
                    found[-1][name] = believed
    return found


def believed_filter(evidence: Evidence) -> Filter | None:
    """The filter, if nothing speaks against it."""
    if any(doubt.applies(evidence) for doubt in DOUBTS):
        return None
    assert evidence.encoding is not None
    return Filter(evidence.bits, evidence.encoding)


def _read(handle: Any, offset: int) -> tuple[Any, bytes]:
    """A filter's header, and its bits as far as the file has them.

    The length that newer footers give is not looked at: some writers count the header, some do not.
    """
    left = max(0, handle.size() - offset)
    start: bytes = handle.read_at(min(_HEADER_BYTES, left), offset) if left else b""
    try:
        header, taken = parse_filter_header(start)
    except Malformed:
        return None, b""
    size = min(_size(header), left - taken)
    return header, handle.read_at(size, offset + taken) if size > 0 else b""


def _known(header: Any) -> bool:
    named = (header.algorithm, header.hash, header.compression)
    fields = ("BLOCK", "XXHASH", "UNCOMPRESSED")
    return all(
        union is not None and getattr(union, field) is not None
        for union, field in zip(named, fields, strict=True)
    )


def _size(header: Any) -> int:
    """The bytes of a filter of a possible size; -1 for none such."""
    size = header.numBytes
    usable = size is not None and 0 < size <= FILTER_BYTES_MAX and size % BLOCK_BYTES == 0
    return size if usable else -1
