"""The statistics of files as the log has them: decoded, before any is judged.

Commits have them as JSON, and checkpoints as JSON or as a struct.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Context, Decimal, localcontext
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Kind, Type
from pruning.metadata.delta.actions import FileActions
from pruning.metadata.delta.columns import DeltaField
from pruning.metadata.footers.thrift_lanes import ABSENT, Mask, Numbers
from pruning.metadata.table.schema import arrow_type
from pruning.metadata.table.structs import field_of, has_field, whole

_INT64_MAX = (1 << 63) - 1
_EPOCH = datetime(1970, 1, 1)
_MINUTE = timedelta(minutes=1)
# From this year on, no zone has an offset with seconds, which the offsets in statistics lack.
_WHOLE_OFFSETS = datetime(1973, 1, 1)
_WIDE = Context(prec=80)
# Decimals of so many digits are the same after a way through floating-point numbers, if rounded to the scale.
_DOUBLE_DIGITS = 15
# More than the relative error of a decimal that went through a few floating-point operations.
_DOUBLE_ERROR = Decimal(2) ** -48

_LOWER, _UPPER, _NULLS = "minValues", "maxValues", "nullCount"
_SIDES = ((_LOWER, False), (_UPPER, True))
Documents: TypeAlias = list[dict[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldStatistics:
    """The statistics of one field, a lane per file.

    Attributes:
        null_counts: ABSENT where there is none, or no number.
        lower, upper: Bounds in the Arrow type of block metadata, widened by what their form may have lost;
            NULL where there is none, or it cannot be read.
        is_garbled: True where a bound is there and cannot be read.
    """

    null_counts: Numbers
    lower: pa.Array
    upper: pa.Array
    is_garbled: Mask


@dataclass(frozen=True, slots=True, kw_only=True)
class FileStatistics:
    """The statistics of a batch of files.

    Attributes:
        row_counts: The rows that were written; ABSENT where the log does not say.
        is_tight: True where bounds and counts are of the rows that are left.
        documents: The statistics from JSON; empty where there is none.
        parsed: The statistics from a checkpoint's struct, NULL where they are JSON; None if there are none.
    """

    row_counts: Numbers
    is_tight: Mask
    documents: Documents
    parsed: pa.StructArray | None

    def of_field(self, field: DeltaField) -> FieldStatistics:
        """Return the statistics of one field."""
        from_json = _from_documents(self.documents, field)
        if self.parsed is None:
            return from_json
        from_struct = _from_struct(self.parsed, field)
        has_struct = self.parsed.is_valid()
        mask = has_struct.to_numpy(zero_copy_only=False)
        return FieldStatistics(
            null_counts=np.where(mask, from_struct.null_counts, from_json.null_counts),
            lower=pc.if_else(has_struct, from_struct.lower, from_json.lower),
            upper=pc.if_else(has_struct, from_struct.upper, from_json.upper),
            is_garbled=np.where(mask, from_struct.is_garbled, from_json.is_garbled),
        )


def read_statistics(batch: FileActions) -> FileStatistics:
    """Return the statistics of a batch of files."""
    documents = [_document(text) for text in batch.table["stats"].to_pylist()]
    row_counts = _numbers([document.get("numRecords") for document in documents])
    is_tight = np.array([document.get("tightBounds", True) is True for document in documents], np.bool_)
    parsed = batch.parsed
    if parsed is not None:
        parsed = _without(parsed, whole(batch.table["stats"]).is_valid())
        mask = parsed.is_valid().to_numpy(zero_copy_only=False)
        row_counts = np.where(mask, _counts_of(parsed, ("numRecords",)), row_counts)
        if has_field(parsed, "tightBounds"):
            tight = pc.fill_null(field_of(parsed, "tightBounds"), True)
            is_tight &= ~mask | tight.to_numpy(zero_copy_only=False).astype(np.bool_)
    return FileStatistics(row_counts=row_counts, is_tight=is_tight, documents=documents, parsed=parsed)


def _document(text: str | None) -> dict[str, Any]:
    """Return statistics from JSON, with decimals as they are written; an empty dict if there are none."""
    if text is None:
        return {}
    try:
        document = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _without(struct: pa.StructArray, mask: pa.Array) -> pa.StructArray:
    """Return a struct array that is NULL where the mask is true, and where it was NULL."""
    is_null = pc.or_(mask, struct.is_null())
    fields = [struct.field(place) for place in range(struct.type.num_fields)]
    return pa.StructArray.from_arrays(fields, fields=list(struct.type), mask=is_null)


def _numbers(values: Sequence[Any]) -> Numbers:
    return np.array([value if _is_count(value) else ABSENT for value in values], np.int64)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= _INT64_MAX


def _from_documents(documents: Documents, field: DeltaField) -> FieldStatistics:
    """Return the statistics of a field from JSON."""
    sides, is_garbled = [], np.zeros(len(documents), np.bool_)
    for side, is_upper in _SIDES:
        converted: list[Any] = []
        for place, value in enumerate(_values(documents, (side, *field.path))):
            bound = None if value is None else _bound(value, field.type, is_upper=is_upper)
            is_garbled[place] |= bound is None and value is not None
            converted.append(bound)
        sides.append(_array(converted, field.type))
    null_counts = _numbers(_values(documents, (_NULLS, *field.path)))
    return FieldStatistics(null_counts=null_counts, lower=sides[0], upper=sides[1], is_garbled=is_garbled)


def _values(documents: Sequence[Any], path: Sequence[str]) -> list[Any]:
    """Return the values at a path in nested dicts, None where there is none."""
    values = list(documents)
    for name in path:
        values = [value.get(name) if isinstance(value, dict) else None for value in values]
    return values


def _array(values: Sequence[Any], type_: Type) -> pa.Array:
    bound = arrow_type(type_)
    if type_.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
        return pa.array(values, pa.int64()).cast(bound)
    return pa.array(values, bound)


def _bound(value: Any, type_: Type, *, is_upper: bool) -> Any:
    """Return a bound of a type from its form in JSON; None if it is not of such a form.

    Numbers of the types that a column had before it was widened have the same form.
    """
    convert = _FORMS.get(type_.kind)
    try:
        return None if convert is None else convert(value, type_, is_upper)
    except (ValueError, ArithmeticError, UnicodeEncodeError):
        return None


def _integer(value: Any, type_: Type, is_upper: bool) -> int | None:
    assert type_.integer_range is not None
    lowest, highest = type_.integer_range
    return value if type(value) is int and lowest <= value <= highest else None


def _float(value: Any, type_: Type, is_upper: bool) -> float | None:
    """Return a floating-point bound; a text stands for what JSON has no number for.

    Claim     The bound is not within the value that was written.
    Premises  The value's text is that of the number itself, or of one that rounds to it, in its type.
    Proof     (1) A double is the nearest one to its text.
              (2) A float is the nearest one to its text, or to the double next to this, or beside that one.
    Unsound   if a float were taken as a double: 0.3 is less than the float that it stands for.
    """
    if isinstance(value, str):
        return {"NaN": np.nan, "Infinity": np.inf, "-Infinity": -np.inf}.get(value)
    if type(value) not in (int, float, Decimal):
        return None
    number = float(value)  # (1)
    if type_.kind is Kind.FLOAT and np.isfinite(number):
        return float(np.nextafter(np.float32(number), np.float32(np.inf if is_upper else -np.inf)))  # (2)
    return number


def _decimal(value: Any, type_: Type, is_upper: bool) -> Decimal | None:
    """Return a decimal bound.

    Claim     The bound is not within the value that was written.
    Premises  The value's text is exact, or that of a double that is a few roundings from it.
    Proof     (1) The text is read digit by digit.
              (2) The roundings change the value by less than the error; of up to 15 digits, by less than
              half a unit of the scale, so that what is left beyond the scale shows it.
              (3) The bound is the next decimal of the scale on its own side.
    Unsound   if the text were read as a double, or trusted to have all digits of a longer decimal.
    """
    if type(value) not in (int, Decimal):
        return None
    with localcontext(_WIDE):
        exact = Decimal(value)  # (1)
        if type_.precision > _DOUBLE_DIGITS:
            error = abs(exact) * _DOUBLE_ERROR  # (2)
            exact = exact + error if is_upper else exact - error
        rounding = "ROUND_CEILING" if is_upper else "ROUND_FLOOR"
        bound = exact.quantize(Decimal(1).scaleb(-type_.scale), rounding=rounding)  # (3)
        return bound if abs(bound) < Decimal(10) ** (type_.precision - type_.scale) else None


def _text(value: Any, type_: Type, is_upper: bool) -> str | None:
    if not isinstance(value, str):
        return None
    value.encode()
    return value


def _boolean(value: Any, type_: Type, is_upper: bool) -> bool | None:
    return value if isinstance(value, bool) else None


def _date(value: Any, type_: Type, is_upper: bool) -> date | None:
    return date.fromisoformat(value) if isinstance(value, str) else None


def _time(value: Any, type_: Type, is_upper: bool) -> int | None:
    """Return microseconds since 1970.

    Texts have offsets of whole minutes, of which zones once had some with seconds: a bound of such a time is
    moved by a minute.
    """
    if not isinstance(value, str):
        return None
    time = datetime.fromisoformat(value)
    offset = time.utcoffset()
    time = time.replace(tzinfo=None)
    if offset is not None:
        if type_.kind is Kind.TIMESTAMP_NTZ:
            return None
        time = time.replace(tzinfo=UTC).replace(tzinfo=None) - offset
        if offset and time < _WHOLE_OFFSETS:
            time = time + _MINUTE if is_upper else time - _MINUTE
    since = time - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


_FORMS: dict[Kind, Callable[[Any, Type, bool], Any]] = {
    Kind.BYTE: _integer,
    Kind.SHORT: _integer,
    Kind.INTEGER: _integer,
    Kind.LONG: _integer,
    Kind.FLOAT: _float,
    Kind.DOUBLE: _float,
    Kind.DECIMAL: _decimal,
    Kind.STRING: _text,
    Kind.BOOLEAN: _boolean,
    Kind.DATE: _date,
    Kind.TIMESTAMP: _time,
    Kind.TIMESTAMP_NTZ: _time,
}


def _from_struct(parsed: pa.StructArray, field: DeltaField) -> FieldStatistics:
    """Return the statistics of a field from a struct."""
    sides, is_garbled = [], np.zeros(len(parsed), np.bool_)
    for side, _ in _SIDES:
        values = _inside(parsed, (side, *field.path))
        bounds = _cast(values, arrow_type(field.type))
        if values is not None:
            is_garbled |= (values.is_valid().to_numpy(False)) & (bounds.is_null().to_numpy(False))
        sides.append(pa.nulls(len(parsed), arrow_type(field.type)) if values is None else bounds)
    null_counts = _counts_of(parsed, (_NULLS, *field.path))
    return FieldStatistics(null_counts=null_counts, lower=sides[0], upper=sides[1], is_garbled=is_garbled)


def _inside(struct: pa.StructArray, path: Sequence[str]) -> pa.Array | None:
    """Return the field at a path in a struct; None if there is none."""
    values: pa.Array = struct
    for name in path:
        if not pa.types.is_struct(values.type) or not has_field(values, name):
            return None
        values = field_of(values, name)
    return values


def _counts_of(parsed: pa.StructArray, path: Sequence[str]) -> Numbers:
    values = _inside(parsed, path)
    if values is None or not pa.types.is_integer(values.type):
        return np.full(len(parsed), ABSENT)
    counts: Numbers = pc.fill_null(values.cast(pa.int64()), ABSENT).to_numpy()
    return np.where(counts < 0, ABSENT, counts)


def _cast(values: pa.Array | None, bound: pa.DataType) -> pa.Array | None:
    """Return bounds of a struct in another type that holds the same values; NULL if there is no such cast."""
    if values is None:
        return None
    try:
        return values.cast(bound) if _is_wider(bound, values.type) else pa.nulls(len(values), bound)
    except pa.ArrowInvalid:
        return pa.nulls(len(values), bound)


def _is_wider(bound: pa.DataType, stored: pa.DataType) -> bool:
    """Tell whether a type has each value of a stored one, so that a column may have been widened to it."""
    of = pa.types
    if of.is_timestamp(bound):
        return of.is_date(stored) or (of.is_timestamp(stored) and (stored.tz is None or bound.tz is not None))
    if of.is_integer(stored):
        return of.is_integer(bound) or of.is_decimal(bound) or of.is_float64(bound)
    if of.is_floating(stored):
        return of.is_floating(bound) and bound.bit_width >= stored.bit_width
    if of.is_decimal(stored):
        return of.is_decimal(bound)
    if of.is_string(bound):
        return of.is_string(stored) or of.is_large_string(stored)
    return bool(stored == bound)
