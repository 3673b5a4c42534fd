"""The statistics of a column's values in one block, computed from the values as Spark reads them."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import BYTES, Kind, Type
from pruning.metadata.index.block_values import certain_values
from pruning.rules.sets.primitives import prefix_end

# A longer bound is shortened, so that what is kept stays small.
BOUND_BYTES_MAX = 256
_CHARACTER_MAX = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """The statistics of one column in one block, named as in `pruning.metadata.table.measured`.

    `nan_count` is None for types without NaN, and a bound is None if there is no value, or no shorter bound.
    """

    null_count: int
    nan_count: int | None
    distinct_count: int
    min: Any
    max: Any
    min_exact: bool | None
    max_exact: bool | None


def measure(column: pa.ChunkedArray, type_: Type, *, rebased: bool) -> Measurement | None:
    """Return the statistics of a column in one block; None if Spark may read other values than Arrow.

    Args:
        column: The column, with a value or NULL for each row.
        type_: The SQL type that Spark reads it as.
        rebased: Whether Spark may shift old dates of the file to another calendar.
    """
    values = certain_values(column, type_, rebased=rebased)
    if values is None:
        return None
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    nan_count = (pc.sum(pc.is_nan(column)).as_py() or 0) if type_.floating else None
    lower, upper = _extremes(values, type_)
    least, greatest = lower, upper
    if type_.kind in BYTES and lower is not None:
        least, greatest = shortened_bounds(lower, upper, is_text=type_.kind is Kind.STRING)
    return Measurement(
        null_count=column.null_count,
        nan_count=nan_count,
        distinct_count=len(values),
        min=least,
        max=greatest,
        min_exact=None if least is None else least == lower,
        max_exact=None if greatest is None else greatest == upper,
    )


def _extremes(values: pa.Array, type_: Type) -> tuple[Any, Any]:
    """Return the least and the greatest of values, texts by their bytes; None if there are none."""
    ordered = values.cast(pa.binary()) if type_.kind is Kind.STRING else values
    extremes = pc.min_max(ordered)
    if type_.kind in BYTES:
        return extremes["min"].as_py(), extremes["max"].as_py()
    lower, upper = (side if side.is_valid else None for side in (extremes["min"], extremes["max"]))
    return lower, upper


def shortened_bounds(lower: bytes, upper: bytes, *, is_text: bool) -> tuple[bytes, bytes | None]:
    """Return bounds that are at most `BOUND_BYTES_MAX` bytes long, or a character more.

    The lower one is at most `lower`, and the upper one at least `upper`, or None if there is none so short.

    Args:
        lower: The least value.
        upper: The greatest value.
        is_text: Whether values are UTF-8, and so must be their bounds.
    """
    if len(lower) > BOUND_BYTES_MAX:
        lower = _beginning(lower, is_text=is_text)
    if len(upper) <= BOUND_BYTES_MAX:
        return lower, upper
    beginning = _beginning(upper, is_text=is_text)
    return lower, _text_end(beginning.decode()) if is_text else prefix_end(beginning)


def _beginning(value: bytes, *, is_text: bool) -> bytes:
    beginning = value[:BOUND_BYTES_MAX]
    # A character that is cut in two is left out.
    return beginning.decode(errors="ignore").encode() if is_text else beginning


def _text_end(prefix: str) -> bytes | None:
    """Return a text above every one that starts with `prefix`; None if there is none."""
    stem = prefix.rstrip(chr(_CHARACTER_MAX))
    if not stem:
        return None
    following = ord(stem[-1]) + 1
    if following in _SURROGATES:
        following = _SURROGATES.stop
    return (stem[:-1] + chr(following)).encode()
