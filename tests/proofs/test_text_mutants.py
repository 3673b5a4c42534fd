"""TEXT-4: the properties of text can fail. Each mutant of a set loses a string, and is seen to."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pytest
from text_meanings import (
    ANCHORS,
    FAULTS,
    LETTERS,
    Regex,
    before,
    faulty,
    is_text,
    like,
    lpad,
    read,
    rlike,
    rpad,
    substring,
    texts,
)

from mutants.rules.text_sets import PREDICATE_MUTANTS, PREIMAGE_MUTANTS, Sets
from pruning.expressions.trees import Function
from pruning.expressions.types import INTEGER, STRING
from pruning.rules.families import patterns
from pruning.rules.sets import cuts, languages, value_sets
from pruning.rules.sets.languages import Language
from pruning.rules.sets.value_sets import Values
from pruning.rules.text import (
    ascii_case,
    interval_preimages,
    letter_case,
    preimages,
    search_preimages,
)

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
    """The sets that a predicate is TRUE and FALSE on, and its meaning."""

    true: Callable[[], Sets]
    meaning: Callable[[bytes], bool]

    def lost(self, sets: Callable[[], Sets]) -> list[bytes]:
        """The strings that are not in the set of their outcome."""
        true, false = sets()
        return [value for value in VALUES if not (true if self.meaning(value) else false).holds(value)]


@dataclass(frozen=True, slots=True)
class Preimage:
    """The strings that a function takes into a set, and what it makes of a string."""

    wanted: Values
    true: Callable[[Any], Values | None]
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
CASES: Mapping[str, Predicate | Preimage] = {
    "_ is a byte": Predicate(liked(b"a_"), like("a_", "\\")),
    "escape ignored": Predicate(liked(b"\\_"), like("\\_", "\\")),
    "LIKE is its prefix": Predicate(liked(b"a%b"), like("a%b", "\\")),
    "wildcards stop at line ends": Predicate(liked(b"a_b"), like("a_b", "\\")),
    "faults match nothing": Predicate(liked(b"a_%"), like("a_%", "\\")),
    "$ without line end": Predicate(found_in(b"a$"), rlike(END)),
    "$ inside a line end": Predicate(
        found_in(b"\r$"),
        rlike(Regex("\r$", "\r" + ANCHORS["$"])),
    ),
    ". is any character": Predicate(
        found_in(b"^.$"),
        rlike(Regex("", r"\A[^\n\r\x85\u2028\u2029]" + ANCHORS["$"])),
    ),
    "RLIKE of the whole": Predicate(found_in(b"a"), rlike(Regex("a", "a"))),
    "contains as prefix": Predicate(
        lambda: patterns._substring_sets(b"b", at_end=False),
        lambda value: b"b" in value,
    ),
    "endswith as contains": Predicate(
        lambda: patterns._substring_sets(b"a", at_end=True),
        lambda value: value.endswith(b"a"),
    ),
    "starts over after a mismatch": Predicate(
        lambda: patterns._substring_sets(b"aab", at_end=False),
        lambda value: b"aab" in value,
    ),
    "UPPER character for character": Preimage(
        language_of(b"SS", "SSÉ".encode()),
        _becoming(Function.UPPER),
        of_text(str.upper),
    ),
    "LOWER without final sigma": Preimage(
        language_of("ς".encode()),
        _becoming(Function.LOWER),
        _final_sigma,
    ),
    "UPPER in one locale": Preimage(
        language_of("İÉ".encode(), "ÉİÉ".encode()),
        _becoming(Function.UPPER),
        _turkish,
    ),
    "UPPER keeps accents": Preimage(
        language_of("Σ".encode()),
        _becoming(Function.UPPER),
        _greek,
    ),
    "letters without case": Preimage(
        language_of("É".encode()),
        lambda wanted: ascii_case.case_preimage_over_ascii(Function.UPPER, wanted),
        of_text(str.upper),
    ),
    "TRIM of tabs too": Preimage(
        language_of(b"a\t", b"\ta", b"\t"),
        lambda wanted: preimages.trim_preimage(wanted, " ", leading=True, trailing=True),
        of_text(lambda s: s.strip(" ")),
    ),
    "LTRIM as TRIM": Preimage(
        A_SPACE,
        lambda wanted: preimages.trim_preimage(wanted, " ", leading=True, trailing=False),
        of_text(lambda s: s.lstrip(" ")),
    ),
    "SUBSTRING by bytes": Preimage(
        cuts.of_values(["éa".encode(), "aé".encode()], STRING),
        lambda wanted: interval_preimages.truncation_preimage(wanted, 2),
        of_text(lambda s: substring(s, 1, 2)),
    ),
    "SUBSTRING reads to the end alone": Preimage(
        cuts.of_values(["é".encode(), "aé".encode()], STRING),
        lambda wanted: interval_preimages.truncation_preimage(wanted, 2),
        _reads_on,
    ),
    "SUBSTRING from 0 loses one": Preimage(
        language_of(b"ab"),
        lambda wanted: preimages.substring_preimage(wanted, 0, 2),
        of_text(lambda s: substring(s, 0, 2)),
    ),
    "SUBSTRING from the end stays inside": Preimage(
        language_of(b"a"),
        lambda wanted: preimages.substring_preimage(wanted, -3, 2),
        of_text(lambda s: substring(s, -3, 2)),
    ),
    "CONCAT forgets its end": Preimage(
        language_of(b"ab"),
        lambda wanted: preimages.concat_preimage(wanted, b"", b"b"),
        of_text(lambda s: s + "b"),
    ),
    "LENGTH in bytes": Preimage(cuts.of_values([1], INTEGER), preimages.length_preimage, of_text(len)),
    "RPAD never cuts": Preimage(
        language_of(b"ab"),
        lambda wanted: preimages.pad_preimage(wanted, 2, " "),
        of_text(lambda s: rpad(s, 2, " ")),
    ),
    "LPAD as RPAD": Preimage(
        language_of(b"ba"),
        lambda wanted: search_preimages.left_pad_preimage(wanted, 2, "b"),
        of_text(lambda s: lpad(s, 2, "b")),
    ),
    "REPLACE of the first alone": Preimage(
        language_of(b"b"),
        lambda wanted: search_preimages.replace_preimage(wanted, "aab", "b"),
        of_text(lambda s: s.replace("aab", "b")),
    ),
    "the text starts over after a mismatch": Preimage(
        language_of(b"a"),
        lambda wanted: search_preimages.start_preimage(wanted, "aab", 1),
        of_text(lambda s: before(s, "aab", 1)),
    ),
    "separators that do not overlap": Preimage(
        language_of(b"a"),
        lambda wanted: search_preimages.start_preimage(wanted, "aa", 2),
        of_text(lambda s: before(s, "aa", 2)),
    ),
    "positions from 0": Preimage(
        cuts.of_values([1], INTEGER),
        lambda wanted: search_preimages.position_preimage(wanted, "b"),
        of_text(lambda s: s.find("b") + 1),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_the_true_sets_lose_nothing(name: str) -> None:
    subject: Any = CASES[name]
    assert subject.lost(subject.true) == []


@pytest.mark.parametrize("name", CASES)
def test_the_property_kills_the_mutant(name: str) -> None:
    subject: Any = CASES[name]
    assert subject.lost({**PREDICATE_MUTANTS, **PREIMAGE_MUTANTS}[name])


def test_each_mutant_of_a_set_has_a_case_that_kills_it() -> None:
    for mutants, case in ((PREDICATE_MUTANTS, Predicate), (PREIMAGE_MUTANTS, Preimage)):
        assert set(mutants) == {name for name in CASES if isinstance(CASES[name], case)}


def test_the_strings_hold_every_hard_one() -> None:
    """Faults, line ends, and characters that change their length with their case are among them."""
    assert all(any(fault in value for value in VALUES) for fault in FAULTS)
    assert {b"a\r\n", "ß".encode(), "\U0010ffff".encode(), b"a \t"} <= set(VALUES)
    assert read(b"a\xff") == "a\ufffd"
    assert re.fullmatch("a.", read(b"a\xff"))
