"""A choice of one of several values."""

import functools
from collections.abc import Iterable, Sequence
from typing import TypeVar

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

_T = TypeVar("_T")


def choose(draw: DrawFn, options: Iterable[_T]) -> _T:
    """Draw one of the options, or a member of an enumeration, as `draw(st.sampled_from(options))` does.

    Hypothesis validates each strategy when it is first drawn from. That takes longer than the draw, and
    `sampled_from` makes a strategy each time; here there is one for each number of options.

    Shrinks to: the first.

    Raises:
        InvalidArgument: there is no option.
    """
    values = options if isinstance(options, Sequence) else tuple(options)
    return values[0] if len(values) == 1 else values[draw(_positions(len(values)))]


@functools.cache
def _positions(count: int) -> SearchStrategy[int]:
    return st.integers(0, count - 1)
