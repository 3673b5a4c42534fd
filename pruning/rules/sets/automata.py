"""Deterministic automata over bytes, and the one smallest automaton of each language.

States are numbered from the start, 0, in the order in which a search by breadth, bytes ascending,
finds them; bytes that no state tells apart are one *class*, and classes are in the order of their
first bytes. So of all automata of a language that are smallest, one is written so: equal languages
are equal automata.
"""

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

State = TypeVar("State", bound=Hashable)
Step: TypeAlias = Callable[[State, int], State]

# Each byte alone: what is known of an automaton of which nothing is known.
DISTINCT = bytes(range(256))


@dataclass(frozen=True, slots=True)
class Automaton:
    """The class of each byte; per state and class the next state; whether each state accepts."""

    classes: bytes
    moves: tuple[tuple[int, ...], ...]
    accepting: tuple[bool, ...]

    def step(self, state: int, byte: int) -> int:
        """The state after one more byte."""
        return self.moves[state][self.classes[byte]]

    def settled(self, state: int) -> bool:
        """Whether no byte leads out of a state: of a smallest automaton, all that follows fares alike."""
        return all(following == state for following in self.moves[state])


def explored(
    start: State, step: Step[State], accepts: Callable[[State], bool], *, alike: bytes, states_max: int
) -> Automaton | None:
    """The states that are reached from the start; None if they are more than `states_max`.

    Args:
        start: The state before the first byte.
        step: The state after one more byte.
        accepts: Whether what leads to a state is in the language.
        alike: A number for each byte; bytes of one number lead from each state to the same.
        states_max: How many states may be looked at.
    """
    classes, firsts = _classes(alike)
    ordinals: dict[State, int] = {start: 0}
    found, moves = [start], []
    for state in found:
        row = []
        for byte in firsts:
            following = step(state, byte)
            ordinal = ordinals.setdefault(following, len(found))
            if ordinal == len(found):
                if ordinal == states_max:
                    return None
                found.append(following)
            row.append(ordinal)
        moves.append(tuple(row))
    return Automaton(classes, tuple(moves), tuple(map(accepts, found)))


def smallest(automaton: Automaton) -> Automaton:
    """The smallest automaton of the same language, as it alone is written."""
    folded = _folded(automaton)
    block_of = _blocks(folded)
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
    return _folded(Automaton(folded.classes, tuple(moves), accepting))


def _classes(alike: bytes) -> tuple[bytes, list[int]]:
    """Classes in the order of their first bytes, and those bytes."""
    ordinals: dict[int, int] = {}
    firsts: list[int] = []
    for byte, number in enumerate(alike):
        if number not in ordinals:
            ordinals[number] = len(firsts)
            firsts.append(byte)
    return bytes(ordinals[number] for number in alike), firsts


def _folded(automaton: Automaton) -> Automaton:
    """The same, with classes that no state tells apart as one."""
    columns: dict[tuple[int, ...], int] = {}
    of_class = [columns.setdefault(column, len(columns)) for column in zip(*automaton.moves, strict=True)]
    classes = bytes(of_class[class_] for class_ in automaton.classes)
    return Automaton(classes, tuple(zip(*columns, strict=True)), automaton.accepting)


def _blocks(automaton: Automaton) -> list[int]:
    """Of each state its block: states of one block accept the same rests (Hopcroft's algorithm)."""
    letters = range(len(automaton.moves[0]))
    before = _before(automaton)
    block_of = [int(accepts) for accepts in automaton.accepting]
    blocks = [{state for state, block in enumerate(block_of) if block == wanted} for wanted in (0, 1)]
    pending = {(wanted, letter) for wanted in (0, 1) for letter in letters}
    while pending:
        splitter, letter = pending.pop()
        touched: dict[int, set[int]] = {}
        for state in blocks[splitter]:
            for previous in before[letter].get(state, ()):
                touched.setdefault(block_of[previous], set()).add(previous)
        for block, part in touched.items():
            if len(part) == len(blocks[block]):
                continue
            blocks[block] -= part
            smaller = block if len(blocks[block]) < len(part) else len(blocks)
            for state in part:
                block_of[state] = len(blocks)
            pending |= {(len(blocks) if (block, each) in pending else smaller, each) for each in letters}
            blocks.append(part)
    return block_of


def _before(automaton: Automaton) -> list[dict[int, list[int]]]:
    """Per class and state, the states from which that class leads to it."""
    before: list[dict[int, list[int]]] = [{} for _ in automaton.moves[0]]
    for state, row in enumerate(automaton.moves):
        for letter, following in enumerate(row):
            before[letter].setdefault(following, []).append(state)
    return before
