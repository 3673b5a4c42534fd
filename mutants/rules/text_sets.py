"""Mutants of sets of texts: of text predicates and of preimages under functions of text.

A mutant of a predicate gives the sets on which it is wrongly said to be TRUE and FALSE; one of a preimage
gives the texts that a function is wrongly said to take into a set.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeAlias
from unittest import mock

from pruning.expressions.trees import Function
from pruning.expressions.types import INTEGER, STRING
from pruning.rules.families import patterns
from pruning.rules.sets import cuts, languages, value_sets
from pruning.rules.sets.cuts import Cuts
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
    search_preimages,
)
from pruning.rules.text.characters import byte_language

# The strings on which a predicate is TRUE, and those on which it is FALSE.
Sets: TypeAlias = tuple[Values, Values]


@contextmanager
def _replace_attribute(module: Any, name: str, value: object) -> Iterator[None]:
    """Replace an attribute of a module for a while, with the caches empty before and after."""
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
            search_preimages.replace_preimage,
            search_preimages.start_preimage,
            patterns._substring_sets,
        ):
            function.cache_clear()
        yield
    for function in (
        *cached,
        preimages.trim_preimage,
        preimages.substring_preimage,
        search_preimages.replace_preimage,
        search_preimages.start_preimage,
        patterns._substring_sets,
    ):
        function.cache_clear()


def _ask_with(module: Any, name: str, value: object, ask: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that asks while an attribute of a module is replaced."""

    def ask_changed(*arguments: Any) -> Any:
        with _replace_attribute(module, name, value):
            return ask(*arguments)

    return ask_changed


def _exactly(values: Values | None) -> Sets:
    assert values is not None
    return values, value_sets.complement(values)


def _found_in(pattern: bytes) -> Callable[[], Sets]:
    return lambda: patterns.rlike_sets(pattern)


def _becoming(function: Function) -> Callable[[Any], Language | None]:
    return lambda wanted: letter_case.case_preimage(function, wanted)


def _wildcard_is_a_byte(pattern: bytes) -> Sets:
    """`_` taken for one byte."""
    loops = {place for place, byte in enumerate(pattern) if byte == ord("%")}

    def closure(places: set[int]) -> frozenset[int]:
        for place in range(len(pattern)):
            if place in places and place in loops:
                places.add(place + 1)
        return frozenset(places)

    def step(places: frozenset[int], byte: int) -> frozenset[int]:
        moved = {place + 1 for place in places if pattern[place : place + 1] in (b"_", bytes([byte]))}
        return closure(moved | (places & loops))

    return _exactly(languages.from_automaton(closure({0}), step, lambda places: len(pattern) in places))


def _whole_match(pattern: bytes) -> Sets:
    """RLIKE taken to match the whole text."""
    found = java_patterns.parse_search(b"^(" + pattern + b")$")
    assert found is not None
    matched = regular_expressions.match_sets(found)
    assert matched is not None
    return matched.true, matched.false


def _faults_match_nothing() -> Sets:
    """Strings that are not UTF-8 taken for strings that no pattern matches."""
    with _replace_attribute(
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


PREDICATE_MUTANTS: Mapping[str, Callable[[], Sets]] = {
    "_ is a byte": lambda: _wildcard_is_a_byte(b"a_"),
    "escape ignored": lambda: patterns.like_sets(b"\\_", "\0"),
    "LIKE is its prefix": lambda: patterns._prefix_sets(like_patterns.prefix(b"a%b", "\\")[0]),
    "wildcards stop at line ends": lambda: patterns.rlike_sets(b"^a.b$"),
    "faults match nothing": _faults_match_nothing,
    "$ without line end": _ask_with(java_patterns, "_END", regular_expressions.EMPTY, _found_in(b"a$")),
    "$ inside a line end": _ask_with(
        java_patterns,
        "_END",
        regular_expressions.Alternation(
            (regular_expressions.EMPTY, regular_expressions.CharacterClass(((10, 10), (13, 13))))
        ),
        _found_in(b"\r$"),
    ),
    ". is any character": _ask_with(java_patterns, "_LINE_ENDS", (), _found_in(b"^.$")),
    "RLIKE of the whole": lambda: _whole_match(b"a"),
    "contains as prefix": lambda: _exactly(cuts.with_prefix(b"b", STRING)),
    "endswith as contains": lambda: patterns._substring_sets(b"a", at_end=False),
    "starts over after a mismatch": _ask_with(
        patterns,
        "_borders",
        lambda part: [0] * (len(part) + 1),
        lambda: patterns._substring_sets(b"aab", at_end=False),
    ),
}

PREIMAGE_MUTANTS: Mapping[str, Callable[[Any], Values | None]] = {
    "UPPER character for character": _ask_with(
        letter_case, "python_case", _simple, _becoming(Function.UPPER)
    ),
    "LOWER without final sigma": _ask_with(
        letter_case, "_AMBIGUOUS", _unambiguous(Function.LOWER, "Σ"), _becoming(Function.LOWER)
    ),
    "UPPER in one locale": _ask_with(
        letter_case, "_AMBIGUOUS", _unambiguous(Function.UPPER, "i"), _becoming(Function.UPPER)
    ),
    "UPPER keeps accents": _ask_with(letter_case, "_GREEK_MARKS", "", _becoming(Function.UPPER)),
    "letters without case": _ask_with(
        ascii_case,
        "_OTHER_CHARACTERS",
        (),
        lambda wanted: ascii_case.case_preimage_over_ascii(Function.UPPER, wanted),
    ),
    "TRIM of tabs too": lambda wanted: preimages.trim_preimage(wanted, " \t", leading=True, trailing=True),
    "LTRIM as TRIM": lambda wanted: preimages.trim_preimage(wanted, " ", leading=True, trailing=True),
    "SUBSTRING by bytes": _ask_with(
        interval_preimages,
        "_WIDTHS",
        (1,) * 256,
        lambda wanted: interval_preimages.truncation_preimage(wanted, 2),
    ),
    "SUBSTRING reads to the end alone": _ask_with(
        interval_preimages,
        "_is_broken",
        lambda *_: False,
        lambda wanted: interval_preimages.truncation_preimage(wanted, 2),
    ),
    "SUBSTRING from 0 loses one": lambda wanted: preimages.substring_preimage(wanted, 1, 1),
    "SUBSTRING from the end stays inside": lambda wanted: preimages.concat_preimage(wanted, b"", b"b"),
    "CONCAT forgets its end": lambda wanted: preimages.concat_preimage(wanted, b"", b""),
    "LENGTH in bytes": _length_in_bytes,
    "RPAD never cuts": _only_shorter,
    "LPAD as RPAD": lambda wanted: preimages.pad_preimage(wanted, 2, "b"),
    "REPLACE of the first alone": _ask_with(
        search_preimages._Search,
        "kept_after",
        lambda search, kept, character: 0,
        lambda wanted: search_preimages.replace_preimage(wanted, "aab", "b"),
    ),
    "the text starts over after a mismatch": _ask_with(
        search_preimages,
        "_search",
        lambda part: search_preimages._Search(part, (0,) * (len(part) + 1)),
        lambda wanted: search_preimages.start_preimage(wanted, "aab", 1),
    ),
    "separators that do not overlap": lambda wanted: search_preimages.start_preimage(wanted, "aa", 1),
    "positions from 0": lambda wanted: search_preimages.position_preimage(
        Cuts(wanted.first, tuple((int(place) + 1, after) for place, after in wanted.points)), "b"
    ),
}
