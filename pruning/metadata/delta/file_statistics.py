"""The statistics of a data file for its `add` action, from its footer or from its rows.

Claim     Each value of a column that is not NULL lies between its minimum and maximum, by the order of Spark
          and of every reader of Delta Lake; `numRecords` and `nullCount` are exact.
Premises  Bounds in block metadata hold. A footer's bounds of numbers and dates are values of rows unless the
          footer denies it, as those of parquet-mr and Arrow are.
Proof     A bound of text is cut to a prefix, which is not greater; an upper one then ends with the greatest
          character, and is kept longer as long as the text continues with that. Times are rounded outwards
          to ms. Zero has the sign that makes it the wider bound.
Unsound   for what readers order or parse in different ways, which has no bounds: columns that may have NaN,
          infinity, decimals of more digits than a double keeps, times outside of the years 1 to 9999, text
          compared by a collation, Booleans and binary values.
"""

import datetime
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from pruning.errors import InputError
from pruning.expressions.names import field_name
from pruning.metadata.delta.log_actions import DeltaMetadata, json_text
from pruning.metadata.delta.statistics_columns import FileColumn, statistics_columns
from pruning.metadata.table.structs import field_of

STRING_CHARACTERS = 32
_GREATEST = "\U0010ffff"
# A number of so many digits is the same after it was a double.
_DOUBLE_DIGITS = 15
_EPOCH = datetime.datetime(1970, 1, 1)
_DAY_0 = datetime.date(1970, 1, 1).toordinal()
_MS = 1_000
_UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_INTEGERS = frozenset({"byte", "short", "integer", "long"})

Bound: TypeAlias = int | float | Decimal | str


@dataclass(frozen=True, slots=True, kw_only=True)
class ColumnSummary:
    """The values of a column in a file; None for what is not known, or not the same for all readers."""

    null_count: int | None = None
    bounds: tuple[Bound, Bound] | None = None


def statistics_of_blocks(metadata: DeltaMetadata, blocks: pa.Table) -> str:
    """Return the statistics of a file as JSON.

    Args:
        metadata: The table's.
        blocks: The block metadata of the file, as of its footer.
    """
    row_count = pc.sum(blocks["row_count"]).as_py() or 0
    columns = blocks["columns"].combine_chunks()
    fields = {field.name for field in columns.type}

    def summary(column: FileColumn) -> ColumnSummary:
        name = field_name(column.path)
        if name not in fields or not _has_values(column.kind):
            return ColumnSummary()
        return _summary_of_blocks(column, field_of(columns, name), blocks["row_count"])

    return _statistics(metadata, row_count, summary)


def statistics_of_rows(metadata: DeltaMetadata, rows: pa.Table) -> str:
    """Return the statistics of a file as JSON.

    Args:
        metadata: The table's.
        rows: The file's rows. A column that they lack is NULL.
    """

    def summary(column: FileColumn) -> ColumnSummary:
        values = _values(rows, column.path)
        if values is None:
            return ColumnSummary(null_count=rows.num_rows)
        return _summary_of_values(column, values)

    return _statistics(metadata, rows.num_rows, summary)


def row_count_of(statistics: str | None) -> int | None:
    """Return the number of rows that the statistics of a file say; None if they say none."""
    count = _parse(statistics).get("numRecords")
    return count if type(count) is int and count >= 0 else None


def widen_statistics(statistics: str, deleted_before: int) -> str:
    """Return the statistics of a file of which more rows are deleted: bounds stay, but may be of no row.

    A column of NULL alone keeps that, told by a count of all rows; with other counts, readers are told that
    those are not exact any more.

    Args:
        statistics: Those of the file, as JSON with `numRecords`.
        deleted_before: How many rows had been deleted when they were made.
    """
    fields = dict(_parse(statistics))
    row_count = fields["numRecords"]
    was_tight = fields.get("tightBounds", True) is True
    if was_tight and deleted_before and isinstance(fields.get("nullCount"), dict):
        fields["nullCount"] = _with_all_null(fields["nullCount"], row_count - deleted_before, row_count)
    fields["tightBounds"] = False
    return json_text(fields)


