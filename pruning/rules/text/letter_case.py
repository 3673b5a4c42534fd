"""UPPER and LOWER: the images of each character, and preimages of sets of texts.

Spark uses Java (3.5) or ICU (4.x), each with its own version of Unicode, in the locale of the JVM. A text
of ASCII alone has one image. In other texts a character that is in Unicode 3.2 together with its
counterparts becomes what it does in Python, except for those of `_AMBIGUOUS`; so does a character that
never has a case (`caseless`). Any other character may become any text without an ASCII character.
"""

import unicodedata
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from operator import itemgetter
from typing import TypeAlias

from pruning.expressions.trees import Function
from pruning.rules.sets.languages import STATES_MAX, Language
from pruning.rules.text.caseless import BLOCKS, is_caseless
from pruning.rules.text.character_runs import (
    LAST,
    Transitions,
    constant_transitions,
    map_states,
    merge_runs,
    product_transitions,
    slice_runs,
    state_after,
    with_changes,
    with_run_changes,
)
from pruning.rules.text.characters import (
    CharacterAutomaton,
    byte_language,
    character_transitions,
    live_states,
    may_accept_malformed,
)

_ASCII_MAX = 0x7F
_ASSIGNED_MAX = 0x3FFFF  # from here to plane 14 Unicode has assigned nothing yet
# The images of a character that depend on the locale (Turkish, Azeri, Lithuanian, Greek, Armenian) or on
# its neighbours; an empty tuple means any text without ASCII.
_DOT_ABOVE = "\u0307"
_AMBIGUOUS: Mapping[Function, Mapping[str, tuple[str, ...]]] = {
    Function.UPPER: {
        "i": ("I", "\u0130"),
        "\u0344": ("\u0344", "\u0308"),
        "\u0587": (),
        "\u2126": (),
        **{chr(greek): () for greek in chain(range(0x370, 0x400), range(0x1F00, 0x2000))},
    },
    Function.LOWER: {
        "I": ("i", "\u0131", "i" + _DOT_ABOVE),
        "J": ("j", "j" + _DOT_ABOVE),
        "\u012e": ("\u012f", "\u012f" + _DOT_ABOVE),
        "\u00cc": ("\u00ec", "i" + _DOT_ABOVE + "\u0300"),
        "\u00cd": ("\u00ed", "i" + _DOT_ABOVE + "\u0301"),
        "\u0128": ("\u0129", "i" + _DOT_ABOVE + "\u0303"),
        "\u0130": ("i" + _DOT_ABOVE, "i"),
        "\u03a3": ("\u03c3", "\u03c2"),
    },
}
# ASCII letters after which a combining mark may be dropped: a dot above in Turkish or Lithuanian. UPPER may
# also drop marks after any letter beyond ASCII: accents in Greek, where one dieresis may remain of two.
_DOTTED: Mapping[Function, str] = {Function.UPPER: "ij", Function.LOWER: "I"}
_GREEK_MARKS = "\u0300\u0301\u0302\u0303\u0304\u0306\u0308\u0311\u0313\u0314\u0342\u0343\u0344\u0345"
# A letter of this category without a counterpart may get one in a later version of Unicode.
_LACKING = {Function.UPPER: "Ll", Function.LOWER: "Lu"}
# Enough for literals and some wildcards. Patterns with many wildcards go to `ascii_case`, which is faster.
_TRANSITIONS_MAX = 65_536
# Of a literal inside of a text, with a few letters beyond ASCII, more states are explored than remain.
_STATES_MAX = 2 * STATES_MAX
# The texts that a character may become: None means itself, an empty tuple any text without ASCII.
_Images: TypeAlias = tuple[bytes, ...] | None
# The state of the target set's automaton if all characters were ASCII so far (else None), the states that
# it may be in otherwise, and whether a letter came before after which a mark may be dropped.
_State: TypeAlias = tuple[int | None, frozenset[int], bool]


