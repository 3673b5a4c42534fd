"""Preimages of functions of text: the operands whose result is in a wanted set.

Each function here takes a wanted set of results and returns the set of operands with such a result. It is
exact for strings that are UTF-8. `None` means "too many states". Spark's functions treat malformed bytes
in their own ways; a string with one is in the answer if any continuation may lead into the wanted set.
"""

from functools import lru_cache

from pruning.rules.sets import cuts as sets
from pruning.rules.sets import languages
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

TEXT_LENGTH_MAX = 2**31 - 1  # no string has more characters
# Texts longer than this count as one length; positions further than this from the end are not analysed.
_LENGTH_MAX = 200
_WINDOW_MAX = 32


@lru_cache(maxsize=512)
def trim_preimage(wanted: Language, characters: str, *, leading: bool, trailing: bool) -> Language | None:
    """Return the strings that are in a set once certain characters are trimmed from their ends.

    Claim     A string whose TRIM (LTRIM, RTRIM) is in the set is in the answer.
    Proof     A state is a pair: the state of the set's automaton after the last character that stays, and
              its state after the removable characters behind that one, which stay if another follows.
              No character stays in the first state. A byte that is no character stays, with all before
              it, where the removed characters are ASCII; else what stayed before it does.
    """
    automaton = wanted.automaton
    removed = [ord(character) for character in dict.fromkeys(characters)]
    nothing = (-1, -1)

    def moves(state: tuple[int, int]) -> Transitions[tuple[int, int]]:
        """Return the transitions of a state."""
        core, now = state
        following = character_transitions(wanted, max(now, 0))
        stays = map_states(following, lambda to: (to, to))
        if state == nothing:
            return with_changes(stays, dict.fromkeys(removed, nothing))
        if not trailing:
            return stays
        return with_changes(stays, {code: (core, _after(automaton, now, chr(code))) for code in removed})

    def accepts_malformed(state: tuple[int, int]) -> bool:
        """Tell whether a member is possible after a malformed byte."""
        core, now = state
        return (
            may_accept_malformed(wanted, max(now, 0)) if characters.isascii() else _live(wanted, max(core, 0))
        )

    return byte_language(
        CharacterAutomaton(
            start=nothing if leading else (0, 0),
            moves=moves,
            accepts=lambda state: automaton.accepting[max(state[0], 0)],
            accepts_malformed=accepts_malformed,
        )
    )


@lru_cache(maxsize=512)
def substring_preimage(wanted: Language, position: int, length: int) -> Language | None:
    """Return the strings that are in a set once cut to `length` characters from a position; 0 means 1.

    Claim     A string whose SUBSTRING is in the set is in the answer.
    Proof     A state is the number of characters to skip, the number to take, and the state of the set's
              automaton. A malformed byte keeps what was taken, and anything may follow.
    """
    if position < 0:
        return _substring_from_end_preimage(wanted, -position, max(length, 0))
    automaton = wanted.automaton
    skipped = max(position - 1, 0)
    endless = skipped + length >= TEXT_LENGTH_MAX

    def moves(state: tuple[int, int, int]) -> Transitions[tuple[int, int, int]]:
        """Return the transitions of a state."""
        skip, take, at = state
        if skip > 0:
            return constant_transitions((skip - 1, take, at))
        if take == 0 or automaton.is_sink(at):
            return constant_transitions((0, 0, at))
        left = take if endless else take - 1
        return map_states(character_transitions(wanted, at), lambda to: (0, left, to))

    def accepts_malformed(state: tuple[int, int, int]) -> bool:
        """Tell whether a member is possible after a malformed byte."""
        skip, take, at = state
        if skip > 0:
            return _live(wanted, at)
        return may_accept_malformed(wanted, at) if take > 0 else automaton.accepting[at]

    return byte_language(
        CharacterAutomaton(
            start=(skipped, 1 if endless else max(length, 0), 0),
            moves=moves,
            accepts=lambda state: automaton.accepting[state[2]],
            accepts_malformed=accepts_malformed,
        )
    )


