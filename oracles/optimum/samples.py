"""Sample texts that a pattern matches, as candidates for witnesses; never all of them, maybe none.

Patterns are those of LIKE, and the regular expressions that `oracles.meaning.texts` covers.
"""

import itertools
from collections.abc import Iterable

_SAMPLES_MAX = 24
_REPEATS = {"*": (1, 0, 2), "+": (1, 2, 3), "?": (1, 0)}
_OF_CLASSES = {"d": "0159", "w": "aZ0_", "s": " \t", "D": "a ", "W": " -", "S": "a0"}


def like_samples(pattern: str, escape: str, fillings: Iterable[str]) -> list[str]:
    """Return texts that match a LIKE pattern, with each of the fillings for its wildcards.

    A `_` takes the first character of a filling, or one that sorts first, last or between.
    """
    texts: dict[str, None] = {}
    for filling in fillings:
        for single in (*filling[:1], "\0", "a", "\U0010ffff"):
            parts, characters = [], iter(pattern)
            for character in characters:
                if character == escape:
                    parts.append(next(characters, ""))
                else:
                    parts.append({"%": filling, "_": single}.get(character, character))
            texts["".join(parts)] = None
    return list(texts)


def regex_samples(pattern: str) -> list[str]:
    """Return texts in which a small regular expression finds a match."""
    texts, rest = _alternatives(pattern)
    return texts if not rest else []


def _alternatives(pattern: str) -> tuple[list[str], str]:
    texts, rest = _sequence(pattern)
    while rest.startswith("|"):
        more, rest = _sequence(rest[1:])
        texts = texts + more
    return texts[:_SAMPLES_MAX], rest


def _sequence(pattern: str) -> tuple[list[str], str]:
    texts = [""]
    while pattern and pattern[0] not in "|)":
        atoms, pattern = _atom(pattern)
        counts, pattern = _repetitions(pattern)
        repeated = [atom * count for count in counts for atom in atoms]
        texts = ["".join(pair) for pair in itertools.product(texts, dict.fromkeys(repeated))][:_SAMPLES_MAX]
    return texts, pattern


def _atom(pattern: str) -> tuple[list[str], str]:
    first, rest = pattern[0], pattern[1:]
    if first == "(":
        inside, rest = _alternatives(rest)
        return inside, rest[1:]
    if first == "[":
        end = rest.index("]", 1) if "]" in rest[1:] else len(rest)
        return _class_samples(rest[:end]), rest[end + 1 :]
    if first == "\\":
        return list(_OF_CLASSES.get(rest[:1], rest[:1])), rest[1:]
    if first in "^$":
        return [""], rest
    return (["a", "0", "\0", "\U0010ffff"] if first == "." else [first]), rest


def _class_samples(inside: str) -> list[str]:
    if inside.startswith("^"):
        return [character for character in "a0Z \0\U0010ffff" if character not in inside]
    ends = [character for character in inside if character != "-"]
    pairs = itertools.pairwise(ends)
    middles = [chr(ord(low) + 1) for low, high in pairs if ord(high) - ord(low) > 1]
    return ends + middles


def _repetitions(pattern: str) -> tuple[tuple[int, ...], str]:
    if pattern[:1] in _REPEATS and pattern:
        return _REPEATS[pattern[0]], pattern[1:]
    if pattern.startswith("{") and "}" in pattern:
        least, _, most = pattern[1 : pattern.index("}")].partition(",")
        counts = (int(least or 0), int(most or least or 0))
        return counts, pattern[pattern.index("}") + 1 :]
    return (1,), pattern