@lru_cache(maxsize=512)
def case_preimage(function: Function, wanted: Language) -> Language | None:
    """Return the texts whose UPPER or LOWER may be in a set; None if that takes too many states.

    Claim     A string whose UPPER (LOWER) is in the set is in the answer.
    Premises  Axiom CASE: a text becomes, character by character, one of the texts that `images_of` gives;
              if it is all ASCII, what ASCII gives. Bytes that are not UTF-8 change no character
              before them, and become no ASCII.
    Proof     (1) The set's automaton runs over the images: where there are several, over each.
              (2) On a fault the string is in the answer if any rest leads from here into the set that
                  does not start with ASCII.
    """
    accepting = wanted.automaton.accepting

    def accepts(state: _State) -> bool:
        """Tell whether a text that leads to a state may become a member."""
        plain, others, _ = state
        if plain is None:
            return any(accepting[other] for other in others)
        return accepting[plain]

    start: _State = (0, _live(wanted, [0]), False)
    return byte_language(
        CharacterAutomaton(
            start=start,
            moves=lambda state: _moves(wanted, function, state),
            accepts=accepts,
            accepts_malformed=lambda state: any(
                may_accept_malformed(wanted, other) for other in state[1]
            ),  # (2)
        ),
        states_max=_STATES_MAX,
        transitions_max=_TRANSITIONS_MAX,
    )


def _moves(wanted: Language, function: Function, state: _State) -> Transitions[_State]:
    """Return the transitions of a state over all characters."""
    plain, others, dotted = state
    moves_of_states = [_image_moves(wanted, function, other) for other in sorted(others)]
    joined = (
        map_states(product_transitions(moves_of_states), _union)
        if moves_of_states
        else constant_transitions(frozenset[int]())
    )
    below, beyond = slice_runs(joined, 0, _ASCII_MAX), slice_runs(joined, _ASCII_MAX + 1, LAST)
    after = dotted or function is Function.UPPER
    moves: Transitions[_State] = (
        *((last, (None, to, dotted)) for last, to in below),
        *((last + _ASCII_MAX + 1, (None, to, after)) for last, to in beyond),
    )
    changes: dict[int, _State] = {}
    for code in map(ord, _DOTTED[function]) if plain is None else range(_ASCII_MAX + 1):
        exact = None if plain is None else _run(wanted, plain, python_case(function, chr(code)).encode())
        changes[code] = (exact, state_after(joined, code), dotted or chr(code) in _DOTTED[function])
    marks = _DOT_ABOVE + (_GREEK_MARKS if function is Function.UPPER else "")
    for mark in map(ord, marks if dotted else ""):
        changes[mark] = (None, state_after(joined, mark) | others, True)
    return with_changes(moves, changes)


def _union(states: tuple[frozenset[int], ...]) -> frozenset[int]:
    """Return the union of sets of states."""
    return frozenset(chain.from_iterable(states))


@lru_cache(maxsize=4096)
def _image_moves(wanted: Language, function: Function, state: int) -> Transitions[frozenset[int]]:
    """Return the states that the automaton may be in after the images of each character.

    Nearly all characters lead to one sink state whatever they become; only the others are looked at one by
    one.
    """
    if wanted.automaton.is_sink(state):
        return constant_transitions(_live(wanted, [state]))
    unchanged = character_transitions(wanted, state)
    alone = {to: _live(wanted, [to]) for _, to in unchanged}
    usual = _common_sink(wanted, unchanged)
    table = _case_changes(function)
    unknown = _states_beyond_ascii(wanted, state)
    settled_bytes = {byte for byte in range(256) if wanted.automaton.step(state, byte) == usual}
    runs: dict[int, tuple[int, frozenset[int]]] = {}
    for first, last, images in _unusual_runs(table.runs, unchanged, usual):
        runs[first] = (last, _states_after_images(wanted, state, images, unknown))
    for byte, changes in table.by_byte.items():
        if byte not in settled_bytes:
            runs |= {
                code: (code, _states_after_images(wanted, state, images, unknown)) for code, images in changes
            }
    if usual is None or unknown != alone[usual]:
        runs |= {first: (last, unknown) for first, last in table.unknown}
    overlays = [(first, last, reached) for first, (last, reached) in sorted(runs.items())]
    return with_run_changes(map_states(unchanged, alone.__getitem__), overlays)


def _common_sink(wanted: Language, transitions: Transitions[int]) -> int | None:
    """Return the sink state that most characters lead to."""
    spans: dict[int, int] = {}
    start = 0
    for last, to in transitions:
        if wanted.automaton.is_sink(to):
            spans[to] = spans.get(to, 0) + last + 1 - start
        start = last + 1
    return max(spans, key=spans.__getitem__, default=None)


