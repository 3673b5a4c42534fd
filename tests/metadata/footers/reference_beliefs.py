"""The beliefs about one column chunk, in plain Python: slow, and the reference for the arrays.

Shares   the types of `pruning.expressions`, and Parquet's numbers of fields with `oracles.files.footers`.
Trusts   the caller for the names and the nesting of columns.
Removes  arrays, batches, caches, and the Thrift readers of `pruning`.
Leaves   the same doubts, written down a second time.
"""

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

from oracles.files.footers import InElement, InMeta, Struct
from pruning.expressions import types
from pruning.expressions.types import Kind, Type

CONVERTED, SCALE, PRECISION, LOGICAL = 6, 7, 8, 10
MAX, MIN, NULL_COUNT, MAX_VALUE, MIN_VALUE, MAX_EXACT, MIN_EXACT = 1, 2, 3, 5, 6, 7, 8
_BOOLEAN, _INT32, _INT64, _INT96, _FLOAT, _DOUBLE, _BYTES, _FIXED = range(8)
_INTEGERS = {8: types.BYTE, 16: types.SHORT, 32: types.INTEGER, 64: types.LONG}
_UNSIGNED = {8: types.SHORT, 16: types.INTEGER, 32: types.LONG}
_SPARK, _LEGACY = (
    "org.apache.spark.version",
    ("org.apache.spark.legacyDateTime", "org.apache.spark.legacyINT96"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaColumn:
    """A column of a file: its name, the place of its chunks, and its place in the schema."""

    name: str
    chunk: int
    element: Struct
    path: tuple[bytes, ...]
    ordered: bool
    required: bool = False
    inherits: bool = False
    repeated: bool = False


@dataclass(frozen=True, slots=True)
class Form:
    """The meaning of a bound's bytes; `unsigned` has the bits of an unsigned number."""

    type: Type
    physical: int
    length: int | None = None
    unsigned: int | None = None
    millis: bool = False


def form_of(element: Struct) -> Form | None:
    """Return the form of the bounds of a schema element; None if Spark does not read it as a known type."""
    physical, length = _int(element, InElement.TYPE), _int(element, InElement.LENGTH) or 0
    assert physical is not None
    size = length if physical == _FIXED else None
    name, *parameters = _annotation(element)
    if name == "decimal":
        return _decimal_form(physical, length, *parameters)
    if name == "integer":
        bits, signed = parameters
        if (physical == _INT32 and bits in (8, 16, 32)) or (physical == _INT64 and bits == 64):
            if signed:
                return Form(_INTEGERS[bits], physical)
            return Form(_UNSIGNED.get(bits, types.decimal(20, 0)), physical, unsigned=bits)
        return None
    if name == "timestamp":
        unit, utc = parameters
        if physical != _INT64 or unit not in ("millis", "micros") or utc is None:
            return None
        return Form(types.TIMESTAMP if utc else types.TIMESTAMP_NTZ, physical, millis=unit == "millis")
    if name == "date":
        return Form(types.DATE, physical) if physical == _INT32 else None
    if name in ("string", "bson"):
        return (
            Form(types.STRING if name == "string" else types.BINARY, physical) if physical == _BYTES else None
        )
    plain = {
        _BOOLEAN: types.BOOLEAN, _INT32: types.INTEGER, _INT64: types.LONG, _INT96: types.TIMESTAMP,
        _FLOAT: types.FLOAT, _DOUBLE: types.DOUBLE, _BYTES: types.BINARY, _FIXED: types.BINARY,
    }  # fmt: skip
    return Form(plain[physical], physical, size) if name == "plain" else None


def _annotation(element: Struct) -> tuple[Any, ...]:
    logical = element[LOGICAL][1] if LOGICAL in element else None
    if logical is not None:
        if 5 in logical:
            decimal = logical[5][1]
            return "decimal", _int(decimal, 2), _int(decimal, 1) or 0
        if 10 in logical:
            integer = logical[10][1]
            return "integer", integer[1][1][0], integer[2][1]
        if 8 in logical:
            unit = next(iter(logical[8][1][2][1]))
            return "timestamp", {1: "millis", 2: "micros"}.get(unit), logical[8][1][1][1]
        names = {1: "string", 4: "string", 12: "string", 13: "bson", 6: "date"}
        return (next((name for field, name in names.items() if field in logical), "unknown"),)
    converted = _int(element, CONVERTED)
    if converted is None:
        return ("plain",)
    if converted == 5:
        return "decimal", _int(element, PRECISION), _int(element, SCALE) or 0
    if 11 <= converted <= 18:
        return "integer", 8 << (converted - 11) % 4, converted >= 15
    if converted in (9, 10):
        return "timestamp", "millis" if converted == 9 else "micros", True
    return ({0: "string", 4: "string", 19: "string", 20: "bson", 6: "date"}.get(converted, "unknown"),)


def _decimal_form(physical: int, length: int, precision: int | None, scale: int) -> Form | None:
    bits = 8 * min(length, 17) - 1
    fixed = len(str((1 << bits) - 1)) - 1 if bits > 0 else 0
    digits = {_INT32: 9, _INT64: 18, _BYTES: 38, _FIXED: min(38, fixed)}.get(physical, 0)
    if precision is None or not 1 <= precision <= digits or not 0 <= scale <= precision:
        return None
    return Form(types.decimal(precision, scale), physical, length if physical == _FIXED else None)


def is_bounded(form: Form) -> bool:
    """Tell whether bounds of a form have an order that writers agree about."""
    return form.physical != _INT96 and form.unsigned != 64


def _value(raw: bytes | None, form: Form) -> Any:
    """Return the value of a bound; raise ValueError if the bytes are not one."""
    if raw is None:
        return None
    if form.type.kind is Kind.DECIMAL:
        return _decimal(raw, form)
    if form.physical == _BOOLEAN:
        return {b"\0": False, b"\1": True}[raw]
    if form.physical in (_FLOAT, _DOUBLE):
        (number,) = struct.unpack("<f" if form.physical == _FLOAT else "<d", raw)
        return number
    if form.physical in (_INT32, _INT64):
        return _integer(raw, form)
    if form.length is not None and len(raw) != form.length:
        raise ValueError
    if form.type == types.STRING:
        raw.decode()
    return raw


def _integer(raw: bytes, form: Form) -> int:
    if len(raw) != (4 if form.physical == _INT32 else 8):
        raise ValueError
    number = int.from_bytes(raw, "little", signed=form.unsigned is None) * (1000 if form.millis else 1)
    bits = form.unsigned or {Kind.BYTE: 8, Kind.SHORT: 16}.get(form.type.kind, 64)
    low, high = (0, 2**bits) if form.unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1))
    if not low <= number < high:
        raise ValueError
    return number


