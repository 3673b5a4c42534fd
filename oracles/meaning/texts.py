"""Spark's functions and patterns of text in plain Python, for `oracles.meaning.brute_force`.

Shares   nothing with the rules: texts are Python's strings, patterns its regular expressions.
Leaves   letters whose upper or lower case depends on the release of Unicode or on their context; bytes
         that are not UTF-8; regular expressions that Java and Python may read differently. This oracle
         does not cover these.
"""

import itertools
import re
import string
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence

from oracles.meaning.numbers import NoSecondOpinion
from pruning.expressions.trees import Function
from pruning.expressions.types import Value

# Capitals with two lower cases, and letters whose capitals came with Unicode 16.
_UNSTABLE = frozenset("\u03a3\u019b\u0264")
_LINE_ENDS = "\n\r\u0085\u2028\u2029"
_NOT_LINE_END = f"[^{_LINE_ENDS}]"
# Also before a line terminator at the end, but not inside `\r\n`.
_JAVA_END = rf"(?=(?:\r\n|[{_LINE_ENDS}])?\Z)(?!(?<=\r)\n)"
_ORDINARY_CHARACTERS = frozenset(string.ascii_letters + string.digits + " !\"#%',-/:;<=>@_`~")
_ESCAPED_PUNCTUATION = frozenset(string.punctuation)
_CLASSES = frozenset("dDwWsS")
_REPLACEMENT = "\ufffd"
_REPEATED = re.compile(r"\{\d{1,3}(,\d{0,3})?\}")


def text_call(function: Function, operands: Sequence[Value]) -> Value:
    """Return `function(operands)`, none of which is NULL.

    Raises:
        oracles.meaning.numbers.NoSecondOpinion: The text is not UTF-8, or the case of a letter is uncertain.
    """
    return _FUNCTIONS[function](*operands)


def is_like(text: bytes, pattern: bytes, escape: str) -> bool:
    """Tell whether a text matches a LIKE pattern, by a regular expression over code points.

    Java replaces what is not UTF-8 by U+FFFD, so that the start of such a text may decide.

    Raises:
        oracles.meaning.numbers.NoSecondOpinion: Spark refuses the pattern, or the text is not UTF-8 and its
            start does not decide.
    """
    pieces = list(_like_pieces(pattern, escape))
    try:
        characters = text.decode()
    except UnicodeDecodeError as error:
        return _is_like_by_start(text[: error.start].decode() + _REPLACEMENT, pieces)
    wildcards = {"%": ".*", "_": "."}
    expression = "".join(wildcards[piece] if wild else re.escape(piece) for piece, wild in pieces)
    return re.fullmatch(expression, characters, re.DOTALL) is not None


def _like_pieces(pattern: bytes, escape: str) -> Iterator[tuple[str, bool]]:
    """Yield each character that a LIKE pattern means, and whether it is a wildcard."""
    characters = iter(characters_of(pattern))
    for character in characters:
        if character == escape:
            yield _escaped_character(next(characters, ""), escape), False
        else:
            yield character, character in "%_"


def _is_like_by_start(start: str, pieces: Sequence[tuple[str, bool]]) -> bool:
    """Tell whether a text that begins with `start`, and goes on unknown, matches the pieces of a pattern."""
    literal = "".join(piece for piece, _ in itertools.takewhile(lambda piece: not piece[1], pieces))
    if _REPLACEMENT not in literal:
        if not start.startswith(literal):
            return False
        if pieces[len(literal) :] == [("%", True)]:
            return True
    raise NoSecondOpinion("no second opinion on characters of bytes that are not UTF-8")


def is_rlike(text: bytes, pattern: bytes) -> bool:
    """Tell whether a part of the text matches Java's regular expression (RLIKE)."""
    translated = "".join(_translate(characters_of(pattern)))
    try:
        compiled = re.compile(translated, re.ASCII)
    except re.error as error:
        raise NoSecondOpinion(f"no second opinion on the regular expression {pattern!r}") from error
    return compiled.search(characters_of(text)) is not None


def characters_of(text: Value) -> str:
    """Return the characters of a string."""
    assert isinstance(text, bytes)
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise NoSecondOpinion("no second opinion on characters of bytes that are not UTF-8") from error


def _escaped_character(character: str, escape: str) -> str:
    if character not in ("%", "_", escape):
        raise NoSecondOpinion("a LIKE pattern that Spark refuses")
    return character


def _translate(pattern: str) -> Iterator[str]:
    """Yield the pattern in Python's syntax, piece by piece, as far as both languages certainly agree."""
    place = 0
    while place < len(pattern):
        character, rest = pattern[place], pattern[place:]
        repeated = _REPEATED.match(rest)
        if character == "[":
            piece, length = _character_class(rest)
        elif character == "\\":
            piece, length = _translate_escape(rest), 2
        elif repeated:
            piece, length = repeated[0], len(repeated[0])
        else:
            piece, length = _translate_character(character), 1
        if character in "*+?{" and rest[length : length + 1] == "+":
            raise NoSecondOpinion(f"no second opinion on possessive quantifiers: {pattern}")
        if rest.startswith("(?"):
            raise NoSecondOpinion(f"no second opinion on special groups: {pattern}")
        yield piece
        place += length


