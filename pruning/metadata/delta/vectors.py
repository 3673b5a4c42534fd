"""Deletion vectors: the rows of data files that are deleted, and where the log says they are listed."""

import base64
import binascii
import struct
import uuid
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import pyarrow as pa
from pyroaring import BitMap, BitMap64

from pruning.errors import InputError
from pruning.metadata.delta.log_files import DeltaLog
from pruning.metadata.files.locations import locate, to_uri
from pruning.metadata.footers.thrift_lanes import Mask
from pruning.metadata.table.structs import field_of

# Python's base85 of the same digits in another alphabet.
_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_B85 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_NOT_Z85 = ";_`|~"
_TO_B85 = str.maketrans(_Z85 + _NOT_Z85, _B85 + "\0" * len(_NOT_Z85))
_UUID_LENGTH = 20
_PORTABLE, _NATIVE = 1681511377, 1681511376
# Positions from here on have no place in a `BitMap` of rows that Spark numbers.
_POSITIONS_END = 1 << 31
_VERSION = b"\x01"
# The number of the form and the number of parts, in the shorter of the forms.
_HEADER_BYTES = 8


class _Vector(NamedTuple):
    """A place of a file, and the descriptor of its deletion vector."""

    place: int
    storage: str
    where: str
    offset: int
    size: int
    cardinality: int


@dataclass(frozen=True, eq=False)
class DeletionVectors:
    """The deleted rows of files, read from deletion vectors when they are needed.

    Attributes:
        log: The table's log.
        paths: The data files.
        descriptors: Their deletion vectors, NULL where there is none; shape (files,).
    """

    log: DeltaLog
    paths: Sequence[str]
    descriptors: pa.StructArray

    @cached_property
    def mask(self) -> Mask:
        """True for files of which rows may be deleted; shape (files,)."""
        mask: Mask = self.descriptors.is_valid().to_numpy(zero_copy_only=False)
        return mask

    @property
    def cardinalities(self) -> pa.Array:
        """The numbers of deleted rows, as the log has them; NULL where there is no deletion vector."""
        return field_of(self.descriptors, "cardinality")

    def positions(self, places: Sequence[int]) -> list[BitMap]:
        """Return the positions of deleted rows in the files at these places, counted from a file's first row.

        Each file of vectors is opened once.

        Raises:
            InputError: a file of vectors is missing or damaged, or rows beyond the first 2^31 are deleted.
        """
        by_file: dict[str | None, list[_Vector]] = defaultdict(list)
        for vector in self._vectors(places):
            by_file[self._file_of(vector)].append(vector)
        bitmaps: dict[int, BitMap] = {}
        for file, vectors in by_file.items():
            contents = self._inline(vectors) if file is None else _vectors_in(file, vectors)
            for vector, content in zip(vectors, contents, strict=True):
                source = file or self.paths[vector.place]
                bitmaps[vector.place] = _checked_positions(content, vector.cardinality, source)
        return [bitmaps.get(place, BitMap()) for place in places]

    def _vectors(self, places: Sequence[int]) -> Iterator[_Vector]:
        distinct = pa.array(sorted(set(places)), pa.int64())
        for place, row in zip(distinct.to_pylist(), self.descriptors.take(distinct).to_pylist(), strict=True):
            if row is None:
                continue
            if None in (row["storageType"], row["pathOrInlineDv"], row["sizeInBytes"], row["cardinality"]):
                raise InputError(
                    f"{self.paths[place]}: its deletion vector lacks a field in the table's log; "
                    "restore the commit that wrote it"
                )
            yield _Vector(
                place=place,
                storage=row["storageType"],
                where=row["pathOrInlineDv"],
                offset=row["offset"] or 0,
                size=row["sizeInBytes"],
                cardinality=row["cardinality"],
            )

    def _file_of(self, vector: _Vector) -> str | None:
        """Return the path or URI, without escapes, of the file that holds a vector; None if the log does."""
        match vector.storage:
            case "i":
                return None
            case "p":
                return self.log.path_of(vector.where)
            case "u":
                prefix, code = vector.where[:-_UUID_LENGTH], vector.where[-_UUID_LENGTH:]
                try:
                    name = f"deletion_vector_{uuid.UUID(bytes=_from_z85(code))}.bin"
                except ValueError as error:
                    raise InputError(
                        f"{self.paths[vector.place]}: its deletion vector has the garbled name "
                        f"{vector.where!r}; restore the commit that wrote it"
                    ) from error
                return "/".join(filter(None, (self.log.location, prefix, name)))
            case _:
                raise InputError(
                    f"{self.paths[vector.place]}: its deletion vector is stored in the way "
                    f"{vector.storage!r}, which this package does not read; read it with an engine that does"
                )

    def _inline(self, vectors: Sequence[_Vector]) -> Iterator[bytes]:
        for vector in vectors:
            try:
                content = _from_z85(vector.where)
            except ValueError as error:
                raise InputError(
                    f"{self.paths[vector.place]}: its deletion vector in the log is garbled; restore the "
                    "commit that wrote it"
                ) from error
            yield content[: vector.size]


