"""Parquet footers, read, changed and written again without a schema, so that unknown fields are kept.

A footer is read by the Thrift compact protocol: a structure is a dict from a field's number to its kind and
value; a list or a set is the kind of its elements and their values. Fields are written in the order of their
numbers.

Shares   nothing; the protocol is implemented here.
Trusts   the Parquet format's names of fields by number.
Removes  the reader and writer of every engine: fields that a library drops or rewrites are kept.
Leaves   encrypted footers, which are refused.
"""

from pathlib import Path
from typing import Any, TypeAlias

Field: TypeAlias = tuple[int, Any]
Struct: TypeAlias = dict[int, Field]

# The kinds of the compact protocol. A boolean is a bool as a field of a structure, and a byte in a list.
TRUE, FALSE, BYTE, I16, I32, I64, DOUBLE, BINARY, LIST, SET, MAP, STRUCT, UUID = range(1, 14)
_NUMBERS = (I16, I32, I64)
# Kinds whose values are kept as raw bytes.
_RAW = {BYTE: 1, TRUE: 1, FALSE: 1, DOUBLE: 8, UUID: 16}

MAGIC = b"PAR1"
_ENCRYPTED_MAGIC = b"PARE"
_TAIL = 8  # bytes: the footer's length and the magic
_DEPTH_MAX = 64
_VARINT_SIZE_MAX = 10


class InFile:
    """Fields of FileMetaData."""

    SCHEMA, ROWS, ROW_GROUPS, KEYS, CREATED_BY, COLUMN_ORDERS, ENCRYPTION = 2, 3, 4, 5, 6, 7, 8


class InElement:
    """Fields of SchemaElement."""

    TYPE, LENGTH, REPETITION, NAME, CHILDREN = 1, 2, 3, 4, 5


class InGroup:
    """Fields of RowGroup."""

    CHUNKS, SIZE, ROWS, SORTING, OFFSET, COMPRESSED = 1, 2, 3, 4, 5, 6


class InChunk:
    """Fields of ColumnChunk."""

    FILE_PATH, FILE_OFFSET, META = 1, 2, 3
    OFFSET_INDEX, OFFSET_INDEX_SIZE, COLUMN_INDEX, COLUMN_INDEX_SIZE = 4, 5, 6, 7
    ENCRYPTION, ENCRYPTED_META = 8, 9


class InMeta:
    """Fields of ColumnMetaData."""

    TYPE, PATH, VALUES, UNCOMPRESSED, COMPRESSED = 1, 3, 5, 6, 7
    DATA_PAGE, DICTIONARY_PAGE, STATISTICS, ENCODING_STATS = 9, 11, 12, 13
    BLOOM, BLOOM_SIZE, SIZE_STATISTICS, GEO_STATISTICS = 14, 15, 16, 17


class Malformed(ValueError):
    """The bytes are not a readable footer; the message is one sentence."""


def read_footer(path: Path) -> tuple[bytes, Struct]:
    """Return the bytes before a file's footer, and the footer.

    Raises:
        Malformed: The file is not a Parquet file, is truncated, or is encrypted.
    """
    try:
        return split_file(path.read_bytes())
    except Malformed as error:
        raise Malformed(f"{path}: {error}") from error


def split_file(data: bytes) -> tuple[bytes, Struct]:
    """Return the bytes before the footer, and the footer, of a file's bytes.

    Raises:
        Malformed: They are not a Parquet file, are truncated, or are encrypted.
    """
    if data.endswith(_ENCRYPTED_MAGIC):
        raise Malformed("the footer is encrypted")
    if not data.startswith(MAGIC):
        raise Malformed("it is no Parquet file: it does not start with PAR1")
    if len(data) < len(MAGIC) + _TAIL or not data.endswith(MAGIC):
        raise Malformed("it is truncated: it starts with PAR1 but does not end with it")
    size = int.from_bytes(data[-_TAIL:-4], "little")
    start = len(data) - _TAIL - size
    if start < len(MAGIC):
        raise Malformed(f"it claims a footer of {size} bytes, and has {len(data)} in all")
    footer, end = decode_struct(data[start:-_TAIL])
    if InFile.ENCRYPTION in footer:
        raise Malformed("columns of it are encrypted")
    if end != size:
        raise Malformed(f"{size - end} bytes stand between the footer and its length")
    return data[:start], footer


