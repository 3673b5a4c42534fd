"""Regular expressions over characters, and the automata that match whole texts.

A pattern is a tree of letters, sequences, alternatives and repetitions. It becomes a nondeterministic
automaton, whose sets of states are the states of a `Machine`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from pruning.rules.sets.languages import STATES_MAX, Language
from pruning.rules.text.character_runs import LAST, Pieces, merged, part
from pruning.rules.text.characters import REPLACEMENT, Machine, language

# Code points from the first to the last of each, ascending.
Ranges: TypeAlias = tuple[tuple[int, int], ...]
ALL: Ranges = ((0, LAST),)
_RETURN = 0x0D
_NODES_MAX = 4_096


@dataclass(frozen=True, slots=True)
class Letters:
    """One character of a set; `alone` asks that the character before it is no carriage return."""

    ranges: Ranges
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    """One part after the other."""

    parts: "tuple[Pattern, ...]"


@dataclass(frozen=True, slots=True)
class Either:
    """One of several."""

    alternatives: "tuple[Pattern, ...]"


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part from `least` to `most` times; None is any number."""

    part: "Pattern"
    least: int = 0
    most: int | None = None


Pattern: TypeAlias = Letters | Sequence | Either | Repeat
EMPTY = Sequence(())
ANY_TEXT = Repeat(Letters(ALL))
# Nodes of the automaton, and whether the last character was a carriage return.
_States: TypeAlias = tuple[frozenset[int], bool]


@dataclass(frozen=True, slots=True)
class Matches:
    """The strings that match a pattern and those that do not; a string that is not UTF-8 may be in both."""

    true: Language
    false: Language


@lru_cache(maxsize=256)
def matches(pattern: Pattern, *, by_bytes: bool = False) -> Matches | None:
    """Which strings match as a whole; None if that takes too many states.

    `by_bytes` is whether Spark may compare bytes instead of characters.

    Claim     A string that Spark says matches is in the one set, one of which it denies it in the other.
    Premises  Spark reads a string that is not UTF-8 as the characters before the fault, U+FFFD (axiom
              REPLACEMENT), and further ones.
    Proof     (1) On UTF-8 both sets are exact: each set of nodes is those that the text read leads to.
              (2) On other strings the text read at the fault goes on with U+FFFD: where a match (a
                  failure) can still be reached from there, all of them are in the set. Bytes that
                  are compared as they are go on like some character.
    """
    graph = _Graph()
    graph.build_chain(pattern)
    if len(graph.edges) > _NODES_MAX:
        return None
    reached = _reached(graph)
    if reached is None:
        return None
    faults = range(LAST + 1) if by_bytes else range(REPLACEMENT, REPLACEMENT + 1)
    sets = [_language(graph, reached, faults, wanted=wanted) for wanted in (True, False)]
    if sets[0] is None or sets[1] is None:
        return None
    return Matches(sets[0], sets[1])


def _language(
    graph: "_Graph", reached: "dict[_States, Pieces[_States]]", faults: range, *, wanted: bool
) -> Language | None:
    alive = _alive(reached, lambda states: graph.accepts(states) is wanted)
    return language(
        Machine(
            start=graph.start(),
            moves=reached.__getitem__,
            accepts=lambda states: graph.accepts(states) is wanted,
            faulty=lambda states: any(to in alive for _, to in part(reached[states], faults[0], faults[-1])),
        )
    )


def _reached(graph: "_Graph") -> "dict[_States, Pieces[_States]] | None":
    """The moves of each set of nodes that a text leads to; None if they are too many."""
    start = graph.start()
    reached: dict[_States, Pieces[_States]] = {}
    known, pending = {start}, [start]
    while pending:
        states = pending.pop()
        reached[states] = graph.moves(states)
        new = {to for _, to in reached[states]} - known
        known |= new
        pending += new
        if len(known) > STATES_MAX:
            return None
    return reached


def _alive(reached: "dict[_States, Pieces[_States]]", wanted: "Callable[[_States], bool]") -> "set[_States]":
    """From where a wanted set of nodes can be reached."""
    before: dict[_States, list[_States]] = {}
    for states, pieces in reached.items():
        for _, to in pieces:
            before.setdefault(to, []).append(states)
    alive = {states for states in reached if wanted(states)}
    pending = list(alive)
    while pending:
        for states in before.get(pending.pop(), ()):
            if states not in alive:
                alive.add(states)
                pending.append(states)
    return alive


