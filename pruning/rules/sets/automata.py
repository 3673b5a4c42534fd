"""Deterministic finite automata (DFAs) over bytes, and the minimal one of each language.

The start state is 0; the others are numbered in the order in which a breadth-first search visits
them, bytes ascending. Bytes that every state treats alike form one *byte class*; classes are in the
order of their first bytes. This makes the minimal automaton of a language canonical: two languages
are equal if and only if their automata are.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

State = TypeVar("State", bound=Hashable)
Step: TypeAlias = Callable[[State, int], State]
# Returns the states after one more byte, for each of some bytes, which ascend.
Steps: TypeAlias = Callable[[State, Sequence[int]], Iterable[State]]

# A byte class for each byte, for automata whose byte classes are not known.
DISTINCT_BYTES = bytes(range(256))


@dataclass(frozen=True, slots=True)
class Automaton:
    """A complete DFA: a byte class per byte, a row of next states per state, and the accepting states."""

    classes: bytes
    moves: tuple[tuple[int, ...], ...]
    accepting: tuple[bool, ...]

    def step(self, state: int, byte: int) -> int:
        """Return the state after one more byte."""
        return self.moves[state][self.classes[byte]]

    def is_sink(self, state: int) -> bool:
        """Tell whether every byte leads from a state back to itself."""
        return all(following == state for following in self.moves[state])


def explore(
    start: State,
    steps: Steps[State],
    accepts: Callable[[State], bool],
    *,
    byte_classes: bytes,
    states_max: int,
) -> Automaton | None:
    """Return the automaton of the states reachable from the start; None if there are over `states_max`.

    Args:
        start: The state before the first byte.
        steps: Returns the states after one more byte.
        accepts: Tells whether the strings that lead to a state are in the language.
        byte_classes: A number for each byte; bytes of equal numbers lead from each state to the same state.
        states_max: The number of states at which to give up.
    """
    classes, firsts = _byte_classes(byte_classes)
    ordinals: dict[State, int] = {start: 0}
    states, moves = [start], []
    for state in states:
        row = []
        for following in steps(state, firsts):
            ordinal = ordinals.get(following)
            if ordinal is None:
                ordinal = ordinals[following] = len(states)
                if ordinal == states_max:
                    return None
                states.append(following)
            row.append(ordinal)
        moves.append(tuple(row))
    return Automaton(classes, tuple(moves), tuple(map(accepts, states)))


def minimize(automaton: Automaton) -> Automaton:
    """Return the minimal automaton of the same language, in its canonical form."""
    folded = _merge_classes(automaton)
    block_of = _state_blocks(folded)
    ordinals, leaders = {block_of[0]: 0}, [0]
    moves = []
    for leader in leaders:
        row = []
        for following in folded.moves[leader]:
            ordinal = ordinals.setdefault(block_of[following], len(leaders))
            if ordinal == len(leaders):
                leaders.append(following)
            row.append(ordinal)
        moves.append(tuple(row))
    accepting = tuple(folded.accepting[leader] for leader in leaders)
    return _merge_classes(Automaton(folded.classes, tuple(moves), accepting))


def _byte_classes(byte_classes: bytes) -> tuple[bytes, list[int]]:
    """Return the class of each byte, numbered in the order of first bytes, and those first bytes."""
    ordinals: dict[int, int] = {}
    firsts: list[int] = []
    for byte, number in enumerate(byte_classes):
        if number not in ordinals:
            ordinals[number] = len(firsts)
            firsts.append(byte)
    return bytes(ordinals[number] for number in byte_classes), firsts


def _merge_classes(automaton: Automaton) -> Automaton:
    """Return the same automaton with the byte classes merged that every state treats alike."""
    columns: dict[tuple[int, ...], int] = {}
    of_class = [columns.setdefault(column, len(columns)) for column in zip(*automaton.moves, strict=True)]
    classes = bytes(of_class[class_] for class_ in automaton.classes)
    return Automaton(classes, tuple(zip(*columns, strict=True)), automaton.accepting)


def _state_blocks(automaton: Automaton) -> list[int]:
    """Return the block of each state; states of one block accept the same suffixes (Moore's algorithm).

    States that differ in the length of the shortest suffix that they accept, or do not accept, are apart from
    the start, so that a long literal takes few rounds.
    """
    moves = np.array(automaton.moves, np.intp)
    accepting = np.array(automaton.accepting, bool)
    # Arrays of rows, of which equal ones are in one block.
    rows = np.stack([_distances(moves, accepting), _distances(moves, ~accepting)], axis=1)
    count = 0
    while True:
        ordinals: dict[bytes, int] = {}
        width, data = rows.shape[1] * rows.itemsize, rows.tobytes()
        block_of = [
            ordinals.setdefault(data[start : start + width], len(ordinals))
            for start in range(0, len(data), width)
        ]
        if len(ordinals) == count:
            return block_of
        count = len(ordinals)
        blocks = np.array(block_of, np.int32)
        rows = np.concatenate([blocks[:, None], blocks[moves]], axis=1)


def _distances(moves: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """Return the least number of bytes from each state to a target, -1 where none is reached."""
    distances = np.where(targets, 0, -1).astype(np.int32)
    reached, length = targets, 0
    while True:
        length += 1
        nearer = reached | reached[moves].any(axis=1)
        if (nearer == reached).all():
            return distances
        distances[nearer & ~reached] = length
        reached = nearer
