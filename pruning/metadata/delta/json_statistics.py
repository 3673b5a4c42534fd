"""The statistics of files in JSON.

Statistics of the usual forms are decoded by columns. If any has another form, all are decoded one by one.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import json as arrow_json

from pruning.expressions.types import Kind, Type
from pruning.metadata.delta.actions import FileActions
from pruning.metadata.delta.columns import DeltaField
from pruning.metadata.delta.json_forms import bound_of, decimal_bound, widened_floats
from pruning.metadata.delta.statistics import (
    LOWER,
    NULLS,
    ROWS,
    TIGHT,
    UPPER,
    FieldStatistics,
    FileStatistics,
    counts_of,
)
from pruning.metadata.delta.struct_statistics import inside, struct_statistics
from pruning.metadata.footers.thrift_lanes import ABSENT, Numbers
from pruning.metadata.table.schema import arrow_type
from pruning.metadata.table.structs import field_of, whole

_INT64_MAX = (1 << 63) - 1
# Each text is parsed together with its place, so that none can be taken for that of another file.
_PLACE, _TEXT = "place", "statistics"
_BLOCK_BYTES = 1 << 22
# Digits before and behind the point that no decimal's text has more of, unless it lost some.
_ANY_DECIMAL = pa.decimal256(76, 38)
# An offset from UTC that is not Z.
_OFFSET = r"[+-]\d{2}:\d{2}$"
_Tree: TypeAlias = dict[str, Any]


def read_statistics(batch: FileActions, fields: Sequence[DeltaField]) -> FileStatistics:
    """Return the statistics of these fields in a batch of files."""
    texts = whole(batch.table["stats"])
    from_json = json_statistics(texts, fields)
    if batch.parsed is None:
        return from_json
    return from_json.where(texts.is_valid(), struct_statistics(batch.parsed, fields))


def json_statistics(texts: pa.Array, fields: Sequence[DeltaField]) -> FileStatistics:
    """Return the statistics of these fields from JSON, NULL where a file has none."""
    try:
        return columnar_statistics(texts, fields)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return statistics_one_by_one(texts, fields)


def columnar_statistics(texts: pa.Array, fields: Sequence[DeltaField]) -> FileStatistics:
    """Return statistics that all have the usual forms.

    Raises:
        ArrowInvalid: a text or a value has another form.
    """
    length = len(texts)
    places = pa.array(np.arange(length)).cast(pa.string())
    start, end = f'{{"{_PLACE}":', f',"{_TEXT}":'
    lines = pc.binary_join_element_wise(start, places, end, pc.fill_null(texts, "{}"), "}\n", "")
    schema = pa.schema([(_PLACE, pa.int64()), (_TEXT, _statistics_type(fields))])
    content = pa.BufferReader(_bytes(lines))
    table = (
        arrow_json.read_json(
            content,
            read_options=arrow_json.ReadOptions(block_size=_BLOCK_BYTES),
            parse_options=arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="ignore"),
        )
        if length
        else schema.empty_table()
    )
    if not np.array_equal(table[_PLACE].to_numpy(), np.arange(length)):
        raise pa.ArrowInvalid("a text is no single object")
    parsed = whole(table[_TEXT])
    tight = pc.fill_null(field_of(parsed, TIGHT), True)
    return FileStatistics(
        row_counts=counts_of(field_of(parsed, ROWS), length),
        is_tight=tight.to_numpy(zero_copy_only=False).astype(np.bool_),
        fields=tuple(_usual_field(parsed, field) for field in fields),
    )


def _bytes(lines: pa.Array) -> bytes:
    """Return texts one after the other."""
    joined: bytes = b"".join(lines.cast(pa.binary()).to_pylist())
    return joined


def _statistics_type(fields: Sequence[DeltaField]) -> pa.DataType:
    """Return the type of statistics of these fields as JSON has them."""
    bounds, counts = _Tree(), _Tree()
    for field in fields:
        *parents, name = field.path
        bounds_inside, counts_inside = bounds, counts
        for parent in parents:
            bounds_inside = bounds_inside.setdefault(parent, {})
            counts_inside = counts_inside.setdefault(parent, {})
        bounds_inside[name], counts_inside[name] = _json_type(field.type), pa.int64()
    parts = [(ROWS, pa.int64()), (TIGHT, pa.bool_())]
    if fields:
        parts += [(LOWER, _struct(bounds)), (UPPER, _struct(bounds)), (NULLS, _struct(counts))]
    return pa.struct(parts)


def _struct(tree: Mapping[str, Any]) -> pa.DataType:
    parts = [(name, _struct(part) if isinstance(part, dict) else part) for name, part in tree.items()]
    return pa.struct(parts)


def _json_type(type_: Type) -> pa.DataType:
    """Return the Arrow type that holds the usual form of a type's bounds."""
    if type_.integral:
        return pa.int64()
    if type_.floating:
        return pa.float64()
    if type_.kind is Kind.DECIMAL:
        return _ANY_DECIMAL
    return pa.bool_() if type_.kind is Kind.BOOLEAN else pa.string()


