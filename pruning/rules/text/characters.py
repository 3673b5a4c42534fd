"""Automata over Unicode characters, compiled to languages of the bytes of their UTF-8 encodings.

The transitions of a state over a million characters are a few runs of code points (`character_runs`). Bytes
that are not UTF-8 encode no character; an automaton says separately whether it accepts them.
"""

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeAlias, TypeVar

from pruning.rules.sets.languages import STATES_MAX, Language, from_automaton_of_rows
from pruning.rules.text.character_runs import LAST, Transitions, merge_runs, slice_runs, state_after

State = TypeVar("State")
REPLACEMENT = 0xFFFD  # what Java reads in place of bytes that are not UTF-8
_SURROGATES = (0xD800, 0xDFFF)
_NOTHING, _ANYTHING = -1, -2  # from here no string is accepted, or every one is


@dataclass(frozen=True, slots=True, kw_only=True)
class CharacterAutomaton(Generic[State]):
    """A deterministic automaton over characters, its states computed by functions.

    Attributes:
        start: The state before the first character.
        moves: Returns the transitions of a state.
        accepts: Tells whether a text that leads to a state is in the set.
        accepts_malformed: Tells whether a string may be in the set that leads to a state and goes on with a
            byte that is not part of a character.
    """

    start: State
    moves: Callable[[State], Transitions[State]]
    accepts: Callable[[State], bool]
    accepts_malformed: Callable[[State], bool]


@dataclass(frozen=True, slots=True)
class _PartialCharacter:
    """A state inside a character: the transitions on its rest, 6 bits a byte, and on any other byte."""

    rest: Transitions[int]
    bytes_left: int
    malformed_state: int


_ByteState: TypeAlias = int | _PartialCharacter


def byte_language(
    machine: CharacterAutomaton[State], *, states_max: int = STATES_MAX, transitions_max: int | None = None
) -> Language | None:
    """Return the byte strings that an automaton accepts; None if it has too many states or transitions.

    Claim     A string of UTF-8 is in the language if and only if the automaton accepts its characters; any
              other string is if `accepts_malformed` holds at the first byte that is no part of a character.
    Proof     (1) A lead byte fixes the high bits of a code point, and each byte after it six bits more:
                  what remains possible is a slice of the transitions.
              (2) Surrogates, code points above `LAST` and overlong encodings are no characters; nor is a
                  string that ends inside one.
    """
    explored = _explore(machine, states_max, transitions_max)
    if explored is None:
        return None
    transitions, accepting, malformed_states = explored

    def steps(place: _ByteState, firsts: Sequence[int]) -> Iterable[_ByteState]:
        """Return the states after one more byte."""
        if isinstance(place, _PartialCharacter):
            return _after_next_bytes(place, firsts)
        if place < 0:
            return itertools.repeat(place, len(firsts))
        return [_after_first_byte(transitions[place], malformed_states[place], byte) for byte in firsts]

    def accepts(place: _ByteState) -> bool:
        """Tell whether a string that ends in a state is accepted."""
        if isinstance(place, _PartialCharacter):
            return place.malformed_state == _ANYTHING
        return accepting[place] if place >= 0 else place == _ANYTHING

    start: _ByteState = 0
    return from_automaton_of_rows(
        start, steps, accepts, byte_classes=_byte_classes(transitions), states_max=states_max
    )


def _explore(
    machine: CharacterAutomaton[State], states_max: int, transitions_max: int | None
) -> tuple[list[Transitions[int]], list[bool], list[int]] | None:
    """Return the transitions, the acceptance and the malformed state of each reachable state.

    None if there are too many states or transitions.
    """
    ordinals, states = {machine.start: 0}, [machine.start]
    moves: list[Transitions[int]] = []
    malformed_states: list[int] = []
    transitions_count = 0
    for state in states:
        row = []
        for last, following in machine.moves(state):
            ordinal = ordinals.setdefault(following, len(states))
            if ordinal == len(states):
                if ordinal == states_max:
                    return None
                states.append(following)
            row.append((last, ordinal))
        transitions_count += len(row)
        if transitions_max is not None and transitions_count > transitions_max:
            return None
        malformed_states.append(_ANYTHING if machine.accepts_malformed(state) else _NOTHING)
        moves.append(_without_surrogates(tuple(row), malformed_states[-1]))
    return moves, [machine.accepts(state) for state in states], malformed_states


def _without_surrogates(transitions: Transitions[int], malformed_state: int) -> Transitions[int]:
    """Return the transitions with surrogates, which UTF-8 does not encode, made malformed."""
    below, above = (
        slice_runs(transitions, 0, _SURROGATES[0] - 1),
        slice_runs(transitions, _SURROGATES[1] + 1, LAST),
    )
    return merge_runs(
        [*below, (_SURROGATES[1], malformed_state), *((last + _SURROGATES[1] + 1, to) for last, to in above)]
    )


def _after_first_byte(transitions: Transitions[int], malformed_state: int, byte: int) -> _ByteState:
    """Return the state after the first byte of a character."""
    if byte < 0x80:
        return state_after(transitions, byte)
    for least, first, last, bytes_left in (
        (0x80, 0xC2, 0xDF, 1),
        (0x800, 0xE0, 0xEF, 2),
        (0x10000, 0xF0, 0xF4, 3),
    ):
        if first <= byte <= last:
            span = 64**bytes_left
            base = (byte & (0x3F >> bytes_left)) * span
            return _partial_character(
                _rest_transitions(transitions, max(base, least), base, base + span - 1, malformed_state),
                bytes_left,
                malformed_state,
            )
    return malformed_state


