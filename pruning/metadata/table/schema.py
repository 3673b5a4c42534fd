"""The schema of block metadata: one row per row group ([M] 4.2, "CMETA").

====================  ============  ================================================================
field                 type          meaning
====================  ============  ================================================================
file                  string        the file's path or URI, as it was listed
row_group             int32         ordinal inside the file
row_offset            int64         ordinal, inside the file, of the block's first row
byte_offset           int64         where the block's first page starts in the file
byte_count            int64         compressed bytes of the block, all columns
row_count             int64         live rows
columns               struct        a struct per column of a known type, by its name
memberships           struct        only if indexed: of some columns, lists of their values and filters
                                    (`pruning.metadata.table.memberships`)
coverings             struct        only if indexed: of pairs of columns, the cells that hold their points
                                    (`pruning.metadata.table.coverings`)
rows_deleted          bool          only of Iceberg: true where `row_count` is an upper bound, since rows
                                    may be deleted (`pruning.metadata.table.live_rows`)
====================  ============  ================================================================

A top-level column has its exact name, which never begins with a backtick. A field of a struct is a column
too, named by `names.field_name`; so are the elements of an array and their fields, named by
`names.leaf_name`. Only the bounds of elements are known, because their counts do not count rows.

Each column's struct (null is "unknown", never zero):

====================  ============  ================================================================
null_count            int64         rows that are NULL; for a field also those whose struct is
nan_count             int64         rows that are NaN; never known from Parquet footers alone
byte_count            int64         compressed bytes of the column chunk
min, max              the column's  bounds of the values that are neither NULL nor NaN
min_exact, max_exact  bool          whether a row attains the bound; null or false is "widened"
====================  ============  ================================================================

Min and max bound each value separately: either may be unknown alone. Columns that were measured have two more
fields (`pruning.metadata.table.measured`).
"""

from collections.abc import Iterable, Mapping

import pyarrow as pa

from pruning.expressions import types
from pruning.expressions.types import Kind, Type, decimal
from pruning.metadata.table.structs import has_field, whole, with_fields

_ARROW: dict[Kind, pa.DataType] = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.BYTE: pa.int8(),
    Kind.SHORT: pa.int16(),
    Kind.INTEGER: pa.int32(),
    Kind.LONG: pa.int64(),
    Kind.FLOAT: pa.float32(),
    Kind.DOUBLE: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    Kind.TIMESTAMP_NTZ: pa.timestamp("us"),
}
_TYPES = {arrow: Type(kind) for kind, arrow in _ARROW.items()}


def arrow_type(type_: Type) -> pa.DataType:
    """Return the Arrow type of the bounds of `type_` in block metadata.

    Raises:
        KeyError: the type is `void` or unknown, so it has no bounds.
    """
    if type_.kind is Kind.DECIMAL:
        return pa.decimal128(type_.precision, type_.scale)
    return _ARROW[type_.kind]


def sql_type(arrow: pa.DataType) -> Type:
    """Return the SQL type whose bounds have the Arrow type `arrow`; unknown for any other Arrow type."""
    if pa.types.is_decimal128(arrow) and 0 <= arrow.scale <= arrow.precision:
        return decimal(arrow.precision, arrow.scale)
    return _TYPES.get(arrow) or types.unknown(str(arrow))


def column_fields(type_: Type) -> pa.StructType:
    """Return the struct type for the statistics of one column of type `type_`."""
    bound = arrow_type(type_)
    return pa.struct(
        [
            ("null_count", pa.int64()),
            ("nan_count", pa.int64()),
            ("byte_count", pa.int64()),
            ("min", bound),
            ("max", bound),
            ("min_exact", pa.bool_()),
            ("max_exact", pa.bool_()),
        ]
    )


def block_schema(columns: Mapping[str, Type]) -> pa.Schema:
    """Return the schema of block metadata over `columns`; those of unknown type are left out."""
    known_types = {name: type_ for name, type_ in columns.items() if type_.has_bounds}
    return pa.schema(
        [
            pa.field("file", pa.string(), nullable=False),
            pa.field("row_group", pa.int32(), nullable=False),
            pa.field("row_offset", pa.int64(), nullable=False),
            pa.field("byte_offset", pa.int64()),
            pa.field("byte_count", pa.int64()),
            pa.field("row_count", pa.int64(), nullable=False),
            pa.field(
                "columns", pa.struct([(name, column_fields(type_)) for name, type_ in known_types.items()])
            ),
        ]
    )


def column_types(metadata: pa.Table) -> dict[str, Type]:
    """Return the columns in block metadata, with their SQL types."""
    fields = metadata.schema.field("columns").type
    return {field.name: sql_type(field.type.field("min").type) for field in fields}


def reads_as_stored(stored: Type, read: Type) -> bool:
    """Tell whether order and equality of the stored values are those of the values that Spark reads."""
    if stored == read:
        return read.has_bounds
    if not (stored.integral and read.integral):
        return False
    assert stored.integer_range is not None
    assert read.integer_range is not None
    return stored.integer_range[1] < read.integer_range[1]


def columns_only(metadata: pa.Table, names: Iterable[str]) -> pa.Table:
    """Return the metadata of these columns alone, as far as it has them, in the given order.

    Operations whose time grows with the number of columns, such as filtering rows, should follow it: tables
    may have thousands of columns, and a query uses a few.
    """
    all_columns = whole(metadata.column("columns"))
    struct = with_fields(all_columns, [name for name in dict.fromkeys(names) if has_field(all_columns, name)])
    return metadata.set_column(metadata.schema.get_field_index("columns"), "columns", struct)


def is_nested(name: str) -> bool:
    """Tell whether a column of block metadata is a field of a struct or the elements of an array."""
    return name.startswith("`")


def flat_columns(types: Mapping[str, Type]) -> dict[str, Type]:
    """Return the top-level columns among those of block metadata."""
    return {name: type_ for name, type_ in types.items() if not is_nested(name)}