def _usual_field(parsed: pa.StructArray, field: DeltaField) -> FieldStatistics:
    convert = _conversion(field.type)
    lower, upper = (inside(parsed, (side, *field.path)) for side in (LOWER, UPPER))
    return FieldStatistics(
        null_counts=counts_of(inside(parsed, (NULLS, *field.path)), len(parsed)),
        lower=convert(lower, field.type, False),
        upper=convert(upper, field.type, True),
        is_garbled=np.zeros(len(parsed), np.bool_),
    )


def _conversion(type_: Type) -> Callable[[pa.Array, Type, bool], pa.Array]:
    """Return what gives bounds as `json_forms` does; it raises ArrowInvalid for less usual forms."""
    match type_.kind:
        case Kind.FLOAT:
            return _floats
        case Kind.DECIMAL:
            return _decimals
        case Kind.TIMESTAMP:
            return _instants
        case Kind.BINARY:
            return _nothing
        case _:
            return _plain


def _plain(values: pa.Array, type_: Type, is_upper: bool) -> pa.Array:
    return values.cast(arrow_type(type_))


def _nothing(values: pa.Array, type_: Type, is_upper: bool) -> pa.Array:
    if values.null_count < len(values):
        raise pa.ArrowInvalid("bounds of bytes have no usual form")
    return values.cast(arrow_type(type_))


def _floats(values: pa.Array, type_: Type, is_upper: bool) -> pa.Array:
    is_null = values.is_null().to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):
        floats = values.fill_null(0).to_numpy(zero_copy_only=False).astype(np.float32)
    return pa.array(widened_floats(floats, is_upper=is_upper), mask=is_null)


def _decimals(values: pa.Array, type_: Type, is_upper: bool) -> pa.Array:
    bounds = [
        None if value is None else decimal_bound(value, type_, is_upper) for value in values.to_pylist()
    ]
    if sum(bound is None for bound in bounds) > values.null_count:
        raise pa.ArrowInvalid("a decimal is beyond its type")
    return pa.array(bounds, arrow_type(type_))


def _instants(values: pa.Array, type_: Type, is_upper: bool) -> pa.Array:
    if pc.any(pc.match_substring_regex(values, _OFFSET)).as_py():
        raise pa.ArrowInvalid("a time has an offset")
    return values.cast(arrow_type(type_))


def statistics_one_by_one(texts: pa.Array, fields: Sequence[DeltaField]) -> FileStatistics:
    """Return statistics of any form; what cannot be read is left out."""
    documents = [_document(text) for text in texts.to_pylist()]
    return FileStatistics(
        row_counts=_numbers([document.get(ROWS) for document in documents]),
        is_tight=np.array([document.get(TIGHT) in (None, True) for document in documents], np.bool_),
        fields=tuple(_any_field(documents, field) for field in fields),
    )


def _document(text: str | None) -> dict[str, Any]:
    """Return statistics from JSON, with decimals as they are written; an empty dict if there are none."""
    if text is None:
        return {}
    try:
        document = json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _any_field(documents: Sequence[Any], field: DeltaField) -> FieldStatistics:
    sides, is_garbled = [], np.zeros(len(documents), np.bool_)
    for side in (LOWER, UPPER):
        values = _values(documents, (side, *field.path))
        bounds = [
            None if value is None else bound_of(value, field.type, is_upper=side == UPPER) for value in values
        ]
        is_garbled |= np.array(
            [bound is None and value is not None for bound, value in zip(bounds, values, strict=True)],
            np.bool_,
        )
        sides.append(_array(bounds, field.type))
    null_counts = _numbers(_values(documents, (NULLS, *field.path)))
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


def _numbers(values: Sequence[Any]) -> Numbers:
    numbers = [value if type(value) is int and 0 <= value <= _INT64_MAX else ABSENT for value in values]
    return np.array(numbers, np.int64)