def _unusual_runs(runs: "list[_Run]", transitions: Transitions[int], usual: int | None) -> "Iterator[_Run]":
    """Yield the runs that touch characters which do not lead to the usual state."""
    start = 0
    for last, to in transitions:
        if to != usual:
            place = bisect_left(runs, start, key=itemgetter(1))
            while place < len(runs) and runs[place][0] <= last:
                yield runs[place]
                place += 1
        start = last + 1


def _states_after_images(
    wanted: Language, state: int, images: tuple[bytes, ...], unknown: frozenset[int]
) -> frozenset[int]:
    """Return the live states after the images of a character."""
    return _live(wanted, [_run(wanted, state, image) for image in images]) if images else unknown


@lru_cache(maxsize=4096)
def _states_beyond_ascii(wanted: Language, state: int) -> frozenset[int]:
    """Return the live states that one or more characters beyond ASCII may lead to."""
    reached: set[int] = set()
    pending = [state]
    while pending:
        following = {
            to for last, to in character_transitions(wanted, pending.pop()) if last > _ASCII_MAX
        } - reached
        reached |= following
        pending += following
    return _live(wanted, sorted(reached))


def _live(wanted: Language, states: Iterable[int]) -> frozenset[int]:
    """Return those of the states from which a member can be reached."""
    return live_states(wanted).intersection(states)


def _run(wanted: Language, state: int, text: bytes) -> int:
    """Return the state of the set's automaton after a text."""
    for byte in text:
        state = wanted.automaton.step(state, byte)
    return state


# The first and the last character of a run, and the images of each of its characters.
_Run: TypeAlias = tuple[int, int, tuple[bytes, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _CaseChanges:
    """The characters that do not, or not surely, stay as they are (axiom CASE).

    Attributes:
        runs: All of them, ascending.
        by_byte: Those whose images are known, by the first bytes of the images.
        unknown: The runs of those whose images are not known.
    """

    runs: list[_Run]
    by_byte: dict[int, list[tuple[int, tuple[bytes, ...]]]]
    unknown: list[tuple[int, int]]


@lru_cache(maxsize=2)
def _case_changes(function: Function) -> _CaseChanges:
    """Return the characters that UPPER (LOWER) may change."""
    runs: list[_Run] = []
    start = 0
    for last, images in merge_runs(_image_runs(function)):
        if images is not None:
            single = [(code, code, images) for code in range(start, last + 1)] if images else []
            runs += single or [(start, last, images)]
        start = last + 1
    by_byte: dict[int, list[tuple[int, tuple[bytes, ...]]]] = {}
    for code, _, images in runs:
        for byte in {image[0] for image in images}:
            by_byte.setdefault(byte, []).append((code, images))
    unknown = [(first, last) for first, last, images in runs if not images]
    return _CaseChanges(runs=runs, by_byte=by_byte, unknown=unknown)


def _image_runs(function: Function) -> Iterator[tuple[int, _Images]]:
    """Yield the last code point of each run of characters with the same images, and the images."""
    start = 0
    for block in BLOCKS:
        if start > _ASSIGNED_MAX:
            yield block.start - 1, ()
        else:
            yield from ((code, images_of(function, chr(code))) for code in range(start, block.start))
        yield block.stop - 1, None
        start = block.stop


def images_of(function: Function, character: str) -> _Images:
    """Return the texts that a character may become: None is itself, () any text beyond ASCII (axiom CASE)."""
    ambiguous = _AMBIGUOUS[function].get(character)
    if ambiguous is not None:
        return tuple(image.encode() for image in ambiguous)
    image = python_case(function, character)
    if is_caseless(character):
        return None
    if not all(unicodedata.ucd_3_2_0.category(letter) != "Cn" for letter in character + image):
        return ()
    if image != character:
        return (image.encode(),)
    return () if unicodedata.category(character) == _LACKING[function] else None


def python_case(function: Function, character: str) -> str:
    """Return Python's UPPER or LOWER of a character; Spark's is the same in texts that are all ASCII."""
    return character.upper() if function is Function.UPPER else character.lower()
