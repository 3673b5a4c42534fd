"""Deletion vectors of Delta Lake: the deleted rows of a data file, in the log or in a file of their own.

The formats are those of Delta's protocol: "Deletion Vector Format" and "Deletion Vector File Storage Format".
"""

import base64
import struct
import uuid
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyroaring import BitMap

from pruning.errors import InputError

# Of `VectorDescriptor.storage`: a file whose name follows from a UUID, a file named by its path, or the log.
IN_TABLE, AT_PATH, INLINE = "u", "p", "i"
FILE_FORMAT = b"\x01"
_MAGIC = 1681511377
# The magic number and the number of bitmaps; then each bitmap's upper 32 bits before its bytes.
_HEADER, _KEY = struct.Struct("<IQ"), struct.Struct("<I")
_HEADER_BYTES, _KEY_BYTES = _HEADER.size, _KEY.size
# Before and after a vector in a file: its size, and the CRC-32 of its bytes.
_SIZE = _CHECKSUM = struct.Struct(">I")
_FRAME_BYTES = _SIZE.size + _CHECKSUM.size
_UUID_CHARACTERS = 20
# Z85 encodes groups of four bytes as Python's base 85 does, by other characters for the same digits.
_PYTHON_DIGITS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_Z85_DIGITS = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_TO_Z85, _FROM_Z85 = (
    bytes.maketrans(_PYTHON_DIGITS, _Z85_DIGITS),
    # Characters that are no digits of Z85 become a comma, which is none of Python's digits either.
    bytes(dict(zip(_Z85_DIGITS, _PYTHON_DIGITS, strict=True)).get(code, ord(",")) for code in range(256)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class VectorDescriptor:
    """The place of a deletion vector, as an `add` or a `remove` of the log names it.

    Attributes:
        storage: `IN_TABLE`, `AT_PATH` or `INLINE`.
        path_or_inline: A prefix and the UUID in Z85; the URI of the file; or the vector itself in Z85.
        offset: The position in the file; None for an inline vector, and for 0 if the log leaves it out.
        size_bytes: The size of the vector's bytes.
        cardinality: The number of deleted rows.
    """

    storage: str
    path_or_inline: str
    offset: int | None
    size_bytes: int
    cardinality: int

    @property
    def unique_id(self) -> str:
        """The text that distinguishes this vector from others of the same data file."""
        start = f"{self.storage}{self.path_or_inline}"
        return start if self.offset is None else f"{start}@{self.offset}"

    @property
    def file_name(self) -> str:
        """The path of an `IN_TABLE` vector's file, relative to the table's directory.

        Raises:
            InputError: it is no such path.
        """
        prefix = self.path_or_inline[:-_UUID_CHARACTERS]
        raw = _from_z85(self.path_or_inline[-_UUID_CHARACTERS:])
        if self.storage != IN_TABLE or len(raw) != 16:
            raise InputError(f"deletion vector {self.unique_id}: names no file in the table's directory")
        return vector_file_name(uuid.UUID(bytes=raw), prefix)

    def to_json(self) -> dict[str, Any]:
        """Return the struct of the log."""
        offset = {} if self.offset is None else {"offset": self.offset}
        return {
            "storageType": self.storage,
            "pathOrInlineDv": self.path_or_inline,
            **offset,
            "sizeInBytes": self.size_bytes,
            "cardinality": self.cardinality,
        }

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "VectorDescriptor":
        """Return the descriptor that a struct of the log is.

        Raises:
            InputError: a field is missing or of another type.
        """
        descriptor = cls(
            storage=fields.get("storageType", ""),
            path_or_inline=fields.get("pathOrInlineDv", ""),
            offset=fields.get("offset"),
            size_bytes=fields.get("sizeInBytes", -1),
            cardinality=fields.get("cardinality", -1),
        )
        texts = (descriptor.storage, descriptor.path_or_inline)
        numbers = (descriptor.offset or 0, descriptor.size_bytes, descriptor.cardinality)
        if not (
            all(isinstance(text, str) for text in texts)
            and all(type(number) is int and number >= 0 for number in numbers)
            and descriptor.storage in (IN_TABLE, AT_PATH, INLINE)
        ):
            raise InputError(f"a deletion vector of the log has the fields {dict(fields)}, which locate none")
        return descriptor


def vector_file_name(identity: uuid.UUID, prefix: str = "") -> str:
    """Return the path of a file of vectors, relative to the table's directory."""
    name = f"deletion_vector_{identity}.bin"
    return f"{prefix}/{name}" if prefix else name


def table_reference(identity: uuid.UUID, prefix: str = "") -> str:
    """Return the text by which an `IN_TABLE` descriptor names a file of vectors."""
    return prefix + _to_z85(identity.bytes)


def encode_vector(positions: BitMap) -> bytes:
    """Return the bytes of the vector of these positions."""
    if not positions:
        return _HEADER.pack(_MAGIC, 0)
    compact = BitMap(positions)
    compact.run_optimize()
    return _HEADER.pack(_MAGIC, 1) + _KEY.pack(0) + compact.serialize()


def decode_vector(name: str, data: bytes) -> BitMap:
    """Return the positions in the bytes of a vector.

    Args:
        name: How an error names the vector.
        data: The bytes; padding may follow the vector.
    Raises:
        InputError: the bytes are no vector, or have positions of 2^32 or more.
    """
    if len(data) < _HEADER_BYTES:
        raise InputError(f"{name}: a deletion vector of {len(data)} bytes is not complete")
    magic, bitmaps = _HEADER.unpack_from(data)
    if magic != _MAGIC:
        raise InputError(f"{name}: the deletion vector begins with {magic}, not with {_MAGIC}")
    if bitmaps == 0:
        return BitMap()
    start = _HEADER_BYTES + _KEY_BYTES
    # Each bitmap has 2^32 positions, more than any Parquet file that Spark reads has rows.
    if bitmaps > 1 or data[_HEADER_BYTES:start] != _KEY.pack(0):
        raise InputError(f"{name}: the deletion vector has rows beyond the first 2^32; they cannot be read")
    try:
        return BitMap.deserialize(data[start:])
    except ValueError as error:
        raise InputError(f"{name}: the deletion vector is damaged ({error})") from error


def inline_vector(positions: BitMap) -> VectorDescriptor:
    """Return the descriptor that holds these positions itself."""
    data = encode_vector(positions)
    return VectorDescriptor(
        storage=INLINE,
        path_or_inline=_to_z85(data),
        offset=None,
        size_bytes=len(data),
        cardinality=len(positions),
    )


def frame_vector(data: bytes) -> bytes:
    """Return the bytes of a vector as they stand in a file."""
    return _SIZE.pack(len(data)) + data + _CHECKSUM.pack(zlib.crc32(data))


def unframe_vector(descriptor: VectorDescriptor, framed: bytes) -> bytes:
    """Return the bytes of a vector from what stands at its offset in a file.

    Raises:
        InputError: the size or the checksum is another.
    """
    size = descriptor.size_bytes
    data = framed[_SIZE.size : _SIZE.size + size]
    if len(framed) < size + _FRAME_BYTES or _SIZE.unpack_from(framed)[0] != size:
        raise InputError(f"deletion vector {descriptor.unique_id}: its file does not have its {size} bytes")
    if _CHECKSUM.unpack_from(framed, _SIZE.size + size)[0] != zlib.crc32(data):
        raise InputError(f"deletion vector {descriptor.unique_id}: its file is damaged, by its checksum")
    return data


def framed_size(descriptor: VectorDescriptor) -> int:
    """Return the number of bytes that a vector takes in a file."""
    return descriptor.size_bytes + _FRAME_BYTES


def decode_inline(descriptor: VectorDescriptor) -> BitMap:
    """Return the positions of an inline vector.

    Raises:
        InputError: it is damaged.
    """
    name = f"deletion vector {descriptor.unique_id}"
    return decode_vector(name, _from_z85(descriptor.path_or_inline)[: descriptor.size_bytes])


def _to_z85(data: bytes) -> str:
    """Encode bytes, padded with zeros to a multiple of four."""
    padded = data + bytes(-len(data) % 4)
    return base64.b85encode(padded).translate(_TO_Z85).decode("ascii")


def _from_z85(text: str) -> bytes:
    """Decode text; empty if it is not Z85."""
    try:
        # Python would take a last group that is not complete.
        return b"" if len(text) % 5 else base64.b85decode(text.encode("ascii").translate(_FROM_Z85))
    except ValueError:
        return b""
