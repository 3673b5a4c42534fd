"""Packs: files of named sections, of which a reader fetches only those that it needs.

A pack is written once and never changed. After the sections, compressed one by one, stands a directory of
their sizes and digests, with the notes of the writer, and last the directory's own size and digest. So two
short reads open a pack, however many sections it has, and a flipped bit is noticed before it is believed.

A Parquet file does not serve here. Its footer describes each chunk of each column with about 70 bytes; of a
table with 400 columns, and 7 statistics of each, it is larger than the sections that a query reads.
"""

import functools
import hashlib
import json
import os
import struct
from collections.abc import Mapping, Sequence
from itertools import accumulate, pairwise
from typing import Any

import pyarrow as pa

from pruning.metadata.files.locations import is_uri
from pruning.metadata.files.object_stores import files_at, reason

_MAGIC = b"SKIPPK02"
# The sizes of the directory, compressed and not, its digest, and the magic.
_END = struct.Struct("<II8s8s")
_DIGEST_BYTES = 8
# The directory begins with the number of sections, and two sizes of each.
_COUNT = struct.Struct("<I")
# The first read is so long, and fetches the directory of a small pack too. Of an object, for which a request
# takes longer than many bytes, it fetches all of a small pack.
_TAIL_BYTES, _OBJECT_TAIL_BYTES = 4096, 32_768
_CODEC = "zstd"
# The most packs to keep open in memory, and the most bytes of each.
_OPENED_MAX, _OPENED_BYTES_MAX = 1_024, 16_000_000


class Damaged(Exception):
    """Raised for a pack that is cut short or changed, or cannot be read; the text says how."""


class Missing(Damaged):
    """Raised for a pack that does not exist."""


class Forbidden(Damaged):
    """Raised for a pack that this user may not read."""


class Unreachable(Damaged):
    """Raised for an object that its store does not give now; it may be as it was written."""


def pack_pieces(notes: Mapping[str, Any], sections: Mapping[str, bytes]) -> list[bytes]:
    """Return the content of a pack, in pieces.

    Args:
        notes: Values that JSON can hold, which are read with the directory.
        sections: The bytes of each section by its name, which has no line break.
    """
    packed = {name: _compress(raw) for name, raw in sections.items()}
    sizes = [len(data) for data in packed.values()] + [len(raw) for raw in sections.values()]
    digests = b"".join(_digest(data) for data in packed.values())
    described = json.dumps({"notes": notes, "names": "\n".join(sections)}, separators=(",", ":")).encode()
    directory = _COUNT.pack(len(sections)) + struct.pack(f"<{len(sizes)}Q", *sizes) + digests + described
    data = _compress(directory)
    sizes_of_directory = len(data), len(directory)
    return [
        *packed.values(),
        data,
        _END.pack(*sizes_of_directory, _end_digest(data, *sizes_of_directory), _MAGIC),
    ]


