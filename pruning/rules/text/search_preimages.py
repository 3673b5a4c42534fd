"""Preimages of functions that search a text for a constant: REPLACE, SUBSTRING_INDEX, INSTR; and of LPAD.

A searching function is a transducer: it reads characters, keeps those that may begin the part that it
searches for, and writes the others. A state has the number of characters that are kept, which says what
they are, and the state of the wanted set's automaton after what was written. As everywhere, a string that
is not UTF-8 is in the answer if any continuation may lead into the wanted set.
"""

from dataclasses import dataclass
from functools import lru_cache

from pruning.rules.sets import cuts as sets
from pruning.rules.sets.automata import Automaton
from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.languages import Language
from pruning.rules.text.character_runs import (
    Transitions,
    constant_transitions,
    map_states,
    product_transitions,
    with_changes,
)
from pruning.rules.text.characters import (
    CharacterAutomaton,
    byte_language,
    character_transitions,
    live_states,
    may_accept_malformed,
)

# Positions above this count as one; longer pads are not analysed.
_POSITION_MAX = 200
_PAD_MAX = 64


@dataclass(frozen=True, slots=True)
class _Search:
    """A part that is searched for, with how much of it is kept after each character.

    Attributes:
        part: The part, not empty.
        borders: For each number of kept characters, the longest shorter start of the part that ends them.
    """

    part: str
    borders: tuple[int, ...]

    def kept_after(self, kept: int, character: str) -> int:
        """Return how many characters are kept after one more; as many as the part has if it is complete."""
        while kept and (kept == len(self.part) or self.part[kept] != character):
            kept = self.borders[kept]
        return kept + (self.part[kept] == character)

    def output(self, kept: int, character: str) -> str:
        """Return the characters that are no longer kept after one more."""
        read = self.part[:kept] + character
        return read[: len(read) - self.kept_after(kept, character)]


def _search(part: str) -> _Search:
    """Return the search for a part."""
    borders = [0, 0]
    for place in range(1, len(part)):
        border = borders[place]
        while border and part[border] != part[place]:
            border = borders[border]
        borders.append(border + (part[border] == part[place]))
    return _Search(part, tuple(borders))


@lru_cache(maxsize=512)
def replace_preimage(wanted: Language, part: str, replacement: str) -> Language | None:
    """Return the strings that are in a set once each occurrence of a part is replaced.

    Claim     A string whose REPLACE is in the set is in the answer; no other string of UTF-8 is.
    Premises  Spark replaces from the left and goes on behind each occurrence; an empty part occurs nowhere.
    Proof     A state is what is kept and the automaton's state after what is written. An occurrence writes
              the replacement in place of what is kept.
    """
    if not part:
        return wanted
    automaton, search = wanted.automaton, _search(part)

    def moves(state: tuple[int, int]) -> Transitions[tuple[int, int]]:
        """Return the transitions of a state."""
        kept, at = state
        others = character_transitions(wanted, _run(automaton, at, part[:kept]))
        changes: dict[int, tuple[int, int]] = {}
        for character in dict.fromkeys(part):
            still, written = search.kept_after(kept, character), search.output(kept, character)
            if still == len(part):
                still, written = 0, written + replacement
            changes[ord(character)] = (still, _run(automaton, at, written))
        return with_changes(map_states(others, lambda to: (0, to)), changes)

    return byte_language(
        CharacterAutomaton(
            start=(0, 0),
            moves=moves,
            accepts=lambda state: automaton.accepting[_run(automaton, state[1], part[: state[0]])],
            accepts_malformed=lambda state: may_accept_malformed(
                wanted, _run(automaton, state[1], part[: state[0]])
            ),
        )
    )


