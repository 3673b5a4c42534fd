"""Partition values: texts in the log, and the values that Spark reads for them."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Context, Decimal, InvalidOperation
from functools import partial
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.errors import InputError
from pruning.expressions.types import Kind, Type
from pruning.metadata.delta.columns import DeltaField
from pruning.metadata.footers.thrift_lanes import Numbers
from pruning.metadata.table.schema import arrow_type

_BOOLEAN = re.compile("true|false")
_WHOLE = re.compile(r"[+-]?[0-9]{1,19}")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_INSTANT = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?(Z|[+-][0-9:]{5})?"
)
_NOT_FINITE = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_EPOCH = datetime(1970, 1, 1)
# Enough digits for any decimal.
_WIDE = Context(prec=80)


class _NoZone(ValueError):
    """A timestamp names no time zone, and none was passed."""


def partition_table(
    values: pa.MapArray, paths: pa.Array, fields: Mapping[str, DeltaField], zone: str | None
) -> pa.Table:
    """Return the values of partition columns, a row for each file.

    Args:
        values: The partition values of the files, as texts by the columns' names in files.
        paths: The files.
        fields: The partition columns.
        zone: The time zone of timestamps that name none.

    Raises:
        InputError: a text is no value of its column's type, or a value is missing.
    """
    columns = {name: _column(values, paths, name, field, zone) for name, field in fields.items()}
    return pa.table(columns)


def partition_ids(table: pa.Table, file_count: int) -> Numbers:
    """Return a number for each partition, the same for two files of one partition; shape (files,)."""
    ids: Numbers = np.zeros(file_count, np.int64)
    for column in table.columns:
        codes = column.combine_chunks().dictionary_encode(null_encoding="encode").indices.to_numpy()
        ids = np.unique(np.stack([ids, codes.astype(np.int64)]), axis=1, return_inverse=True)[1].reshape(-1)
    return ids.astype(np.int64)


def _column(values: pa.MapArray, paths: pa.Array, name: str, field: DeltaField, zone: str | None) -> pa.Array:
    texts = pc.map_lookup(values, pa.scalar(field.path[0]), "first")
    if texts.null_count:
        _check_presence(values, paths, name, field)
    encoded = texts.dictionary_encode()
    convert = _converter(field.type, zone)
    converted = []
    for code, text in enumerate(encoded.dictionary.to_pylist()):
        try:
            # Delta writes NULL as an empty text, too.
            converted.append(None if text == "" else convert(text))
        except (ValueError, InvalidOperation, OverflowError) as error:
            file = paths[pc.index(encoded.indices, code).as_py()].as_py()
            fault = (
                "names no time zone: pass that of the session that wrote it, such as zone='UTC'"
                if isinstance(error, _NoZone)
                else f"is no {field.type}; correct the table's log"
            )
            raise InputError(f"{file}: its partition value {text!r} of the column {name} {fault}") from error
    uniques = _array(converted, field.type)
    return uniques.take(encoded.indices)


def _check_presence(values: pa.MapArray, paths: pa.Array, name: str, field: DeltaField) -> None:
    """Check that each file has a value of a partition column, which may be NULL."""
    is_absent = pc.map_lookup(values, pa.scalar(field.path[0]), "all").is_null()
    if pc.any(is_absent).as_py():
        raise InputError(
            f"{paths.filter(is_absent)[0].as_py()}: the table's log has no partition value of the column "
            f"{name} for it; restore the commit that added it"
        )


def _array(values: list[object], type_: Type) -> pa.Array:
    bound = arrow_type(type_)
    if type_.kind in (Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ):
        return pa.array(values, pa.int64()).cast(bound)
    return pa.array(values, bound)


def _converter(type_: Type, zone: str | None) -> Callable[[str], object]:
    """Return what makes a value of a text, as Spark casts it; it raises ValueError for other texts."""
    if type_.kind is Kind.DECIMAL:
        return partial(_decimal, type_=type_)
    if type_.integral:
        return partial(_integer, type_=type_)
    if type_.floating:
        return partial(_float, type_=type_)
    if type_.kind is Kind.TIMESTAMP:
        return partial(_instant, zone=None if zone is None else _zone(zone))
    converters: dict[Kind, Callable[[str], object]] = {
        Kind.STRING: str,
        Kind.BINARY: str.encode,
        Kind.BOOLEAN: _boolean,
        Kind.DATE: _day,
        Kind.TIMESTAMP_NTZ: _local_time,
    }
    return converters[type_.kind]


def _match(pattern: re.Pattern[str], text: str) -> str:
    if not pattern.fullmatch(text):
        raise ValueError("another form")
    return text


def _integer(text: str, type_: Type) -> int:
    value = int(_match(_WHOLE, text))
    assert type_.integer_range is not None
    lowest, highest = type_.integer_range
    if not lowest <= value <= highest:
        raise ValueError("beyond the type")
    return value


def _float(text: str, type_: Type) -> float:
    value = _NOT_FINITE.get(text)
    value = float(_match(_NUMBER, text)) if value is None else value
    return float(np.float32(value)) if type_.kind is Kind.FLOAT else value


def _decimal(text: str, type_: Type) -> Decimal:
    value = Decimal(_match(_NUMBER, text))
    rounded = value.quantize(Decimal(1).scaleb(-type_.scale), context=_WIDE)
    # Spark would round, and give NULL for what is too large.
    if rounded != value or len(rounded.as_tuple().digits) > max(type_.precision, type_.scale + 1):
        raise ValueError("other digits than the type has")
    return rounded


def _boolean(text: str) -> bool:
    return _match(_BOOLEAN, text) == "true"


def _day(text: str) -> date:
    return date.fromisoformat(_match(_DAY, text))


def _local_time(text: str) -> int:
    time = datetime.fromisoformat(_match(_INSTANT, text))
    if time.tzinfo is not None:
        raise ValueError("it has a zone")
    return _microseconds(time)


def _instant(text: str, zone: ZoneInfo | None) -> int:
    time = datetime.fromisoformat(_match(_INSTANT, text))
    if time.tzinfo is None:
        if zone is None:
            raise _NoZone
        time = time.replace(tzinfo=zone)
    return _microseconds(time.astimezone(UTC).replace(tzinfo=None))


def _microseconds(time: datetime) -> int:
    since = time - _EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InputError(f"zone={name!r}: is no time zone; give a name such as 'Europe/Paris'") from error