def _vectors_in(file: str, vectors: Sequence[_Vector]) -> Iterator[bytes]:
    """Yield the vectors in a file."""
    try:
        system, path = locate(file if file.startswith("/") else to_uri(file))
        with system.open_input_file(path) as source:
            if any(vector.offset for vector in vectors) and source.read_at(1, 0) != _VERSION:
                raise InputError(f"{file}: is no file of deletion vectors of version 1; restore it")
            for vector in vectors:
                yield _content(file, source.read_at(vector.size + 8, vector.offset), vector)
    except (OSError, pa.ArrowException) as error:
        raise InputError(
            f"{file}: cannot be read ({error}), and without it deleted rows would come back; restore it"
        ) from error


def _content(file: str, stored: bytes, vector: _Vector) -> bytes:
    """Return a vector without its size and its checksum, which are checked."""
    if len(stored) != vector.size + 8 or struct.unpack(">i", stored[:4])[0] != vector.size:
        raise InputError(
            f"{file}: has no deletion vector of {vector.size} bytes at {vector.offset}, as the table's log "
            "says; restore it"
        )
    content, checksum = stored[4:-4], struct.unpack(">I", stored[-4:])[0]
    if zlib.crc32(content) != checksum:
        raise InputError(
            f"{file}: its deletion vector at {vector.offset} is damaged (wrong checksum); restore it"
        )
    return content


def _checked_positions(content: bytes, cardinality: int, source: str) -> BitMap:
    """Return the positions in a vector, of which the log has the number."""
    try:
        bitmap = _bitmap(content)
    except (ValueError, struct.error, MemoryError) as error:
        raise InputError(f"{source}: its deletion vector cannot be read ({error}); restore it") from error
    if len(bitmap) != cardinality:
        raise InputError(
            f"{source}: its deletion vector lists {len(bitmap)} rows, and the table's log says "
            f"{cardinality}; restore it"
        )
    return bitmap


def _bitmap(content: bytes) -> BitMap:
    """Return the positions in a vector.

    Raises:
        ValueError: it is not of a form of Delta's, or has positions from 2^31 on.
    """
    if len(content) < _HEADER_BYTES:
        raise ValueError("it is cut")
    (little,), (big,) = struct.unpack("<I", content[:4]), struct.unpack(">I", content[:4])
    if little == _PORTABLE:
        bitmap = BitMap64.deserialize(content[4:])
        return _small_bitmap(bitmap, content)
    if _NATIVE in (little, big):
        return _native(content, "<" if little == _NATIVE else ">")
    raise ValueError("it begins with no number of a form")


def _small_bitmap(bitmap: BitMap64, content: bytes) -> BitMap:
    if not bitmap:
        return BitMap()
    if bitmap.max() >= _POSITIONS_END:
        raise ValueError("it deletes rows beyond the first 2^31")
    count, key = struct.unpack("<QI", content[4:16])
    # A vector of one part, as nearly all are, is that part after its key.
    return BitMap.deserialize(content[16:]) if (count, key) == (1, 0) else BitMap(bitmap)


def _native(content: bytes, order: str) -> BitMap:
    """Return the positions in the form that came before the portable one: sizes and parts in turn."""
    (count,) = struct.unpack(f"{order}i", content[4:8])
    if not 0 <= count <= len(content):
        raise ValueError("its number of parts is wrong")
    positions, start = BitMap(), 8
    for part in range(count):
        (size,) = struct.unpack(f"{order}i", content[start : start + 4])
        if not 0 < size <= len(content) - start - 4:
            raise ValueError("a part of it is cut")
        bitmap = BitMap.deserialize(content[start + 4 : start + 4 + size])
        if bitmap and (part or bitmap.max() >= _POSITIONS_END):
            raise ValueError("it deletes rows beyond the first 2^31")
        positions |= bitmap
        start += 4 + size
    return positions


def _from_z85(text: str) -> bytes:
    """Return the bytes of a text in Z85.

    Raises:
        ValueError: it is none.
    """
    if len(text) % 5:
        raise ValueError("its length is no multiple of 5")
    try:
        return base64.b85decode(text.translate(_TO_B85).encode("latin-1"))
    except (binascii.Error, UnicodeEncodeError) as error:
        raise ValueError(str(error)) from error
