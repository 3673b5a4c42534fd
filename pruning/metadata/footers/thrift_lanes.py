"""A reader of Thrift's compact protocol that reads one structure at many places of a buffer at once.

A lane is one place. The lanes advance together: those whose next field has the least number read it while
the others wait, so that a lane that lacks a field is soon in step again. A step is a few numpy operations on
all lanes that take part in it.

Only the regular form is read, which is what writers use: fields in ascending order with short headers,
numbers below 2**55, short lists and few levels. A lane of any other form is marked as irregular, and its
caller reads it in another way.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Numbers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Bytes: TypeAlias = npt.NDArray[np.uint8]

# The kinds of the compact protocol.
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET = range(1, 11)
STRUCT = 12
FIXED_BYTES = {TRUE: 0, FALSE: 0, BYTE: 1, DOUBLE: 8}
INTEGERS = (I16, I32, I64)

# The number of a lane without the field; no number of the regular form is as small.
ABSENT = -(1 << 62)
# Longer lists, deeper structures and greater field numbers are irregular.
_ELEMENTS_MAX, _DEPTH_MAX, _FIELD_MAX = 32, 4, 64
# A number is loaded as a word of this size, which may begin at the last byte of the buffer.
PADDING = bytes(8)
_FINISHED = _FIELD_MAX + 1
_HIGH_BITS, _LOW_BITS = np.uint64(0x8080808080808080), np.uint64(0x0101010101010101)


@dataclass(frozen=True, slots=True)
class NumberField:
    """A field with an integer of one kind; it is kept by a name."""

    name: str
    kind: int


@dataclass(frozen=True, slots=True)
class FlagField:
    """A field with a boolean, kept by a name as 0 or 1."""

    name: str


@dataclass(frozen=True, slots=True)
class SpanField:
    """A field with a byte string or a list of them, kept by a name as the place and number of its bytes."""

    name: str
    kind: int


@dataclass(frozen=True, slots=True)
class RefusedField:
    """A field that makes a lane irregular."""


@dataclass(frozen=True, slots=True)
class NestedField:
    """A field with a structure of which some fields are kept."""

    fields: "Fields"


Layout: TypeAlias = NumberField | FlagField | SpanField | RefusedField | NestedField
Fields: TypeAlias = Mapping[int, Layout]


class LaneReader:
    """A reader of one structure per lane.

    Attributes:
        values: By the name of a field, a number per lane, or ABSENT. The number of bytes of a span has the
            span's name followed by ".size".
        irregular: True in the lanes that are not of the regular form; their other results mean nothing.
    """

    def __init__(self, buffer: bytes, lanes: int) -> None:
        """Prepare to read in a buffer that ends with `PADDING`."""
        self._size = len(buffer) - len(PADDING)
        self._data = np.frombuffer(buffer, np.uint8)
        self._words = np.ndarray((self._size + 1,), np.dtype("<u8"), buffer, strides=(1,))
        self._lanes = lanes
        self.values: dict[str, Numbers] = {}
        self.irregular: Mask = np.zeros(lanes, np.bool_)

    def read(self, places: Numbers, fields: Fields, *, after: int = 0) -> Numbers:
        """Read a structure in each lane, from the field after field `after`; return the places behind it.

        The places are at most the size of the buffer without its padding, and so are the returned ones.
        """
        for name in _names(fields):
            self.values[name] = np.full(self._lanes, ABSENT)
        return self._struct(np.arange(self._lanes), places, fields, 0, after)

    def words(self, places: Numbers) -> npt.NDArray[np.uint64]:
        """Return the eight bytes at each place as a little-endian number."""
        return self._words[places]

    def _struct(self, lanes: Numbers, places: Numbers, fields: Fields, depth: int, after: int) -> Numbers:
        places = places.copy()
        numbers = np.full(len(lanes), after)
        kinds = np.zeros(len(lanes), np.uint8)
        turn: slice | Numbers = slice(None)
        while len(lanes):
            headers = self._data[places[turn]]
            places[turn] = self._advance(places[turn], 1)
            numbers[turn], kinds[turn] = self._next_fields(lanes[turn], headers, numbers[turn])
            number = int(numbers.min())
            if number == _FINISHED:
                break
            turn = _selection(numbers == number)
            places[turn] = self._field(lanes[turn], places[turn], kinds[turn], fields.get(number), depth)
        return places

    def _next_fields(self, lanes: Numbers, headers: Bytes, numbers: Numbers) -> tuple[Numbers, Bytes]:
        """Return the numbers and kinds of the fields that the headers announce."""
        steps, kinds = (headers >> 4).astype(np.int64), headers & np.uint8(15)
        numbers = numbers + steps
        irregular = (headers != 0) & ((steps == 0) | (kinds == 0)) | (numbers > _FIELD_MAX)
        if irregular.any():
            self.irregular[lanes[irregular]] = True
        numbers[(headers == 0) | self.irregular[lanes]] = _FINISHED
        return numbers, kinds

    def _field(
        self, lanes: Numbers, places: Numbers, kinds: Bytes, layout: Layout | None, depth: int
    ) -> Numbers:
        """Read a field whose header has been read; return the places after it."""
        if isinstance(layout, FlagField):
            self.values[layout.name][lanes] = kinds == TRUE
            self.irregular[lanes[kinds > FALSE]] = True
            return places
        for kind, part in _by_kind(kinds):
            ends = self._field_of_kind(lanes[part], places[part], kind, layout, depth)
            if isinstance(part, slice):
                return ends
            places[part] = ends
        return places

    def _field_of_kind(
        self, lanes: Numbers, places: Numbers, kind: int, layout: Layout | None, depth: int
    ) -> Numbers:
        match layout:
            case None:
                return self._skip(lanes, places, kind, depth)
            case NumberField() if kind == layout.kind:
                numbers, ends = self._varint(lanes, places)
                self.values[layout.name][lanes] = (numbers >> 1) ^ -(numbers & 1)
                return ends
            case SpanField() if kind == layout.kind == BINARY:
                sizes, places = self._varint(lanes, places)
                ends = self._advance(places, sizes)
            case SpanField() if kind == layout.kind == LIST:
                self.irregular[lanes[(self._data[places] & 15) != BINARY]] = True
                ends = self._skip(lanes, places, kind, depth)
            case NestedField() if kind == STRUCT and depth < _DEPTH_MAX:
                return self._struct(lanes, places, layout.fields, depth + 1, 0)
            case _:
                self.irregular[lanes] = True
                return places
        self.values[layout.name][lanes] = places
        self.values[f"{layout.name}.size"][lanes] = ends - places
        return ends

    def _skip(self, lanes: Numbers, places: Numbers, kind: int, depth: int) -> Numbers:
        """Return the places after values of one kind."""
        if kind in FIXED_BYTES:
            return self._advance(places, FIXED_BYTES[kind])
        if kind in INTEGERS:
            return self._varint(lanes, places)[1]
        if kind == BINARY:
            sizes, starts = self._varint(lanes, places)
            return self._advance(starts, sizes)
        if kind in (LIST, SET) and depth < _DEPTH_MAX:
            return self._skip_list(lanes, places, depth)
        if kind == STRUCT and depth < _DEPTH_MAX:
            return self._struct(lanes, places, {}, depth + 1, 0)
        self.irregular[lanes] = True
        return places

    def _skip_list(self, lanes: Numbers, places: Numbers, depth: int) -> Numbers:
        headers = self._data[places]
        counts, kinds = (headers >> 4).astype(np.int64), headers & np.uint8(15)
        places = self._advance(places, 1)
        long = np.flatnonzero(counts == 15)
        if len(long):
            counts[long], places[long] = self._varint(lanes[long], places[long])
        # Booleans in a list take a byte, unlike those of fields; no list of a footer has them. A kind that
        # does not exist is refused in an empty list too, as it is where a footer is read alone.
        irregular = (counts > _ELEMENTS_MAX) | (kinds < BYTE) | (kinds > STRUCT)
        self.irregular[lanes[irregular]] = True
        counts[irregular] = 0
        for element in range(int(counts.max(initial=0))):
            part = _selection(counts > element)
            places[part] = self._field(lanes[part], places[part], kinds[part], None, depth + 1)
        return places

    def _varint(self, lanes: Numbers, places: Numbers) -> tuple[Numbers, Numbers]:
        """Return the unsigned numbers at the places, and the places after them."""
        words = self._words[places]
        # The first byte without its high bit is the last byte of the number.
        stops = ~words & _HIGH_BITS
        if not stops.all():
            self.irregular[lanes[stops == 0]] = True
        last_bits = stops & (~stops + np.uint64(1))
        used = last_bits | (last_bits - np.uint64(1))
        sizes = ((used & _LOW_BITS) * _LOW_BITS) >> np.uint64(56)
        return _join_groups(words & used), self._advance(places, sizes.astype(np.int64))

    def _advance(self, places: Numbers, sizes: Numbers | int) -> Numbers:
        """Return the places so many bytes further, at most those at the end of the buffer."""
        ends: Numbers = np.minimum(places + sizes, self._size)
        return ends


def _join_groups(words: npt.NDArray[np.uint64]) -> Numbers:
    """Return the numbers whose groups of seven bits are in the bytes of the words, the lowest group first."""
    words = words & np.uint64(0x7F7F7F7F7F7F7F7F)
    for low, high, shift in _GROUPS:
        words = (words & low) | ((words & high) >> shift)
    return words.astype(np.int64)


# Two neighbouring groups of 7, 14 and 28 bits are joined: (the lower ones, the higher ones, bits between).
_GROUPS = (
    (np.uint64(0x007F007F007F007F), np.uint64(0x7F007F007F007F00), np.uint64(1)),
    (np.uint64(0x00003FFF00003FFF), np.uint64(0x3FFF00003FFF0000), np.uint64(2)),
    (np.uint64(0x000000000FFFFFFF), np.uint64(0x0FFFFFFF00000000), np.uint64(4)),
)


def _selection(mask: Mask) -> slice | Numbers:
    """Return an index of the lanes in the mask; a slice, which is faster, if that is all of them."""
    return slice(None) if mask.all() else np.flatnonzero(mask)


def _by_kind(kinds: Bytes) -> Iterator[tuple[int, slice | Numbers]]:
    """Yield each kind with an index of its lanes."""
    if (kinds == kinds[0]).all():
        yield int(kinds[0]), slice(None)
        return
    for kind in np.unique(kinds):
        yield int(kind), np.flatnonzero(kinds == kind)


def _names(fields: Fields) -> Iterator[str]:
    """Yield the names under which values are kept."""
    for layout in fields.values():
        match layout:
            case NumberField(name) | FlagField(name):
                yield name
            case SpanField(name):
                yield from (name, f"{name}.size")
            case NestedField(inner):
                yield from _names(inner)
