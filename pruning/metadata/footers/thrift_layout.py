"""The Thrift structures of a Parquet file that block metadata needs; all other fields are skipped.

They are those of the footer, of page indexes and of Bloom filters.

Field numbers and types are those of the Parquet format. Enumerations are read as `i32`, so that a
value from a later version of the format can be read and treated as unknown.
"""

import io
from typing import Any

import thriftpy2
from thriftpy2.protocol.compact import TCompactProtocol
from thriftpy2.thrift import TType
from thriftpy2.transport import TMemoryBuffer

_IDL = """
struct Nothing {}
union TimeUnit { 1: Nothing MILLIS; 2: Nothing MICROS; 3: Nothing NANOS }
struct DecimalType { 1: i32 scale; 2: i32 precision }
struct TimestampType { 1: bool isAdjustedToUTC; 2: TimeUnit unit }
struct IntType { 1: byte bitWidth; 2: bool isSigned }
union LogicalType {
  1: Nothing STRING; 2: Nothing MAP; 3: Nothing LIST; 4: Nothing ENUM; 5: DecimalType DECIMAL;
  6: Nothing DATE; 8: TimestampType TIMESTAMP; 10: IntType INTEGER; 11: Nothing UNKNOWN; 12: Nothing JSON;
  13: Nothing BSON; 16: Nothing VARIANT
}
struct SchemaElement {
  1: i32 type; 2: i32 type_length; 3: i32 repetition_type; 4: binary name; 5: i32 num_children;
  6: i32 converted_type; 7: i32 scale; 8: i32 precision; 10: LogicalType logicalType
}
struct Statistics {
  1: binary max; 2: binary min; 3: i64 null_count; 5: binary max_value; 6: binary min_value;
  7: bool is_max_value_exact; 8: bool is_min_value_exact
}
struct ColumnMetaData {
  1: i32 type; 3: list<binary> path_in_schema; 5: i64 num_values; 7: i64 total_compressed_size;
  9: i64 data_page_offset; 11: i64 dictionary_page_offset; 12: Statistics statistics;
  14: i64 bloom_filter_offset
}
struct ColumnChunk {
  1: binary file_path; 3: ColumnMetaData meta_data; 4: i64 offset_index_offset; 5: i32 offset_index_length;
  6: i64 column_index_offset; 7: i32 column_index_length
}
struct RowGroup {
  1: list<ColumnChunk> columns; 2: i64 total_byte_size; 3: i64 num_rows; 5: i64 file_offset;
  6: i64 total_compressed_size; 7: i16 ordinal
}
struct KeyValue { 1: binary key; 2: binary value }
union ColumnOrder { 1: Nothing TYPE_ORDER }
struct FileMetaData {
  1: i32 version; 2: list<SchemaElement> schema; 3: i64 num_rows; 4: list<RowGroup> row_groups;
  5: list<KeyValue> key_value_metadata; 6: binary created_by; 7: list<ColumnOrder> column_orders
}
struct PageLocation { 1: i64 offset; 2: i32 compressed_page_size; 3: i64 first_row_index }
struct OffsetIndex { 1: list<PageLocation> page_locations }
struct ColumnIndex {
  1: list<bool> null_pages; 2: list<binary> min_values; 3: list<binary> max_values; 4: i32 boundary_order;
  5: list<i64> null_counts
}
union BloomFilterAlgorithm { 1: Nothing BLOCK }
union BloomFilterHash { 1: Nothing XXHASH }
union BloomFilterCompression { 1: Nothing UNCOMPRESSED }
struct BloomFilterHeader {
  1: i32 numBytes; 2: BloomFilterAlgorithm algorithm; 3: BloomFilterHash hash;
  4: BloomFilterCompression compression
}
"""

_STOP = b"\0"
_SKIPPED_ROW_GROUPS = b"\x43\0"  # field 4, a byte

_structs: Any = thriftpy2.load_fp(io.StringIO(_IDL), "skipproof_footer_thrift")