def _decimal(raw: bytes, form: Form) -> Decimal:
    size = {_INT32: 4, _INT64: 8, _FIXED: form.length}.get(form.physical)
    if not raw or (size is not None and len(raw) != size):
        raise ValueError
    is_little = form.physical in (_INT32, _INT64)
    unscaled = int.from_bytes(raw, "little" if is_little else "big", signed=True)
    if abs(unscaled) >= 10**form.type.precision:
        raise ValueError
    return Decimal(unscaled).scaleb(-form.type.scale, Context(prec=38))


@dataclass(frozen=True, slots=True)
class Writer:
    """The name of a writer, and its version or None; a pre-release has False in the last place."""

    name: str
    release: tuple[int, int, int, bool] | None

    def is_before(self, *numbers: int) -> bool:
        """Tell whether the version is before a release, or unknown."""
        return self.release is None or self.release < (*numbers, True)


def writer_of(created_by: bytes | None) -> Writer:
    """Return the writer that a footer names."""
    try:
        text = (created_by or b"").decode()
    except UnicodeDecodeError:
        text = ""
    name, _, version = text.partition(" version ")
    name = name.split(" ")[0]
    if not name[:1].isalpha():
        return Writer("", None)
    version = version.split(" ")[0].removeprefix("v")
    numbers: list[int] = []
    while len(numbers) < 3 and version[:1].isdigit():
        digits = version[: len(version) - len(version.lstrip("0123456789"))]
        numbers.append(int(digits))
        version = version[len(digits) :]
        if len(numbers) < 3 and version[:1] == "." and version[1:2].isdigit():
            version = version[1:]
        else:
            break
    if not numbers:
        return Writer(name, None)
    major, minor, patch = (*numbers, 0, 0)[:3]
    return Writer(name, (major, minor, patch, not version))


