"""What a block really holds: the distinct values of its columns, as Spark reads them.

Where it is not certain that Arrow and Spark read the same values, nothing is concluded.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pruning.expressions.types import Kind, Type
from pruning.metadata.files.locations import locate
from pruning.metadata.footers.evidence import provenance
from pruning.metadata.footers.footer import Footer
from pruning.metadata.footers.nested import Leaf
from pruning.metadata.footers.physical_types import Converted, Form, Physical, form_of
from pruning.metadata.index.buckets import Bucket, bucket_of
from pruning.metadata.index.encodings import SAME_FROM
from pruning.metadata.index.own_filters import Budget, Filter, own_filter
from pruning.metadata.table.schema import arrow_type

# Longer lists fit no budget that is worth having, and many of them no memory: of a block with more values
# a filter is made as soon as it has been read.
DISTINCT_MAX = 65_536
_NARROW_BITS = 32
_NARROW = frozenset({Converted.INT_8, Converted.INT_16, Converted.UINT_8, Converted.UINT_16})


@dataclass(frozen=True, slots=True)
class Distinct:
    """The values of one column in one block that are neither NULL nor NaN, each once, and their bucket.

    `values` is None where there are too many to be listed: then there is their filter, if the budget
    bears one, and `count` is their number.
    """

    values: pa.Array | None
    bucket: Bucket | None
    filter: Filter | None = None
    count: int = 0

    @classmethod
    def of(cls, values: pa.Array, type_: Type, budget: Budget) -> "Distinct":
        """Summarize a block that holds these values, each once, neither NULL nor NaN."""
        bucket = bucket_of(values, type_) if len(values) > 1 else None
        if len(values) <= DISTINCT_MAX:
            return cls(values, bucket, count=len(values))
        return cls(None, bucket, own_filter(values, type_, budget), len(values))


@dataclass(frozen=True, slots=True)
class Indexable:
    """A column of which it is certain how Spark reads its values."""

    leaf: Leaf
    form: Form

    @property
    def narrow(self) -> bool:
        """Whether more numbers can be stored than the type has: Spark and Arrow wrap them differently."""
        logical = self.leaf.element.logicalType
        if logical is not None and logical.INTEGER is not None:
            return bool(logical.INTEGER.bitWidth < _NARROW_BITS)
        return self.leaf.element.converted_type in _NARROW


def indexable(footer: Footer, names: Sequence[str] | None) -> dict[str, Indexable]:
    """The file's columns that can be indexed, of those named or of all."""
    found = {}
    for leaf in footer.leaves:
        form = form_of(leaf.element)
        # Arrow reads INT96 as nanoseconds, which wrap round.
        if not leaf.flat or form is None or leaf.element.type == Physical.INT96:
            continue
        if names is None or leaf.name in names:
            found[leaf.name] = Indexable(leaf, form)
    return found


def contents(
    file: str,
    footer: Footer,
    columns: Mapping[str, Indexable],
    bounded: Mapping[str, Sequence[bool]],
    budget: Budget,
) -> Iterator[dict[str, Distinct | None]]:
    """Per row group, the distinct values of each column; None of one that is not certain.

    Args:
        file: Its path or URI.
        footer: What it says of itself.
        columns: As `indexable` finds them.
        bounded: Per column and row group, whether both bounds are known.
        budget: That of one column in one block.
    Raises:
        OSError, pa.ArrowException: the file cannot be read.
    """
    rebased = provenance(footer).rebased
    system, path = locate(file)
    with system.open_input_file(path) as handle, pq.ParquetFile(handle) as reader:
        for ordinal, group in enumerate(footer.row_groups):
            rows = reader.read_row_group(ordinal, columns=list(columns), use_threads=False)
            found: dict[str, Distinct | None] = dict.fromkeys(columns)
            for name, column in columns.items():
                inside = not column.narrow or bounded[name][ordinal]
                named = rows.schema.get_all_field_indices(name)
                if inside and len(named) == 1 and rows.num_rows == group.row_count:
                    found[name] = _distinct(rows.column(named[0]), column.form.type, budget, rebased=rebased)
            yield found


def _distinct(column: pa.ChunkedArray, type_: Type, budget: Budget, *, rebased: bool) -> Distinct | None:
    try:
        values = distinct(column, type_)
    except pa.ArrowException:
        # A value that the type does not have, such as a string that is not UTF-8.
        return None
    if rebased and _may_be_rebased(values, type_):
        return None
    return Distinct.of(values, type_, budget)


def distinct(column: pa.ChunkedArray, type_: Type) -> pa.Array:
    """The distinct values of a column, as block metadata holds values of a type; 0.0 for -0.0.

    Raises:
        pa.ArrowException: some value is none of the type.
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
    """Whether Spark may read some of the values as other ones."""
    start = SAME_FROM.get(type_.kind)
    if start is None or not len(values):
        return False
    width: Any = pa.int32() if type_.kind is Kind.DATE else pa.int64()
    return bool(pc.min(values.view(width)).as_py() < start)
