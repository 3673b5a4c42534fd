"""Regular languages: sets of byte strings that an automaton tells, beside the unions of intervals.

`LIKE '%b_'`, `upper(s) = 'X'` and `RLIKE '[0-9]+$'` are each a language. What a block needs to be
asked, whether a member lies between two bounds, is exact: along what the bounds have in common the
automaton has no choice, and from where they part every rest between them is free.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from pruning.expressions.types import Value
from pruning.rules.sets import primitives
from pruning.rules.sets.automata import DISTINCT, Automaton, State, Step, explored, smallest
from pruning.rules.sets.cuts import Cuts

# A pattern of a thousand characters; what takes more is answered loosely.
STATES_MAX = 2_048
# Of bounds around all members, more bytes would seldom decide more.
_HULL_BYTES_MAX = 64


@dataclass(frozen=True, slots=True)
class Language:
    """A set of byte strings, by its smallest automaton: equal languages are equal."""

    automaton: Automaton
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.automaton.moves, self.automaton.accepting)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def empty(self) -> bool:
        """Whether it holds nothing."""
        return self.automaton.accepting == (False,)

    @property
    def full(self) -> bool:
        """Whether it holds every string."""
        return self.automaton.accepting == (True,)

    @property
    def states(self) -> int:
        """How many states its automaton has."""
        return len(self.automaton.moves)

    def holds(self, value: Value) -> bool:
        """Whether a byte string is in it."""
        assert isinstance(value, bytes)
        state = 0
        for byte in value:
            state = self.automaton.step(state, byte)
        return self.automaton.accepting[state]

    def complement(self) -> "Language":
        """Every other string."""
        accepting = tuple(not accepts for accepts in self.automaton.accepting)
        return Language(Automaton(self.automaton.classes, self.automaton.moves, accepting))

    def meets(self, lower: bytes | None, upper: bytes | None) -> bool:
        """Whether a member lies in [lower, upper]; None is unbounded, lower <= upper.

        Claim     It says so if and only if there is one.
        Proof     By what the rest of a member is compared with, the rests of the bounds.
                  (1) While both start with the same byte, a rest between them does too. Once every
                      rest is accepted, or none, those of the bounds are as well.
                  (2) Where they part, a rest starts with a byte between theirs and is free, or with
                      that of one of them and is compared with that one alone.
                  (3) Every rest is at least an empty lower one; none but the empty one is at most
                      an empty upper one.
        """
        lower, state = lower or b"", 0
        if upper is None:
            return self._at_least(state, lower)
        for place, byte in enumerate(lower):
            if place == len(upper) or byte > upper[place]:
                return False
            if byte < upper[place]:  # (2)
                return (
                    any(self._may_follow(state, other) for other in range(byte + 1, upper[place]))
                    or self._at_least(self.automaton.step(state, byte), lower[place + 1 :])
                    or self._at_most(self.automaton.step(state, upper[place]), upper[place + 1 :])
                )
            state = self.automaton.step(state, byte)  # (1)
            if self.automaton.settled(state):
                return self.automaton.accepting[state]
        return self._at_most(state, upper[len(lower) :])  # (3)

    def hull(self) -> tuple[bytes | None, bytes | None]:
        """Two strings between which every member lies, up to some length; None where there is no such end."""
        if self.empty:
            return None, None
        least, _ = self._outermost(range(256), stops=True)
        greatest, whole = self._outermost(range(255, -1, -1), stops=False)
        return least or None, greatest if whole else primitives.prefix_end(greatest)

    def members(self, limit: int) -> tuple[bytes, ...] | None:
        """Its strings, the shorter first; None if there are more than `limit`.

        Claim     What is returned is all of the language.
        Proof     (1) Each start that is kept goes on to a member of its own, so more of them than the
                      limit are more members.
                  (2) A member as long as there are states comes by one of them twice, and so there
                      are members without end.
        """
        found: list[bytes] = []
        starts = [(b"", 0)] if self._live(0) else []
        onward: dict[int, list[tuple[int, int]]] = {}
        for _ in range(self.states):
            found += [start for start, state in starts if self.automaton.accepting[state]]
            following = []
            for start, state in starts:
                if state not in onward:
                    onward[state] = self._onward(state)
                following += [(start + bytes([byte]), after) for byte, after in onward[state]]
            starts = following
            if len(found) + len(starts) > limit:  # (1)
                return None
        return None if starts else tuple(found)  # (2)

    def _onward(self, state: int) -> list[tuple[int, int]]:
        """The bytes that may follow in a state, and the states after them."""
        return [
            (byte, self.automaton.step(state, byte)) for byte in range(256) if self._may_follow(state, byte)
        ]

    def _at_least(self, state: int, lower: bytes) -> bool:
        """Whether a rest that is accepted from a state is at or above another."""
        for byte in lower:
            if any(self._may_follow(state, other) for other in range(byte + 1, 256)):
                return True
            state = self.automaton.step(state, byte)
        return self._live(state)

    def _at_most(self, state: int, upper: bytes) -> bool:
        """Whether a rest that is accepted from a state is at or below another."""
        for byte in upper:
            if self.automaton.accepting[state] or any(
                self._may_follow(state, other) for other in range(byte)
            ):
                return True
            state = self.automaton.step(state, byte)
        return self.automaton.accepting[state]

    def _may_follow(self, state: int, byte: int) -> bool:
        return self._live(self.automaton.step(state, byte))

    def _live(self, state: int) -> bool:
        """Whether any rest is accepted: a smallest automaton has one state at most where none is."""
        return self.automaton.accepting[state] or not self.automaton.settled(state)

    def _outermost(self, order: range, *, stops: bool) -> tuple[bytes, bool]:
        """How the first member starts by an order of bytes, and whether that is all of it.

        `stops` is whether a member goes before those that it starts.
        """
        start, state = bytearray(), 0
        while len(start) < _HULL_BYTES_MAX:
            following = next((byte for byte in order if self._may_follow(state, byte)), None)
            if following is None or (stops and self.automaton.accepting[state]):
                return bytes(start), True
            start.append(following)
            state = self.automaton.step(state, following)
        return bytes(start), False


NO_STRING = Language(Automaton(bytes(256), ((0,),), (False,)))
ANY_STRING = NO_STRING.complement()


def from_automaton(
    start: State,
    step: Step[State],
    accepts: Callable[[State], bool],
    *,
    alike: bytes = DISTINCT,
    states_max: int = STATES_MAX,
) -> Language | None:
    """What an automaton accepts; None if more than `states_max` of its states are reached.

    Args:
        start: The state before the first byte; states are hashable, equal ones are one.
        step: The state after one more byte.
        accepts: Whether a string that leads to the state is in the language.
        alike: A number for each of the 256 bytes; only the first byte of each number is ever stepped.
        states_max: How many states may be looked at.
    """
    automaton = explored(start, step, accepts, alike=alike, states_max=states_max)
    return None if automaton is None else Language(smallest(automaton))


@lru_cache(maxsize=256)
def intersection(left: Language, right: Language) -> Language | None:
    """The strings of both; None if that takes too many states."""
    one, other = left.automaton, right.automaton

    def step(state: tuple[int, int] | None, byte: int) -> tuple[int, int] | None:
        if state is None:
            return None
        return both(one.step(state[0], byte), other.step(state[1], byte))

    def both(first: int, second: int) -> tuple[int, int] | None:
        """None where one of the two will never accept."""
        dead = (one.settled(first) and not one.accepting[first]) or (
            other.settled(second) and not other.accepting[second]
        )
        return None if dead else (first, second)

    pairs = dict.fromkeys(zip(one.classes, other.classes, strict=True))
    numbers = {pair: number for number, pair in enumerate(pairs)}
    return from_automaton(
        both(0, 0),
        step,
        lambda state: state is not None and one.accepting[state[0]] and other.accepting[state[1]],
        alike=bytes(numbers[pair] for pair in zip(one.classes, other.classes, strict=True)),
    )


def union(left: Language, right: Language) -> Language | None:
    """The strings of either; None if that takes too many states."""
    neither = intersection(left.complement(), right.complement())
    return None if neither is None else neither.complement()


@lru_cache(maxsize=256)
def of_cuts(cuts: Cuts) -> Language | None:
    """A union of intervals of strings; None if that takes too many states.

    A state is the cuts that are not yet passed or missed: those of [start, stop) that begin with what
    was read, `depth` bytes, and are longer. Every cut before `start` is at or below the string.
    """
    values = [value for value, _ in cuts.points if isinstance(value, bytes)]
    assert len(values) == len(cuts.points)
    assert not any(after for _, after in cuts.points)  # the next string is known: see `cuts`

    def step(state: tuple[int, int, int], byte: int) -> tuple[int, int, int]:
        start, stop, depth = state
        while start < stop and values[start][depth] < byte:
            start += 1
        last = start
        while last < stop and values[last][depth] == byte:
            last += 1
        if start < last and len(values[start]) == depth + 1:
            start += 1
        return (start, last, depth + 1) if start < last else (start % 2, start % 2, 0)

    named = {byte for value in values for byte in value}
    start = 1 if values and not values[0] else 0
    return from_automaton(
        (start, len(values), 0) if start < len(values) else (start % 2, start % 2, 0),
        step,
        lambda state: cuts.first is (state[0] % 2 == 0),
        alike=_gaps(named),
    )


def _gaps(named: set[int]) -> bytes:
    """Each named byte alone, and the bytes between two of them together."""
    numbers, number = [], 0
    for byte in range(256):
        number += byte > 0 and (byte in named or byte - 1 in named)
        numbers.append(number)
    return bytes(numbers)
