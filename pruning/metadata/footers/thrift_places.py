"""Values of Thrift's compact protocol one by one: the places after them, and how a list header is encoded."""

from pruning.metadata.footers.thrift_lanes import (
    BINARY,
    BYTE,
    FIXED_BYTES,
    INTEGERS,
    LIST,
    SET,
    STRUCT,
)

# A schema's logical types have five levels below the list of its elements.
_DEPTH_MAX = 8


class Irregular(ValueError):
    """A value of a form that the caller must read in another way."""


def number_after(data: bytes, place: int) -> tuple[int, int]:
    """Return the unsigned number at a place, and the place after it.

    Raises:
        Irregular: the buffer ends before the number, or it has more than 63 bits.
    """
    number = 0
    for shift in range(0, 63, 7):
        if place >= len(data):
            break
        byte = data[place]
        number |= (byte & 0x7F) << shift
        place += 1
        if byte < 0x80:
            return number, place
    raise Irregular


def list_header_after(data: bytes, place: int, kind: int) -> tuple[int, int]:
    """Return the number of elements of the list at a place, which are of that kind, and the place after it.

    Raises:
        Irregular: the elements are of another kind, or the buffer ends.
    """
    if place >= len(data) or data[place] & 15 != kind:
        raise Irregular
    count = data[place] >> 4
    return number_after(data, place + 1) if count == 15 else (count, place + 1)


def place_after(data: bytes, place: int, kind: int, depth: int = 0) -> int:
    """Return the place after the value of a kind at a place.

    Raises:
        Irregular: the buffer ends, or footers have no such value: it is too deep, a map or another kind.
    """
    if depth > _DEPTH_MAX:
        raise Irregular
    if kind in FIXED_BYTES:
        return place + FIXED_BYTES[kind]
    if kind in INTEGERS:
        return number_after(data, place)[1]
    if kind == BINARY:
        size, place = number_after(data, place)
        return place + size
    if kind == STRUCT:
        return _struct_end(data, place, depth)
    if kind in (LIST, SET) and place < len(data):
        inner = data[place] & 15
        count, place = list_header_after(data, place, inner)
        if inner < BYTE or count > len(data):
            raise Irregular
        for _ in range(count):
            place = place_after(data, place, inner, depth + 1)
        return place
    raise Irregular


def _struct_end(data: bytes, place: int, depth: int) -> int:
    while place < len(data):
        header = data[place]
        if header == 0:
            return place + 1
        if header >> 4 == 0:
            raise Irregular
        place = place_after(data, place + 1, header & 15, depth + 1)
    raise Irregular


def list_header(count: int, kind: int) -> bytes:
    """Return the header of a list as Thrift encodes it."""
    if count < 15:
        return bytes([count << 4 | kind])
    return bytes([0xF0 | kind]) + encoded_number(count)


def encoded_number(number: int) -> bytes:
    """Return an unsigned number as Thrift encodes it."""
    encoded = bytearray()
    while number >= 0x80:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*encoded, number])
