"""A Parquet footer as plain data, before any of it is judged.

It is read without a Parquet library, because those hide which fields of the statistics were filled, and
some end the whole process on an encrypted file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from pruning.errors import InputError
from pruning.metadata.files.locations import locate
from pruning.metadata.footers.nested import SchemaLeaf, leaves
from pruning.metadata.footers.other_columns import SparkType, other_columns
from pruning.metadata.footers.thrift_layout import Malformed, parse

# One request usually fetches the whole footer; a longer one costs a second request.
_TAIL_BYTES = 64 * 1024
TRAILER_BYTES = 8  # the footer's length, then the magic
# A file begins and ends with one of these, the second if its footer is encrypted.
MAGICS = (b"PAR1", b"PARE")
_INT64_MAX = (1 << 63) - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistics:
    """The bounds and counts written for one column chunk; None if a field is absent."""

    min_value: bytes | None = None
    max_value: bytes | None = None
    deprecated_min: bytes | None = None
    deprecated_max: bytes | None = None
    null_count: int | None = None
    min_exact: bool | None = None
    max_exact: bool | None = None


class ByteRange(NamedTuple):
    """A range of bytes of a file."""

    offset: int
    size: int

    @property
    def end(self) -> int:
        """The offset of the first byte after the range."""
        return self.offset + self.size


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """The chunk of one column in one row group; `column_index` and `offset_index` are where these are."""

    value_count: int | None
    byte_count: int | None
    byte_offset: int | None
    filter_offset: int | None = None
    column_index: ByteRange | None = None
    offset_index: ByteRange | None = None
    statistics: Statistics

    @property
    def indexes(self) -> list[ByteRange]:
        """The places of those page indexes that the chunk has."""
        return [index for index in (self.column_index, self.offset_index) if index is not None]


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group; `chunks` has an entry per leaf of the schema, in the schema's order."""

    row_count: int
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Footer:
    """The footer of one file; `leaves` are its columns and `byte_count` is the size of the footer.

    `others` are the top-level columns that the leaves do not cover completely, with Spark's types.
    """

    byte_count: int
    writer: str
    keys: Mapping[str, bytes]
    leaves: tuple[SchemaLeaf, ...]
    others: Mapping[str, SparkType]
    row_groups: tuple[RowGroup, ...]


def read_footer(file: str) -> Footer:
    """Read one file's footer; only the file's tail is fetched.

    Raises:
        InputError: the file cannot be read, is encrypted or damaged, or is no Parquet file.
    """
    return parse_footer(file, read_footer_bytes(file))


def read_footer_bytes(file: str) -> bytes:
    """Read the bytes of one file's footer; only the file's tail is fetched.

    Raises:
        InputError: the file cannot be read, is encrypted, or is no Parquet file.
    """
    system, path = locate(file)
    try:
        with system.open_input_file(path) as handle:
            return _footer_bytes(file, handle)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{file}: cannot be read ({error}); check the path and its permissions") from error


def parse_footer(file: str, raw: bytes) -> Footer:
    """Return the footer of a file from the footer's bytes.

    Raises:
        InputError: the footer is damaged, or its columns are encrypted or in other files.
    """
    try:
        return _footer(file, parse(raw), byte_count=len(raw))
    except Malformed as error:
        raise InputError(f"{file}: its Parquet footer is damaged ({error}); write the file again") from error


def footer_without_blocks(schema: list[Any], tail: Any) -> Footer:
    """Return a footer with no row groups from the elements of its schema and its parsed later fields.

    Raises:
        Malformed: the schema's groups do not have the numbers of children that they claim.
    """
    tail.schema, tail.row_groups = schema, []
    return _footer("", tail, byte_count=0)


def is_parquet(file: str) -> bool:
    """Tell whether a file looks like Parquet, maybe a damaged one; True if it cannot be read.

    An empty file does not: Spark ignores it, whatever its name.
    """
    system, path = locate(file)
    try:
        with system.open_input_file(path) as handle:
            size = handle.size()
            ends = handle.read_at(min(4, size), 0), handle.read_at(min(4, size), max(0, size - 4))
    except (OSError, pa.ArrowException):
        return True
    return bool(size) and (path.endswith(".parquet") or any(end in MAGICS for end in ends))


