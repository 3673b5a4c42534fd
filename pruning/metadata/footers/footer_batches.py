"""The facts of many footers at once, read side by side as arrays.

The chunks of a footer follow each other without a directory, so their places are guessed first. Reading
proves the guess: the first chunk begins where the list of row groups does, and each other one must begin
exactly where the one before it, or its row group, ends. A footer for which this fails, or that has a form
that writers do not use, is left to the caller, who reads it alone.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from pruning.metadata.footers.chunk_facts import ByteStrings, ChunkFacts, ranges
from pruning.metadata.footers.chunk_places import COLUMNS, ChunkPlaces, chunk_places
from pruning.metadata.footers.frame_files import FrameFiles
from pruning.metadata.footers.frames import ChunkLayout, Frame, FrameParser
from pruning.metadata.footers.thrift_lanes import (
    ABSENT,
    BINARY,
    I32,
    I64,
    LIST,
    PADDING,
    STRUCT,
    Fields,
    FlagField,
    LaneReader,
    Mask,
    NestedField,
    NumberField,
    Numbers,
    RefusedField,
    SpanField,
)
from pruning.metadata.footers.thrift_places import Irregular, list_header

# Fields by their numbers in the Parquet format.
_STATISTICS: Fields = {
    1: SpanField("deprecated_max", BINARY),
    2: SpanField("deprecated_min", BINARY),
    3: NumberField("null_count", I64),
    5: SpanField("max_value", BINARY),
    6: SpanField("min_value", BINARY),
    7: FlagField("max_exact"),
    8: FlagField("min_exact"),
}
_META: Fields = {
    1: NumberField("type", I32),
    3: SpanField("path", LIST),
    5: NumberField("value_count", I64),
    7: NumberField("byte_count", I64),
    9: NumberField("data_offset", I64),
    11: NumberField("dictionary_offset", I64),
    12: NestedField(_STATISTICS),
}
# A file path means that the chunk is in another file.
_CHUNK: Fields = {1: RefusedField(), 3: NestedField(_META)}
_GROUP: Fields = {3: NumberField("row_count", I64)}
_COLUMNS_FIELD = 1
# More rows or bytes are irregular, so that their sums have 64 bits.
_SIZE_MAX = 1 << 42


def read_batch(
    footers: Iterable[tuple[str, bytes]], parser: FrameParser
) -> tuple[list[FrameFiles], list[tuple[str, bytes]]]:
    """Return the facts of footers, each given by its file and its bytes, and the footers to be read alone."""
    guesses: list[ChunkPlaces] = []
    alone: list[tuple[str, bytes]] = []
    for file, raw in footers:
        try:
            guesses.append(chunk_places(file, raw, parser))
        except Irregular:
            alone.append((file, raw))
    if not guesses:
        return [], alone
    batch = _Batch(guesses)
    alike: dict[tuple[int, int], tuple[Frame, ChunkLayout, list[int]]] = {}
    for place in np.flatnonzero(batch.proved).tolist():
        try:
            frame, layout = parser.parse(guesses[place].schema, batch.tail(place))
        except Irregular:
            batch.proved[place] = False
        else:
            alike.setdefault((id(frame), id(layout)), (frame, layout, []))[2].append(place)
    parts = [batch.frame_files(*members) for members in alike.values()]
    alone += [(guesses[place].file, guesses[place].raw) for place in np.flatnonzero(~batch.proved).tolist()]
    return [part for part in parts if part.files], alone


class _Batch:
    """Footers that are read at once.

    Attributes:
        proved: True for each footer whose chunks are where they seem to be, and of a regular form.
    """

    def __init__(self, guesses: Sequence[ChunkPlaces]) -> None:
        self._guesses = guesses
        self._buffer = b"".join([*(guess.raw for guess in guesses), PADDING])
        sizes = np.array([len(guess.raw) for guess in guesses], np.int64)
        self._footer_ends = np.cumsum(sizes)
        self._group_counts = np.array([guess.group_count for guess in guesses], np.int64)
        self._chunk_counts = np.array([guess.chunk_count for guess in guesses], np.int64)
        # The indexes of the first row group of each footer, and of the first chunk of each row group.
        self._first_groups = np.cumsum(self._group_counts) - self._group_counts
        chunks_of_groups = np.repeat(self._chunk_counts, self._group_counts)
        self._first_chunks = np.cumsum(chunks_of_groups) - chunks_of_groups

        starts = np.array([start for guess in guesses for start in guess.starts], np.int64)
        starts += np.repeat(self._footer_ends - sizes, self._group_counts * self._chunk_counts)
        self._chunks = LaneReader(self._buffer, len(starts))
        ends = self._chunks.read(starts, _CHUNK)
        self._groups = LaneReader(self._buffer, len(chunks_of_groups))
        last_chunks = self._first_chunks + chunks_of_groups - 1
        self._group_ends = self._groups.read(ends[last_chunks], _GROUP, after=_COLUMNS_FIELD)

        is_proved = self._regular_chunks(starts, ends, last_chunks)
        is_proved[last_chunks] &= self._regular_groups(starts)
        self.proved: Mask = np.logical_and.reduceat(is_proved, self._first_chunks[self._first_groups])
        self._facts = self._chunk_facts()

    def tail(self, place: int) -> bytes:
        """Return the bytes after the row groups of one footer."""
        last_group = self._first_groups[place] + self._group_counts[place] - 1
        return self._buffer[self._group_ends[last_group] : self._footer_ends[place]]

    def frame_files(self, frame: Frame, layout: ChunkLayout, places: Sequence[int]) -> FrameFiles:
        """Return the facts of footers with a frame; those whose row groups differ from it become unproved."""
        members = np.array(places, np.int64)
        fits = self._chunk_counts[members] == layout.chunk_count
        self.proved[members[~fits]] = False
        members = members[fits]
        groups = ranges(self._first_groups[members], self._group_counts[members])
        if len(members):
            counts = self._group_counts[members]
            fits = np.logical_and.reduceat(self._fitting_groups(layout, groups), np.cumsum(counts) - counts)
            self.proved[members[~fits]] = False
            members = members[fits]
            groups = ranges(self._first_groups[members], self._group_counts[members])
        return FrameFiles(
            frame=frame,
            files=tuple(self._guesses[place].file for place in members),
            group_counts=self._group_counts[members],
            row_counts=self._groups.values["row_count"][groups],
            first_chunks=self._first_chunks[groups],
            chunk_count=layout.chunk_count,
            chunks=self._facts,
        )

    def _regular_chunks(self, starts: Numbers, ends: Numbers, last_chunks: Numbers) -> Mask:
        """Return the chunks that were read, and after which the next one of the row group begins."""
        values = self._chunks.values
        is_followed = np.append(ends[:-1] == starts[1:], False)
        # What follows the last chunk of a row group is for the row group to say.
        is_followed[last_chunks] = True
        has_metadata = values["type"] != ABSENT
        mask: Mask = (
            is_followed & ~self._chunks.irregular & has_metadata & (values["byte_count"] <= _SIZE_MAX)
        )
        return mask

    def _regular_groups(self, starts: Numbers) -> Mask:
        """Return the row groups that were read, and after which the next one begins or the footer goes on."""
        rows = self._groups.values["row_count"]
        headers = [bytes([COLUMNS]) + list_header(guess.chunk_count, STRUCT) for guess in self._guesses]
        words = np.array([int.from_bytes(header, "little") for header in headers], np.uint64)
        sizes = np.array([len(header) for header in headers], np.int64)
        words, sizes = np.repeat(words, self._group_counts), np.repeat(sizes, self._group_counts)
        masks = (np.uint64(1) << (8 * sizes).astype(np.uint64)) - np.uint64(1)
        is_followed = (self._groups.words(self._group_ends) & masks) == words
        is_followed[:-1] &= (self._group_ends + sizes)[:-1] == starts[self._first_chunks[1:]]
        last_groups = self._first_groups + self._group_counts - 1
        is_followed[last_groups] = self._group_ends[last_groups] < self._footer_ends
        mask: Mask = is_followed & ~self._groups.irregular & (rows >= 0) & (rows <= _SIZE_MAX)
        return mask

    def _fitting_groups(self, layout: ChunkLayout, groups: Numbers) -> Mask:
        """Return the row groups whose chunks have the types and paths of their leaves in the schema."""
        values = self._chunks.values
        chunks = self._first_chunks[groups][:, None] + layout.chunks
        types, sizes = values["type"][chunks], values["path.size"][chunks]
        fits: Mask = (types == layout.types).all(axis=1) & (sizes == layout.path_sizes).all(axis=1)
        paths = self._spans("path").take(chunks[fits].ravel()).concatenation()
        fits[fits] = (paths.reshape(int(fits.sum()), len(layout.paths)) == layout.paths).all(axis=1)
        return fits

    def _chunk_facts(self) -> ChunkFacts:
        values = self._chunks.values
        data, dictionary = _counts(values["data_offset"]), _counts(values["dictionary_offset"])
        # Some writers fill in 0 for "no dictionary"; no page starts before the magic.
        has_both = (data > 0) & (dictionary > 0)
        return ChunkFacts(
            value_counts=_counts(values["value_count"]),
            byte_counts=_counts(values["byte_count"]),
            byte_offsets=np.where(has_both, np.minimum(data, dictionary), data),
            null_counts=values["null_count"],
            min_value=self._spans("min_value"),
            max_value=self._spans("max_value"),
            deprecated_min=self._spans("deprecated_min"),
            deprecated_max=self._spans("deprecated_max"),
            min_exact=values["min_exact"],
            max_exact=values["max_exact"],
        )

    def _spans(self, name: str) -> ByteStrings:
        values = self._chunks.values
        return ByteStrings(self._buffer, values[name], values[f"{name}.size"])


def _counts(numbers: Numbers) -> Numbers:
    """Return the numbers, ABSENT where they are negative."""
    return np.where(numbers < 0, ABSENT, numbers)
