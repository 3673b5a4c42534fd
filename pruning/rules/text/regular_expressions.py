"""Regular expressions over characters, and the automata that match whole texts with them.

A pattern is a tree of character classes, concatenations, alternations and repetitions. It is compiled to a
nondeterministic finite automaton (NFA), whose sets of nodes are the states of a `CharacterAutomaton`.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeAlias

from pruning.rules.sets.languages import STATES_MAX, Language
from pruning.rules.text.character_runs import LAST, Transitions, merge_runs, slice_runs
from pruning.rules.text.characters import REPLACEMENT, CharacterAutomaton, byte_language

# Ranges of code points, first and last, ascending and disjoint.
Ranges: TypeAlias = tuple[tuple[int, int], ...]
ALL: Ranges = ((0, LAST),)
_RETURN = 0x0D
_NODES_MAX = 4_096


@dataclass(frozen=True, slots=True)
class CharacterClass:
    """One character of a set; `alone` requires that the character before it is no carriage return."""

    ranges: Ranges
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Concatenation:
    """Parts that follow each other."""

    parts: "tuple[Pattern, ...]"


@dataclass(frozen=True, slots=True)
class Alternation:
    """Alternatives, one of which matches."""

    alternatives: "tuple[Pattern, ...]"


@dataclass(frozen=True, slots=True)
class Repetition:
    """A part repeated from `least` to `most` times; None is no upper limit."""

    part: "Pattern"
    least: int = 0
    most: int | None = None


Pattern: TypeAlias = CharacterClass | Concatenation | Alternation | Repetition
EMPTY = Concatenation(())
ANY_TEXT = Repetition(CharacterClass(ALL))
# Nodes of the NFA, and whether the last character was a carriage return.
_States: TypeAlias = tuple[frozenset[int], bool]


@dataclass(frozen=True, slots=True)
class MatchSets:
    """The strings that match a pattern and those that do not; a string that is not UTF-8 may be in both."""

    true: Language
    false: Language


@lru_cache(maxsize=256)
def match_sets(pattern: Pattern, *, by_bytes: bool = False) -> MatchSets | None:
    """Return the strings that match as a whole, and the others; None if that takes too many states.

    `by_bytes` tells whether Spark may compare bytes instead of characters.

    Claim     A string that matches in Spark is in the first set, one that does not in the second.
    Premises  Spark reads a string that is not UTF-8 as the characters before the malformed byte, U+FFFD
              (axiom REPLACEMENT), and further ones.
    Proof     (1) On UTF-8 both sets are exact: each set of nodes is those that the text read leads to.
              (2) On other strings the text read so far goes on with U+FFFD: if a match (a failure) can
                  still be reached from there, all such strings are in the set. Bytes that are compared
                  as they are go on like some character.
    """
    nfa = _Nfa()
    nfa.add_whole_pattern(pattern)
    if len(nfa.edges) > _NODES_MAX:
        return None
    moves = _reachable_moves(nfa)
    if moves is None:
        return None
    faults = range(LAST + 1) if by_bytes else range(REPLACEMENT, REPLACEMENT + 1)
    sets = [_language(nfa, moves, faults, wanted=wanted) for wanted in (True, False)]
    if sets[0] is None or sets[1] is None:
        return None
    return MatchSets(sets[0], sets[1])


def _language(
    nfa: "_Nfa", moves: "dict[_States, Transitions[_States]]", faults: range, *, wanted: bool
) -> Language | None:
    """Return the language of the texts that match (`wanted`) or of those that do not."""
    alive = _states_leading_to(moves, lambda states: nfa.accepts(states) is wanted)
    return byte_language(
        CharacterAutomaton(
            start=nfa.start(),
            moves=moves.__getitem__,
            accepts=lambda states: nfa.accepts(states) is wanted,
            accepts_malformed=lambda states: any(
                to in alive for _, to in slice_runs(moves[states], faults[0], faults[-1])
            ),
        )
    )


def _reachable_moves(nfa: "_Nfa") -> "dict[_States, Transitions[_States]] | None":
    """Return the transitions of each set of nodes that is reachable; None if there are too many."""
    start = nfa.start()
    moves: dict[_States, Transitions[_States]] = {}
    queued, pending = {start}, [start]
    while pending:
        states = pending.pop()
        moves[states] = nfa.moves(states)
        new = {to for _, to in moves[states]} - queued
        queued |= new
        pending += new
        if len(queued) > STATES_MAX:
            return None
    return moves


def _states_leading_to(
    moves: "dict[_States, Transitions[_States]]", wanted: "Callable[[_States], bool]"
) -> "set[_States]":
    """Return the sets of nodes from which a wanted one can be reached."""
    before: dict[_States, list[_States]] = {}
    for states, transitions in moves.items():
        for _, to in transitions:
            before.setdefault(to, []).append(states)
    alive = {states for states in moves if wanted(states)}
    pending = list(alive)
    while pending:
        for states in before.get(pending.pop(), ()):
            if states not in alive:
                alive.add(states)
                pending.append(states)
    return alive


@dataclass(slots=True)
class _Nfa:
    """A nondeterministic finite automaton; node 0 accepts, and nodes are added from the pattern's end on.

    Attributes:
        edges: For each node, the character classes that lead on, and the nodes that they lead to.
        epsilon_moves: For each node, the nodes that it goes on to without reading a character.
        loops: The nodes of the pattern's outermost concatenation that any text leads back to.
        first: The start node.
        tracks_returns: Whether any character class depends on the character before it.
    """

    edges: list[list[tuple[CharacterClass, int]]] = field(default_factory=lambda: [[]])
    epsilon_moves: list[list[int]] = field(default_factory=lambda: [[]])
    loops: list[int] = field(default_factory=list)
    first: int = 0
    tracks_returns: bool = False

    def add_whole_pattern(self, pattern: Pattern) -> None:
        """Add the nodes of a whole pattern."""
        node = 0
        for part in reversed(pattern.parts if isinstance(pattern, Concatenation) else (pattern,)):
            node = self._add_pattern(part, node)
            if part == ANY_TEXT:
                self.loops.append(node)
        self.first = node

    def _add_pattern(self, pattern: Pattern, then: int) -> int:
        """Add nodes that lead to `then` on what matches the pattern; return the first of them."""
        if len(self.edges) > _NODES_MAX:
            return then
        match pattern:
            case CharacterClass():
                self.tracks_returns |= pattern.alone
                return self._add_node([(pattern, then)], [])
            case Concatenation(parts):
                for part in reversed(parts):
                    then = self._add_pattern(part, then)
                return then
            case Alternation(alternatives):
                return self._add_node(
                    [], [self._add_pattern(alternative, then) for alternative in alternatives]
                )
            case Repetition(body, least, most):
                return self._add_repetition(body, least, most, then)

    def _add_repetition(self, body: Pattern, least: int, most: int | None, then: int) -> int:
        """Add the nodes of a repetition that lead to `then`; return the first of them."""
        if most is None:
            loop = self._add_node([], [then])
            self.epsilon_moves[loop].append(self._add_pattern(body, loop))
            then = loop
        else:
            end = then
            for _ in range(min(most - least, _NODES_MAX)):
                then = self._add_node([], [end, self._add_pattern(body, then)])
        for _ in range(min(least, _NODES_MAX)):
            then = self._add_pattern(body, then)
        return then

    def _add_node(self, edges: list[tuple[CharacterClass, int]], epsilon_moves: list[int]) -> int:
        """Add a node and return its number."""
        self.edges.append(edges)
        self.epsilon_moves.append(epsilon_moves)
        return len(self.edges) - 1

    def start(self) -> _States:
        """Return the state before the first character."""
        return self._closure([self.first]), False

    def accepts(self, states: _States) -> bool:
        """Tell whether the texts that lead to a state match."""
        return 0 in states[0]

    def moves(self, states: _States) -> Transitions[_States]:
        """Return the transitions of a state."""
        nodes, after_return = states
        edges = [edge for node in nodes for edge in self.edges[node] if not (edge[0].alone and after_return)]
        ends = {LAST, _RETURN - 1, _RETURN}
        for letters, _ in edges:
            for first, last in letters.ranges:
                ends |= {first - 1, last}
        transitions = []
        for end in sorted(ends - {-1}):
            targets = frozenset(to for letters, to in edges if _in_ranges(letters.ranges, end))
            transitions.append((end, (self._closure(targets), self.tracks_returns and end == _RETURN)))
        return merge_runs(transitions)

    def _closure(self, nodes: Iterable[int]) -> frozenset[int]:
        """Return the nodes with those reachable by epsilon moves, except those that a loop makes redundant.

        A node that was added after the loop's node leads to a match only through the loop, and the loop
        may read any text: what matches from that node also matches from the loop.
        """
        closure: set[int] = set()
        pending = list(nodes)
        while pending:
            node = pending.pop()
            if node not in closure:
                closure.add(node)
                pending += self.epsilon_moves[node]
        last_loop = min((loop for loop in self.loops if loop in closure), default=None)
        if last_loop is None:
            return frozenset(closure)
        return frozenset(node for node in closure if node <= last_loop or self._is_loop_body(last_loop, node))

    def _is_loop_body(self, loop: int, node: int) -> bool:
        """Tell whether a node is the body of a loop of the outermost concatenation."""
        return node in self.epsilon_moves[loop]


def _in_ranges(ranges: Ranges, code_point: int) -> bool:
    """Tell whether a code point is in one of the ranges."""
    return any(first <= code_point <= last for first, last in ranges)


def ranges_of(code_points: Iterable[int]) -> Ranges:
    """Return the ranges of single characters."""
    return merge_ranges((code_point, code_point) for code_point in code_points)


def merge_ranges(ranges: Iterable[tuple[int, int]]) -> Ranges:
    """Return the ranges in order, overlapping and adjacent ones merged."""
    kept: list[tuple[int, int]] = []
    for first, last in sorted(ranges):
        if kept and first <= kept[-1][1] + 1:
            kept[-1] = (kept[-1][0], max(last, kept[-1][1]))
        else:
            kept.append((first, last))
    return tuple(kept)


def complement_ranges(ranges: Ranges) -> Ranges:
    """Return the ranges of all other characters."""
    firsts = [0, *(last + 1 for _, last in ranges)]
    lasts = [*(first - 1 for first, _ in ranges), LAST]
    return tuple((first, last) for first, last in zip(firsts, lasts, strict=True) if first <= last)


def literal(text: str) -> Pattern:
    """Return the pattern that matches only this text."""
    return Concatenation(tuple(CharacterClass(ranges_of([ord(character)])) for character in text))