def _with_all_null(counts: Mapping[str, Any], live_count: int, row_count: int) -> dict[str, Any]:
    return {
        name: _with_all_null(count, live_count, row_count)
        if isinstance(count, dict)
        else (row_count if count == live_count else count)
        for name, count in counts.items()
    }


def _parse(statistics: str | None) -> Mapping[str, Any]:
    try:
        fields = json.loads(statistics or "{}", parse_float=Decimal)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _statistics(
    metadata: DeltaMetadata, row_count: int, summary: Callable[[FileColumn], ColumnSummary]
) -> str:
    """Return the statistics of a file from the summaries of its columns."""
    minima: dict[str, Any] = {}
    maxima: dict[str, Any] = {}
    null_counts: dict[str, Any] = {}
    for column in statistics_columns(metadata):
        values = summary(column)
        if values.null_count is not None:
            _put(null_counts, column.path, values.null_count)
        if values.bounds is not None:
            for bounds, bound in zip((minima, maxima), values.bounds, strict=True):
                _put(bounds, column.path, bound)
    return json_text(
        {
            "numRecords": row_count,
            "minValues": minima,
            "maxValues": maxima,
            "nullCount": null_counts,
            "tightBounds": True,
        }
    )


def _put(tree: dict[str, Any], path: tuple[str, ...], value: Any) -> None:
    for name in path[:-1]:
        tree = tree.setdefault(name, {})
    tree[path[-1]] = value


def _summary_of_blocks(column: FileColumn, facts: pa.Array, row_counts: pa.ChunkedArray) -> ColumnSummary:
    """Return the summary of a column from its block metadata."""
    null_counts = field_of(facts, "null_count")
    null_count = None if null_counts.null_count else pc.sum(null_counts).as_py() or 0
    # A block of NULL alone has no bounds, and needs none.
    is_null = pc.fill_null(pc.equal(null_counts, row_counts.combine_chunks()), False)
    valued = facts.filter(pc.invert(is_null))
    minima, maxima = (field_of(valued, name) for name in ("min", "max"))
    exactness = (field_of(valued, name) for name in ("min_exact", "max_exact"))
    is_cut = any(pc.any(pc.equal(exact, False)).as_py() for exact in exactness)
    may_have_nan = False
    if pa.types.is_floating(minima.type):
        nan_counts = field_of(valued, "nan_count")
        may_have_nan = bool(nan_counts.null_count or pc.sum(nan_counts).as_py())
    if minima.null_count or maxima.null_count or may_have_nan or (is_cut and column.kind != "string"):
        return ColumnSummary(null_count=null_count)
    return ColumnSummary(null_count=null_count, bounds=_bounds(column, pc.min(minima), pc.max(maxima)))


def _summary_of_values(column: FileColumn, values: pa.ChunkedArray) -> ColumnSummary:
    """Return the summary of a column from its values."""
    null_count = values.null_count
    has_nan = pa.types.is_floating(values.type) and pc.any(pc.is_nan(values)).as_py()
    if has_nan or not _has_values(column.kind):
        return ColumnSummary(null_count=null_count)
    try:
        bounds = pc.min_max(values)
    except pa.ArrowNotImplementedError:
        return ColumnSummary(null_count=null_count)
    return ColumnSummary(null_count=null_count, bounds=_bounds(column, bounds["min"], bounds["max"]))


def _values(rows: pa.Table, path: tuple[str, ...]) -> pa.ChunkedArray | None:
    """Return the values of a column or field, NULL where a struct around it is; None if there is none."""
    if path[0] not in rows.schema.names:
        return None
    values = rows[path[0]]
    for name in path[1:]:
        if not pa.types.is_struct(values.type) or values.type.get_field_index(name) < 0:
            return None
        values = field_of(values, name)
    return values


def _has_values(kind: Any) -> bool:
    """Tell whether the columns of a type may have bounds."""
    return isinstance(kind, str) and kind not in ("binary", "boolean", "variant", "void")


