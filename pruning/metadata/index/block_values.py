"""The distinct values of a block's columns, as Spark reads them.

A column is left out if it is not certain that Arrow and Spark read the same values.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pruning.expressions.types import Kind, Type
from pruning.metadata.files.locations import locate
from pruning.metadata.footers.evidence import is_written_by_spark, provenance
from pruning.metadata.footers.footer import Footer, read_footer
from pruning.metadata.footers.nested import SchemaLeaf
from pruning.metadata.footers.physical_types import ColumnStorage, Converted, column_storage
from pruning.metadata.index.buckets import Bucket, bucket_of
from pruning.metadata.index.encodings import SAME_FROM
from pruning.metadata.index.int96 import is_int96, is_read_alike
from pruning.metadata.index.own_filters import BloomFilter, Budget, own_filter
from pruning.metadata.table.blocks import shards
from pruning.metadata.table.locators import LOCATORS
from pruning.metadata.table.schema import arrow_type
from pruning.metadata.table.structs import field_of

# Longer lists fit no useful budget, and many of them would not fit in memory: a block with more values gets
# a filter as soon as it has been read.
DISTINCT_MAX = 65_536
_NARROW_BITS = 32
# The number of files whose columns are named in an error about a missing column.
_NAMING_FILES = 20
_NARROW = frozenset({Converted.INT_8, Converted.INT_16, Converted.UINT_8, Converted.UINT_16})


@dataclass(frozen=True, slots=True)
class DistinctValues:
    """The distinct values of one column in one block, without NULL and NaN, and their hash bucket.

    `values` is None if there are too many to list. Then `filter` is a filter of them, if the budget
    allows one, and `count` is their number.
    """

    values: pa.Array | None
    bucket: Bucket | None
    filter: BloomFilter | None = None
    count: int = 0

    @classmethod
    def of(cls, values: pa.Array, type_: Type, budget: Budget) -> "DistinctValues":
        """Summarize a block with these distinct values, which are neither NULL nor NaN."""
        bucket = bucket_of(values, type_) if len(values) > 1 else None
        if len(values) <= DISTINCT_MAX:
            return cls(values, bucket, count=len(values))
        return cls(None, bucket, own_filter(values, type_, budget), len(values))


@dataclass(frozen=True, slots=True)
class IndexableColumn:
    """A column whose values Spark is certain to read as Arrow does."""

    leaf: SchemaLeaf
    storage: ColumnStorage

    @property
    def is_narrow(self) -> bool:
        """True if stored numbers may exceed the type, so that Spark and Arrow wrap them differently."""
        logical = self.leaf.element.logicalType
        if logical is not None and logical.INTEGER is not None:
            return bool(logical.INTEGER.bitWidth < _NARROW_BITS)
        return self.leaf.element.converted_type in _NARROW


def indexable_columns(footer: Footer, names: Sequence[str] | None) -> dict[str, IndexableColumn]:
    """Return the columns of a file that can be indexed, among those named or among all."""
    columns = {}
    by_spark = is_written_by_spark(footer)
    for leaf in footer.leaves:
        storage = column_storage(leaf.element)
        # Only of what Spark wrote is it certain how INT96 is read.
        if not leaf.is_flat or storage is None or (is_int96(leaf) and not by_spark):
            continue
        if names is None or leaf.name in names:
            columns[leaf.name] = IndexableColumn(leaf, storage)
    return columns


def indexable_names(files: Sequence[str]) -> list[str]:
    """Return the columns that can be indexed in the first of some files, sorted; for an error's text."""
    return sorted(
        {name for file in files[:_NAMING_FILES] for name in indexable_columns(read_footer(file), None)}
    )


def locators_and_bounds(
    file: str, footer: Footer, columns: Mapping[str, IndexableColumn]
) -> tuple[pa.Table, dict[str, list[bool]]]:
    """Return the locators of a file's row groups; and for each column and row group, whether both bounds are
    known.
    """
    (part,) = shards([(file, footer)])
    facts = part.table.column("columns").combine_chunks()
    bounded = {}
    for name in columns:
        struct = field_of(facts, name)
        both = pc.and_(pc.is_valid(field_of(struct, "min")), pc.is_valid(field_of(struct, "max")))
        bounded[name] = both.to_pylist()
    return part.table.select(LOCATORS), bounded


