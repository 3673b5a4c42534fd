"""The values that a column may take within its bounds: all of them, or one for each case that differs.

Shares   the expression trees and types; no rule, no range, no program.
Trusts   that the values of every type but string are finitely many places on a line (an ordinal each), and
         that the string after `s` in the order of bytes is `s` with a zero byte.
Leaves   strings that are not UTF-8 count as values, because Spark's strings hold any bytes.

Representatives. Where values are compared with literals and with each other by order alone (comparisons, IN,
NULL tests, prefixes, and nodes that pass values on), the truth of a row depends only on which literals and
bounds its values equal or lie between, and on the order of values in the same gap. In a gap of a type's line,
k columns have at most k different values, so the k lowest places of the gap can stand for any others: each
bound and literal with its k successors covers every case.
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
class CellFacts:
    """The facts that block metadata states about a column's cells: each may be NULL, NaN or a value.

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
    ) -> "CellFacts":
        """Return the facts that counts of one block and bounds state; an unknown count excludes nothing."""
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
        """Tell whether a row may have this cell."""
        if cell is None:
            return self.may_null
        if isinstance(cell, float) and math.isnan(cell):
            return self.may_nan
        above = self.lower is None or not _below(cell, self.lower)
        return self.may_value and above and (self.upper is None or not _below(self.upper, cell))


def ordinal(value: Value, type_: Type) -> int:
    """Return a value's place on its type's line; -0.0 and 0.0 share one. Not for strings or NaN."""
    if isinstance(value, float):
        floating, whole = _FORMATS[type_.kind]
        (bits,) = struct.unpack(whole, struct.pack(floating, value))
        return int(bits) if bits >= 0 else -(int(bits) & _mask(type_))
    if isinstance(value, Decimal):
        return int(Fraction(value) * 10**type_.scale)
    assert isinstance(value, int)
    return int(value)


def value_at(place: int, type_: Type) -> Value:
    """Return the value at a place on its type's line."""
    if type_.floating:
        floating, whole = _FORMATS[type_.kind]
        bits = place if place >= 0 else -place - _mask(type_) - 1
        return float(struct.unpack(floating, struct.pack(whole, bits))[0])
    if type_.kind is Kind.DECIMAL:
        return decimal_of(place, type_.scale)
    return bool(place) if type_.kind is Kind.BOOLEAN else place


def end_places(facts: CellFacts) -> tuple[int, int]:
    """Return the places of the least and the greatest value within the bounds; not for strings."""
    least, greatest = _type_ends(facts.type)
    low = least if facts.lower is None else max(least, ordinal(facts.lower, facts.type))
    high = greatest if facts.upper is None else min(greatest, ordinal(facts.upper, facts.type))
    return low, high


def all_cells(facts: CellFacts, *, size_max: int) -> list[Cell] | None:
    """Return every cell that a row may have; None if there are more than `size_max`."""
    cells = _special_cells(facts)
    if not facts.may_value:
        return cells
    if facts.type.kind in BYTES:
        only = facts.lower is not None and facts.lower == facts.upper
        return [*cells, facts.lower] if only else None
    low, high = end_places(facts)
    if high - low >= size_max:
        return None
    cells += [value_at(place, facts.type) for place in range(low, high + 1)]
    return cells


def representatives(expression: Expression, facts: Mapping[str, CellFacts]) -> dict[str, list[Cell]]:
    """Return cells for each column of the expression that cover all cases; see the module's text."""
    types = columns(expression)
    chain = max(1, len(types))
    cells_by_column: dict[str, list[Cell]] = {}
    for name, type_ in types.items():
        cells_by_column[name] = _special_cells(facts[name])
        if facts[name].may_value:
            marks = _marks(expression, facts, type_)
            cells_by_column[name] += _string_cells(facts[name], marks, chain) if type_.kind in BYTES else []
            cells_by_column[name] += (
                _number_cells(facts[name], marks, chain) if type_.kind not in BYTES else []
            )
    return cells_by_column


def compares_by_order_alone(expression: Expression) -> bool:
    """Tell whether values are compared by order alone, so that representatives cover all cases.

    Casts that keep numbers may occur if the expression has one column: the lines of two types have gaps of
    different sizes.
    """
    single = len(columns(expression)) == 1
    return all(
        isinstance(node, _PASSING)
        or (isinstance(node, Call) and node.function in (Function.GREATEST, Function.LEAST))
        or (isinstance(node, Cast) and single and _keeps_numbers(type_of(node.operand), node.type))
        for node in walk(expression)
    )


def prefix_end(prefix: bytes) -> bytes | None:
    """Return the least string above all strings with the prefix; None if there is none."""
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def _special_cells(facts: CellFacts) -> list[Cell]:
    cells: list[Cell] = [None] if facts.may_null else []
    return [*cells, math.nan] if facts.may_nan else cells


def _below(left: Value, right: Value) -> bool:
    # Both have one type, so Python can compare them; mypy sees only the union of all types.
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


def _marks(expression: Expression, facts: Mapping[str, CellFacts], type_: Type) -> list[Value]:
    """Return the literals and bounds with which values of a type may be compared."""
    marks: list[Value | None] = [side for column in facts.values() for side in (column.lower, column.upper)]
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


def _string_cells(facts: CellFacts, marks: Iterable[Value], chain: int) -> list[Cell]:
    starts = {b"", *(mark for mark in marks if isinstance(mark, bytes))}
    chained = {start + b"\0" * step for start in starts for step in range(chain + 1)}
    return [text for text in sorted(chained) if facts.holds(text)]


def _number_cells(facts: CellFacts, marks: Iterable[Value], chain: int) -> list[Cell]:
    low, high = end_places(facts)
    places = {low, high}
    for mark in marks:
        places |= set(_around(mark, facts.type))
    chained = {place + step for place in places for step in range(chain + 1)}
    return [value_at(place, facts.type) for place in sorted(chained) if low <= place <= high]


def _around(mark: Value, type_: Type) -> tuple[int, ...]:
    """Return the places at or next below and above a number, on a type's line."""
    if isinstance(mark, float) and math.isinf(mark):
        return (ordinal(mark, type_),) if type_.floating else ()
    assert not isinstance(mark, bytes), "the marks of a number are numbers"
    exact = Fraction(mark)
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
    """Tell whether a cast keeps the number of each value, and so order and equality."""
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
