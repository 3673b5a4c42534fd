"""What the predicates and functions of text mean, in plain Python, and texts that tell them apart.

Nothing of the rules is used: patterns become Python's regular expressions, functions its methods of
strings. Strings that are not UTF-8 are read with U+FFFD in place of each fault.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

# Ends of Unicode's ranges, characters that change their length with their case, several writings of one.
LETTERS = tuple(
    "\0\t\n\r\x1f az AKİ_%\\.^$|"
    "\x7f\x80\x85éßıſ\u0301\u0307ΣσςéK\u2028\u2029\ud7ff\ue000\ufb00\ufffd\uffff\U00010000\U0001f600\U0010ffff"
)
SPACED = tuple("ab \txé")
# Faults: a lone rest, lead bytes without one, a surrogate, too many bytes, too few, beyond the last one.
FAULTS = (
    b"\x80",
    b"\xc3",
    b"\xc0\xaf",
    b"\xed\xa0\x80",
    b"\xe2\x82",
    b"\xf0\x80\x80\x80",
    b"\xf4\x90\x80\x80",
    b"\xff",
)
_LINE_ENDS = "\n\r\x85\u2028\u2029"
# Java's anchor: at the end, or before a last line end, but not inside "\r\n".
_JAVA_END = r"(?:\Z|(?=[\r\x85\u2028\u2029]\Z)|(?=\r\n\Z)|(?<!\r)(?=\n\Z))"


def texts(letters: tuple[str, ...], longest: int) -> Iterator[bytes]:
    """Every text of some letters, up to a length."""
    for length in range(longest + 1):
        for chosen in itertools.product(letters, repeat=length):
            yield "".join(chosen).encode()


def faulty(letters: tuple[str, ...], longest: int) -> Iterator[bytes]:
    """Such texts with a fault inside."""
    for before, fault, after in itertools.product(texts(letters, longest), FAULTS, texts(letters, longest)):
        yield before + fault + after


def is_text(value: bytes) -> bool:
    """Whether a string is UTF-8."""
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def read(value: bytes) -> str:
    """The characters that Java reads."""
    return value.decode(errors="replace")


def like(pattern: str, escape: str) -> Callable[[bytes], bool]:
    """LIKE of a well-formed pattern."""
    parts, escaped = [], False
    for character in pattern:
        if escaped or character not in (escape, "_", "%"):
            parts.append(re.escape(character))
            escaped = False
        elif character == escape:
            escaped = True
        else:
            parts.append("." if character == "_" else ".*")
    whole = re.compile("".join(parts), re.DOTALL)
    return lambda value: whole.fullmatch(read(value)) is not None


@dataclass(frozen=True, slots=True)
class Regex:
    """A regular expression as Java writes it, and as Python does."""

    java: str
    python: str


def rlike(regex: Regex) -> Callable[[bytes], bool]:
    """RLIKE: whether a part matches."""
    compiled = re.compile(regex.python)
    return lambda value: compiled.search(read(value)) is not None


ATOMS = {
    "a": "a",
    "é": "é",
    r"\.": r"\.",
    r"\\": r"\\",
    r"\n": r"\n",
    ".": f"[^{_LINE_ENDS}]",
    r"\d": "[0-9]",
    r"\W": "[^a-zA-Z_0-9]",
    r"\s": "[ \t\n\x0b\f\r]",
    r"\S": "[^ \t\n\x0b\f\r]",
    "[a-z]": "[a-z]",
    r"[^a\s]": "[^a \t\n\x0b\f\r]",
    "[é-\U0001f600-]": "[é-\U0001f600\\-]",
    "\U0001f600": "\U0001f600",
    "(a|é)": "(?:a|é)",
    "(?:a.|)": f"(?:a[^{_LINE_ENDS}]|)",
    "\r": "\r",
}
COUNTS = ("", "", "", "*", "+", "?", "{2}", "{1,2}", "{1,}", "*?", "+?")
ANCHORS = {"^": r"\A", "$": _JAVA_END, "": ""}


def substring(value: str, position: int, length: int) -> str:
    """SUBSTRING by characters: 0 is 1, negative positions count from the end and may lie before the start."""
    start = position - 1 if position > 0 else len(value) + position if position < 0 else 0
    return value[max(start, 0) : max(start + length, 0)]


def rpad(value: str, length: int, pad: str) -> str:
    """RPAD, which cuts as well."""
    missing = max(length, 0) - len(value)
    return (value + pad * max(missing, 0))[: max(length, 0)] if pad else value[: max(length, 0)]


def lpad(value: str, length: int, pad: str) -> str:
    """LPAD, which cuts as well."""
    missing = max(length, 0) - len(value)
    return ((pad * max(missing, 0))[: max(missing, 0)] + value)[: max(length, 0)]


def before(value: str, separator: str, count: int) -> str:
    """SUBSTRING_INDEX: what comes before an occurrence; occurrences may overlap."""
    place = -1
    for _ in range(count):
        place = value.find(separator, place + 1)
        if place < 0:
            return value
    return value[:place]
