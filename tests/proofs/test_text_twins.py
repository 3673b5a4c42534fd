"""TEXT-4: the properties of text can fail. Each mistake below loses a string, and is seen to."""

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

import pytest
from text_meanings import (
    ANCHORS,
    FAULTS,
    LETTERS,
    Regex,
    faulty,
    is_text,
    like,
    read,
    rlike,
    rpad,
    substring,
    texts,
)

from pruning.expressions.trees import Function
from pruning.expressions.types import INTEGER, STRING
from pruning.rules.families import patterns
from pruning.rules.sets import cuts, languages, value_sets
from pruning.rules.sets.languages import Language
from pruning.rules.sets.value_sets import Values
from pruning.rules.text import (
    ascii_case,
    interval_preimages,
    java_patterns,
    letter_case,
    like_patterns,
    preimages,
    regular_expressions,
)
from pruning.rules.text.characters import byte_language

Sets = tuple[Values, Values]
VALUES = [
    *texts(LETTERS, 1),
    *texts(tuple("ab\n\ré"), 3),
    *texts(("a", "b"), 5),
    *texts(("i", "é", "ß", "Σ"), 2),
    b"a\xc3",
    *texts(("a", " ", "\t"), 4),
    *faulty(("a", "b", "é"), 1),
    "Σ\u0301".encode(),
]


@dataclass(frozen=True, slots=True)
class Predicate:
    """The sets that a predicate is said to be TRUE and FALSE on, rightly and wrongly, and what it means."""

    true: Callable[[], Sets]
    twin: Callable[[], Sets]
    meaning: Callable[[bytes], bool]

    def lost(self, sets: Callable[[], Sets]) -> list[bytes]:
        """The strings that are not in the set of their outcome."""
        true, false = sets()
        return [value for value in VALUES if not (true if self.meaning(value) else false).holds(value)]


@dataclass(frozen=True, slots=True)
class Preimage:
    """What a function takes into a set, rightly and wrongly, and what it makes of a string."""

    wanted: Values
    true: Callable[[Any], Values | None]
    twin: Callable[[Any], Values | None]
    meaning: Callable[[bytes], Any]

    def lost(self, preimage: Callable[[Any], Values | None]) -> list[bytes]:
        """The strings whose results are wanted and that are not in the answer."""
        wanted = self.wanted
        found = preimage(wanted)
        assert found is not None
        return [
            value
            for value in VALUES
            if (result := self.meaning(value)) is not None and wanted.holds(result) and not found.holds(value)
        ]


def of_text(meaning: Callable[[str], str | int]) -> Callable[[bytes], Any]:
    """A meaning that is asked of UTF-8 alone."""

    def of_bytes(value: bytes) -> Any:
        result = meaning(value.decode()) if is_text(value) else None
        return result.encode() if isinstance(result, str) else result

    return of_bytes


@contextmanager
def changed(module: Any, name: str, value: object) -> Iterator[None]:
    """A module with something else in it, and nothing remembered."""
    cached = (
        letter_case.case_preimage,
        letter_case._case_changes,
        letter_case._image_moves,
        ascii_case.case_preimage_over_ascii,
        regular_expressions.match_sets,
    )
    with mock.patch.object(module, name, value):
        for function in (
            *cached,
            preimages.trim_preimage,
            preimages.substring_preimage,
            patterns._substring_sets,
        ):
            function.cache_clear()
        yield
    for function in (
        *cached,
        preimages.trim_preimage,
        preimages.substring_preimage,
        patterns._substring_sets,
    ):
        function.cache_clear()


def under(module: Any, name: str, value: object, ask: Callable[..., Any]) -> Callable[..., Any]:
    """A question asked of a changed module."""

    def asked(*arguments: Any) -> Any:
        with changed(module, name, value):
            return ask(*arguments)

    return asked


def language_of(*values: bytes) -> Language:
    found = languages.of_cuts(cuts.of_values(values, STRING))
    assert found is not None
    return found


def exactly(found: Values | None) -> Sets:
    assert found is not None
    return found, value_sets.complement(found)


def liked(pattern: bytes) -> Callable[[], Sets]:
    return lambda: patterns.like_sets(pattern, "\\")


def found_in(pattern: bytes) -> Callable[[], Sets]:
    return lambda: patterns.rlike_sets(pattern)


def _wildcard_is_a_byte(pattern: bytes) -> Sets:
    """`_` taken for one byte."""
    loops = {place for place, byte in enumerate(pattern) if byte == ord("%")}

    def closed(places: set[int]) -> frozenset[int]:
        for place in range(len(pattern)):
            if place in places and place in loops:
                places.add(place + 1)
        return frozenset(places)

    def step(places: frozenset[int], byte: int) -> frozenset[int]:
        moved = {place + 1 for place in places if pattern[place : place + 1] in (b"_", bytes([byte]))}
        return closed(moved | (places & loops))

    return exactly(languages.from_automaton(closed({0}), step, lambda places: len(pattern) in places))


def _whole_match(pattern: bytes) -> Sets:
    """RLIKE taken to match the whole text."""
    found = java_patterns.parse_search(b"^(" + pattern + b")$")
    assert found is not None
    matched = regular_expressions.match_sets(found)
    assert matched is not None
    return matched.true, matched.false


