"""The keys of a MERGE's source as a condition on the target's columns."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pruning.errors import InputError
from pruning.expressions.names import quoted_name
from pruning.expressions.trees import And, Column, Compare, Comparison, Expression, In, IsNull, Literal, Or
from pruning.expressions.types import BOOLEAN, Type
from pruning.metadata.schema import arrow_type
from pruning.rules.interpreters import arrow_kernels as kernels
from pruning.rules.interpreters.arrow import lane_type

# More different keys are enclosed by their least and greatest.
MEMBERS_MAX = 512
_DIGITS_MAX = 20  # of a uint64


def may_equal(column: Column, values: pa.Array, *, null_safe: bool = False) -> Expression:
    """A condition that is TRUE on each row whose value of the column equals one of the values.

    Args:
        values: Of the type that block metadata keeps the column's bounds in; NULLs match if `null_safe`.
    """
    present = pc.unique(pc.drop_null(values))
    found: list[Expression] = []
    if len(present) <= MEMBERS_MAX:
        members = tuple(_literals(present, column.type))
        found += [In(column, members)] if members else []
    else:
        found += _between(column, present)
    if null_safe and values.null_count:
        found.append(IsNull(column))
    return Or(tuple(found)) if found else Literal(False, BOOLEAN)


def typed(name: str, values: Any, type_: Type) -> pa.Array:
    """A key's values in the type of the column; integers that do not fit there equal none of its values.

    Raises:
        InputError: they are of a type that Spark would compare with the column's in a third.
    """
    wanted = arrow_type(type_)
    try:
        array = values if isinstance(values, pa.Array | pa.ChunkedArray) else pa.array(values)
        array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(array.chunks)
        if type_.integral and pa.types.is_integer(array.type):
            return _fitting(array, type_).cast(wanted)
        if pa.types.is_null(array.type) or _alike(array.type, wanted):
            return array.cast(wanted)
    except (pa.ArrowException, TypeError) as error:
        raise InputError(
            f"The values of the key {quoted_name(name)} are no {type_} ({error}); cast them to it."
        ) from error
    raise InputError(
        f"The values of the key {quoted_name(name)} are {array.type}, not {type_}; cast them to that."
    )


def _between(column: Column, present: pa.Array) -> list[Expression]:
    """From the least to the greatest of many values; NaN is neither."""
    lanes = kernels.reinterpret(present, lane_type(column.type))
    found: list[Expression] = []
    if column.type.floating:
        nan = pc.is_nan(lanes)
        if pc.any(nan).as_py():
            found.append(In(column, (Literal(float("nan"), column.type),)))
        lanes = lanes.filter(pc.invert(nan))
    ends = pc.min_max(lanes)
    lower, upper = (Literal(ends[name].as_py(), column.type) for name in ("min", "max"))
    sides = ((Comparison.AT_LEAST, lower), (Comparison.AT_MOST, upper))
    return [*found, And(tuple(Compare(operator, column, end) for operator, end in sides))]


def _literals(present: pa.Array, type_: Type) -> list[Literal]:
    cells = kernels.reinterpret(present, lane_type(type_)).to_pylist()
    held: Callable[[Any], Any] = bool if type_ == BOOLEAN else lambda cell: cell
    return [Literal(held(cell), type_) for cell in cells]


def _alike(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether a value has the same meaning in both types, however it is stored."""
    kinds: tuple[Callable[[pa.DataType], bool], ...] = (
        pa.types.is_decimal,
        lambda type_: pa.types.is_string(type_) or pa.types.is_large_string(type_),
        lambda type_: pa.types.is_binary(type_) or pa.types.is_large_binary(type_),
        lambda type_: pa.types.is_timestamp(type_) and type_.tz is None,
        lambda type_: pa.types.is_timestamp(type_) and type_.tz is not None,
    )
    return given == wanted or any(kind(given) and kind(wanted) for kind in kinds)


def _fitting(array: pa.Array, type_: Type) -> pa.Array:
    """The integers that have a place in the type, and the NULLs."""
    assert type_.integer_range is not None
    wide = array.cast(pa.decimal128(_DIGITS_MAX))
    least, greatest = (pa.scalar(Decimal(end), wide.type) for end in type_.integer_range)
    inside = pc.and_(pc.greater_equal(wide, least), pc.less_equal(wide, greatest))
    return array.filter(pc.fill_null(inside, True))
