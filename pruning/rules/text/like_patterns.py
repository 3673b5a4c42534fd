"""A parser of LIKE patterns: `_` is one character, `%` any number of them."""

from collections.abc import Mapping

from pruning.rules.text.characters import REPLACEMENT
from pruning.rules.text.regular_expressions import (
    ALL,
    ANY_TEXT,
    CharacterClass,
    Concatenation,
    Pattern,
    ranges_of,
)

_WILDCARDS: Mapping[str, Pattern] = {"_": CharacterClass(ALL), "%": ANY_TEXT}


def parse(pattern: bytes, escape: str) -> Pattern | None:
    """Return the pattern as a tree; None if Spark rejects it or if it is not UTF-8."""
    text = decode(pattern)
    if text is None:
        return None
    parts: list[Pattern] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character == escape:
            position += 1
            character = text[position : position + 1]
            if character not in ("%", "_", escape) or not character:
                return None
            part: Pattern = CharacterClass(ranges_of([ord(character)]))
        else:
            part = _WILDCARDS.get(character, CharacterClass(ranges_of([ord(character)])))
        if part != ANY_TEXT or parts[-1:] != [ANY_TEXT]:
            parts.append(part)
        position += 1
    return Concatenation(tuple(parts))


def decode(pattern: bytes) -> str | None:
    """Return the characters of a pattern; None if it is not UTF-8."""
    try:
        return pattern.decode()
    except UnicodeDecodeError:
        return None


def prefix(pattern: bytes, escape: str) -> tuple[bytes, str]:
    """Return the text that a pattern starts with, as bytes, and what follows it.

    The text ends before U+FFFD, because that character also matches bytes that are not UTF-8. Of a malformed
    pattern it is the text before the error.
    """
    text = pattern.decode(errors="replace")
    kept: list[str] = []
    position = 0
    while position < len(text):
        character, width = text[position], 1
        if character == escape:
            character, width = text[position + 1 : position + 2], 2
            if character not in ("%", "_", escape) or not character:
                break
        elif character in "%_":
            break
        if ord(character) == REPLACEMENT:
            break
        kept.append(character)
        position += width
    return "".join(kept).encode(), text[position:]