def believed_statistics(
    column: SchemaColumn,
    form: Form,
    meta: Struct,
    rows: int,
    *,
    created_by: bytes | None,
    keys: Mapping[str, bytes],
) -> dict[str, Any]:
    """Return what is believed of one chunk: its NULL count, its bounds, and if these are exact."""
    stated: Struct = meta[InMeta.STATISTICS][1] if InMeta.STATISTICS in meta else {}
    writer, values = writer_of(created_by), _count(meta, InMeta.VALUES)
    most = (values or 0) if column.repeated else rows
    no_count, no_min, no_max = False, False, False
    null_count = _int(stated, NULL_COUNT)

    # The bounds, and if their order is that of the values.
    lower, upper = _bytes(stated, MIN_VALUE), _bytes(stated, MAX_VALUE)
    has_newer = lower is not None or upper is not None
    is_newer = has_newer and column.ordered
    if not is_newer and (MIN in stated or MAX in stated):
        lower, upper = _bytes(stated, MIN), _bytes(stated, MAX)
        no_min = no_max = not _is_signed(form)
    elif not is_newer:
        no_min = no_max = True

    # The values.
    least, greatest, is_garbled = None, None, False
    if is_bounded(form):
        try:
            least = _value(lower, form)
        except (ValueError, KeyError, struct.error):
            no_min, is_garbled = True, True
        try:
            greatest = _value(upper, form)
        except (ValueError, KeyError, struct.error):
            no_max, is_garbled = True, True
    bounds = [bound for bound in (least, greatest) if bound is not None]
    if (
        _is_bad_order(form, writer)
        or (is_garbled and not _is_bytes(form))
        or (_is_bytes(form) and any(_has_length(bound) for bound in (lower, upper)))
        or any(isinstance(bound, float) and math.isnan(bound) for bound in bounds)
        or (len(bounds) == 2 and bounds[0] > bounds[1])
    ):
        no_min = no_max = True
    is_old_below, is_old_above = _shifts(form, least, greatest, keys)
    no_min, no_max = no_min or is_old_below, no_max or is_old_above

    # The NULLs.
    if null_count is not None and (
        not 0 <= null_count <= most
        or column.repeated
        or (writer.name in ("Polars", "Arrow2") and null_count)
        or _misses_nulls(column, writer)
    ):
        no_count = True
    if bounds and most > 0 and null_count == most:
        no_count = no_min = no_max = True
    if (values is None or values < rows) if column.repeated else values != rows:
        no_count = no_min = no_max = True

    return {
        "null_count": 0 if column.required else None if no_count else null_count,
        "min": None if no_min else least,
        "max": None if no_max else greatest,
        "min_exact": _flag(stated, MIN_EXACT) if is_newer and not no_min and least is not None else None,
        "max_exact": _flag(stated, MAX_EXACT) if is_newer and not no_max and greatest is not None else None,
    }


def _is_bytes(form: Form) -> bool:
    return form.type.kind in (Kind.STRING, Kind.BINARY)


def _is_signed(form: Form) -> bool:
    """Tell whether the order of the deprecated bounds is that of the values."""
    return form.physical in (_BOOLEAN, _INT32, _INT64, _FLOAT, _DOUBLE) and form.unsigned is None


def _is_bad_order(form: Form, writer: Writer) -> bool:
    """Tell whether a writer is known for wrong bounds of a form."""
    name = writer.name
    if form.type.kind is Kind.DECIMAL:
        if name == "hyparquet":
            return True
        if form.physical == _BYTES and name not in ("parquet-mr", "parquet-cpp-arrow"):
            return True
        return form.physical in (_BYTES, _FIXED) and name in ("parquet-cpp", "Polars", "Arrow2")
    if form.unsigned == 32:
        return name in ("Polars", "Arrow2")
    if _is_bytes(form):
        return (name == "parquet-mr" and writer.is_before(1, 10, 0)) or (
            name == "parquet-rs" and writer.is_before(5, 2, 0)
        )
    if form.type.kind in (Kind.FLOAT, Kind.DOUBLE):
        firsts = {
            "impala": (3, 0, 0),
            "parquet-cpp": (1, 4, 0),
            "parquet-mr": (1, 10, 0),
            "parquet-rs": (5, 0, 0),
        }
        return name in firsts and writer.is_before(*firsts[name])
    return False


def _misses_nulls(column: SchemaColumn, writer: Writer) -> bool:
    firsts = {"parquet-cpp": (6, 0, 0), "parquet-cpp-arrow": (6, 0, 0), "parquet-mr": (1, 10, 0)}
    is_early = writer.name in firsts and writer.is_before(*firsts[writer.name])
    if column.inherits and not column.repeated:
        return is_early or writer.name not in ("parquet-cpp-arrow", "parquet-mr")
    return is_early


def _has_length(raw: bytes | None) -> bool:
    return raw is not None and len(raw) >= 4 and int.from_bytes(raw[:4], "little") == len(raw) - 4


def _shifts(form: Form, least: Any, greatest: Any, keys: Mapping[str, bytes]) -> tuple[bool, bool]:
    """Tell whether Spark may shift old values below the minimum, and above the maximum."""
    version = keys.get(_SPARK)
    if version is not None and version >= b"3.0.0" and not any(key in keys for key in _LEGACY):
        return False, False
    if form.type == types.DATE:
        first, reach = -141_427, 0
    elif form.type in (types.TIMESTAMP, types.TIMESTAMP_NTZ):
        first, reach = -2_208_988_800_000_000, 86_400_000_000
    else:
        return False, False
    is_old = least is None or least < first
    return is_old, is_old and greatest is not None and greatest < first + reach


def _int(fields: Struct, field: int) -> int | None:
    return fields[field][1] if field in fields else None


def _count(fields: Struct, field: int) -> int | None:
    number = _int(fields, field)
    return number if number is not None and 0 <= number < 2**63 else None


def _bytes(fields: Struct, field: int) -> bytes | None:
    return fields[field][1] if field in fields else None


def _flag(fields: Struct, field: int) -> bool | None:
    return fields[field][1] if field in fields else None
