"""Characters that have no other case in any version of Unicode, be it older or newer than Python's.

The general category of a letter says little: Georgian letters had no capitals until Unicode 11, U+019B
until 16. Nor does that of a mark, of a number or of "other symbols": a Roman numeral and the turned
capital F became letters with a small one in Unicode 5. What is known for good:

- Unicode promises that controls, surrogates, private use and noncharacters stay what they are.
- Punctuation, separators, and symbols of mathematics and currencies are signs, not letters: none of
  them ever got a case.
- Some blocks are kept for one script without case, or for pictures: what is not assigned yet will be
  alike.
"""

import unicodedata

_IMMUTABLE = frozenset({"Cc", "Cs", "Co"})
_SIGNS = frozenset({"Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Zs", "Zl", "Zp"})
CATEGORIES = _IMMUTABLE | _SIGNS
# Ascending and apart; all of each block, whatever else is in it.
BLOCKS = (
    range(0x3400, 0xA000),  # ideographs, hexagrams among them
    range(0xA960, 0xA980),  # Hangul
    range(0xAC00, 0xF900),  # Hangul, surrogates, private use
    range(0x1F300, 0x1FC00),  # pictographs, emoticons, arrows, geometric shapes, chess
    range(0x20000, 0x40000),  # ideographs: planes 2 and 3
    range(0xE0000, 0x110000),  # tags and variation selectors; planes 15 and 16 are private use
)


def is_caseless(character: str) -> bool:
    """Whether UPPER and LOWER leave a character as it is, in each release of Spark and on each JVM."""
    if unicodedata.category(character) in CATEGORIES:
        return True
    code = ord(character)
    return _is_noncharacter(code) or any(code in block for block in BLOCKS)


def _is_noncharacter(code: int) -> bool:
    """The last two of each plane, and 32 more, are for programs' own use."""
    return code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
