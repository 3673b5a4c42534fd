"""Exact numbers of dynamic tables: of every scale, and often with as many digits as are allowed."""

import functools
from decimal import Decimal
from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from dynamic_tables.values.cells import EXACT
from dynamic_tables.values.types import DIGITS_MAX, INTEGER, SCALE_MAX, Type, decimal
from strategies.choices import choose

_SCALES = (0, 0, 0, 1, 2, 6, 11, 12, 13, 19, 36, SCALE_MAX)


class Number(NamedTuple):
    """A number and its type; integers are Python's."""

    type: Type
    value: int | Decimal


@functools.cache
def number_types() -> st.SearchStrategy[Type]:
    """INTEGER, and decimals with few and with many digits after the point."""
    return st.sampled_from(_SCALES).map(lambda scale: decimal(scale) if scale else INTEGER)


def number(kind: Type, digits: int) -> Number:
    """Return the number with these digits, `scale` of them after the point."""
    return Number(kind, EXACT.scaleb(Decimal(digits), -kind.scale) if kind.scale else digits)


@st.composite
def numbers(draw: DrawFn, kinds: st.SearchStrategy[Type] | None = None) -> Number:
    """Numbers of up to 38 digits: small, near a power of ten, or any.

    Shrinks to: integers, then numbers near zero.

    Args:
        kinds: Their types; None for all exact ones.
    """
    kind = draw(number_types() if kinds is None else kinds)
    limit = 10**DIGITS_MAX - 1
    near = st.builds(lambda power, more: 10**power + more, st.integers(0, DIGITS_MAX), st.integers(-3, 3))
    digits = draw(st.integers(-3, 3) | near | st.integers(0, limit))
    return number(kind, min(digits, limit) * choose(draw, (1, -1)))