def _bounds(column: FileColumn, least: pa.Scalar, greatest: pa.Scalar) -> tuple[Bound, Bound] | None:
    """Return bounds as the log has them; None without values, or if one bound cannot be told."""
    if not (least.is_valid and greatest.is_valid and column.is_ordered):
        return None
    forms = [form(column.kind, scalar) for form, scalar in ((_lower, least), (_upper, greatest))]
    lower, upper = forms
    return None if lower is None or upper is None else (lower, upper)


def _lower(kind: str, scalar: pa.Scalar) -> Bound | None:
    return _bound(kind, scalar, is_upper=False)


def _upper(kind: str, scalar: pa.Scalar) -> Bound | None:
    return _bound(kind, scalar, is_upper=True)


def _bound(kind: str, scalar: pa.Scalar, *, is_upper: bool) -> Bound | None:
    """Return a bound of the log from a value; None if its type is another, or it cannot be told."""
    arrow = scalar.type
    if kind in _INTEGERS and pa.types.is_signed_integer(arrow):
        return int(scalar.as_py())
    if kind in ("float", "double") and pa.types.is_floating(arrow):
        return _float_bound(float(scalar.as_py()), is_upper=is_upper)
    if kind.startswith("decimal") and pa.types.is_decimal(arrow):
        value: Decimal = scalar.as_py()
        return value if len(value.as_tuple().digits) <= _DOUBLE_DIGITS else None
    if kind == "string" and (pa.types.is_string(arrow) or pa.types.is_large_string(arrow)):
        return _text_bound(scalar, is_upper=is_upper)
    if kind == "date" and pa.types.is_date32(arrow):
        return _date_text(scalar.value)
    if kind in ("timestamp", "timestamp_ntz") and pa.types.is_timestamp(arrow):
        is_instant = arrow.tz is not None
        if is_instant != (kind == "timestamp"):
            return None
        text = _time_text(scalar.value, _UNITS_PER_SECOND[arrow.unit], is_upper=is_upper)
        return text if text is None or not is_instant else f"{text}Z"
    return None


def _float_bound(value: float, *, is_upper: bool) -> float | None:
    if value == 0:
        return 0.0 if is_upper else -0.0
    return value if abs(value) < float("inf") else None


def _text_bound(scalar: pa.Scalar, *, is_upper: bool) -> str | None:
    """Return a bound of text, cut after some characters; None if it is no text."""
    try:
        text: str = scalar.as_py()
    except UnicodeDecodeError:
        return None
    if len(text) <= STRING_CHARACTERS or not is_upper:
        return text[:STRING_CHARACTERS]
    end = STRING_CHARACTERS
    while text[end : end + 1] == _GREATEST:
        end += 1
    return text if end >= len(text) else text[:end] + _GREATEST


def _date_text(days: int) -> str | None:
    try:
        return datetime.date.fromordinal(_DAY_0 + days).isoformat()
    except (ValueError, OverflowError):
        return None


def _time_text(value: int, units_per_second: int, *, is_upper: bool) -> str | None:
    """Return a time to the ms, rounded outwards; None outside of the years 1 to 9999."""
    scaled = value * _MS
    ms = -(-scaled // units_per_second) if is_upper else scaled // units_per_second
    try:
        return (_EPOCH + datetime.timedelta(milliseconds=ms)).isoformat(timespec="milliseconds")
    except OverflowError:
        return None


def partition_text(value: Any) -> str | None:
    """Return the value of a partition column as the log has it; None for NULL.

    Args:
        value: Text, a number, a Boolean, a date, or a time: an instant if it has a time zone.
    Raises:
        InputError: it is empty text, which readers take for NULL, or of another type.
    """
    if value is None:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime.datetime):
        if value.tzinfo is not None:
            instant = value.astimezone(datetime.UTC).replace(tzinfo=None)
            return f"{instant.isoformat(timespec='microseconds')}Z"
        return value.isoformat(sep=" ", timespec="microseconds")
    if isinstance(value, datetime.date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, int | float) or (isinstance(value, str) and value):
        return str(value)
    raise InputError(
        f"{value!r} cannot be the value of a partition column; give text, a number, date or time"
    )