def _rest_transitions(
    transitions: Transitions[int], least: int, base: int, last: int, malformed_state: int
) -> Transitions[int]:
    """Return the transitions from `base` to `last`, with those that encode no character made malformed."""
    below = [(least - base - 1, malformed_state)] if least > base else []
    inside = [(end + least - base, to) for end, to in slice_runs(transitions, least, min(last, LAST))]
    above = [(last - base, malformed_state)] if last > LAST else []
    return merge_runs([*below, *inside, *above])


def _after_next_bytes(place: _PartialCharacter, firsts: Sequence[int]) -> Iterator[_ByteState]:
    """Yield the state after each of some bytes, which ascend, of a character."""
    bytes_left = place.bytes_left - 1
    span = 64**bytes_left
    rest, run = place.rest, 0
    for byte in firsts:
        if byte & 0xC0 != 0x80:
            yield place.malformed_state
            continue
        base = (byte & 0x3F) * span
        while rest[run][0] < base:
            run += 1
        end, following = rest[run]
        if bytes_left == 0:
            yield following
            continue
        is_one_run = end >= base + span - 1
        tail = ((span - 1, following),) if is_one_run else slice_runs(rest, base, base + span - 1)
        yield _partial_character(tail, bytes_left, place.malformed_state)


def _partial_character(rest: Transitions[int], bytes_left: int, malformed_state: int) -> _ByteState:
    """Return the state inside a character, of which some bytes are left."""
    return (
        malformed_state
        if rest == ((64**bytes_left - 1, malformed_state),)
        else _PartialCharacter(rest, bytes_left, malformed_state)
    )


def _byte_classes(rows: list[Transitions[int]]) -> bytes:
    """Number the bytes so that two have one number where no run of any state begins between them."""
    edges = {0x80, 0xC0, 0xC2, 0xE0, 0xE1, 0xED, 0xEE, 0xF0, 0xF1, 0xF4, 0xF5, 0x90, 0xA0}
    starts = {last + 1 for row in rows for last, _ in row if last < LAST} - set(range(0xD800, 0xE000))
    for spelled in {chr(start).encode() for start in starts}:
        edges.update(edge for byte in spelled for edge in (byte, byte + 1))
    numbers, number = [], 0
    for byte in range(256):
        number += byte in edges
        numbers.append(number)
    return bytes(numbers)


@lru_cache(maxsize=4096)
def character_transitions(wanted: Language, state: int) -> Transitions[int]:
    """Return the state of a language's automaton after each character; surrogates go with U+D7FF."""
    transitions = [*_continuations(wanted, state, range(0x80), 0, 0)]
    for leads, bytes_left in ((range(0xC2, 0xE0), 1), (range(0xE0, 0xF0), 2), (range(0xF0, 0xF5), 3)):
        last_covered = transitions[-1][0]  # the characters up to here take fewer bytes
        base = (leads[0] & (0x3F >> bytes_left)) * 64**bytes_left
        longer = _continuations(wanted, state, leads, bytes_left, base)
        transitions += (piece for piece in longer if piece[0] > last_covered)
    whole = merge_runs(transitions)
    below, above = slice_runs(whole, 0, _SURROGATES[0] - 1), slice_runs(whole, _SURROGATES[1] + 1, LAST)
    return merge_runs(
        [
            *below[:-1],
            (_SURROGATES[1], below[-1][1]),
            *((last + _SURROGATES[1] + 1, to) for last, to in above),
        ]
    )


def _continuations(
    wanted: Language, state: int, leads: range, bytes_left: int, base: int
) -> Iterator[tuple[int, int]]:
    """Yield runs of code points, counted from `base`, for each first byte and those after it."""
    span = 64**bytes_left
    for lead in leads:
        for last, to in _tail_transitions(wanted, wanted.automaton.step(state, lead), bytes_left):
            yield base + last, to
        base += span


@lru_cache(maxsize=65536)
def _tail_transitions(wanted: Language, state: int, bytes_left: int) -> Transitions[int]:
    """Return the states after each way to end a character of which some bytes are left."""
    if bytes_left == 0 or wanted.automaton.is_sink(state):
        return ((64**bytes_left - 1, state),)
    return merge_runs(_continuations(wanted, state, range(0x80, 0xC0), bytes_left - 1, 0))


@lru_cache(maxsize=1024)
def live_states(wanted: Language) -> frozenset[int]:
    """Return the states of a language's automaton from which a member can be reached."""
    automaton = wanted.automaton
    return frozenset(
        state for state, accepts in enumerate(automaton.accepting) if accepts or not automaton.is_sink(state)
    )


@lru_cache(maxsize=4096)
def may_accept_malformed(wanted: Language, state: int) -> bool:
    """Tell whether a byte that is not ASCII, as a malformed one is, may lead on to a member."""
    following = {wanted.automaton.step(state, byte) for byte in range(0x80, 256)}
    return not live_states(wanted).isdisjoint(following)