def _faults_match_nothing() -> Sets:
    """Strings that are not UTF-8 taken for strings that no pattern matches."""
    with changed(
        regular_expressions,
        "byte_language",
        lambda machine: byte_language(replace(machine, accepts_malformed=lambda _: False)),
    ):
        return patterns.like_sets(b"a_%", "\\")


def _length_in_bytes(wanted: Any) -> Language | None:
    return languages.from_automaton(0, lambda read, _: min(read + 1, 9), wanted.holds)


def _only_shorter(wanted: Any) -> Values:
    """RPAD taken to pad, not to cut."""
    padded = preimages.pad_preimage(wanted, 2, " ")
    short = preimages.length_preimage(cuts.below(2, INTEGER, inclusive=True))
    assert padded is not None
    assert short is not None
    return value_sets.intersection(padded, short)


def _simple(function: Function, character: str) -> str:
    """The mapping of one character to one."""
    image = character.upper() if function is Function.UPPER else character.lower()
    return image if len(image) == 1 else character


def _unambiguous(function: Function, *letters: str) -> dict[Function, dict[str, tuple[str, ...]]]:
    table = {each: dict(images) for each, images in letter_case._AMBIGUOUS.items()}
    for letter in letters:
        del table[function][letter]
    return table


def _becoming(function: Function) -> Callable[[Any], Language | None]:
    return lambda wanted: letter_case.case_preimage(function, wanted)


def _final_sigma(value: bytes) -> bytes | None:
    """A last letter that Java writes in its final form."""
    return value.decode().replace("Σ", "ς").lower().encode() if is_text(value) else None


def _greek(value: bytes) -> bytes | None:
    """An accent that goes after a Greek letter."""
    return value.decode().replace("Σ\u0301", "Σ").encode() if is_text(value) else None


def _turkish(value: bytes) -> bytes | None:
    if not is_text(value):
        return None
    characters = value.decode()
    return (characters if characters.isascii() else characters.replace("i", "İ")).upper().encode()


def _reads_on(value: bytes) -> bytes:
    """SUBSTRING that takes what lies behind a string which ends inside a character."""
    return value + b"\xa9" if value.endswith(b"\xc3") else interval_preimages.first_characters(value, 2)


