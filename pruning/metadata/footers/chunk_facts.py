"""The facts of many column chunks as arrays, a lane per chunk: raw statistics, before any is judged."""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from pruning.metadata.footers.footer import Chunk
from pruning.metadata.footers.thrift_lanes import ABSENT, PADDING, Bytes, Mask, Numbers

# A count outside of the 64-bit range; it is as impossible as any negative one.
_IMPOSSIBLE = -1
_INT64_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class ByteStrings:
    """Byte strings in a buffer, one per lane; the size is ABSENT where there is none.

    The buffer ends with `PADDING`.
    """

    buffer: bytes
    starts: Numbers
    sizes: Numbers

    @property
    def present(self) -> Mask:
        """True in the lanes that have a byte string."""
        mask: Mask = self.sizes != ABSENT
        return mask

    def take(self, lanes: Numbers) -> "ByteStrings":
        """Return the byte strings of these lanes."""
        return ByteStrings(self.buffer, self.starts[lanes], self.sizes[lanes])

    def where(self, mask: Mask, others: "ByteStrings") -> "ByteStrings":
        """Return these byte strings in the lanes of the mask, and others of the same buffer elsewhere."""
        starts = np.where(mask, self.starts, others.starts)
        return ByteStrings(self.buffer, starts, np.where(mask, self.sizes, others.sizes))

    def words(self, layout: str) -> npt.NDArray[Any]:
        """Return the numbers of a numpy layout, at most 8 bytes, that begin where the byte strings do.

        The numbers of shorter byte strings mean nothing.
        """
        type_ = np.dtype(layout)
        size = len(self.buffer) - type_.itemsize + 1
        words: npt.NDArray[Any] = np.ndarray((size,), type_, self.buffer, strides=(1,))
        return words[np.where(self.present, self.starts, 0)]

    def concatenation(self) -> Bytes:
        """Return the bytes of all lanes, one after the other."""
        places = ranges(self.starts, np.maximum(self.sizes, 0))
        data: Bytes = np.frombuffer(self.buffer, np.uint8)[places]
        return data

    def to_arrow(self) -> pa.Array:
        """Return the byte strings as an Arrow array, NULL where there is none."""
        ends = np.cumsum(np.maximum(self.sizes, 0))
        offsets = np.zeros(len(ends) + 1, np.int64)
        offsets[1:] = ends
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(self.concatenation())]
        array = pa.Array.from_buffers(pa.large_binary(), len(ends), buffers)
        return without(array, ~self.present).cast(pa.binary())


@dataclass(frozen=True, slots=True, kw_only=True)
class ChunkFacts:
    """The raw facts of column chunks, shape (chunks,); numbers are ABSENT where the footer has none.

    Attributes:
        value_counts, byte_counts, byte_offsets: Not negative.
        null_counts: As written, maybe negative.
        min_exact, max_exact: 0, 1 or ABSENT.
    """

    value_counts: Numbers
    byte_counts: Numbers
    byte_offsets: Numbers
    null_counts: Numbers
    min_value: ByteStrings
    max_value: ByteStrings
    deprecated_min: ByteStrings
    deprecated_max: ByteStrings
    min_exact: Numbers
    max_exact: Numbers

    def take(self, chunks: Numbers) -> "ChunkFacts":
        """Return the facts of these chunks."""
        taken: dict[str, Any] = {}
        for field in fields(self):
            lanes: Numbers | ByteStrings = getattr(self, field.name)
            taken[field.name] = lanes.take(chunks) if isinstance(lanes, ByteStrings) else lanes[chunks]
        return ChunkFacts(**taken)


def chunk_facts(chunks: Sequence[Chunk]) -> ChunkFacts:
    """Return the facts of chunks of footers that were read one by one."""
    stated = [chunk.statistics for chunk in chunks]
    texts = [
        [statistics.min_value for statistics in stated],
        [statistics.max_value for statistics in stated],
        [statistics.deprecated_min for statistics in stated],
        [statistics.deprecated_max for statistics in stated],
    ]
    buffer = b"".join([*(text for side in texts for text in side if text is not None), PADDING])
    sizes = [[ABSENT if text is None else len(text) for text in side] for side in texts]
    bounds, start = [], 0
    for side in sizes:
        starts = list(accumulate((max(size, 0) for size in side), initial=start))
        bounds.append(ByteStrings(buffer, np.array(starts[:-1], np.int64), np.array(side, np.int64)))
        start = starts[-1]
    return ChunkFacts(
        value_counts=_numbers([chunk.value_count for chunk in chunks]),
        byte_counts=_numbers([chunk.byte_count for chunk in chunks]),
        byte_offsets=_numbers([chunk.byte_offset for chunk in chunks]),
        null_counts=_numbers([statistics.null_count for statistics in stated]),
        min_value=bounds[0],
        max_value=bounds[1],
        deprecated_min=bounds[2],
        deprecated_max=bounds[3],
        min_exact=_numbers([statistics.min_exact for statistics in stated]),
        max_exact=_numbers([statistics.max_exact for statistics in stated]),
    )


def ranges(starts: Numbers, counts: Numbers) -> Numbers:
    """Return so many successive numbers from each start, one range after the other."""
    ends = np.cumsum(counts)
    return np.repeat(starts - (ends - counts), counts) + np.arange(ends[-1] if len(ends) else 0)


def without(array: pa.Array, mask: Mask) -> pa.Array:
    """Return an array that is NULL in the lanes of the mask, and where it was NULL."""
    return pc.if_else(pa.array(mask), pa.scalar(None, array.type), array) if mask.any() else array


def _numbers(numbers: Sequence[int | None]) -> Numbers:
    lanes = [
        ABSENT if number is None else number if 0 <= number <= _INT64_MAX else _IMPOSSIBLE
        for number in numbers
    ]
    return np.array(lanes, np.int64)