def footer_length(file: str, tail: bytes, size: int) -> int:
    """Return the length in bytes of a file's footer, from the last bytes of the file.

    Args:
        file: Names the file in errors.
        tail: The last bytes of the file, of which there are eight or more if the file has so many.
        size: The size of the file in bytes.
    Raises:
        InputError: the footer is encrypted or larger than the file, or the file is no Parquet file.
    """
    magic = tail[-4:]
    if magic == b"PARE":
        raise InputError(f"{file}: its Parquet footer is encrypted; prune over an unencrypted copy")
    if magic != b"PAR1" or size < TRAILER_BYTES + 4:
        raise InputError(f"{file}: is not a complete Parquet file (it does not end in PAR1); leave it out")
    length = int.from_bytes(tail[-TRAILER_BYTES:-4], "little")
    # The magic at the start of the file is not part of any footer.
    if length > size - TRAILER_BYTES - 4:
        raise InputError(f"{file}: claims a footer of {length} bytes but has {size} in all; write it again")
    return length


def _footer_bytes(file: str, handle: Any) -> bytes:
    size = handle.size()
    tail: bytes = handle.read_at(min(size, _TAIL_BYTES), max(0, size - _TAIL_BYTES))
    length = footer_length(file, tail, size)
    if length + TRAILER_BYTES <= len(tail):
        return tail[-TRAILER_BYTES - length : -TRAILER_BYTES]
    raw: bytes = handle.read_at(length, size - TRAILER_BYTES - length)
    return raw


def _footer(file: str, metadata: Any, *, byte_count: int) -> Footer:
    if not metadata.schema or metadata.row_groups is None:
        raise Malformed("it has no schema or no list of row groups")
    count, columns = leaves(metadata.schema, metadata.column_orders or [])
    row_groups = tuple(_row_group(file, group, count) for group in metadata.row_groups)
    if sum(group.row_count for group in row_groups) > _INT64_MAX:
        raise Malformed("its row groups claim more rows than can be counted")
    keys = {_text(entry.key) or "": entry.value or b"" for entry in metadata.key_value_metadata or []}
    agreed = tuple(leaf for leaf in columns if _matches_schema(metadata.row_groups, leaf))
    return Footer(
        byte_count=byte_count,
        writer=_text(metadata.created_by) or "",
        keys=keys,
        leaves=agreed,
        others=other_columns(metadata.schema, agreed, keys),
        row_groups=row_groups,
    )


def _matches_schema(row_groups: list[Any], leaf: SchemaLeaf) -> bool:
    """Tell whether all row groups agree with the schema about a leaf; False only for nested leaves.

    Raises:
        Malformed: a row group disagrees about a flat column.
    """
    path = list(leaf.path)
    for group in row_groups:
        stored = group.columns[leaf.chunk].meta_data
        if stored.type == leaf.element.type and stored.path_in_schema == path:
            continue
        if leaf.is_flat:
            raise Malformed(f"its row groups disagree with its schema about column {leaf.name!r}")
        return False
    return True


def _row_group(file: str, group: Any, leaf_count: int) -> RowGroup:
    rows = _count(group.num_rows)
    if rows is None or group.columns is None or len(group.columns) != leaf_count:
        raise Malformed("a row group lacks its row count or some of its columns")
    return RowGroup(rows, tuple(_chunk(file, chunk) for chunk in group.columns))


def _chunk(file: str, chunk: Any) -> Chunk:
    if chunk.file_path is not None:
        raise InputError(f"{file}: keeps its data in other files; give those files instead")
    stored = chunk.meta_data
    if stored is None:
        raise InputError(f"{file}: has encrypted columns; prune over an unencrypted copy")
    dictionary, data = _count(stored.dictionary_page_offset), _count(stored.data_page_offset)
    return Chunk(
        value_count=_count(stored.num_values),
        byte_count=_count(stored.total_compressed_size),
        # Some writers fill in 0 for "no dictionary"; no page starts before the magic.
        byte_offset=min(dictionary, data) if dictionary and data else data,
        filter_offset=_count(stored.bloom_filter_offset) or None,
        column_index=_byte_range(chunk.column_index_offset, chunk.column_index_length),
        offset_index=_byte_range(chunk.offset_index_offset, chunk.offset_index_length),
        statistics=_statistics(stored.statistics),
    )


def _byte_range(offset: int | None, size: int | None) -> ByteRange | None:
    """Return a range of bytes; None without one, or with one that no file has."""
    return ByteRange(offset, size) if offset and size and offset > 0 and size > 0 else None


def _statistics(stated: Any) -> Statistics:
    if stated is None:
        return Statistics()
    return Statistics(
        min_value=stated.min_value,
        max_value=stated.max_value,
        deprecated_min=stated.min,
        deprecated_max=stated.max,
        null_count=stated.null_count,
        min_exact=stated.is_min_value_exact,
        max_exact=stated.is_max_value_exact,
    )


def _count(number: int | None) -> int | None:
    return number if number is not None and 0 <= number <= _INT64_MAX else None


def _text(raw: bytes | None) -> str | None:
    try:
        return None if raw is None else raw.decode()
    except UnicodeDecodeError:
        return None