class Malformed(ValueError):
    """Bytes that are not Thrift of the expected layout."""


def parse(footer: bytes) -> Any:
    """Parse the `FileMetaData` in a footer's bytes; absent fields are None.

    Raises:
        Malformed: the bytes end early, or are not a footer at all.
    """
    return _read(footer, _structs.FileMetaData())[0]


def parse_schema(start: bytes) -> list[Any]:
    """Parse the first two fields of a footer, its version and its schema; return the schema's elements.

    Raises:
        Malformed: the bytes are not those two fields.
    """
    metadata, size = _read(start + _STOP, _structs.FileMetaData())
    if size != len(start) + len(_STOP) or not metadata.schema:
        raise Malformed("it does not begin with its schema")
    schema: list[Any] = metadata.schema
    return schema


def parse_tail(end: bytes) -> Any:
    """Parse what follows the row groups in a footer; the fields before it are None.

    Raises:
        Malformed: the bytes are something else, or have a schema or row groups too.
    """
    # Numbers of fields are relative to the last one: a field of another kind stands for the row groups.
    metadata = _read(_SKIPPED_ROW_GROUPS + end, _structs.FileMetaData())[0]
    if metadata.schema is not None or metadata.row_groups is not None:
        raise Malformed("it has several schemas or lists of row groups")
    return metadata


def parse_filter_header(start: bytes) -> tuple[Any, int]:
    """Parse the `BloomFilterHeader` that the bytes start with; also return its size in bytes.

    Raises:
        Malformed: the bytes do not start with a header.
    """
    return _read(start, _structs.BloomFilterHeader())


def parse_column_index(raw: bytes) -> Any:
    """Parse bytes that are exactly one `ColumnIndex`.

    Raises:
        Malformed: the bytes are something else.
    """
    return _read_whole(raw, _structs.ColumnIndex())


def parse_offset_index(raw: bytes) -> Any:
    """Parse bytes that are exactly one `OffsetIndex`.

    Raises:
        Malformed: the bytes are something else.
    """
    return _read_whole(raw, _structs.OffsetIndex())


def _read_whole(raw: bytes, into: Any) -> Any:
    structure, size = _read(raw, into)
    if size != len(raw):
        raise Malformed(f"a structure of {size} bytes takes {len(raw)}")
    return structure


def _read(raw: bytes, into: Any) -> tuple[Any, int]:
    """Read the structure that the bytes start with; also return its size in bytes."""
    reader = _CompactReader(raw)
    try:
        reader.read_struct(into)
    except Malformed:
        raise
    # On damaged bytes the Thrift library may raise any exception.
    except Exception as error:
        raise Malformed(f"{type(error).__name__}: {error}") from error
    return into, reader.bytes_read


# thriftpy2 ships no types, so mypy takes its class for `Any` and refuses a subclass of it.
class _CompactReader(TCompactProtocol):  # type: ignore[misc]
    """A reader of Thrift's compact protocol that refuses collections longer than the input."""

    def __init__(self, footer: bytes) -> None:
        memory = TMemoryBuffer(footer)
        super().__init__(memory)
        self._memory = memory
        self._size_max = len(footer)

    @property
    def bytes_read(self) -> int:
        """The number of bytes read so far."""
        left = len(self._memory.getvalue())
        return self._size_max - left

    def _read_collection_begin(self) -> tuple[int, int]:
        kind, size = super()._read_collection_begin()
        self._check(size, kind)
        return kind, size

    def _read_map_begin(self) -> tuple[int, int, int]:
        key, value, size = super()._read_map_begin()
        if size:
            self._check(size, key, value)
        return key, value, size

    def _check(self, size: int, *kinds: int) -> None:
        # Each element takes at least a byte. The pseudo-type STOP takes none, so with a damaged length the
        # reader would loop almost forever.
        if size > self._size_max or TType.STOP in kinds:
            raise Malformed(f"a collection claims {size} elements in {self._size_max} bytes")
