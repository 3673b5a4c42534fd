"""A parser of Java's regular expressions: text, classes, groups, counts and anchors.

Constructs that are not supported (flags, look-around, back-references, possessive counts, word boundaries,
Unicode classes) make the whole pattern unsupported; their meaning is never guessed.
"""

from dataclasses import dataclass

from pruning.rules.text.characters import REPLACEMENT
from pruning.rules.text.like_patterns import decode
from pruning.rules.text.regular_expressions import (
    ANY_TEXT,
    EMPTY,
    Alternation,
    CharacterClass,
    Concatenation,
    Pattern,
    Ranges,
    Repetition,
    complement_ranges,
    merge_ranges,
    ranges_of,
)

_DIGITS: Ranges = ((0x30, 0x39),)
_WORD = merge_ranges([*_DIGITS, (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
_SPACES = ranges_of(map(ord, " \t\n\x0b\f\r"))
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACES}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_LINE_ENDS = ranges_of(map(ord, "\n\r\u0085\u2028\u2029"))
_SPECIAL = frozenset("\\[](){}.*+?^$|")
# `$` matches at the end and before a final line terminator, but not inside "\r\n".
_END = Alternation(
    (
        EMPTY,
        CharacterClass(ranges_of(map(ord, "\r\u0085\u2028\u2029"))),
        CharacterClass(ranges_of([ord("\n")]), alone=True),
        Concatenation((CharacterClass(ranges_of([ord("\r")])), CharacterClass(ranges_of([ord("\n")])))),
    )
)
_COUNT_MAX = 1_000
_GROUPS_MAX = 50


class _UnsupportedError(Exception):
    """A construct that this parser does not support."""


def parse_search(pattern: bytes) -> Pattern | None:
    """Return the pattern of the whole texts in which Java's `find` succeeds; None if it is not supported.

    Premises  It matters only whether there is a match, not which one is found, so greedy and reluctant
              counts are equivalent.
    """
    text = decode(pattern)
    if text is None:
        return None
    try:
        return _PatternReader(text).whole()
    except _UnsupportedError:
        return None


def certain_prefix(pattern: bytes) -> bytes:
    """Return a text that every match starts with, of any pattern; empty where none is certain."""
    text = pattern.decode(errors="replace")
    if not text.startswith("^") or "|" in text:
        return b""
    kept: list[str] = []
    for character in text[1:]:
        if character in _SPECIAL or ord(character) == REPLACEMENT:
            if character in "*+?{" and kept:
                kept.pop()
            break
        kept.append(character)
    return "".join(kept).encode()


@dataclass(slots=True)
class _PatternReader:
    """A recursive-descent parser that reads a pattern from left to right."""

    text: str
    position: int = 0

    def whole(self) -> Pattern:
        """Parse alternatives that may each be anchored, with any text around those that are not."""
        if self.text.count("(") > _GROUPS_MAX:
            raise _UnsupportedError
        alternatives = [self._parse_alternative()]
        while self._accept("|"):
            alternatives.append(self._parse_alternative())
        if self.position < len(self.text):
            raise _UnsupportedError
        starts = {start for start, _, _ in alternatives}
        ends = {end for _, _, end in alternatives}
        if len(starts) == len(ends) == 1:  # one common frame takes fewer states than one per alternative
            body = (
                Alternation(tuple(body for _, body, _ in alternatives))
                if len(alternatives) > 1
                else alternatives[0][1]
            )
            return Concatenation((*starts, body, *ends))
        return Alternation(tuple(Concatenation(alternative) for alternative in alternatives))

    def _parse_alternative(self) -> tuple[Pattern, Pattern, Pattern]:
        """Parse one alternative; return what may stand before it, its body, and what may stand after it."""
        start = EMPTY if self._accept("^") else ANY_TEXT
        body = self._parse_sequence()
        end = _END if self._accept("$") else ANY_TEXT
        return start, body, end

    def _parse_sequence(self) -> Pattern:
        """Parse the parts that follow each other, up to the end of an alternative."""
        parts = []
        while self._peek() not in ("", "|", ")", "$"):
            parts.append(self._parse_count(self._parse_atom()))
        return parts[0] if len(parts) == 1 else Concatenation(tuple(parts))

    def _parse_atom(self) -> Pattern:
        """Parse one character, class or group."""
        character = self._take()
        if character == "(":
            return self._parse_group()
        if character == "[":
            return CharacterClass(self._parse_class())
        if character == ".":
            return CharacterClass(complement_ranges(_LINE_ENDS))
        if character == "\\":
            return CharacterClass(self._parse_escape())
        if character in _SPECIAL:
            raise _UnsupportedError
        return CharacterClass(ranges_of([ord(character)]))

    def _parse_group(self) -> Pattern:
        """Parse a group after its opening parenthesis."""
        if self._accept("?") and not self._accept(":"):
            raise _UnsupportedError
        alternatives = [self._parse_sequence()]
        while self._accept("|"):
            alternatives.append(self._parse_sequence())
        if not self._accept(")"):
            raise _UnsupportedError
        return alternatives[0] if len(alternatives) == 1 else Alternation(tuple(alternatives))

    def _parse_escape(self) -> Ranges:
        """Parse what follows a backslash: a class, a control character, or punctuation as it is."""
        character = self._take()
        if character in _CLASSES:
            return _CLASSES[character]
        if character.lower() in _CLASSES:
            return complement_ranges(_CLASSES[character.lower()])
        if character in _CONTROLS:
            return ranges_of([ord(_CONTROLS[character])])
        if character.isascii() and character.isprintable() and not character.isalnum():
            return ranges_of([ord(character)])
        raise _UnsupportedError

    def _parse_class(self) -> Ranges:
        """Parse a character class after its opening bracket."""
        negated = self._accept("^")
        ranges: list[tuple[int, int]] = []
        while not self._accept("]"):
            first = self._parse_member()
            if self._peek() == "-" and self.text[self.position + 1 : self.position + 2] != "]":
                self._take()
                first = _character_range(first, self._parse_member())
            ranges += first
        if not ranges:
            raise _UnsupportedError
        return complement_ranges(merge_ranges(ranges)) if negated else merge_ranges(ranges)

    def _parse_member(self) -> Ranges:
        """Parse one member of a character class."""
        character = self._take()
        if character == "\\":
            return self._parse_escape()
        if character in "[]^&-" and (character != "-" or self._peek() != "]"):
            raise _UnsupportedError  # nested classes, intersections, and what is easily misread
        return ranges_of([ord(character)])

    def _parse_count(self, part: Pattern) -> Pattern:
        """Parse the count that may follow a part, and return the part repeated."""
        counts: tuple[int, int | None]
        if self._accept("*"):
            counts = (0, None)
        elif self._accept("+"):
            counts = (1, None)
        elif self._accept("?"):
            counts = (0, 1)
        elif self._accept("{"):
            counts = self._parse_braces()
        else:
            return part
        self._accept("?")
        if self._peek() and self._peek() in "*+?{":
            raise _UnsupportedError
        return Repetition(part, *counts)

    def _parse_braces(self) -> tuple[int, int | None]:
        """Parse the numbers of a count in braces; None is no upper limit."""
        written, brace, _ = self.text[self.position :].partition("}")
        least, comma, most = written.partition(",")
        numbers = [number for number in (least, most) if number]
        plain = all(number.isascii() and number.isdigit() and len(number) < 5 for number in numbers)
        if not brace or not least or not plain:
            raise _UnsupportedError
        self.position += len(written) + 1
        counts = int(least), (int(most) if most else None) if comma else int(least)
        if max(number for number in counts if number is not None) > _COUNT_MAX:
            raise _UnsupportedError
        if counts[1] is not None and counts[1] < counts[0]:
            raise _UnsupportedError
        return counts

    def _peek(self) -> str:
        """Return the next character without reading it; empty at the end."""
        return self.text[self.position : self.position + 1]

    def _take(self) -> str:
        """Read one character."""
        character = self._peek()
        if not character:
            raise _UnsupportedError
        self.position += 1
        return character

    def _accept(self, character: str) -> bool:
        """Read the character if it comes next, and tell whether it did."""
        taken = self._peek() == character
        self.position += taken
        return taken


def _character_range(first: Ranges, last: Ranges) -> Ranges:
    """Return the range `a-z` of two single characters."""
    (low, low_end), (high, high_end) = first[0], last[0]
    if len(first) > 1 or len(last) > 1 or low != low_end or high != high_end or low > high:
        raise _UnsupportedError
    return ((low, high),)
