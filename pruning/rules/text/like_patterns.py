"""Patterns of LIKE: `_` is one character, `%` any number of them."""

from collections.abc import Mapping

from pruning.rules.text.characters import REPLACEMENT
from pruning.rules.text.regular_expressions import ALL, ANY_TEXT, Letters, Pattern, Sequence, ranges_of

_WILDCARDS: Mapping[str, Pattern] = {"_": Letters(ALL), "%": ANY_TEXT}


def parsed(pattern: bytes, escape: str) -> Pattern | None:
    """The pattern as a tree; None of what Spark refuses, or of bytes that are not UTF-8."""
    text = decoded(pattern)
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
            part: Pattern = Letters(ranges_of([ord(character)]))
        else:
            part = _WILDCARDS.get(character, Letters(ranges_of([ord(character)])))
        if part != ANY_TEXT or parts[-1:] != [ANY_TEXT]:
            parts.append(part)
        position += 1
    return Sequence(tuple(parts))


def decoded(pattern: bytes) -> str | None:
    """The characters of a pattern; None of what is not UTF-8."""
    try:
        return pattern.decode()
    except UnicodeDecodeError:
        return None


def prefix(pattern: bytes, escape: str) -> tuple[bytes, str]:
    """The text that a pattern starts with, as bytes, and what follows it.

    It ends before U+FFFD: values with bytes that are not UTF-8 match that character. A malformed
    pattern gives the text before the fault.
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
