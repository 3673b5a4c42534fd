"""Java's regular expressions, as far as their meaning is plain: text, classes, groups, counts, anchors.

What is not read here - flags, looking around, references back, possessive counts, word boundaries,
Unicode classes - is "not known", never guessed.
"""

from dataclasses import dataclass

from pruning.rules.text.characters import REPLACEMENT
from pruning.rules.text.like_patterns import decoded
from pruning.rules.text.regular_expressions import (
    ANY_TEXT,
    EMPTY,
    Either,
    Letters,
    Pattern,
    Ranges,
    Repeat,
    Sequence,
    joined,
    outside,
    ranges_of,
)

_DIGITS: Ranges = ((0x30, 0x39),)
_WORD = joined([*_DIGITS, (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A)])
_SPACES = ranges_of(map(ord, " \t\n\x0b\f\r"))
_CLASSES = {"d": _DIGITS, "w": _WORD, "s": _SPACES}
_CONTROLS = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
_LINE_ENDS = ranges_of(map(ord, "\n\r\u0085\u2028\u2029"))
_SPECIAL = frozenset("\\[](){}.*+?^$|")
# Before the last line end, if there is one, as well as at the end; but not inside "\r\n".
_END = Either(
    (
        EMPTY,
        Letters(ranges_of(map(ord, "\r\u0085\u2028\u2029"))),
        Letters(ranges_of([ord("\n")]), alone=True),
        Sequence((Letters(ranges_of([ord("\r")])), Letters(ranges_of([ord("\n")])))),
    )
)
_COUNT_MAX = 1_000
_GROUPS_MAX = 50


class _NotKnownError(Exception):
    """A construct whose meaning is not read here."""


def found_in(pattern: bytes) -> Pattern | None:
    """The whole texts in a part of which Java's `find` finds the pattern; None of what is not known.

    Premises  Which of several matches is found does not matter, only whether there is one; so greedy and
              reluctant counts are alike.
    """
    text = decoded(pattern)
    if text is None:
        return None
    try:
        return _Reader(text).whole()
    except _NotKnownError:
        return None


def certain_prefix(pattern: bytes) -> bytes:
    """The text that every match starts with, whatever else the pattern says; empty where none is certain."""
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
class _Reader:
    """Reads a pattern from left to right."""

    text: str
    position: int = 0

    def whole(self) -> Pattern:
        """Alternatives that each may be anchored, with any text around those that are not."""
        if self.text.count("(") > _GROUPS_MAX:
            raise _NotKnownError
        alternatives = [self._anchored()]
        while self._takes("|"):
            alternatives.append(self._anchored())
        if self.position < len(self.text):
            raise _NotKnownError
        starts = {start for start, _, _ in alternatives}
        ends = {end for _, _, end in alternatives}
        if len(starts) == len(ends) == 1:  # what is around them all is outermost, and quicker
            body = (
                Either(tuple(body for _, body, _ in alternatives))
                if len(alternatives) > 1
                else alternatives[0][1]
            )
            return Sequence((*starts, body, *ends))
        return Either(tuple(Sequence(alternative) for alternative in alternatives))

    def _anchored(self) -> tuple[Pattern, Pattern, Pattern]:
        start = EMPTY if self._takes("^") else ANY_TEXT
        body = self._sequence()
        end = _END if self._takes("$") else ANY_TEXT
        return start, body, end

    def _sequence(self) -> Pattern:
        parts = []
        while self._next() not in ("", "|", ")", "$"):
            parts.append(self._counted(self._atom()))
        return parts[0] if len(parts) == 1 else Sequence(tuple(parts))

    def _atom(self) -> Pattern:
        character = self._take()
        if character == "(":
            return self._group()
        if character == "[":
            return Letters(self._class())
        if character == ".":
            return Letters(outside(_LINE_ENDS))
        if character == "\\":
            return Letters(self._escaped())
        if character in _SPECIAL:
            raise _NotKnownError
        return Letters(ranges_of([ord(character)]))

    def _group(self) -> Pattern:
        if self._takes("?") and not self._takes(":"):
            raise _NotKnownError
        alternatives = [self._sequence()]
        while self._takes("|"):
            alternatives.append(self._sequence())
        if not self._takes(")"):
            raise _NotKnownError
        return alternatives[0] if len(alternatives) == 1 else Either(tuple(alternatives))

    def _escaped(self) -> Ranges:
        """What follows a backslash: a class, a control character, or punctuation as it is."""
        character = self._take()
        if character in _CLASSES:
            return _CLASSES[character]
        if character.lower() in _CLASSES:
            return outside(_CLASSES[character.lower()])
        if character in _CONTROLS:
            return ranges_of([ord(_CONTROLS[character])])
        if character.isascii() and character.isprintable() and not character.isalnum():
            return ranges_of([ord(character)])
        raise _NotKnownError

    def _class(self) -> Ranges:
        """What follows an opening bracket."""
        negated = self._takes("^")
        ranges: list[tuple[int, int]] = []
        while not self._takes("]"):
            first = self._member()
            if self._next() == "-" and self.text[self.position + 1 : self.position + 2] != "]":
                self._take()
                first = _range(first, self._member())
            ranges += first
        if not ranges:
            raise _NotKnownError
        return outside(joined(ranges)) if negated else joined(ranges)

    def _member(self) -> Ranges:
        character = self._take()
        if character == "\\":
            return self._escaped()
        if character in "[]^&-" and (character != "-" or self._next() != "]"):
            raise _NotKnownError  # nested classes, intersections, and what is easily misread
        return ranges_of([ord(character)])

    def _counted(self, part: Pattern) -> Pattern:
        counts: tuple[int, int | None]
        if self._takes("*"):
            counts = (0, None)
        elif self._takes("+"):
            counts = (1, None)
        elif self._takes("?"):
            counts = (0, 1)
        elif self._takes("{"):
            counts = self._counts()
        else:
            return part
        self._takes("?")
        if self._next() and self._next() in "*+?{":
            raise _NotKnownError
        return Repeat(part, *counts)

    def _counts(self) -> tuple[int, int | None]:
        written, brace, _ = self.text[self.position :].partition("}")
        least, comma, most = written.partition(",")
        numbers = [number for number in (least, most) if number]
        plain = all(number.isascii() and number.isdigit() and len(number) < 5 for number in numbers)
        if not brace or not least or not plain:
            raise _NotKnownError
        self.position += len(written) + 1
        counts = int(least), (int(most) if most else None) if comma else int(least)
        if max(number for number in counts if number is not None) > _COUNT_MAX:
            raise _NotKnownError
        if counts[1] is not None and counts[1] < counts[0]:
            raise _NotKnownError
        return counts

    def _next(self) -> str:
        return self.text[self.position : self.position + 1]

    def _take(self) -> str:
        character = self._next()
        if not character:
            raise _NotKnownError
        self.position += 1
        return character

    def _takes(self, character: str) -> bool:
        taken = self._next() == character
        self.position += taken
        return taken


def _range(first: Ranges, last: Ranges) -> Ranges:
    """`a-z` of two single characters."""
    (low, low_end), (high, high_end) = first[0], last[0]
    if len(first) > 1 or len(last) > 1 or low != low_end or high != high_end or low > high:
        raise _NotKnownError
    return ((low, high),)
