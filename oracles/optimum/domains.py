"""The values that a column may take within its bounds: all of them, or one for each place that matters.

Shares   the expression trees and types; no rule, no range, no program.
Trusts   that the values of a type but strings are finitely many places on a line (an ordinal each),
         and that the string after `s` in the order of bytes is `s` with a zero byte.
Leaves   strings that are not UTF-8 count as values: Spark's strings hold any bytes.

Representatives. Where values meet literals and one another by order alone (comparisons, IN, NULL
tests, prefixes, and what passes values on), a row's truth depends only on which literals and bounds
its values equal or lie between, and on how the values that share a gap are ordered. In a gap of a
type's line, k columns have at most k different values, so the k lowest places of the gap stand for
any others: trying each bound and literal with its k successors tries every case.
"""

import math
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from oracles.meaning.numbers import decimal_of
from pruning.expressions.traversal import columns, walk
from pruning.expressions.trees import (
    And,
    Call,
    Case,
    Cast,
    Coalesce,
    Column,
    Compare,
    Expression,
    Function,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Or,
    StartsWith,
    type_of,
)
from pruning.expressions.types import BYTES, Kind, Type, Value

Cell = Value | None

_PASSING = (Column, Literal, Compare, And, Or, Not, IsNull, In, StartsWith, Case, Coalesce)
_NUMBERS = frozenset({Kind.BYTE, Kind.SHORT, Kind.INTEGER, Kind.LONG, Kind.FLOAT, Kind.DOUBLE, Kind.DECIMAL})
_SIGNIFICAND_BITS = {Kind.FLOAT: 24, Kind.DOUBLE: 53}
_FORMATS = {Kind.FLOAT: ("<f", "<i"), Kind.DOUBLE: ("<d", "<q")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What block metadata tells of one column: a row's cell is NULL, NaN or a value, where it may be.

    A value lies between the bounds, both included; None is no bound. No bound covers a NaN.
    """

    type: Type
    lower: Value | None
    upper: Value | None
    may_null: bool
    may_nan: bool
    may_value: bool

    @classmethod
    def of_counts(
        cls,
        type_: Type,
        *,
        lower: Value | None,
        upper: Value | None,
        null_count: int | None,
        nan_count: int | None,
        row_count: int,
    ) -> "Known":
        """What counts of one block and bounds tell; an unknown count excludes nothing."""
        nulls, nans = null_count or 0, (nan_count or 0) if type_.floating else 0
        return cls(
            type=type_,
            lower=lower,
            upper=upper,
            may_null=null_count != 0 and row_count > 0,
            may_nan=type_.floating and nan_count != 0 and nulls < row_count,
            may_value=nulls + nans < row_count,
        )

    def holds(self, cell: Cell) -> bool:
        """Whether a row may have this cell."""
        if cell is None:
            return self.may_null
        if isinstance(cell, float) and math.isnan(cell):
            return self.may_nan
        above = self.lower is None or not _below(cell, self.lower)
        return self.may_value and above and (self.upper is None or not _below(self.upper, cell))


def ordinal(value: Value, type_: Type) -> int:
    """A value's place on its type's line; -0.0 and 0.0 share one. Not for strings, nor NaN."""
    if isinstance(value, float):
        floating, whole = _FORMATS[type_.kind]
        (bits,) = struct.unpack(whole, struct.pack(floating, value))
        return int(bits) if bits >= 0 else -(int(bits) & _mask(type_))
    if isinstance(value, Decimal):
        return int(Fraction(value) * 10**type_.scale)
    assert isinstance(value, int)
    return int(value)


def value_at(place: int, type_: Type) -> Value:
    """The value at a place on its type's line."""
    if type_.floating:
        floating, whole = _FORMATS[type_.kind]
        bits = place if place >= 0 else -place - _mask(type_) - 1
        return float(struct.unpack(floating, struct.pack(whole, bits))[0])
    if type_.kind is Kind.DECIMAL:
        return decimal_of(place, type_.scale)
    return bool(place) if type_.kind is Kind.BOOLEAN else place


def ends(known: Known) -> tuple[int, int]:
    """The places of the least and the greatest value within the bounds; not for strings."""
    least, greatest = _type_ends(known.type)
    low = least if known.lower is None else max(least, ordinal(known.lower, known.type))
    high = greatest if known.upper is None else min(greatest, ordinal(known.upper, known.type))
    return low, high


def whole(known: Known, *, size_max: int) -> list[Cell] | None:
    """Every cell that a row may have; None where they are more than `size_max`."""
    cells = _specials(known)
    if not known.may_value:
        return cells
    if known.type.kind in BYTES:
        only = known.lower is not None and known.lower == known.upper
        return [*cells, known.lower] if only else None
    low, high = ends(known)
    if high - low >= size_max:
        return None
    cells += [value_at(place, known.type) for place in range(low, high + 1)]
    return cells


def representatives(expression: Expression, known: Mapping[str, Known]) -> dict[str, list[Cell]]:
    """A cell for each place that matters of each column the expression names; see above."""
    types = columns(expression)
    chain = max(1, len(types))
    found: dict[str, list[Cell]] = {}
    for name, type_ in types.items():
        found[name] = _specials(known[name])
        if known[name].may_value:
            marks = _marks(expression, known, type_)
            found[name] += _strings(known[name], marks, chain) if type_.kind in BYTES else []
            found[name] += _places(known[name], marks, chain) if type_.kind not in BYTES else []
    return found


def by_order_alone(expression: Expression) -> bool:
    """Whether values meet by order alone, so that representatives stand for all of them.

    Casts that keep numbers as they are may stand between, where one column only is named: two
    types' lines have gaps of different sizes.
    """
    single = len(columns(expression)) == 1
    return all(
        isinstance(node, _PASSING)
        or (isinstance(node, Call) and node.function in (Function.GREATEST, Function.LEAST))
        or (isinstance(node, Cast) and single and _keeps_numbers(type_of(node.operand), node.type))
        for node in walk(expression)
    )


def prefix_end(prefix: bytes) -> bytes | None:
    """The least string above all that have the prefix; None where there is none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def _specials(known: Known) -> list[Cell]:
    cells: list[Cell] = [None] if known.may_null else []
    return [*cells, math.nan] if known.may_nan else cells


def _below(left: Value, right: Value) -> bool:
    return bool(left < right)  # type: ignore[operator]


def _mask(type_: Type) -> int:
    return 0x7FFFFFFF if type_.kind is Kind.FLOAT else 0x7FFFFFFFFFFFFFFF


def _type_ends(type_: Type) -> tuple[int, int]:
    if type_.kind is Kind.BOOLEAN:
        return 0, 1
    if type_.floating:
        return ordinal(-math.inf, type_), ordinal(math.inf, type_)
    if type_.kind is Kind.DECIMAL:
        return 1 - 10**type_.precision, 10**type_.precision - 1
    limits = type_.integer_range
    assert limits is not None
    return limits


def _marks(expression: Expression, known: Mapping[str, Known], type_: Type) -> list[Value]:
    """The literals and bounds that values of a type may meet."""
    marks: list[Value | None] = [side for column in known.values() for side in (column.lower, column.upper)]
    for node in walk(expression):
        if isinstance(node, Literal):
            marks.append(node.value)
        elif isinstance(node, StartsWith):
            marks += [node.prefix, prefix_end(node.prefix)]
        elif isinstance(node, Like):
            escaped = node.escape.encode()
            marks.append(node.pattern.replace(escaped, b"").replace(b"%", b"").replace(b"_", b"a"))
    return [mark for mark in marks if mark is not None and _meets(mark, type_)]


def _meets(mark: Value, type_: Type) -> bool:
    if isinstance(mark, float) and math.isnan(mark):
        return False
    if isinstance(mark, bool):
        return type_.kind is Kind.BOOLEAN
    return isinstance(mark, bytes) == (type_.kind in BYTES)


def _strings(known: Known, marks: Iterable[Value], chain: int) -> list[Cell]:
    starts = {b"", *(mark for mark in marks if isinstance(mark, bytes))}
    chained = {start + b"\0" * step for start in starts for step in range(chain + 1)}
    return [text for text in sorted(chained) if known.holds(text)]


def _places(known: Known, marks: Iterable[Value], chain: int) -> list[Cell]:
    low, high = ends(known)
    places = {low, high}
    for mark in marks:
        places |= set(_around(mark, known.type))
    chained = {place + step for place in places for step in range(chain + 1)}
    return [value_at(place, known.type) for place in sorted(chained) if low <= place <= high]


def _around(mark: Value, type_: Type) -> tuple[int, ...]:
    """The places at or next below and above a number on another type's line."""
    if isinstance(mark, float) and math.isinf(mark):
        return (ordinal(mark, type_),) if type_.floating else ()
    exact = Fraction(mark)  # type: ignore[arg-type]
    if type_.kind in (Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ) or type_.kind not in _NUMBERS:
        return (int(exact),)
    if not type_.floating:
        place = math.floor(exact * 10**type_.scale)
        return place, place + 1
    near = ordinal(_nearest(exact, type_), type_)
    return near - 1, near, near + 1


def _nearest(exact: Fraction, type_: Type) -> float:
    try:
        value = float(exact)
        return value if type_.kind is Kind.DOUBLE else struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, exact)


def _keeps_numbers(source: Type, target: Type) -> bool:
    """Whether a cast gives each value the same number, so that order and equality stay."""
    if source == target:
        return True
    if source.integral and target.integral:
        assert source.integer_range is not None
        assert target.integer_range is not None
        return source.integer_range[1] < target.integer_range[1]
    if source.kind not in _NUMBERS or target.kind not in _NUMBERS or source.floating:
        return source.kind is Kind.FLOAT and target.kind is Kind.DOUBLE
    least, greatest = _type_ends(source)
    if target.floating:
        return source.integral and -least <= 2 ** _SIGNIFICAND_BITS[target.kind]
    scale, whole_digits = target.scale - source.scale, target.precision - target.scale
    return scale >= 0 and greatest // 10**source.scale < 10**whole_digits
