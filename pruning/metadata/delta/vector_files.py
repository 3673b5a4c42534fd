"""Files of deletion vectors in a table's directory: written once, and read by the descriptors of the log."""

import uuid
from collections.abc import Mapping

from pyroaring import BitMap

from pruning.errors import InputError
from pruning.metadata.delta.created_files import create_file
from pruning.metadata.delta.deletion_vectors import (
    AT_PATH,
    FILE_FORMAT,
    IN_TABLE,
    INLINE,
    VectorDescriptor,
    decode_inline,
    decode_vector,
    encode_vector,
    frame_vector,
    framed_size,
    inline_vector,
    table_reference,
    unframe_vector,
    vector_file_name,
)
from pruning.metadata.files.locations import locate
from pruning.metadata.files.object_stores import files_at, reason

# Offsets in a file of vectors are 32-bit numbers with a sign.
_FILE_BYTES_MAX = 2**31 - 1


def write_vectors(
    root: str, positions: Mapping[str, BitMap], *, prefix: str = "", inline_bytes_max: int = 0
) -> dict[str, VectorDescriptor]:
    """Write the deletion vectors of data files, all into one file, which no version names yet.

    Args:
        root: The table's directory, from `created_files.root_of`.
        positions: All deleted rows of each data file, by its path in the log; none is empty.
        prefix: The folder in the table's directory that the file is written to; empty for the directory.
        inline_bytes_max: Vectors of at most this size go into the log instead. All readers that were tried
            read them, but each costs every later reader of the log its bytes.
    Returns:
        The descriptor of each vector.
    Raises:
        InputError: a vector is empty, all of them are too large for one file, or it cannot be written.
    """
    identity = uuid.uuid4()
    reference = table_reference(identity, prefix)
    descriptors: dict[str, VectorDescriptor] = {}
    pieces, offset = [FILE_FORMAT], len(FILE_FORMAT)
    for path, bitmap in positions.items():
        if not bitmap:
            raise InputError(f"{path}: no row of it is deleted; leave it out of the deletion vectors")
        data = encode_vector(bitmap)
        if len(data) <= inline_bytes_max:
            descriptors[path] = inline_vector(bitmap)
            continue
        descriptors[path] = VectorDescriptor(
            storage=IN_TABLE,
            path_or_inline=reference,
            offset=offset,
            size_bytes=len(data),
            cardinality=len(bitmap),
        )
        pieces.append(frame_vector(data))
        offset += len(pieces[-1])
    if offset > _FILE_BYTES_MAX:
        raise InputError(
            f"{root}: the deletion vectors of {len(positions):,} files take {offset:,} bytes, and one file "
            f"has at most {_FILE_BYTES_MAX:,}; delete from fewer files at once"
        )
    if len(pieces) > 1:
        path = f"{root}/{vector_file_name(identity, prefix)}"
        try:
            create_file(path, b"".join(pieces))
        except OSError as error:
            raise InputError(
                f"{path}: cannot be written ({reason(error)}); the table was not changed"
            ) from error
    return descriptors


def read_vector(root: str, descriptor: VectorDescriptor) -> BitMap:
    """Return the positions of the rows that a deletion vector deletes.

    Args:
        root: The table's directory, from `created_files.root_of`.
        descriptor: From the log.
    Raises:
        InputError: the vector is missing or damaged, or has another number of rows than the log says.
    """
    if descriptor.storage == INLINE:
        positions = decode_inline(descriptor)
    else:
        path = f"{root}/{descriptor.file_name}" if descriptor.storage == IN_TABLE else _absolute(descriptor)
        try:
            framed = files_at(path).read(path, descriptor.offset or 0, framed_size(descriptor))
        except OSError as error:
            raise InputError(f"{path}: the deletion vectors cannot be read ({reason(error)})") from error
        positions = decode_vector(path, unframe_vector(descriptor, framed))
    if len(positions) != descriptor.cardinality:
        raise InputError(
            f"deletion vector {descriptor.unique_id}: it has {len(positions)} rows, and the log says "
            f"{descriptor.cardinality}"
        )
    return positions


def _absolute(descriptor: VectorDescriptor) -> str:
    """Return the path or URL of an `AT_PATH` vector's file."""
    assert descriptor.storage == AT_PATH
    uri = descriptor.path_or_inline
    return locate(uri)[1] if uri.startswith(("file:", "/")) else uri
