"""The places in a footer where its column chunks seem to begin; reading them has to prove it."""

import re
from dataclasses import dataclass

from pruning.metadata.footers.frames import FrameParser
from pruning.metadata.footers.thrift_lanes import LIST, STRUCT
from pruning.metadata.footers.thrift_places import Irregular, list_header_after, number_after, place_after

# The headers of the first fields of a footer, and of the first one of a row group.
_VERSION, _SCHEMA, _ROW_COUNT, _ROW_GROUPS, COLUMNS = 0x15, 0x19, 0x16, 0x19, 0x19
# A chunk begins with its offset (2), then its metadata (3) with a type (1) and a list of encodings (2).
_CHUNK_START = re.compile(rb"\x26[\x80-\xff]{0,7}[\x00-\x7f]\x1c\x15[\x00-\x0e]\x19", re.DOTALL)
# With fewer row groups, or chunks of one, sums of their rows or bytes have 64 bits.
_COUNT_MAX = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkPlaces:
    """A footer, its first two fields, and the places where its chunks seem to begin."""

    file: str
    raw: bytes
    schema: bytes
    group_count: int
    chunk_count: int
    starts: list[int]


def chunk_places(file: str, raw: bytes, parser: FrameParser) -> ChunkPlaces:
    """Return the places where the chunks of a footer seem to begin; it has at least one.

    Raises:
        Irregular: the footer does not begin as writers begin it, or has another number of chunks.
    """
    schema = parser.schema_at_start(raw) or _schema_at_start(raw)
    place = number_after(raw, _place_after_byte(raw, len(schema), _ROW_COUNT))[1]
    group_count, place = list_header_after(raw, _place_after_byte(raw, place, _ROW_GROUPS), STRUCT)
    chunk_count, place = list_header_after(raw, _place_after_byte(raw, place, COLUMNS), STRUCT)
    starts = [match.start() for match in _CHUNK_START.finditer(raw, place)]
    if not 0 < len(starts) == group_count * chunk_count or starts[0] != place:
        raise Irregular
    if max(group_count, chunk_count) > _COUNT_MAX:
        raise Irregular
    return ChunkPlaces(
        file=file, raw=raw, schema=schema, group_count=group_count, chunk_count=chunk_count, starts=starts
    )


def _schema_at_start(raw: bytes) -> bytes:
    place = number_after(raw, _place_after_byte(raw, 0, _VERSION))[1]
    return raw[: place_after(raw, _place_after_byte(raw, place, _SCHEMA), LIST)]


def _place_after_byte(raw: bytes, place: int, byte: int) -> int:
    if place >= len(raw) or raw[place] != byte:
        raise Irregular
    return place + 1