def _substring_from_end_preimage(wanted: Language, distance: int, length: int) -> Language | None:
    """Return the same for a position that is counted from the end.

    A state holds, for each of the last `distance` positions, the state of the set's automaton that started
    there and took `length` characters. Positions before the text took nothing of it.
    """
    if distance > _WINDOW_MAX:
        return None
    automaton = wanted.automaton

    def moves(state: tuple[int, ...]) -> Transitions[tuple[int, ...]]:
        """Return the transitions of a state."""
        rows = []
        for index, at in enumerate((*state, 0)):
            taken = distance - index
            rows.append(character_transitions(wanted, at) if taken < length else constant_transitions(at))
        return map_states(product_transitions(rows), lambda window: window[1:])

    return byte_language(
        CharacterAutomaton(
            start=(0,) * distance,
            moves=moves,
            accepts=lambda state: automaton.accepting[state[0]],
            accepts_malformed=lambda _: _live(wanted, 0),
        )
    )


@lru_cache(maxsize=512)
def concat_preimage(wanted: Language, before: bytes, after: bytes) -> Language | None:
    """Return the strings that are in a set once bytes are put before and after them.

    Claim     A string is in the answer if and only if its CONCAT with them is in the set.
    Proof     The set's automaton reads the bytes before at the start, and those after at the end.
    """
    automaton = wanted.automaton
    return languages.from_automaton(
        _run(automaton, 0, before),
        automaton.step,
        lambda state: automaton.accepting[_run(automaton, state, after)],
        byte_classes=automaton.classes,
    )


@lru_cache(maxsize=512)
def pad_preimage(wanted: Language, length: int, pad: str) -> Language | None:
    """Return the strings that are in a set once padded or cut to a number of characters.

    Claim     A string is in the answer whose RPAD is in the set; and one that is longer and is in the set
              itself, because the padding of CHAR columns does not cut.
    Proof     A state is the number of characters read, whether the text cut to `length` is in the set, and
              the state of the set's automaton. A malformed byte leaves a result that starts with what was
              read.
    """
    automaton = wanted.automaton
    length = max(length, 0)

    def moves(state: tuple[int, bool, int]) -> Transitions[tuple[int, bool, int]]:
        """Return the transitions of a state."""
        read, cut, at = state
        if read < length:
            return map_states(character_transitions(wanted, at), lambda to: (read + 1, False, to))
        if cut or (read == length and automaton.accepting[at]):
            return constant_transitions((length + 1, True, 0))
        return map_states(character_transitions(wanted, at), lambda to: (length + 1, False, to))

    def accepts(state: tuple[int, bool, int]) -> bool:
        """Tell whether the padded text of a state is a member."""
        read, cut, at = state
        missing = max(length - read, 0)
        padding = (pad * missing)[:missing].encode()
        return cut or automaton.accepting[_run(automaton, at, padding)]

    def accepts_malformed(state: tuple[int, bool, int]) -> bool:
        """Tell whether a member is possible after a malformed byte."""
        read, cut, at = state
        return cut or may_accept_malformed(wanted, at) or (read == length and automaton.accepting[at])

    return byte_language(
        CharacterAutomaton(
            start=(0, False, 0),
            moves=moves,
            accepts=accepts,
            accepts_malformed=accepts_malformed,
        )
    )


@lru_cache(maxsize=512)
def length_preimage(wanted: Cuts) -> Language | None:
    """Return the texts whose number of characters is in a set; lengths above a limit count as one.

    Claim     A string whose LENGTH is in the set is in the answer.
    Proof     A state is that number, up to a limit above which all are equivalent, or treated as such. A
              malformed byte counts as one character or several.
    """
    ends = [int(value) for value, _ in wanted.points if not isinstance(value, bytes)]
    longest = max(0, min(max(ends, default=0), _LENGTH_MAX))
    return byte_language(
        CharacterAutomaton(
            start=0,
            moves=lambda read: constant_transitions(min(read + 1, longest)),
            accepts=lambda read: wanted.holds(read) if read < longest else sets.meets(longest, None, wanted),
            accepts_malformed=lambda read: sets.meets(min(read + 1, longest), None, wanted),
        )
    )


def _live(wanted: Language, state: int) -> bool:
    """Tell whether a member can be reached from a state."""
    return state in live_states(wanted)


def _after(automaton: Automaton, state: int, character: str) -> int:
    """Return the state of an automaton after one character."""
    return _run(automaton, state, character.encode())


def _run(automaton: Automaton, state: int, text: bytes) -> int:
    """Return the state of an automaton after a text."""
    for byte in text:
        state = automaton.step(state, byte)
    return state
