"""Spark's functions and patterns of text in plain Python, for `oracles.meaning.brute_force`.

Shares   nothing with the rules: texts are Python's strings, patterns its regular expressions.
Leaves   letters whose upper or lower case depends on the release of Unicode, or on where they
         stand; bytes that are not UTF-8; regular expressions that Java and Python may read in two
         ways. On these there is no second opinion.
"""

import re
import string
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence

from oracles.meaning.numbers import NoSecondOpinion
from pruning.expressions.trees import Function
from pruning.expressions.types import Value

# Capitals that lower case in two ways, and letters that got their capitals in Unicode 16.
_UNSTABLE = frozenset("\u03a3\u019b\u0264")
_LINE_ENDS = "\n\r\u0085\u2028\u2029"
_NOT_LINE_END = f"[^{_LINE_ENDS}]"
# Before a line terminator at the end, too, but not inside `\r\n`.
_JAVA_END = rf"(?=(?:\r\n|[{_LINE_ENDS}])?\Z)(?!(?<=\r)\n)"
_MEANT_AS_THEY_ARE = frozenset(string.ascii_letters + string.digits + " !\"#%',-/:;<=>@_`~")
_ESCAPED_PUNCTUATION = frozenset(string.punctuation)
_CLASSES = frozenset("dDwWsS")
_REPEATED = re.compile(r"\{\d{1,3}(,\d{0,3})?\}")


def text_call(function: Function, operands: Sequence[Value]) -> Value:
    """`function(operands)`, none of them NULL.

    Raises:
        oracles.meaning.numbers.NoSecondOpinion: the text is not UTF-8, or its letters' case is not certain.
    """
    return _FUNCTIONS[function](*operands)


def is_like(text: bytes, pattern: bytes, escape: str) -> bool:
    """LIKE as a regular expression over code points."""
    parts = []
    characters = iter(characters_of(pattern))
    for character in characters:
        if character == escape:
            parts.append(re.escape(_escaped(next(characters, ""), escape)))
        else:
            parts.append({"%": ".*", "_": "."}.get(character, re.escape(character)))
    return re.fullmatch("".join(parts), characters_of(text), re.DOTALL) is not None


def is_rlike(text: bytes, pattern: bytes) -> bool:
    """RLIKE: whether a part of the text matches Java's regular expression."""
    translated = "".join(_translated(characters_of(pattern)))
    try:
        compiled = re.compile(translated, re.ASCII)
    except re.error as error:
        raise NoSecondOpinion(f"no second opinion on the regular expression {pattern!r}") from error
    return compiled.search(characters_of(text)) is not None


def characters_of(text: Value) -> str:
    """A string's characters."""
    assert isinstance(text, bytes)
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise NoSecondOpinion("no second opinion on characters of bytes that are not UTF-8") from error


def _escaped(character: str, escape: str) -> str:
    if character not in ("%", "_", escape):
        raise NoSecondOpinion("a LIKE pattern that Spark refuses")
    return character


def _translated(pattern: str) -> Iterator[str]:
    """The pattern in Python's spelling, piece by piece, as far as both languages surely agree."""
    place = 0
    while place < len(pattern):
        character, rest = pattern[place], pattern[place:]
        repeated = _REPEATED.match(rest)
        if character == "[":
            piece, length = _character_class(rest)
        elif character == "\\":
            piece, length = _escape(rest), 2
        elif repeated:
            piece, length = repeated[0], len(repeated[0])
        else:
            piece, length = _single(character), 1
        if character in "*+?{" and rest[length : length + 1] == "+":
            raise NoSecondOpinion(f"no second opinion on possessive quantifiers: {pattern}")
        if rest.startswith("(?"):
            raise NoSecondOpinion(f"no second opinion on special groups: {pattern}")
        yield piece
        place += length


def _single(character: str) -> str:
    if character in "()|*+?^":
        return character
    if character == ".":
        return _NOT_LINE_END
    if character == "$":
        return _JAVA_END
    if character in _MEANT_AS_THEY_ARE or character > "\x7f":
        return re.escape(character)
    raise NoSecondOpinion(f"no second opinion on {character!r} in a regular expression")


def _escape(rest: str) -> str:
    escaped = rest[1:2]
    if escaped and escaped in _CLASSES:
        return rest[:2]
    if escaped and escaped in _ESCAPED_PUNCTUATION:
        return re.escape(escaped)
    raise NoSecondOpinion(f"no second opinion on {rest[:2]!r} in a regular expression")


def _character_class(rest: str) -> tuple[str, int]:
    """A class of single characters and ranges, and how long it is."""
    found = re.match(r"\[\^?(?:[A-Za-z0-9_ ]-[A-Za-z0-9_ ]|[A-Za-z0-9_ ,.:;%]|[^\x00-\x7f])+\]", rest)
    if found is None:
        raise NoSecondOpinion(f"no second opinion on the class {rest!r}")
    return found[0], len(found[0])


def _in_case(change: Callable[[str], str]) -> Callable[[Value], Value]:
    def changed(text: Value) -> Value:
        return "".join(_certain(letter, change(letter)) for letter in characters_of(text)).encode()

    return changed


def _certain(letter: str, image: str) -> str:
    if letter > "\x7f" and (letter in _UNSTABLE or not all(map(_is_settled, letter + image))):
        raise NoSecondOpinion(f"no second opinion on the case of {letter!r}")
    return image


def _is_settled(letter: str) -> bool:
    """Whether no release of Unicode changes its case any more: it is old, or no letter at all."""
    if ord(letter) & 0xFFFE == 0xFFFE or unicodedata.ucd_3_2_0.category(letter) != "Cn":
        return True
    return unicodedata.category(letter)[0] not in "CLM"


def _trimmed(strip: Callable[[str, str], str]) -> Callable[..., Value]:
    def trimmed(text: Value, removed: Value = b" ") -> Value:
        return strip(characters_of(text), characters_of(removed)).encode()

    return trimmed


def _substring(text: Value, position: Value, length: Value) -> Value:
    """From a position that counts from 1, or back from the end; what lies before the text is cut off."""
    characters, place, count = characters_of(text), int(position), int(length)
    start = place - 1 if place > 0 else place + len(characters) if place < 0 else 0
    return characters[max(start, 0) : max(start + count, 0)].encode()


def _concat(*texts: Value) -> Value:
    return b"".join(text for text in texts if isinstance(text, bytes))


def _padded(text: Value, length: Value, pad: Value) -> Value:
    characters, filling = characters_of(text), characters_of(pad)
    missing = int(length) - len(characters)
    if missing <= 0 or not filling:
        return characters[: max(int(length), 0)].encode()
    return (characters + filling * missing)[: int(length)].encode()


_FUNCTIONS: Mapping[Function, Callable[..., Value]] = {
    Function.UPPER: _in_case(str.upper),
    Function.LOWER: _in_case(str.lower),
    Function.TRIM: _trimmed(str.strip),
    Function.LTRIM: _trimmed(str.lstrip),
    Function.RTRIM: _trimmed(str.rstrip),
    Function.SUBSTRING: _substring,
    Function.CONCAT: _concat,
    Function.LENGTH: lambda text: len(characters_of(text)),
    Function.RPAD: _padded,
}
