"""The keys of a MERGE's source as a condition on the target's columns."""

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pruning.arguments import describe_value
from pruning.errors import InputError
from pruning.expressions.names import quoted_name
from pruning.expressions.trees import Column, Expression
from pruning.expressions.types import Type
from pruning.metadata.table.schema import arrow_type
from pruning.techniques.join.summary_keys import summarise

# More different keys than these are enclosed in so many ranges, by the widest gaps.
MEMBERS_MAX = 512
# Keys stay in this process, so that no byte need be saved.
_KEYS_BYTES_MAX = 2**63 - 1
_DIGITS_MAX = 20  # of a uint64


def may_equal(
    column: Column, values: Any, *, null_safe: bool = False, terms_max: int = MEMBERS_MAX
) -> Expression:
    """Return a condition that is TRUE on each row whose value of the column equals one of the values.

    Args:
        column: The column.
        values: The values, as `typed_values` takes them.
        null_safe: True if NULL equals NULL.
        terms_max: The most values and ranges that the condition may list.
    Raises:
        InputError: as `typed_values`.
    """
    held = typed_values(column.name, values, column.type)
    summary = summarise(column.type, held, bytes_max=_KEYS_BYTES_MAX)
    return summary.condition(column, null_safe=null_safe, terms_max=terms_max)


def typed_values(name: str, values: Any, type_: Type) -> pa.Array:
    """Return a key's values in the column's type, without integers that do not fit it and so match nothing.

    Raises:
        InputError: they are of a type that Spark would compare with the column's in a third.
    """
    wanted = arrow_type(type_)
    if isinstance(values, str | bytes | bytearray | Mapping):
        # Arrow would read a text as a list of its characters.
        raise InputError(
            f"The values of the key {quoted_name(name)} are {describe_value(values)}; give a list of them."
        )
    try:
        array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(array.chunks)
        if type_.integral and pa.types.is_integer(array.type):
            return _values_in_range(array, type_).cast(wanted)
        if pa.types.is_null(array.type) or _is_same_kind(array.type, wanted):
            return array.cast(wanted)
    except OverflowError as error:
        raise InputError(
            f"A value of the key {quoted_name(name)} is beyond 64 bits; leave it out, or cast it to {type_}."
        ) from error
    # Arrow asks for items by their numbers, which what is no sequence, such as an enumeration, may not know.
    except (pa.ArrowException, TypeError, ValueError, AttributeError, LookupError) as error:
        raise InputError(
            f"The values of the key {quoted_name(name)} are no {type_} ({error}); cast them to it."
        ) from error
    raise InputError(
        f"The values of the key {quoted_name(name)} are {array.type}, not {type_}; cast them to that."
    )


def _is_same_kind(source: pa.DataType, wanted: pa.DataType) -> bool:
    """Tell whether values of both types are of one kind, so that a cast keeps their meaning."""
    kinds: tuple[Callable[[pa.DataType], bool], ...] = (
        pa.types.is_decimal,
        lambda type_: pa.types.is_string(type_) or pa.types.is_large_string(type_),
        lambda type_: pa.types.is_binary(type_) or pa.types.is_large_binary(type_),
        lambda type_: pa.types.is_timestamp(type_) and type_.tz is None,
        lambda type_: pa.types.is_timestamp(type_) and type_.tz is not None,
    )
    return source == wanted or any(kind(source) and kind(wanted) for kind in kinds)


def _values_in_range(array: pa.Array, type_: Type) -> pa.Array:
    """Return the integers that fit the type, and the NULLs."""
    assert type_.integer_range is not None
    wide = array.cast(pa.decimal128(_DIGITS_MAX))
    least, greatest = (pa.scalar(Decimal(end), wide.type) for end in type_.integer_range)
    inside = pc.and_(pc.greater_equal(wide, least), pc.less_equal(wide, greatest))
    return array.filter(pc.fill_null(inside, True))
