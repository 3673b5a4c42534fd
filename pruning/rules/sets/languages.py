"""Regular languages: sets of byte strings that a finite automaton accepts, such as those of a LIKE.

The texts of `LIKE '%b_'`, `upper(s) = 'X'` and `RLIKE '[0-9]+$'` are each a regular language. Whether a
member lies between two bounds is decided exactly: the automaton follows the common prefix of the
bounds, and where the bounds differ any suffix between them is possible.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache

from pruning.expressions.types import Value
from pruning.rules.sets import primitives
from pruning.rules.sets.automata import DISTINCT_BYTES, Automaton, State, Step, Steps, explore, minimize
from pruning.rules.sets.cuts import Cuts

# Enough for a pattern of a thousand characters; sets that need more states are approximated.
STATES_MAX = 2_048
# Bounds around all members are cut to this length; longer ones would seldom decide more.
_HULL_BYTES_MAX = 64


@dataclass(frozen=True, slots=True)
class Language:
    """A set of byte strings, held as its minimal automaton, so that equal languages compare equal."""

    automaton: Automaton
    _hash: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.automaton.moves, self.automaton.accepting)))

    def __hash__(self) -> int:
        return self._hash

    @property
    def empty(self) -> bool:
        """True if the language has no member."""
        return self.automaton.accepting == (False,)

    @property
    def full(self) -> bool:
        """True if every byte string is a member."""
        return self.automaton.accepting == (True,)

    @property
    def states(self) -> int:
        """The number of states of the automaton."""
        return len(self.automaton.moves)

    def holds(self, value: Value) -> bool:
        """Tell whether a byte string is a member."""
        assert isinstance(value, bytes)
        state = 0
        for byte in value:
            state = self.automaton.step(state, byte)
        return self.automaton.accepting[state]

    def complement(self) -> "Language":
        """Return the language of all other byte strings."""
        accepting = tuple(not accepts for accepts in self.automaton.accepting)
        return Language(Automaton(self.automaton.classes, self.automaton.moves, accepting))

    def meets(self, lower: bytes | None, upper: bytes | None) -> bool:
        """Tell whether a member lies in [lower, upper]; None is unbounded, lower <= upper.

        Claim     It returns True if and only if there is such a member.
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
            if self.automaton.is_sink(state):
                return self.automaton.accepting[state]
        return self._at_most(state, upper[len(lower) :])  # (3)

    def hull(self) -> tuple[bytes | None, bytes | None]:
        """Return two strings that all members lie between, cut to some length; None where unbounded."""
        if self.empty:
            return None, None
        least, _ = self._extreme_member_start(range(256), stops=True)
        greatest, whole = self._extreme_member_start(range(255, -1, -1), stops=False)
        return least or None, greatest if whole else primitives.prefix_end(greatest)

    def members(self, limit: int) -> tuple[bytes, ...] | None:
        """Return the members, shorter ones first; None if there are more than `limit`.

        Claim     What is returned is all of the language.
        Proof     (1) Each start that is kept goes on to a member of its own, so more of them than the
                      limit are more members.
                  (2) A member as long as there are states comes by one of them twice, and so there
                      are members without end.
        """
        members: list[bytes] = []
        starts = [(b"", 0)] if self._can_accept(0) else []
        extensions: dict[int, list[tuple[int, int]]] = {}
        for _ in range(self.states):
            members += [start for start, state in starts if self.automaton.accepting[state]]
            following = []
            for start, state in starts:
                if state not in extensions:
                    extensions[state] = self._extensions(state)
                following += [(start + bytes([byte]), after) for byte, after in extensions[state]]
            starts = following
            if len(members) + len(starts) > limit:  # (1)
                return None
        return None if starts else tuple(members)  # (2)

    def _extensions(self, state: int) -> list[tuple[int, int]]:
        """Return the bytes that may follow in a state, each with the state that it leads to."""
        return [
            (byte, self.automaton.step(state, byte)) for byte in range(256) if self._may_follow(state, byte)
        ]

    def _at_least(self, state: int, lower: bytes) -> bool:
        """Tell whether some suffix accepted from a state is at or above a string."""
        for byte in lower:
            if any(self._may_follow(state, other) for other in range(byte + 1, 256)):
                return True
            state = self.automaton.step(state, byte)
        return self._can_accept(state)

    def _at_most(self, state: int, upper: bytes) -> bool:
        """Tell whether some suffix accepted from a state is at or below a string."""
        for byte in upper:
            if self.automaton.accepting[state] or any(
                self._may_follow(state, other) for other in range(byte)
            ):
                return True
            state = self.automaton.step(state, byte)
        return self.automaton.accepting[state]

    def _may_follow(self, state: int, byte: int) -> bool:
        """Tell whether a byte leads from a state to one from which some suffix is accepted."""
        return self._can_accept(self.automaton.step(state, byte))

    def _can_accept(self, state: int) -> bool:
        """Tell whether some suffix is accepted; in a minimal automaton only one state may accept none."""
        return self.automaton.accepting[state] or not self.automaton.is_sink(state)

    def _extreme_member_start(self, order: range, *, stops: bool) -> tuple[bytes, bool]:
        """Return how the first member by an order of bytes starts, and whether that is all of it.

        `stops` tells whether a member comes before the longer members that start with it.
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
    byte_classes: bytes = DISTINCT_BYTES,
    states_max: int = STATES_MAX,
) -> Language | None:
    """Return the language of an automaton; None if more than `states_max` of its states are reachable.

    Args:
        start: The state before the first byte; states are hashable, and equal ones are the same state.
        step: Returns the state after one more byte.
        accepts: Tells whether the strings that lead to a state are in the language.
        byte_classes: A number for each of the 256 bytes; `step` sees only the first byte of each.
        states_max: The number of states at which to give up.
    """
    return from_automaton_of_rows(
        start,
        lambda state, firsts: [step(state, byte) for byte in firsts],
        accepts,
        byte_classes=byte_classes,
        states_max=states_max,
    )


def from_automaton_of_rows(
    start: State,
    steps: Steps[State],
    accepts: Callable[[State], bool],
    *,
    byte_classes: bytes,
    states_max: int = STATES_MAX,
) -> Language | None:
    """Return the language of an automaton as `from_automaton` does.

    Args:
        start, accepts, byte_classes, states_max: As for `from_automaton`.
        steps: Returns the states after the first byte of each class, ascending, in one call.
    """
    automaton = explore(start, steps, accepts, byte_classes=byte_classes, states_max=states_max)
    return None if automaton is None else Language(minimize(automaton))


@lru_cache(maxsize=256)
def intersection(left: Language, right: Language) -> Language | None:
    """Return the strings that are in both languages; None if that takes too many states."""
    first_automaton, second_automaton = left.automaton, right.automaton

    def step(state: tuple[int, int] | None, byte: int) -> tuple[int, int] | None:
        """Return the state of the product automaton after one more byte."""
        if state is None:
            return None
        return both(first_automaton.step(state[0], byte), second_automaton.step(state[1], byte))

    def both(first: int, second: int) -> tuple[int, int] | None:
        """Return the state of the product automaton; None where one of the two will never accept."""
        dead = (first_automaton.is_sink(first) and not first_automaton.accepting[first]) or (
            second_automaton.is_sink(second) and not second_automaton.accepting[second]
        )
        return None if dead else (first, second)

    pairs = dict.fromkeys(zip(first_automaton.classes, second_automaton.classes, strict=True))
    numbers = {pair: number for number, pair in enumerate(pairs)}
    return from_automaton(
        both(0, 0),
        step,
        lambda state: (
            state is not None and first_automaton.accepting[state[0]] and second_automaton.accepting[state[1]]
        ),
        byte_classes=bytes(
            numbers[pair] for pair in zip(first_automaton.classes, second_automaton.classes, strict=True)
        ),
    )


def union(left: Language, right: Language) -> Language | None:
    """Return the strings that are in either language; None if that takes too many states."""
    neither = intersection(left.complement(), right.complement())
    return None if neither is None else neither.complement()


@lru_cache(maxsize=256)
def of_cuts(cuts: Cuts) -> Language | None:
    """Return the language of a union of intervals; None if that takes too many states.

    A state is (start, stop, depth): the cuts in [start, stop) begin with the `depth` bytes read so far and
    are longer, so they are still undecided. Every cut before `start` is at or below the string.
    """
    values = [value for value, _ in cuts.points if isinstance(value, bytes)]
    assert len(values) == len(cuts.points)
    assert not any(after for _, after in cuts.points)  # every byte string has a successor, so none is after

    def step(state: tuple[int, int, int], byte: int) -> tuple[int, int, int]:
        """Return the undecided cuts after one more byte."""
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
        byte_classes=_byte_classes(named),
    )


def _byte_classes(named: set[int]) -> bytes:
    """Number the bytes so that each given byte is alone and the bytes between two given ones are together."""
    numbers, number = [], 0
    for byte in range(256):
        number += byte > 0 and (byte in named or byte - 1 in named)
        numbers.append(number)
    return bytes(numbers)
