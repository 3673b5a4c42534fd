"""Languages that a few thousand words can judge, and those words.

An automaton here tells six bytes apart and takes all others as one, so that a word's other bytes may
be swapped for any within the same gap between the six: one byte for each gap is enough to try. What an
automaton of n states accepts beside a bound of m bytes, it accepts within m + n bytes: once past the
bound, the shortest way to a state that accepts repeats none.
"""

import functools
import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from budget import unshrunk
from hypothesis import strategies as st

from pruning.expressions.types import BINARY
from pruning.rules.sets import cuts, languages
from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.languages import Language
from strategies.choices import choose

Ends: TypeAlias = tuple[bytes | None, bytes | None]

LETTERS = b"\x00ab\x7f\x80\xff"
TRIED = b"\x00\x01abc\x7f\x80\x81\xff"
LENGTH_MAX = 4
WORDS = tuple(
    sorted(bytes(word) for size in range(LENGTH_MAX + 1) for word in itertools.product(TRIED, repeat=size))
)
# The same, each after the word that it makes one byte longer; which one that is, and the byte's column.
_BY_LENGTH = sorted(WORDS, key=len)
_PLACES = {word: place for place, word in enumerate(_BY_LENGTH)}
_STEPS = [(_PLACES[word[:-1]], LETTERS.find(word[-1])) for word in _BY_LENGTH[1:]]
# All words over two letters, for what needs longer ones.
LONG_WORDS = tuple(sorted(bytes(word) for size in range(8) for word in itertools.product(b"ab", repeat=size)))
UNSHRUNK = unshrunk(4_000)


@dataclass(frozen=True, slots=True)
class Machine:
    """An automaton as it was drawn: states may be alike, or never reached."""

    moves: tuple[tuple[int, ...], ...]
    accepting: tuple[bool, ...]

    def step(self, state: int, byte: int) -> int:
        """The last column is of every byte that is no letter."""
        return self.moves[state][LETTERS.find(byte)]

    def accepts(self, word: bytes) -> bool:
        """Whether it ends in a state that accepts."""
        state = 0
        for byte in word:
            state = self.step(state, byte)
        return self.accepting[state]

    def language(self) -> Language:
        """What it accepts."""
        found = languages.from_automaton(0, self.step, lambda state: self.accepting[state])
        assert found is not None
        return found

    @property
    def members(self) -> frozenset[bytes]:
        """The words that it accepts."""
        states = [0]
        for parent, column in _STEPS:
            states.append(self.moves[states[parent]][column])
        return frozenset(
            word for word, state in zip(_BY_LENGTH, states, strict=True) if self.accepting[state]
        )


@st.composite
def machines(draw: st.DrawFn, *, states_max: int = 3) -> Machine:
    """Automata of no more states, which may loop, end, accept nothing, or accept all.

    Shrinks to: fewer states.
    """
    states = draw(st.integers(1, states_max))
    rows = [[draw(st.integers(0, states - 1)) for _ in (*LETTERS, None)] for _ in range(states)]
    accepting = [draw(st.booleans()) for _ in range(states)]
    return Machine(tuple(map(tuple, rows)), tuple(accepting))


@dataclass(frozen=True, slots=True)
class Judged:
    """A language, and which of the words are in it."""

    language: Language
    members: frozenset[bytes] = field(repr=False)


@functools.cache
def judged() -> st.SearchStrategy[Judged]:
    """Languages of a few words, and of automata of two states."""
    lists = st.lists(words(size_max=2), max_size=3)
    of_lists = lists.map(lambda chosen: Judged(listed(chosen), frozenset(chosen)))
    return of_lists | machines(states_max=2).map(lambda machine: Judged(machine.language(), machine.members))


@st.composite
def bounds_beside(draw: st.DrawFn, drawn: Judged) -> Ends:
    """Bounds of two bytes that often are beside a member, or start one."""
    members = sorted(drawn.members, key=lambda word: (len(word), word))[:4]
    near = {word[:2] for member in members for word in (member, member[:-1], member + b"a", member + b"\xff")}

    def end() -> bytes | None:
        return draw(words(size_max=2)) if draw(st.booleans()) else choose(draw, [None, b"", *sorted(near)])

    return in_order(end(), end())


@functools.cache
def ranges_beside() -> st.SearchStrategy[tuple[Judged, Ends]]:
    """Languages, each with such bounds."""
    return judged().flatmap(lambda drawn: st.tuples(st.just(drawn), bounds_beside(drawn)))


def listed(chosen: Iterable[bytes]) -> Language:
    """The language of some strings."""
    found = languages.of_cuts(cuts.of_values(chosen, BINARY))
    assert found is not None
    return found


@functools.cache
def words(*, size_max: int, letters: bytes = LETTERS) -> st.SearchStrategy[bytes]:
    """Words over the letters."""
    return st.lists(st.sampled_from(list(letters)), max_size=size_max).map(bytes)


@st.composite
def bounds(draw: st.DrawFn, *, size_max: int) -> Ends:
    """Two bounds in order, often with bytes in common, either of them unknown at times."""
    stem = draw(words(size_max=size_max))
    left, right = (
        draw(st.none() | words(size_max=size_max - len(stem)).map(lambda rest: stem + rest)) for _ in range(2)
    )
    return in_order(left, right)


def in_order(left: bytes | None, right: bytes | None) -> Ends:
    """Two bounds, the lower one first."""
    if left is not None and right is not None and left > right:
        return right, left
    return left, right


@st.composite
def unions(draw: st.DrawFn) -> Cuts:
    """Unions of single words and rays."""
    found = cuts.of_values(draw(st.lists(words(size_max=2), max_size=4)), BINARY)
    for ray in (cuts.above, cuts.below):
        value = draw(st.none() | words(size_max=2))
        if value is not None:
            combine = draw(st.sampled_from([cuts.union, cuts.intersection]))
            found = combine(found, ray(value, BINARY, inclusive=draw(st.booleans())))
    return found


def between(lower: bytes | None, upper: bytes | None) -> Callable[[bytes], bool]:
    """Whether a word lies in [lower, upper]."""
    return lambda word: (lower is None or lower <= word) and (upper is None or word <= upper)