class Pack:
    """An opened pack; sections are read and checked when they are asked for.

    Attributes:
        path: The path of its file, or the URL of its object.
        notes: What its writer noted.
        size_bytes: Its size.
        is_damaged: True if a section that was read was not as it was written, or could not be read.
    """

    def __init__(self, path: str) -> None:
        """Open a pack.

        Raises:
            Damaged: it cannot be read, or is not as it was written.
        """
        self.path = path
        self.is_damaged = False
        tail = _read_end(path, _OBJECT_TAIL_BYTES if is_uri(path) else _TAIL_BYTES)
        if len(tail) < _END.size:
            raise Damaged(f"{path}: is cut short")
        length, raw_length, digest, magic = _END.unpack(tail[-_END.size :])
        if magic != _MAGIC:
            raise Damaged(f"{path}: does not end as a pack does")
        if len(tail) < _END.size + length:
            tail = _read_end(path, _END.size + length)
        data = tail[-_END.size - length : -_END.size]
        if _end_digest(data, length, raw_length) != digest:
            raise _change_error(path)
        directory = _decompress(data, raw_length)
        (count,) = _COUNT.unpack_from(directory)
        sizes = struct.unpack_from(f"<{2 * count}Q", directory, _COUNT.size)
        packed_sizes, self._raw_sizes = sizes[:count], sizes[count:]
        start = _COUNT.size + 16 * count
        self._digests = directory[start : start + _DIGEST_BYTES * count]
        described = json.loads(directory[start + _DIGEST_BYTES * count :])
        self.notes: Mapping[str, Any] = described["notes"]
        self._places = {name: place for place, name in enumerate(described["names"].split("\n"))}
        # A section ends where the next one begins.
        self._begins = [0, *accumulate(packed_sizes)]
        self.size_bytes = self._begins[-1] + length + _END.size
        if len(tail) > self.size_bytes:
            raise _change_error(path)
        self._tail = self.size_bytes - len(tail), tail

    def sections(self, names: Sequence[str]) -> list[bytes]:
        """Return the bytes of sections; those that are neighbours in the file are read at once.

        Raises:
            Damaged: one of them is not as it was written, or the file has vanished.
        """
        try:
            return self._sections(names)
        except Unreachable:
            raise
        except Damaged:
            self.is_damaged = True
            raise

    def _sections(self, names: Sequence[str]) -> list[bytes]:
        places = [self._places[name] for name in names]
        starts = [at for at, place in enumerate(places) if not at or place != places[at - 1] + 1]
        contents: list[bytes] = []
        for first, last in pairwise([*starts, len(places)]):
            offset = self._begins[places[first]]
            data = self._part(offset, self._begins[places[last - 1] + 1] - offset)
            for place in places[first:last]:
                piece = data[self._begins[place] - offset : self._begins[place + 1] - offset]
                if _digest(piece) != self._digests[place * _DIGEST_BYTES : (place + 1) * _DIGEST_BYTES]:
                    raise _change_error(self.path)
                contents.append(_decompress(piece, self._raw_sizes[place]))
        return contents

    def _part(self, offset: int, size: int) -> bytes:
        """Return a part of the file; what was read of its end when it was opened is not read again."""
        start, tail = self._tail
        at_end = tail[max(0, offset - start) : max(0, offset + size - start)]
        try:
            before = (
                b""
                if len(at_end) == size
                else files_at(self.path).read(self.path, offset, size - len(at_end))
            )
        except OSError as error:
            raise _unreadable(self.path, error) from error
        return before + at_end


def _read_end(path: str, size: int) -> bytes:
    try:
        return files_at(path).read_end(path, size)
    except OSError as error:
        raise _unreadable(path, error) from error


def open_pack(path: str, identity: tuple[object, ...] | None = None) -> Pack:
    """Open a pack; one that was opened before, and is still the same file, gives the same object.

    An object is taken for the same by its URL, as packs are never changed. If a digest tells that it is not,
    it is opened each time.

    Args:
        path: The path of its file, or the URL of its object.
        identity: Values that change when it is written again, if they are at hand.
    Raises:
        Damaged: as `Pack`.
    """
    if identity is not None or is_uri(path):
        pack = _open_once(path, identity or ())
        return Pack(path) if pack.is_damaged else pack
    try:
        status = os.stat(path)
    except OSError as error:
        raise _unreadable(path, error) from error
    if status.st_size > _OPENED_BYTES_MAX:
        return Pack(path)
    return _open_once(path, (status.st_ino, status.st_size, status.st_mtime_ns))


@functools.lru_cache(maxsize=_OPENED_MAX)
def _open_once(path: str, version: tuple[object, ...]) -> Pack:
    """Open a pack once for each version of its file: its inode, size and time, or what a store says."""
    return Pack(path)


def to_bytes(table: pa.Table) -> bytes:
    """Return a table as the bytes of an Arrow stream, for a section."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    data: bytes = sink.getvalue().to_pybytes()
    return data


def from_bytes(data: bytes) -> pa.Table:
    """Return the table that is the Arrow stream of a section.

    Raises:
        Damaged: the bytes are no such stream.
    """
    try:
        with pa.ipc.open_stream(data) as reader:
            return reader.read_all().combine_chunks()
    except pa.ArrowException as error:
        raise Damaged(f"a section cannot be decoded ({error})") from error


def _unreadable(path: str, error: OSError) -> Damaged:
    if isinstance(error, FileNotFoundError):
        return Missing(f"{path}: does not exist")
    if isinstance(error, PermissionError):
        return Forbidden(f"{path}: may not be read")
    kind = Unreachable if is_uri(path) else Damaged
    return kind(f"{path}: cannot be read ({reason(error)})")


def _compress(raw: bytes) -> bytes:
    data: bytes = pa.Codec(_CODEC).compress(raw, asbytes=True)
    return data


def _decompress(data: bytes, raw_size: int) -> bytes:
    raw: bytes = pa.Codec(_CODEC).decompress(data, raw_size, asbytes=True)
    return raw


def _change_error(path: str) -> Damaged:
    return Damaged(f"{path}: is not as it was written")


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST_BYTES).digest()


def _end_digest(data: bytes, length: int, raw_length: int) -> bytes:
    """Return the digest of a directory and of its sizes, which nothing else would check."""
    return _digest(data + struct.pack("<II", length, raw_length))