@dataclass(slots=True)
class _Graph:
    """A nondeterministic automaton; node 0 accepts, and nodes are made from the end of the pattern on.

    Attributes:
        edges: Of each node, the letters that lead on, and where to.
        free: Of each node, the nodes it goes on to without a letter.
        loops: The nodes of the pattern's outermost sequence that any text leads back to.
        first: The node at which a text starts.
        guarded: Whether any letter asks what stands before it.
    """

    edges: list[list[tuple[Letters, int]]] = field(default_factory=lambda: [[]])
    free: list[list[int]] = field(default_factory=lambda: [[]])
    loops: list[int] = field(default_factory=list)
    first: int = 0
    guarded: bool = False

    def build_chain(self, pattern: Pattern) -> None:
        """Make the nodes of a whole pattern."""
        node = 0
        for each in reversed(pattern.parts if isinstance(pattern, Sequence) else (pattern,)):
            node = self._built(each, node)
            if each == ANY_TEXT:
                self.loops.append(node)
        self.first = node

    def _built(self, pattern: Pattern, then: int) -> int:
        """The node from which what matches the pattern leads to `then`."""
        if len(self.edges) > _NODES_MAX:
            return then
        match pattern:
            case Letters():
                self.guarded |= pattern.alone
                return self._node([(pattern, then)], [])
            case Sequence(parts):
                for each in reversed(parts):
                    then = self._built(each, then)
                return then
            case Either(alternatives):
                return self._node([], [self._built(alternative, then) for alternative in alternatives])
            case Repeat(body, least, most):
                return self._repeated(body, least, most, then)

    def _repeated(self, body: Pattern, least: int, most: int | None, then: int) -> int:
        if most is None:
            loop = self._node([], [then])
            self.free[loop].append(self._built(body, loop))
            then = loop
        else:
            end = then
            for _ in range(min(most - least, _NODES_MAX)):
                then = self._node([], [end, self._built(body, then)])
        for _ in range(min(least, _NODES_MAX)):
            then = self._built(body, then)
        return then

    def _node(self, edges: list[tuple[Letters, int]], free: list[int]) -> int:
        self.edges.append(edges)
        self.free.append(free)
        return len(self.edges) - 1

    def start(self) -> _States:
        """Before the first character."""
        return self._closed([self.first]), False

    def accepts(self, states: _States) -> bool:
        """Whether the text that leads there matches."""
        return 0 in states[0]

    def moves(self, states: _States) -> Pieces[_States]:
        """Where each character leads to."""
        nodes, after_return = states
        edges = [edge for node in nodes for edge in self.edges[node] if not (edge[0].alone and after_return)]
        ends = {LAST, _RETURN - 1, _RETURN}
        for letters, _ in edges:
            for first, last in letters.ranges:
                ends |= {first - 1, last}
        pieces = []
        for end in sorted(ends - {-1}):
            targets = frozenset(to for letters, to in edges if _among(letters.ranges, end))
            pieces.append((end, (self._closed(targets), self.guarded and end == _RETURN)))
        return merged(pieces)

    def _closed(self, nodes: Iterable[int]) -> frozenset[int]:
        """With the nodes that are reached without a letter, but for those that a loop makes needless.

        A node made after the loop's leads to a match through the loop alone, which any text may be
        spent in: what matches from there matches from the loop.
        """
        closed: set[int] = set()
        pending = list(nodes)
        while pending:
            node = pending.pop()
            if node not in closed:
                closed.add(node)
                pending += self.free[node]
        last_loop = min((loop for loop in self.loops if loop in closed), default=None)
        if last_loop is None:
            return frozenset(closed)
        return frozenset(node for node in closed if node <= last_loop or self._inside(last_loop, node))

    def _inside(self, loop: int, node: int) -> bool:
        """Whether a node is the body of a loop of the outermost sequence."""
        return node in self.free[loop]


def _among(ranges: Ranges, code_point: int) -> bool:
    return any(first <= code_point <= last for first, last in ranges)


def ranges_of(code_points: Iterable[int]) -> Ranges:
    """The ranges of single characters."""
    return joined((code_point, code_point) for code_point in code_points)


def joined(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Ranges in order, those that touch as one."""
    kept: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if kept and first <= kept[-1][1] + 1:
            kept[-1] = (kept[-1][0], max(last, kept[-1][1]))
        else:
            kept.append((first, last))
    return tuple(kept)


def outside(ranges: Ranges) -> Ranges:
    """All other characters."""
    firsts = [0, *(last + 1 for _, last in ranges)]
    lasts = [*(first - 1 for first, _ in ranges), LAST]
    return tuple((first, last) for first, last in zip(firsts, lasts, strict=True) if first <= last)


def literal(text: str) -> Pattern:
    """The text itself."""
    return Sequence(tuple(Letters(ranges_of([ord(character)])) for character in text))
