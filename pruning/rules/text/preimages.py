"""The texts that a function of text takes into a set: what is wanted of the result, said of the operand.

Each function here takes the wanted set, and gives one that holds every string whose result is in it:
exactly those among UTF-8. `None` is "too many states". Spark's functions read on, in their way, what is
not UTF-8: there a string is in the answer if any rest of it leads into the wanted set.
"""

from functools import lru_cache

from pruning.rules.sets import cuts as sets
from pruning.rules.sets import languages
from pruning.rules.sets.automata import Automaton
from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.languages import Language
from pruning.rules.text.character_runs import Pieces, always, mapped, patched, zipped
from pruning.rules.text.characters import Machine, language, live_states, may_fail, spelled

TEXT_LENGTH_MAX = 2**31 - 1  # no string has more characters
# Longer texts are not told apart; of more characters from the end nothing is known.
_LENGTH_MAX = 200
_WINDOW_MAX = 32


@lru_cache(maxsize=512)
def trimmed(wanted: Language, characters: str, *, leading: bool, trailing: bool) -> Language | None:
    """What is in a set once characters of some kinds are removed from its ends.

    Claim     A string whose TRIM (LTRIM, RTRIM) is in the set is in the answer.
    Proof     A state is where the set's automaton was after the last character that stays, and where it
              is: after what is removed, should another follow. Nothing has stayed in the first state.
              A byte that is no character stays where those removed are ASCII, and with it all before
              it; else what stayed before it does.
    """
    automaton = wanted.automaton
    removed = [ord(character) for character in dict.fromkeys(characters)]
    nothing = (-1, -1)

    def moves(state: tuple[int, int]) -> Pieces[tuple[int, int]]:
        core, now = state
        following = spelled(wanted, max(now, 0))
        stays = mapped(following, lambda to: (to, to))
        if state == nothing:
            return patched(stays, dict.fromkeys(removed, nothing))
        if not trailing:
            return stays
        return patched(stays, {code: (core, _after(automaton, now, chr(code))) for code in removed})

    def faulty(state: tuple[int, int]) -> bool:
        core, now = state
        return may_fail(wanted, max(now, 0)) if characters.isascii() else _live(wanted, max(core, 0))

    return language(
        Machine(
            start=nothing if leading else (0, 0),
            moves=moves,
            accepts=lambda state: automaton.accepting[max(state[0], 0)],
            faulty=faulty,
        )
    )


@lru_cache(maxsize=512)
def cut_out(wanted: Language, position: int, length: int) -> Language | None:
    """What is in a set once it is cut to `length` characters from a position on; 0 is 1.

    Claim     A string whose SUBSTRING is in the set is in the answer.
    Proof     A state is how many characters are to be skipped, how many to be taken, and where the set's
              automaton is. A fault leaves what was taken as it is, and the rest open.
    """
    if position < 0:
        return _cut_from_end(wanted, -position, max(length, 0))
    automaton = wanted.automaton
    skipped = max(position - 1, 0)
    endless = skipped + length >= TEXT_LENGTH_MAX

    def moves(state: tuple[int, int, int]) -> Pieces[tuple[int, int, int]]:
        skip, take, at = state
        if skip > 0:
            return always((skip - 1, take, at))
        if take == 0 or automaton.settled(at):
            return always((0, 0, at))
        left = take if endless else take - 1
        return mapped(spelled(wanted, at), lambda to: (0, left, to))

    def faulty(state: tuple[int, int, int]) -> bool:
        skip, take, at = state
        if skip > 0:
            return _live(wanted, at)
        return may_fail(wanted, at) if take > 0 else automaton.accepting[at]

    return language(
        Machine(
            start=(skipped, 1 if endless else max(length, 0), 0),
            moves=moves,
            accepts=lambda state: automaton.accepting[state[2]],
            faulty=faulty,
        )
    )