def join_file(body: bytes, footer: Struct) -> bytes:
    """Return a file: the body with pages, indexes and filters, then the footer."""
    raw = encode_struct(footer)
    return body + raw + len(raw).to_bytes(4, "little") + MAGIC


def decode_struct(data: bytes, at: int = 0) -> tuple[Struct, int]:
    """Decode the structure at an offset; return it and the offset after it.

    Raises:
        Malformed: There is none.
    """
    reader = _ThriftReader(data, at)
    return reader.struct(0), reader.at


def encode_struct(struct: Struct) -> bytes:
    """Encode a structure by the compact protocol."""
    out = bytearray()
    _write(out, STRUCT, struct)
    return bytes(out)


def struct_list(struct: Struct, field: int) -> list[Struct]:
    """Return the structures in a field's list; none if the field is absent.

    Raises:
        Malformed: The field holds something else.
    """
    kind, value = struct.get(field, (LIST, (STRUCT, [])))
    if kind != LIST or (value[0] != STRUCT and value[1]):
        raise Malformed(f"field {field} is no list of structures")
    elements: list[Struct] = value[1]
    return elements


def inner_struct(struct: Struct, field: int) -> Struct:
    """Return the structure in a field.

    Raises:
        Malformed: There is none.
    """
    kind, value = struct.get(field, (None, {}))
    if kind != STRUCT:
        raise Malformed(f"field {field} is no structure")
    struct_value: Struct = value
    return struct_value


def int_field(struct: Struct, field: int, absent: int | None = None) -> int:
    """Return the integer in a field, or `absent` if the field is absent.

    Raises:
        Malformed: There is no value, or it is not an integer.
    """
    kind, value = struct.get(field, (I64, absent))
    if kind not in _NUMBERS or value is None:
        raise Malformed(f"field {field} is no number")
    int_value: int = value
    return int_value


def chunks_of(footer: Struct) -> list[list[Struct]]:
    """Return the column chunks of each row group."""
    return [struct_list(group, InGroup.CHUNKS) for group in struct_list(footer, InFile.ROW_GROUPS)]


def meta_of(chunk: Struct) -> Struct:
    """Return the metadata of a column chunk.

    Raises:
        Malformed: There is none, or the column is encrypted.
    """
    if InChunk.ENCRYPTION in chunk or InChunk.ENCRYPTED_META in chunk:
        raise Malformed("columns of it are encrypted")
    return inner_struct(chunk, InChunk.META)


def path_of(chunk: Struct) -> list[bytes]:
    """Return the names from a top-level column down to a chunk's leaf.

    Raises:
        Malformed: There are none.
    """
    kind, (inside, names) = meta_of(chunk).get(InMeta.PATH, (LIST, (BINARY, [])))
    if (kind, inside) != (LIST, BINARY) or not names:
        raise Malformed("a column chunk has no path")
    path: list[bytes] = names
    return path


def name_of(chunk: Struct) -> str:
    """Return a chunk's path in the form used in messages."""
    return ".".join(part.decode(errors="replace") for part in path_of(chunk))


