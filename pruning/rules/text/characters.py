"""Automata over characters, as languages of the bytes that UTF-8 writes them in.

What a state does with each of a million characters is a few runs of code points (`pieces`). Bytes that
are not UTF-8 spell no character; what they may do is asked apart.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeAlias, TypeVar

from pruning.rules.sets.languages import STATES_MAX, Language, from_automaton
from pruning.rules.text.character_runs import LAST, Pieces, at, merged, part

State = TypeVar("State")
REPLACEMENT = 0xFFFD  # what Java reads in place of bytes that are not UTF-8
_SURROGATES = (0xD800, 0xDFFF)
_NOTHING, _ANYTHING = -1, -2  # whatever follows, no string is in the language; each is


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine(Generic[State]):
    """An automaton over characters, its states given by functions.

    Attributes:
        start: The state before the first character.
        moves: Which states follow on which characters.
        accepts: Whether a text that leads to a state is in the set.
        faulty: Whether a string may be in the set that leads to a state and goes on with a byte that is
            not part of a character.
    """

    start: State
    moves: Callable[[State], Pieces[State]]
    accepts: Callable[[State], bool]
    faulty: Callable[[State], bool]


@dataclass(frozen=True, slots=True)
class _Between:
    """Inside a character: what follows on its rest, 6 bits a byte, and what on any other byte."""

    rest: Pieces[int]
    bytes_left: int
    fault: int


_Place: TypeAlias = int | _Between


def language(
    machine: Machine[State], *, states_max: int = STATES_MAX, pieces_max: int | None = None
) -> Language | None:
    """The strings of bytes that a machine accepts; None if that takes too many states, or pieces in all.

    Claim     A string of UTF-8 is in the language if and only if the machine accepts its characters; of
              other strings those are that `faulty` says at the first byte that is no part of a character.
    Proof     (1) A lead byte fixes the high bits of a code point, and each byte after it six bits more:
                  what is left to happen is a run of the pieces.
              (2) Surrogates, code points above `LAST` and those that fewer bytes can write are no
                  characters; nor is what ends inside one.
    """
    explored = _explored(machine, states_max, pieces_max)
    if explored is None:
        return None
    pieces, accepting, faults = explored

    def step(place: _Place, byte: int) -> _Place:
        if isinstance(place, _Between):
            return _within(place, byte)
        return place if place < 0 else _leading(pieces[place], faults[place], byte)

    def accepts(place: _Place) -> bool:
        if isinstance(place, _Between):
            return place.fault == _ANYTHING
        return accepting[place] if place >= 0 else place == _ANYTHING

    start: _Place = 0
    return from_automaton(start, step, accepts, alike=_alike(pieces), states_max=states_max)


def _explored(
    machine: Machine[State], states_max: int, pieces_max: int | None
) -> tuple[list[Pieces[int]], list[bool], list[int]] | None:
    """Per state that is reached, numbered, its moves, whether it accepts, what a fault leads to."""
    ordinals, found = {machine.start: 0}, [machine.start]
    moves: list[Pieces[int]] = []
    faults: list[int] = []
    pieces_count = 0
    for state in found:
        row = []
        for last, following in machine.moves(state):
            ordinal = ordinals.setdefault(following, len(found))
            if ordinal == len(found):
                if ordinal == states_max:
                    return None
                found.append(following)
            row.append((last, ordinal))
        pieces_count += len(row)
        if pieces_max is not None and pieces_count > pieces_max:
            return None
        faults.append(_ANYTHING if machine.faulty(state) else _NOTHING)
        moves.append(_without_surrogates(tuple(row), faults[-1]))
    return moves, [machine.accepts(state) for state in found], faults


def _without_surrogates(pieces: Pieces[int], fault: int) -> Pieces[int]:
    below, above = part(pieces, 0, _SURROGATES[0] - 1), part(pieces, _SURROGATES[1] + 1, LAST)
    return merged([*below, (_SURROGATES[1], fault), *((last + _SURROGATES[1] + 1, to) for last, to in above)])


def _leading(pieces: Pieces[int], fault: int, byte: int) -> _Place:
    """After the first byte of a character."""
    if byte < 0x80:
        return at(pieces, byte)
    for least, first, last, bytes_left in (
        (0x80, 0xC2, 0xDF, 1),
        (0x800, 0xE0, 0xEF, 2),
        (0x10000, 0xF0, 0xF4, 3),
    ):
        if first <= byte <= last:
            span = 64**bytes_left
            base = (byte & (0x3F >> bytes_left)) * span
            return _between(_rest(pieces, max(base, least), base, base + span - 1, fault), bytes_left, fault)
    return fault


def _rest(pieces: Pieces[int], least: int, base: int, last: int, fault: int) -> Pieces[int]:
    """The pieces from `base` to `last`, counted from there, with what is no character below and above."""
    below = [(least - base - 1, fault)] if least > base else []
    inside = [(end + least - base, to) for end, to in part(pieces, least, min(last, LAST))]
    above = [(last - base, fault)] if last > LAST else []
    return merged([*below, *inside, *above])


def _within(place: _Between, byte: int) -> _Place:
    """After one more byte of a character."""
    if byte & 0xC0 != 0x80:
        return place.fault
    span = 64 ** (place.bytes_left - 1)
    base = (byte & 0x3F) * span
    rest = part(place.rest, base, base + span - 1)
    return _between(rest, place.bytes_left - 1, place.fault)


def _between(rest: Pieces[int], bytes_left: int, fault: int) -> _Place:
    if bytes_left == 0:
        return rest[0][1]
    return fault if rest == ((64**bytes_left - 1, fault),) else _Between(rest, bytes_left, fault)


def _alike(rows: list[Pieces[int]]) -> bytes:
    """A number for each byte: bytes have one where no state's pieces begin between them."""
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
def spelled(wanted: Language, state: int) -> Pieces[int]:
    """Where the automaton of a language gets to by each character; surrogates go where U+D7FF does."""
    pieces = [*_continued(wanted, state, range(0x80), 0, 0)]
    for leads, bytes_left in ((range(0xC2, 0xE0), 1), (range(0xE0, 0xF0), 2), (range(0xF0, 0xF5), 3)):
        known = pieces[-1][0]  # fewer bytes write what is up to here
        base = (leads[0] & (0x3F >> bytes_left)) * 64**bytes_left
        found = _continued(wanted, state, leads, bytes_left, base)
        pieces += (piece for piece in found if piece[0] > known)
    whole = merged(pieces)
    below, above = part(whole, 0, _SURROGATES[0] - 1), part(whole, _SURROGATES[1] + 1, LAST)
    return merged(
        [
            *below[:-1],
            (_SURROGATES[1], below[-1][1]),
            *((last + _SURROGATES[1] + 1, to) for last, to in above),
        ]
    )


