"""Transitions over all characters, run-length encoded: each run of code points leads to one state."""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping
from operator import itemgetter
from typing import TypeAlias, TypeVar

State = TypeVar("State")
Other = TypeVar("Other")
# Pairs of the last code point of a run and the state that it leads to; ascending, the last one is `LAST`.
Transitions: TypeAlias = tuple[tuple[int, State], ...]

LAST = 0x10FFFF


def state_after(transitions: Transitions[State], code_point: int) -> State:
    """Return the state that one character leads to."""
    return transitions[bisect_left(transitions, code_point, key=itemgetter(0))][1]


def slice_runs(transitions: Transitions[State], first: int, last: int) -> Transitions[State]:
    """Return the transitions of the code points from `first` to `last`, renumbered to start at 0."""
    start = bisect_left(transitions, first, key=itemgetter(0))
    stop = bisect_left(transitions, last, key=itemgetter(0))
    inside = [(end - first, to) for end, to in transitions[start:stop]]
    return (*inside, (last - first, transitions[stop][1]))


def merge_runs(transitions: Iterable[tuple[int, State]]) -> Transitions[State]:
    """Return the same transitions, adjacent runs that lead to one state merged."""
    kept: list[tuple[int, State]] = []
    for last, state in transitions:
        if kept and kept[-1][1] == state:
            kept.pop()
        kept.append((last, state))
    return tuple(kept)


def constant_transitions(state: State) -> Transitions[State]:
    """Return transitions that lead from every character to one state."""
    return ((LAST, state),)


def map_states(transitions: Transitions[State], becomes: Callable[[State], Other]) -> Transitions[Other]:
    """Return the transitions with each state replaced by a function of it."""
    return merge_runs((last, becomes(state)) for last, state in transitions)


def with_changes(transitions: Transitions[State], changes: Mapping[int, State]) -> Transitions[State]:
    """Return the transitions with those of single characters replaced."""
    return with_run_changes(transitions, [(code, code, changes[code]) for code in sorted(changes)])


def with_run_changes(
    transitions: Transitions[State], changes: Iterable[tuple[int, int, State]]
) -> Transitions[State]:
    """Return the transitions with those of some runs replaced; the runs are ascending and disjoint."""
    changed: list[tuple[int, State]] = []
    start = 0
    for first, last, state in changes:
        if first > start:
            changed += ((end + start, to) for end, to in slice_runs(transitions, start, first - 1))
        changed.append((last, state))
        start = last + 1
    if start <= LAST:
        changed += ((end + start, to) for end, to in slice_runs(transitions, start, LAST))
    return merge_runs(changed)


def product_transitions(rows: Iterable[Transitions[State]]) -> Transitions[tuple[State, ...]]:
    """Return the transitions of the product automaton: the states of several automata side by side."""
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
    return merge_runs(joined)