def _cut_from_end(wanted: Language, distance: int, length: int) -> Language | None:
    """The same from a position that is counted from the end.

    A state is, of each of the last `distance` places, where the set's automaton is that started there
    and took `length` characters. Places before the text took nothing of it.
    """
    if distance > _WINDOW_MAX:
        return None
    automaton = wanted.automaton

    def moves(state: tuple[int, ...]) -> Pieces[tuple[int, ...]]:
        rows = []
        for index, at in enumerate((*state, 0)):
            taken = distance - index
            rows.append(spelled(wanted, at) if taken < length else always(at))
        return mapped(zipped(rows), lambda each: each[1:])

    return language(
        Machine(
            start=(0,) * distance,
            moves=moves,
            accepts=lambda state: automaton.accepting[state[0]],
            faulty=lambda _: _live(wanted, 0),
        )
    )


@lru_cache(maxsize=512)
def surrounded(wanted: Language, before: bytes, after: bytes) -> Language | None:
    """What is in a set once bytes are put before and after it.

    Claim     A string is in the answer if and only if its CONCAT with them is in the set.
    Proof     The set's automaton has read the one before it starts, and reads the other at the end.
    """
    automaton = wanted.automaton
    return languages.from_automaton(
        _run(automaton, 0, before),
        automaton.step,
        lambda state: automaton.accepting[_run(automaton, state, after)],
        alike=automaton.classes,
    )


@lru_cache(maxsize=512)
def padded(wanted: Language, length: int, pad: str) -> Language | None:
    """What is in a set once it is padded to a number of characters, or cut to them.

    Claim     A string is in the answer whose RPAD is in the set; and one that is longer and is in the set
              itself, because the padding of CHAR columns does not cut.
    Proof     A state is how many characters were read, whether what they were cut to is in the set, and
              where its automaton is. On a fault the result starts with what was read.
    """
    automaton = wanted.automaton
    length = max(length, 0)

    def moves(state: tuple[int, bool, int]) -> Pieces[tuple[int, bool, int]]:
        read, cut, at = state
        if read < length:
            return mapped(spelled(wanted, at), lambda to: (read + 1, False, to))
        if cut or (read == length and automaton.accepting[at]):
            return always((length + 1, True, 0))
        return mapped(spelled(wanted, at), lambda to: (length + 1, False, to))

    def accepts(state: tuple[int, bool, int]) -> bool:
        read, cut, at = state
        missing = max(length - read, 0)
        padding = (pad * missing)[:missing].encode()
        return cut or automaton.accepting[_run(automaton, at, padding)]

    def faulty(state: tuple[int, bool, int]) -> bool:
        read, cut, at = state
        return cut or may_fail(wanted, at) or (read == length and automaton.accepting[at])

    return language(
        Machine(
            start=(0, False, 0),
            moves=moves,
            accepts=accepts,
            faulty=faulty,
        )
    )


@lru_cache(maxsize=512)
def of_length(wanted: Cuts) -> Language | None:
    """The texts whose number of characters is in a set; long ones are not told apart.

    Claim     A string whose LENGTH is in the set is in the answer.
    Proof     A state is that number, up to one from which on all are alike, or taken to be. A fault is
              one character more, or several.
    """
    ends = [int(value) for value, _ in wanted.points if not isinstance(value, bytes)]
    longest = max(0, min(max(ends, default=0), _LENGTH_MAX))
    return language(
        Machine(
            start=0,
            moves=lambda read: always(min(read + 1, longest)),
            accepts=lambda read: wanted.holds(read) if read < longest else sets.meets(longest, None, wanted),
            faulty=lambda read: sets.meets(min(read + 1, longest), None, wanted),
        )
    )


def _live(wanted: Language, state: int) -> bool:
    """Whether a member can be reached."""
    return state in live_states(wanted)


def _after(automaton: Automaton, state: int, character: str) -> int:
    return _run(automaton, state, character.encode())


def _run(automaton: Automaton, state: int, text: bytes) -> int:
    for byte in text:
        state = automaton.step(state, byte)
    return state