def _continued(
    wanted: Language, state: int, leads: range, bytes_left: int, base: int
) -> Iterator[tuple[int, int]]:
    """By each first byte and those that follow it, counted from `base`."""
    span = 64**bytes_left
    for lead in leads:
        for last, to in _tail(wanted, wanted.automaton.step(state, lead), bytes_left):
            yield base + last, to
        base += span


@lru_cache(maxsize=65536)
def _tail(wanted: Language, state: int, bytes_left: int) -> Pieces[int]:
    """By each way to end a character of which some bytes are left."""
    if bytes_left == 0 or wanted.automaton.settled(state):
        return ((64**bytes_left - 1, state),)
    return merged(_continued(wanted, state, range(0x80, 0xC0), bytes_left - 1, 0))


@lru_cache(maxsize=1024)
def live_states(wanted: Language) -> frozenset[int]:
    """The states of a language's automaton from which a member can be reached."""
    automaton = wanted.automaton
    return frozenset(
        state for state, accepts in enumerate(automaton.accepting) if accepts or not automaton.settled(state)
    )


@lru_cache(maxsize=4096)
def may_fail(wanted: Language, state: int) -> bool:
    """Whether a member can be reached by a rest that starts with a byte that is not ASCII: as faults do."""
    following = {wanted.automaton.step(state, byte) for byte in range(0x80, 256)}
    return not live_states(wanted).isdisjoint(following)