class _ThriftReader:
    """Reads consecutive values. Each takes at least a byte, so that a false count soon reaches the end."""

    __slots__ = ("at", "data")

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at

    def take(self, count: int) -> bytes:
        start, self.at = self.at, self.at + count
        if self.at > len(self.data):
            raise Malformed(f"it ends early: {count} bytes are due at offset {start} of {len(self.data)}")
        return self.data[start : self.at]

    def byte(self) -> int:
        if self.at >= len(self.data):
            self.take(1)
        self.at += 1
        return self.data[self.at - 1]

    def varint(self) -> int:
        result = 0
        for shift in range(0, 7 * _VARINT_SIZE_MAX, 7):
            byte = self.byte()
            result |= (byte & 127) << shift
            if byte < 128:
                return result
        raise Malformed(f"a number of over {_VARINT_SIZE_MAX} bytes ends at offset {self.at}")

    def signed(self) -> int:
        zigzag = self.varint()
        return (zigzag >> 1) ^ -(zigzag & 1)

    def struct(self, depth: int) -> Struct:
        fields: Struct = {}
        last = 0
        while header := self.byte():
            kind, step = header & 15, header >> 4
            last = last + step if step else self.signed()
            if last in fields:
                raise Malformed(f"field {last} stands twice in a structure that ends by offset {self.at}")
            fields[last] = (kind, kind == TRUE if kind in (TRUE, FALSE) else self.value(kind, depth))
        return fields

    def value(self, kind: int, depth: int) -> Any:
        if depth > _DEPTH_MAX:
            raise Malformed(f"structures and lists lie over {_DEPTH_MAX} deep")
        if kind in _NUMBERS:
            return self.signed()
        if kind == BINARY:
            return self.take(self.varint())
        if kind == STRUCT:
            return self.struct(depth + 1)
        if kind in (LIST, SET):
            return self.elements(depth + 1)
        if kind == MAP:
            return self.pairs(depth + 1)
        if kind in _RAW:
            return self.take(_RAW[kind])
        raise Malformed(f"there is no kind {kind}, which stands before offset {self.at}")

    def elements(self, depth: int) -> tuple[int, list[Any]]:
        header = self.byte()
        count = header >> 4
        count = self.varint() if count == 15 else count
        return header & 15, [self.value(header & 15, depth) for _ in range(count)]

    def pairs(self, depth: int) -> tuple[int, int, list[tuple[Any, Any]]]:
        count = self.varint()
        kinds = self.byte() if count else 0
        key, value = kinds >> 4, kinds & 15
        return key, value, [(self.value(key, depth), self.value(value, depth)) for _ in range(count)]


def _write(out: bytearray, kind: int, value: Any) -> None:
    if kind in _NUMBERS:
        _write_varint(out, value << 1 if value >= 0 else (-value << 1) - 1)
    elif kind == BINARY:
        _write_varint(out, len(value))
        out += value
    elif kind == STRUCT:
        _write_fields(out, value)
    elif kind in (LIST, SET):
        _write_elements(out, *value)
    elif kind == MAP:
        _write_pairs(out, *value)
    else:
        assert len(value) == _RAW[kind]
        out += value


def _write_fields(out: bytearray, fields: Struct) -> None:
    last = 0
    for field in sorted(fields):
        kind, value = fields[field]
        if kind in (TRUE, FALSE):
            kind = TRUE if value else FALSE
        step = field - last
        if 0 < step < 16:
            out.append(step << 4 | kind)
        else:
            out.append(kind)
            _write(out, I16, field)
        if kind not in (TRUE, FALSE):
            _write(out, kind, value)
        last = field
    out.append(0)


def _write_elements(out: bytearray, kind: int, values: list[Any]) -> None:
    if len(values) < 15:
        out.append(len(values) << 4 | kind)
    else:
        out.append(0xF0 | kind)
        _write_varint(out, len(values))
    for value in values:
        _write(out, kind, value)


def _write_pairs(out: bytearray, key: int, value: int, pairs: list[tuple[Any, Any]]) -> None:
    _write_varint(out, len(pairs))
    if pairs:
        out.append(key << 4 | value)
    for pair_key, pair_value in pairs:
        _write(out, key, pair_key)
        _write(out, value, pair_value)


def _write_varint(out: bytearray, value: int) -> None:
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