@lru_cache(maxsize=512)
def start_preimage(wanted: Language, separator: str, count: int) -> Language | None:
    """Return the strings whose part before the `count`-th separator is in a set.

    Claim     A string whose SUBSTRING_INDEX by a positive count is in the set is in the answer; one that is
              not UTF-8 also if its faults are read as U+FFFD.
    Premises  Spark counts occurrences that overlap; of a text with fewer of them all is taken.
    Proof     A state is the occurrences to come, what is kept and the automaton's state after what is
              written. At the last one, what is kept is the separator, so that all before it was written.
    """
    automaton, search = wanted.automaton, _search(separator)
    done = {True: (0, 0, -1), False: (0, 0, -2)}

    def moves(state: tuple[int, int, int]) -> Transitions[tuple[int, int, int]]:
        """Return the transitions of a state."""
        left, kept, at = state
        if at < 0:
            return constant_transitions(state)
        others = character_transitions(wanted, _run(automaton, at, separator[:kept]))
        changes: dict[int, tuple[int, int, int]] = {}
        for character in dict.fromkeys(separator):
            still = search.kept_after(kept, character)
            to = _run(automaton, at, search.output(kept, character))
            to_come = left - (still == len(separator))
            changes[ord(character)] = (to_come, still, to) if to_come else done[automaton.accepting[to]]
        return with_changes(map_states(others, lambda to: (left, 0, to)), changes)

    def accepts(state: tuple[int, int, int]) -> bool:
        """Tell whether all of the text is a member, or what came before the last separator."""
        _, kept, at = state
        return state == done[True] if at < 0 else automaton.accepting[_run(automaton, at, separator[:kept])]

    def accepts_malformed(state: tuple[int, int, int]) -> bool:
        """Tell whether a member is possible after a malformed byte."""
        _, kept, at = state
        if at < 0:
            return state == done[True]
        return may_accept_malformed(wanted, _run(automaton, at, separator[:kept]))

    return byte_language(
        CharacterAutomaton(
            start=(count, 0, 0), moves=moves, accepts=accepts, accepts_malformed=accepts_malformed
        )
    )


@lru_cache(maxsize=512)
def position_preimage(wanted: Cuts, part: str) -> Language | None:
    """Return the texts in which the position of the first occurrence of a part, 0 for none, is in a set.

    Claim     A string whose INSTR is in the set is in the answer.
    Proof     A state is the number of characters before what is kept, up to a limit above which all are
              treated alike, and what is kept. After a malformed byte the part occurs behind those characters
              or nowhere, as characters are counted from the left.
    """
    ends = [int(value) for value, _ in wanted.points if not isinstance(value, bytes)]
    limit = max(1, min(max(ends, default=1), _POSITION_MAX))
    search = _search(part)
    done = {True: (-1, 0), False: (-2, 0)}

    def moves(state: tuple[int, int]) -> Transitions[tuple[int, int]]:
        """Return the transitions of a state."""
        before, kept = state
        if before < 0:
            return constant_transitions(state)
        changes: dict[int, tuple[int, int]] = {}
        for character in dict.fromkeys(part):
            still = search.kept_after(kept, character)
            start = min(before + len(search.output(kept, character)), limit)
            changes[ord(character)] = (start, still) if still < len(part) else done[holds(start + 1)]
        return with_changes(constant_transitions((min(before + kept + 1, limit), 0)), changes)

    def accepts_malformed(state: tuple[int, int]) -> bool:
        """Tell whether a position is wanted that is possible after a malformed byte."""
        if state[0] < 0:
            return state == done[True]
        return wanted.holds(0) or sets.meets(state[0] + 1, None, wanted)

    def holds(position: int) -> bool:
        """Tell whether a position, or one of those that are treated alike, is wanted."""
        return wanted.holds(position) if position <= limit else sets.meets(position, None, wanted)

    return byte_language(
        CharacterAutomaton(
            start=(0, 0),
            moves=moves,
            accepts=lambda state: state == done[True] if state[0] < 0 else wanted.holds(0),
            accepts_malformed=accepts_malformed,
        )
    )


@lru_cache(maxsize=512)
def left_pad_preimage(wanted: Language, length: int, pad: str) -> Language | None:
    """Return the strings that are in a set once padded on the left, or cut, to a number of characters.

    Claim     A string whose LPAD is in the set is in the answer.
    Proof     A state is the number of characters read and, for each number of them that the text may have, up
              to `length`, the state of the set's automaton after the pad for that number and what was read.
    """
    length = max(length, 0)
    if length > _PAD_MAX:
        return None
    automaton = wanted.automaton
    pads = ((pad * (length - size))[: length - size] for size in range(length + 1))
    starts = tuple(_run(automaton, 0, text) for text in pads)

    def moves(state: tuple[int, ...]) -> Transitions[tuple[int, ...]]:
        """Return the transitions of a state; its last entry is that of texts that are not padded."""
        if len(state) == 1:
            return constant_transitions(state)
        return product_transitions(character_transitions(wanted, at) for at in state[1:])

    return byte_language(
        CharacterAutomaton(
            start=starts,
            moves=moves,
            accepts=lambda state: automaton.accepting[state[0]],
            accepts_malformed=lambda state: not live_states(wanted).isdisjoint(state),
        )
    )


def _run(automaton: Automaton, state: int, text: str) -> int:
    """Return the state of an automaton after a text."""
    for byte in text.encode():
        state = automaton.step(state, byte)
    return state
