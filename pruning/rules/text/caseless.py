"""Characters that UPPER and LOWER leave alone in every version of Unicode, older or newer than Python's.

The general category of a letter is no guarantee: Georgian letters had no capitals until Unicode 11, U+019B
until 16. Nor is that of a mark, a number or an "other symbol": a Roman numeral and the turned capital F
became letters with a small form in Unicode 5. These facts are stable:

- Unicode guarantees that controls, surrogates, private use and noncharacters never change.
- Punctuation, separators, and symbols of mathematics and currencies are signs, not letters: none of
  them ever got a case.
- Some blocks are reserved for one script without case, or for pictures: characters that they get later
  will have no case either.
"""

import unicodedata

_IMMUTABLE = frozenset({"Cc", "Cs", "Co"})
_SIGNS = frozenset({"Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Zs", "Zl", "Zp"})
CATEGORIES = _IMMUTABLE | _SIGNS
# Ascending and disjoint; every character of a block counts as caseless.
BLOCKS = (
    range(0x3400, 0xA000),  # ideographs, hexagrams among them
    range(0xA960, 0xA980),  # Hangul
    range(0xAC00, 0xF900),  # Hangul, surrogates, private use
    range(0x1F300, 0x1FC00),  # pictographs, emoticons, arrows, geometric shapes, chess
    range(0x20000, 0x40000),  # ideographs: planes 2 and 3
    range(0xE0000, 0x110000),  # tags and variation selectors; planes 15 and 16 are private use
)


def is_caseless(character: str) -> bool:
    """Tell whether UPPER and LOWER leave a character as it is, in each release of Spark and on each JVM."""
    if unicodedata.category(character) in CATEGORIES:
        return True
    code = ord(character)
    return _is_noncharacter(code) or any(code in block for block in BLOCKS)


def _is_noncharacter(code: int) -> bool:
    """Tell whether a code point is a noncharacter: the last two of each plane, and 32 more."""
    return code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