END = Regex("a$", "a" + ANCHORS["$"])
A_SPACE = language_of(b"a ")
TWINS: Mapping[str, Predicate | Preimage] = {
    "_ is a byte": Predicate(liked(b"a_"), lambda: _wildcard_is_a_byte(b"a_"), like("a_", "\\")),
    "escape ignored": Predicate(liked(b"\\_"), lambda: patterns.like_sets(b"\\_", "\0"), like("\\_", "\\")),
    "LIKE is its prefix": Predicate(
        liked(b"a%b"), lambda: patterns._prefix_sets(like_patterns.prefix(b"a%b", "\\")[0]), like("a%b", "\\")
    ),
    "wildcards stop at line ends": Predicate(
        liked(b"a_b"), lambda: patterns.rlike_sets(b"^a.b$"), like("a_b", "\\")
    ),
    "faults match nothing": Predicate(liked(b"a_%"), _faults_match_nothing, like("a_%", "\\")),
    "$ without line end": Predicate(
        found_in(b"a$"), under(java_patterns, "_END", regular_expressions.EMPTY, found_in(b"a$")), rlike(END)
    ),
    "$ inside a line end": Predicate(
        found_in(b"\r$"),
        under(
            java_patterns,
            "_END",
            regular_expressions.Alternation(
                (regular_expressions.EMPTY, regular_expressions.CharacterClass(((10, 10), (13, 13))))
            ),
            found_in(b"\r$"),
        ),
        rlike(Regex("\r$", "\r" + ANCHORS["$"])),
    ),
    ". is any character": Predicate(
        found_in(b"^.$"),
        under(java_patterns, "_LINE_ENDS", (), found_in(b"^.$")),
        rlike(Regex("", r"\A[^\n\r\x85\u2028\u2029]" + ANCHORS["$"])),
    ),
    "RLIKE of the whole": Predicate(found_in(b"a"), lambda: _whole_match(b"a"), rlike(Regex("a", "a"))),
    "contains as prefix": Predicate(
        lambda: patterns._substring_sets(b"b", at_end=False),
        lambda: exactly(cuts.with_prefix(b"b", STRING)),
        lambda value: b"b" in value,
    ),
    "endswith as contains": Predicate(
        lambda: patterns._substring_sets(b"a", at_end=True),
        lambda: patterns._substring_sets(b"a", at_end=False),
        lambda value: value.endswith(b"a"),
    ),
    "starts over after a mismatch": Predicate(
        lambda: patterns._substring_sets(b"aab", at_end=False),
        under(
            patterns,
            "_borders",
            lambda part: [0] * (len(part) + 1),
            lambda: patterns._substring_sets(b"aab", at_end=False),
        ),
        lambda value: b"aab" in value,
    ),
    "UPPER character for character": Preimage(
        language_of(b"SS", "SSÉ".encode()),
        _becoming(Function.UPPER),
        under(letter_case, "python_case", _simple, _becoming(Function.UPPER)),
        of_text(str.upper),
    ),
    "LOWER without final sigma": Preimage(
        language_of("ς".encode()),
        _becoming(Function.LOWER),
        under(letter_case, "_AMBIGUOUS", _unambiguous(Function.LOWER, "Σ"), _becoming(Function.LOWER)),
        _final_sigma,
    ),
    "UPPER in one locale": Preimage(
        language_of("İÉ".encode(), "ÉİÉ".encode()),
        _becoming(Function.UPPER),
        under(letter_case, "_AMBIGUOUS", _unambiguous(Function.UPPER, "i"), _becoming(Function.UPPER)),
        _turkish,
    ),
    "UPPER keeps accents": Preimage(
        language_of("Σ".encode()),
        _becoming(Function.UPPER),
        under(letter_case, "_GREEK_MARKS", "", _becoming(Function.UPPER)),
        _greek,
    ),
    "letters without case": Preimage(
        language_of("É".encode()),
        lambda wanted: ascii_case.case_preimage_over_ascii(Function.UPPER, wanted),
        under(
            ascii_case,
            "_OTHER_CHARACTERS",
            (),
            lambda wanted: ascii_case.case_preimage_over_ascii(Function.UPPER, wanted),
        ),
        of_text(str.upper),
    ),
    "TRIM of tabs too": Preimage(
        language_of(b"a\t", b"\ta", b"\t"),
        lambda wanted: preimages.trim_preimage(wanted, " ", leading=True, trailing=True),
        lambda wanted: preimages.trim_preimage(wanted, " \t", leading=True, trailing=True),
        of_text(lambda s: s.strip(" ")),
    ),
    "LTRIM as TRIM": Preimage(
        A_SPACE,
        lambda wanted: preimages.trim_preimage(wanted, " ", leading=True, trailing=False),
        lambda wanted: preimages.trim_preimage(wanted, " ", leading=True, trailing=True),
        of_text(lambda s: s.lstrip(" ")),
    ),
    "SUBSTRING by bytes": Preimage(
        cuts.of_values(["éa".encode(), "aé".encode()], STRING),
        lambda wanted: interval_preimages.truncation_preimage(wanted, 2),
        under(
            interval_preimages,
            "_WIDTHS",
            (1,) * 256,
            lambda wanted: interval_preimages.truncation_preimage(wanted, 2),
        ),
        of_text(lambda s: substring(s, 1, 2)),
    ),
    "SUBSTRING reads to the end alone": Preimage(
        cuts.of_values(["é".encode(), "aé".encode()], STRING),
        lambda wanted: interval_preimages.truncation_preimage(wanted, 2),
        under(
            interval_preimages,
            "_is_broken",
            lambda *_: False,
            lambda wanted: interval_preimages.truncation_preimage(wanted, 2),
        ),
        _reads_on,
    ),
    "SUBSTRING from 0 loses one": Preimage(
        language_of(b"ab"),
        lambda wanted: preimages.substring_preimage(wanted, 0, 2),
        lambda wanted: preimages.substring_preimage(wanted, 1, 1),
        of_text(lambda s: substring(s, 0, 2)),
    ),
    "SUBSTRING from the end stays inside": Preimage(
        language_of(b"a"),
        lambda wanted: preimages.substring_preimage(wanted, -3, 2),
        lambda wanted: preimages.concat_preimage(wanted, b"", b"b"),
        of_text(lambda s: substring(s, -3, 2)),
    ),
    "CONCAT forgets its end": Preimage(
        language_of(b"ab"),
        lambda wanted: preimages.concat_preimage(wanted, b"", b"b"),
        lambda wanted: preimages.concat_preimage(wanted, b"", b""),
        of_text(lambda s: s + "b"),
    ),
    "LENGTH in bytes": Preimage(
        cuts.of_values([1], INTEGER), preimages.length_preimage, _length_in_bytes, of_text(len)
    ),
    "RPAD never cuts": Preimage(
        language_of(b"ab"),
        lambda wanted: preimages.pad_preimage(wanted, 2, " "),
        _only_shorter,
        of_text(lambda s: rpad(s, 2, " ")),
    ),
}


@pytest.mark.parametrize("name", TWINS)
def test_the_true_sets_lose_nothing(name: str) -> None:
    subject: Any = TWINS[name]
    assert subject.lost(subject.true) == []


@pytest.mark.parametrize("name", TWINS)
def test_the_property_kills_the_broken_twin(name: str) -> None:
    subject: Any = TWINS[name]
    assert subject.lost(subject.twin)


def test_the_strings_hold_every_hard_one() -> None:
    """Faults, line ends, and characters that change their length with their case are among them."""
    assert all(any(fault in value for value in VALUES) for fault in FAULTS)
    assert {b"a\r\n", "ß".encode(), "\U0010ffff".encode(), b"a \t"} <= set(VALUES)
    assert read(b"a\xff") == "a\ufffd"
    assert re.fullmatch("a.", read(b"a\xff"))
