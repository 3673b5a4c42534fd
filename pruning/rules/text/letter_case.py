"""UPPER and LOWER: what each character may become, and the texts that become one of a set.

Spark asks Java (3.5) or ICU (4.x), each with its own version of Unicode, in the locale of the JVM. A text
of ASCII alone has one answer. Elsewhere a character that Unicode 3.2 had, and whose counterparts it
had, becomes what it does in Python, but for those of `_AMBIGUOUS`; so does one that never has a case
(`caseless`). Any other may become any text without a character of ASCII.
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
from pruning.rules.sets.languages import Language
from pruning.rules.text.caseless import BLOCKS, is_caseless
from pruning.rules.text.character_runs import (
    LAST,
    Pieces,
    always,
    at,
    mapped,
    merged,
    overlaid,
    part,
    patched,
    zipped,
)
from pruning.rules.text.characters import Machine, language, live_states, may_fail, spelled

_ASCII_MAX = 0x7F
_ASSIGNED_MAX = 0x3FFFF  # up to plane 14 Unicode has nothing beyond yet
# What a character may become, depending on the locale (Turkish, Azeri, Lithuanian, Greek, Armenian) or
# on its neighbours; any text beyond ASCII where it is empty.
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
# Letters, beside all of UPPER's beyond ASCII, after which a mark may go: a dot above in Turkish or
# Lithuanian, accents in Greek, where a dieresis alone may be left of two.
_DOTTED: Mapping[Function, str] = {Function.UPPER: "ij", Function.LOWER: "I"}
_GREEK_MARKS = "\u0300\u0301\u0302\u0303\u0304\u0306\u0308\u0311\u0313\u0314\u0342\u0343\u0344\u0345"
# Letters that lack a counterpart may be given one.
_LACKING = {Function.UPPER: "Ll", Function.LOWER: "Lu"}
# Literals and some wildcards. Many of them take more: `ascii_case` then answers sooner.
_PIECES_MAX = 65_536
# None is "as it is"; no texts are "any beyond ASCII".
_Images: TypeAlias = tuple[bytes, ...] | None
# Where a set's automaton is if all was ASCII so far (else None), where it may be in any case, and whether
# a letter came before after which a mark may go.
_State: TypeAlias = tuple[int | None, frozenset[int], bool]


@lru_cache(maxsize=512)
def becoming(function: Function, wanted: Language) -> Language | None:
    """The texts whose UPPER or LOWER may be in a set; None if that takes too many states.

    Claim     A string whose UPPER (LOWER) is in the set is in the answer.
    Premises  Axiom CASE: a text becomes, character by character, one of the texts that `_images` gives,
              and what it does in ASCII if it is ASCII. Bytes that are not UTF-8 change no character
              before them, and become no ASCII.
    Proof     (1) The set's automaton runs over the images: where there are several, over each.
              (2) On a fault the string is in the answer if any rest leads from here into the set that
                  does not start with ASCII.
    """
    accepting = wanted.automaton.accepting

    def accepts(state: _State) -> bool:
        plain, others, _ = state
        if plain is None:
            return any(accepting[other] for other in others)
        return accepting[plain]

    start: _State = (0, _alive(wanted, [0]), False)
    return language(
        Machine(
            start=start,
            moves=lambda state: _moves(wanted, function, state),
            accepts=accepts,
            faulty=lambda state: any(may_fail(wanted, other) for other in state[1]),  # (2)
        ),
        pieces_max=_PIECES_MAX,
    )


def _moves(wanted: Language, function: Function, state: _State) -> Pieces[_State]:
    plain, others, dotted = state
    each = [_image_moves(wanted, function, other) for other in sorted(others)]
    joined = mapped(zipped(each), _union) if each else always(frozenset[int]())
    below, beyond = part(joined, 0, _ASCII_MAX), part(joined, _ASCII_MAX + 1, LAST)
    after = dotted or function is Function.UPPER
    moves: Pieces[_State] = (
        *((last, (None, to, dotted)) for last, to in below),
        *((last + _ASCII_MAX + 1, (None, to, after)) for last, to in beyond),
    )
    changes: dict[int, _State] = {}
    for code in map(ord, _DOTTED[function]) if plain is None else range(_ASCII_MAX + 1):
        exact = None if plain is None else _run(wanted, plain, changed(function, chr(code)).encode())
        changes[code] = (exact, at(joined, code), dotted or chr(code) in _DOTTED[function])
    marks = _DOT_ABOVE + (_GREEK_MARKS if function is Function.UPPER else "")
    for mark in map(ord, marks if dotted else ""):
        changes[mark] = (None, at(joined, mark) | others, True)
    return patched(moves, changes)


def _union(states: tuple[frozenset[int], ...]) -> frozenset[int]:
    return frozenset(chain.from_iterable(states))


@lru_cache(maxsize=4096)
def _image_moves(wanted: Language, function: Function, state: int) -> Pieces[frozenset[int]]:
    """Where the automaton may be after what each character may become.

    Nearly all characters lead to one state, from which nothing leads away, whatever they become; only
    the others are looked at one by one.
    """
    if wanted.automaton.settled(state):
        return always(_alive(wanted, [state]))
    unchanged = spelled(wanted, state)
    alone = {to: _alive(wanted, [to]) for _, to in unchanged}
    usual = _usual(wanted, unchanged)
    table = _changes(function)
    unknown = _beyond_ascii(wanted, state)
    settled_bytes = {byte for byte in range(256) if wanted.automaton.step(state, byte) == usual}
    runs: dict[int, tuple[int, frozenset[int]]] = {}
    for first, last, images in _among(table.runs, unchanged, usual):
        runs[first] = (last, _reached(wanted, state, images, unknown))
    for byte, changes in table.by_byte.items():
        if byte not in settled_bytes:
            runs |= {code: (code, _reached(wanted, state, images, unknown)) for code, images in changes}
    if usual is None or unknown != alone[usual]:
        runs |= {first: (last, unknown) for first, last in table.unknown}
    overlays = [(first, last, reached) for first, (last, reached) in sorted(runs.items())]
    return overlaid(mapped(unchanged, alone.__getitem__), overlays)


def _usual(wanted: Language, pieces: Pieces[int]) -> int | None:
    """The state without a way out that most characters lead to."""
    spans: dict[int, int] = {}
    start = 0
    for last, to in pieces:
        if wanted.automaton.settled(to):
            spans[to] = spans.get(to, 0) + last + 1 - start
        start = last + 1
    return max(spans, key=spans.__getitem__, default=None)


def _among(runs: "list[_Run]", pieces: Pieces[int], usual: int | None) -> "Iterator[_Run]":
    """The runs that are not wholly where all is as usual."""
    start = 0
    for last, to in pieces:
        if to != usual:
            place = bisect_left(runs, start, key=itemgetter(1))
            while place < len(runs) and runs[place][0] <= last:
                yield runs[place]
                place += 1
        start = last + 1


def _reached(
    wanted: Language, state: int, images: tuple[bytes, ...], unknown: frozenset[int]
) -> frozenset[int]:
    return _alive(wanted, [_run(wanted, state, image) for image in images]) if images else unknown


@lru_cache(maxsize=4096)
def _beyond_ascii(wanted: Language, state: int) -> frozenset[int]:
    """Where one or more characters that are not ASCII may lead, if a member can be reached from there."""
    reached: set[int] = set()
    pending = [state]
    while pending:
        following = {to for last, to in spelled(wanted, pending.pop()) if last > _ASCII_MAX} - reached
        reached |= following
        pending += following
    return _alive(wanted, sorted(reached))


def _alive(wanted: Language, states: Iterable[int]) -> frozenset[int]:
    """The states from which a member can be reached."""
    return live_states(wanted).intersection(states)


def _run(wanted: Language, state: int, text: bytes) -> int:
    for byte in text:
        state = wanted.automaton.step(state, byte)
    return state


# Characters from one to another, and what each of them may become.
_Run: TypeAlias = tuple[int, int, tuple[bytes, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Changes:
    """The characters that do not, or not surely, stay what they are (axiom CASE).

    Attributes:
        runs: All of them, ascending.
        by_byte: Those of which it is known what they may become, by the first bytes of that.
        unknown: Those of which it is not.
    """

    runs: list[_Run]
    by_byte: dict[int, list[tuple[int, tuple[bytes, ...]]]]
    unknown: list[tuple[int, int]]


@lru_cache(maxsize=2)
def _changes(function: Function) -> _Changes:
    runs: list[_Run] = []
    start = 0
    for last, images in merged(_each_image(function)):
        if images is not None:
            single = [(code, code, images) for code in range(start, last + 1)] if images else []
            runs += single or [(start, last, images)]
        start = last + 1
    by_byte: dict[int, list[tuple[int, tuple[bytes, ...]]]] = {}
    for code, _, images in runs:
        for byte in {image[0] for image in images}:
            by_byte.setdefault(byte, []).append((code, images))
    unknown = [(first, last) for first, last, images in runs if not images]
    return _Changes(runs=runs, by_byte=by_byte, unknown=unknown)


def _each_image(function: Function) -> Iterator[tuple[int, _Images]]:
    """What the characters up to each code point, after the last one, may become."""
    start = 0
    for block in BLOCKS:
        if start > _ASSIGNED_MAX:
            yield block.start - 1, ()
        else:
            yield from ((code, images_of(function, chr(code))) for code in range(start, block.start))
        yield block.stop - 1, None
        start = block.stop


def images_of(function: Function, character: str) -> _Images:
    """What a character may become: None is itself, no text is any text beyond ASCII (axiom CASE)."""
    ambiguous = _AMBIGUOUS[function].get(character)
    if ambiguous is not None:
        return tuple(image.encode() for image in ambiguous)
    image = changed(function, character)
    if is_caseless(character):
        return None
    if not all(unicodedata.ucd_3_2_0.category(each) != "Cn" for each in character + image):
        return ()
    if image != character:
        return (image.encode(),)
    return () if unicodedata.category(character) == _LACKING[function] else None


def changed(function: Function, character: str) -> str:
    """What Python makes of a character: of ASCII what Spark does, where all of the text is ASCII."""
    return character.upper() if function is Function.UPPER else character.lower()