def _translate_character(character: str) -> str:
    if character in "()|*+?^":
        return character
    if character == ".":
        return _NOT_LINE_END
    if character == "$":
        return _JAVA_END
    if character in _ORDINARY_CHARACTERS or character > "\x7f":
        return re.escape(character)
    raise NoSecondOpinion(f"no second opinion on {character!r} in a regular expression")


def _translate_escape(rest: str) -> str:
    escaped = rest[1:2]
    if escaped and escaped in _CLASSES:
        return rest[:2]
    if escaped and escaped in _ESCAPED_PUNCTUATION:
        return re.escape(escaped)
    raise NoSecondOpinion(f"no second opinion on {rest[:2]!r} in a regular expression")


def _character_class(rest: str) -> tuple[str, int]:
    """Return a class of single characters and ranges, and its length."""
    match = re.match(r"\[\^?(?:[A-Za-z0-9_ ]-[A-Za-z0-9_ ]|[A-Za-z0-9_ ,.:;%]|[^\x00-\x7f])+\]", rest)
    if match is None:
        raise NoSecondOpinion(f"no second opinion on the class {rest!r}")
    return match[0], len(match[0])


def _case_function(change: Callable[[str], str]) -> Callable[[Value], Value]:
    def change_case(text: Value) -> Value:
        return "".join(_certain_case(letter, change(letter)) for letter in characters_of(text)).encode()

    return change_case


def _certain_case(letter: str, image: str) -> str:
    if letter > "\x7f" and (letter in _UNSTABLE or not all(map(_is_settled, letter + image))):
        raise NoSecondOpinion(f"no second opinion on the case of {letter!r}")
    return image


def _is_settled(letter: str) -> bool:
    """Tell whether the case of a letter is final: the letter is old, or no letter."""
    if ord(letter) & 0xFFFE == 0xFFFE or unicodedata.ucd_3_2_0.category(letter) != "Cn":
        return True
    return unicodedata.category(letter)[0] not in "CLM"


def _trim_function(strip: Callable[[str, str], str]) -> Callable[..., Value]:
    def trim(text: Value, removed: Value = b" ") -> Value:
        return strip(characters_of(text), characters_of(removed)).encode()

    return trim


def _substring(text: Value, position: Value, length: Value) -> Value:
    """Return a substring from a position, counted from 1 or back from the end; clip it to the text."""
    characters, place, count = characters_of(text), int(position), int(length)
    start = place - 1 if place > 0 else place + len(characters) if place < 0 else 0
    return characters[max(start, 0) : max(start + count, 0)].encode()


def _concat(*texts: Value) -> Value:
    return b"".join(text for text in texts if isinstance(text, bytes))


def _pad(text: Value, length: Value, pad: Value) -> Value:
    characters, filling = characters_of(text), characters_of(pad)
    missing = int(length) - len(characters)
    if missing <= 0 or not filling:
        return characters[: max(int(length), 0)].encode()
    return (characters + filling * missing)[: int(length)].encode()


def _left_pad(text: Value, length: Value, pad: Value) -> Value:
    characters, filling = characters_of(text), characters_of(pad)
    missing = int(length) - len(characters)
    before = (filling * missing)[:missing] if missing > 0 else ""
    return (before + characters)[: max(int(length), 0)].encode()


def _replace(text: Value, part: Value, replacement: Value) -> Value:
    characters, sought = characters_of(text), characters_of(part)
    return characters.replace(sought, characters_of(replacement)).encode() if sought else text


def _before_separator(text: Value, separator: Value, count: Value) -> Value:
    """Return what comes before the so many-th occurrence, which may overlap the one before it."""
    characters, sought, place = characters_of(text), characters_of(separator), -1
    for _ in range(int(count)):
        place = characters.find(sought, place + 1)
        if place < 0:
            return text
    return characters[:place].encode()


_FUNCTIONS: Mapping[Function, Callable[..., Value]] = {
    Function.UPPER: _case_function(str.upper),
    Function.LOWER: _case_function(str.lower),
    Function.TRIM: _trim_function(str.strip),
    Function.LTRIM: _trim_function(str.lstrip),
    Function.RTRIM: _trim_function(str.rstrip),
    Function.SUBSTRING: _substring,
    Function.CONCAT: _concat,
    Function.LENGTH: lambda text: len(characters_of(text)),
    Function.RPAD: _pad,
    Function.LPAD: _left_pad,
    Function.REPLACE: _replace,
    Function.SUBSTRING_INDEX: _before_separator,
    Function.INSTR: lambda text, part: characters_of(text).find(characters_of(part)) + 1,
}
