"""What follows on each character, written as runs of code points that lead to one state each."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import TypeAlias, TypeVar

State = TypeVar("State")
Other = TypeVar("Other")
# Up to which code point each state follows; ascending, the last one is `LAST`.
Pieces: TypeAlias = tuple[tuple[int, State], ...]

LAST = 0x10FFFF


def at(pieces: Pieces[State], code_point: int) -> State:
    """The state that follows on one character."""
    return pieces[bisect_left(pieces, code_point, key=itemgetter(0))][1]


def part(pieces: Pieces[State], first: int, last: int) -> Pieces[State]:
    """The pieces from one code point to another, counted from the first of them."""
    start = bisect_left(pieces, first, key=itemgetter(0))
    stop = bisect_left(pieces, last, key=itemgetter(0))
    inside = [(end - first, to) for end, to in pieces[start:stop]]
    return (*inside, (last - first, pieces[stop][1]))


def merged(pieces: Iterable[tuple[int, State]]) -> Pieces[State]:
    """The same, neighbours that lead to one state as one piece."""
    kept: list[tuple[int, State]] = []
    for last, state in pieces:
        if kept and kept[-1][1] == state:
            kept.pop()
        kept.append((last, state))
    return tuple(kept)


def always(state: State) -> Pieces[State]:
    """One state on each character."""
    return ((LAST, state),)


def mapped(pieces: Pieces[State], becomes: Callable[[State], Other]) -> Pieces[Other]:
    """Another state for each."""
    return merged((last, becomes(state)) for last, state in pieces)


def patched(pieces: Pieces[State], changes: Mapping[int, State]) -> Pieces[State]:
    """The same, but for some characters."""
    return overlaid(pieces, [(code, code, changes[code]) for code in sorted(changes)])


def overlaid(pieces: Pieces[State], changes: Iterable[tuple[int, int, State]]) -> Pieces[State]:
    """The same, but for some runs of characters, ascending and apart."""
    changed: list[tuple[int, State]] = []
    start = 0
    for first, last, state in changes:
        if first > start:
            changed += ((end + start, to) for end, to in part(pieces, start, first - 1))
        changed.append((last, state))
        start = last + 1
    if start <= LAST:
        changed += ((end + start, to) for end, to in part(pieces, start, LAST))
    return merged(changed)


def zipped(rows: Iterable[Pieces[State]]) -> Pieces[tuple[State, ...]]:
    """The states of several automata at once."""
    aligned = list(rows)
    ends = sorted({last for row in aligned for last, _ in row})
    positions = [0] * len(aligned)
    joined = []
    for end in ends:
        for place, row in enumerate(aligned):
            positions[place] += row[positions[place]][0] < end
        joined.append(
            (end, tuple(row[position][1] for row, position in zip(aligned, positions, strict=True)))
        )
    return merged(joined)
