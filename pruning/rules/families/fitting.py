"""The values of a type that an increasing function takes into another type, by their limits."""

import math
import struct
from collections.abc import Callable
from typing import TypeAlias

from pruning.expressions.types import Kind, Type, Value
from pruning.rules.analysis.ranges import Range, within
from pruning.rules.program.builder import Builder
from pruning.rules.program.operations import Bound, Flag
from pruning.rules.sets.decimals import decimal_from_units
from pruning.rules.sets.primitives import less

Place: TypeAlias = Callable[[Value], Value | None]
# The least and the greatest value that fits; None where every value beyond it fits too.
Limits: TypeAlias = tuple[Value | None, Value | None]


def limits(place: Place, source: Type) -> Limits:
    """Return the least and the greatest value that fits; None where every value does.

    `place` gives the result of a value, None if it does not fit. It is increasing, and zero fits.
    """
    value_at, greatest = _ordinals(source)

    def last(sign: int) -> Value | None:
        """Return the last value that fits in a direction, by bisection; None if all do."""
        inside, outside = 0, greatest + 1
        if place(value_at(sign * greatest)) is not None:
            return None
        while outside - inside > 1:
            middle = (inside + outside) // 2
            if place(value_at(sign * middle)) is None:
                outside = middle
            else:
                inside = middle
        return value_at(sign * inside)

    return last(-1), last(1)


def outer(left: Limits, right: Limits) -> Limits:
    """Return the limits of the values that fit by at least one of two functions."""
    return _pick_limit(left[0], right[0], lower=True, widest=True), _pick_limit(
        left[1], right[1], lower=False, widest=True
    )


def inner(left: Limits, right: Limits) -> Limits:
    """Return the limits of the values that fit by both of two functions."""
    return _pick_limit(left[0], right[0], lower=True, widest=False), _pick_limit(
        left[1], right[1], lower=False, widest=False
    )


def _pick_limit(left: Value | None, right: Value | None, *, lower: bool, widest: bool) -> Value | None:
    """Return one of two limits: the wider or the narrower."""
    if left is None or right is None:
        return None if widest else (right if left is None else left)
    return left if less(left, right) is (lower is widest) else right


def split_by_limits(
    build: Builder, range_: Range, least: Value | None, greatest: Value | None
) -> tuple[Range, Flag]:
    """Return the rows whose values are inside limits, and the flag that a value may lie outside."""
    beyond = [
        *([] if least is None else [build.maybe_less(range_.lower, build.bound(least, range_.type))]),
        *([] if greatest is None else [build.maybe_less(build.bound(greatest, range_.type), range_.upper)]),
    ]
    inside = within(build, range_, build.bound(least, range_.type), build.bound(greatest, range_.type))
    return inside, build.and_(range_.may_value, build.or_(*beyond))


def type_limits(build: Builder, type_: Type) -> tuple[Bound, Bound]:
    """Return the least and the greatest value of an integral or decimal type; unknown for others."""
    if type_.kind is not Kind.DECIMAL and not type_.integral:
        return build.unknown(type_), build.unknown(type_)
    value_at, greatest = _ordinals(type_)
    return build.bound(value_at(-greatest), type_), build.bound(value_at(greatest), type_)


def _ordinals(type_: Type) -> tuple[Callable[[int], Value], int]:
    """Return the function from an ordinal to a value of a type, and the greatest ordinal."""
    if type_.kind is Kind.DECIMAL:
        return (lambda units: decimal_from_units(units, type_.scale)), 10**type_.precision - 1
    if type_.kind is Kind.DOUBLE:
        return (lambda place: _float_at(place, "<q", "<d")), _place(math.inf, "<d", "<q")
    if type_.kind is Kind.FLOAT:
        return (lambda place: _float_at(place, "<i", "<f")), _place(math.inf, "<f", "<i")
    if type_.kind is Kind.BOOLEAN:
        return (lambda place: place > 0), 1
    assert type_.integer_range is not None
    least, greatest = type_.integer_range
    return (lambda place: max(least, min(place, greatest))), -least


def _place(value: float, floating: str, integral: str) -> int:
    """Return the ordinal of a float, which is the number of its bits."""
    return int(struct.unpack(integral, struct.pack(floating, value))[0])


def _float_at(place: int, integral: str, floating: str) -> float:
    """Return the float of an ordinal: floats of one sign are in the order of their bits."""
    (magnitude,) = struct.unpack(floating, struct.pack(integral, abs(place)))
    return -float(magnitude) if place < 0 else float(magnitude)