def row_group_values(
    file: str,
    footer: Footer,
    columns: Mapping[str, IndexableColumn],
    bounded: Mapping[str, Sequence[bool]],
    budget: Budget,
) -> Iterator[dict[str, DistinctValues | None]]:
    """Yield, for each row group, the distinct values of each column; None for a column that is uncertain.

    Args:
        file: Its path or URI.
        footer: The file's footer.
        columns: As `indexable_columns` returns them.
        bounded: For each column and row group, whether both bounds are known.
        budget: The budget of one column in one block.
    Raises:
        OSError, pa.ArrowException: the file cannot be read.
    """
    rebased = provenance(footer).rebased
    for rows in row_group_columns(file, footer, columns, bounded):
        values_by_column: dict[str, DistinctValues | None] = dict.fromkeys(columns)
        for name, column in rows.items():
            type_ = columns[name].storage.type
            values = certain_values(column, type_, rebased=rebased)
            values_by_column[name] = None if values is None else DistinctValues.of(values, type_, budget)
        yield values_by_column


def row_group_columns(
    file: str,
    footer: Footer,
    columns: Mapping[str, IndexableColumn],
    bounded: Mapping[str, Sequence[bool]],
) -> Iterator[dict[str, pa.ChunkedArray]]:
    """Yield, for each row group, the columns that are certain to have a value for each row as Spark does.

    Their values are certain where `certain_values` returns them. The arguments and errors are those of
    `row_group_values`.
    """
    by_spark = is_written_by_spark(footer)
    of_int96 = [name for name, column in columns.items() if is_int96(column.leaf)]
    system, path = locate(file)
    with (
        system.open_input_file(path) as handle,
        pq.ParquetFile(handle, coerce_int96_timestamp_unit="us") as reader,
    ):
        in_millis = pq.ParquetFile(handle, metadata=reader.metadata, coerce_int96_timestamp_unit="ms")
        for ordinal, group in enumerate(footer.row_groups):
            rows = reader.read_row_group(ordinal, columns=list(columns), use_threads=False)
            certain: dict[str, pa.ChunkedArray] = {}
            for name, column in columns.items():
                inside = not column.is_narrow or by_spark or bounded[name][ordinal]
                places = rows.schema.get_all_field_indices(name)
                if inside and len(places) == 1 and rows.num_rows == group.row_count:
                    certain[name] = rows.column(places[0])
            if of_int96:
                millis = in_millis.read_row_group(ordinal, columns=of_int96, use_threads=False)
                for name in certain.keys() & of_int96:
                    if not is_read_alike(millis.column(name)):
                        del certain[name]
            yield certain


def certain_values(column: pa.ChunkedArray, type_: Type, *, rebased: bool) -> pa.Array | None:
    """Return the distinct values of a column as `distinct_values`; None if Spark may read other ones."""
    try:
        values = distinct_values(column, type_)
    except pa.ArrowException:
        # Some value is not one of the type, such as a string that is not UTF-8.
        return None
    return None if rebased and _may_be_rebased(values, type_) else values


def distinct_values(column: pa.ChunkedArray, type_: Type) -> pa.Array:
    """Return the distinct values of a column in block metadata's Arrow type; 0.0 stands for -0.0 too.

    Raises:
        pa.ArrowException: some value is not one of the type.
    """
    values = pc.drop_null(pc.unique(column))
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    if type_.kind is Kind.STRING:
        values = values.cast(pa.binary())
    values = values.cast(arrow_type(type_))
    values.validate(full=True)
    if type_.floating:
        numbers = values.filter(pc.invert(pc.is_nan(values)))
        values = pc.unique(pc.add(numbers, pa.scalar(0, numbers.type)))
    return values


def _may_be_rebased(values: pa.Array, type_: Type) -> bool:
    """Tell whether Spark may shift some of the values to another calendar."""
    start = SAME_FROM.get(type_.kind)
    if start is None or not len(values):
        return False
    width: Any = pa.int32() if type_.kind is Kind.DATE else pa.int64()
    return bool(pc.min(values.view(width)).as_py() < start)
