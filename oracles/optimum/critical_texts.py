"""Texts within bounds at which a predicate may change its value, for `oracles.optimum.witnesses`.

They are the starts of the bounds, maybe with the next or previous last character, combined with the
predicate's literals, with texts that its patterns match, and with the results of its functions on these.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping

from oracles.meaning.zones import day_of
from oracles.optimum.domains import CellFacts
from oracles.optimum.samples import like_samples, regex_samples
from pruning.expressions.traversal import walk
from pruning.expressions.trees import (
    Call,
    Contains,
    EndsWith,
    Expression,
    Function,
    Like,
    Literal,
    RLike,
    StartsWith,
)
from pruning.expressions.types import Kind
from strategies.base.values import DAY_MAX, DAY_MIN

TEXTS_MAX = 1_500
_PIECES_MAX = 160
_CASES_MAX = 48
_FILLERS = ("", "\0", "a", "\U0010ffff", " ", "0", "zz")
_CASED = frozenset({Function.UPPER, Function.LOWER})
_TRIMS = frozenset({Function.TRIM, Function.LTRIM, Function.RTRIM, Function.RPAD})
# Letters whose other case is an ASCII letter.
_OTHER_CASES = {"s": "\u017f", "S": "\u017f", "k": "\u212a", "K": "\u212a", "i": "\u0131", "I": "\u0131"}


def critical_texts(
    expression: Expression, facts: CellFacts, all_facts: Mapping[str, CellFacts]
) -> list[bytes]:
    """Return texts that a column may hold, the likelier witnesses first."""
    bounds = [side.decode("utf-8", "ignore") for side in _sides(all_facts.values())]
    own = [side.decode("utf-8", "ignore") for side in _sides([facts])]
    stems = list(dict.fromkeys(_stems(own)))
    pieces = list(dict.fromkeys(_pieces(expression, own)))[:_PIECES_MAX]
    texts: dict[bytes, None] = {}
    for text in itertools.chain(bounds, _splice(stems, pieces, _lengths(expression))):
        encoded = text.encode("utf-8", "ignore")
        if encoded not in texts and facts.holds(encoded):
            texts[encoded] = None
            if len(texts) == TEXTS_MAX:
                break
    return list(texts)


def _sides(facts: Iterable[CellFacts]) -> Iterator[bytes]:
    for column in facts:
        for side in (column.lower, column.upper):
            if isinstance(side, bytes):
                yield side


def _stems(bounds: list[str]) -> Iterator[str]:
    """Yield starts of the bounds, the longest first, also with another last character."""
    yield from bounds
    yield ""
    for bound in bounds:
        yield from (bound + filler for filler in _FILLERS)
    for length in range(max(map(len, bounds), default=0), 0, -1):
        for bound in bounds:
            if length <= len(bound):
                start, last = bound[: length - 1], bound[length - 1]
                yield from (
                    start + other for other in (last, _step_character(last, 1), _step_character(last, -1))
                )


def _step_character(character: str, step: int) -> str:
    code = ord(character) + step
    code = {0xD800: 0xE000, 0xDFFF: 0xD7FF}.get(code, code)
    return chr(code) if 0 <= code <= 0x10FFFF else ""


def _splice(stems: list[str], pieces: list[str], lengths: list[int]) -> Iterator[str]:
    """Yield stems and pieces, one after the other or one over the other, and with more at the end."""
    yield from pieces
    yield from stems
    for end in ("", "\0", "\U0010ffff"):
        for stem in stems:
            for piece in pieces:
                yield stem + piece[len(stem) :] + end
                yield stem + piece + end
    for length in lengths:
        for stem, filler in itertools.product([*stems, *pieces], _FILLERS[1:]):
            yield (stem + filler * length)[:length]
    for first, second in itertools.product(pieces, pieces):
        yield first + second


def _lengths(expression: Expression) -> list[int]:
    numbers = [
        int(node.value)
        for node in walk(expression)
        if isinstance(node, Literal) and node.type.kind is Kind.INTEGER and node.value is not None
    ]
    near = {number + step for number in numbers for step in (-1, 0, 1)}
    return sorted(length for length in near if 0 < length < 64)


def _pieces(expression: Expression, bounds: list[str]) -> Iterator[str]:
    """Yield the texts that the predicate names or matches, and the results of its functions on them."""
    named = list(dict.fromkeys(_named_texts(expression, bounds)))
    functions = {node.function for node in walk(expression) if isinstance(node, Call)}
    for text in named:
        yield text
        yield from _recased_texts(text, bounds) if functions & _CASED else ()
    if functions & _TRIMS:
        for text, pad in itertools.product(named, _pads(expression)):
            yield from (pad + text, text + pad, pad + text + pad, text.strip(pad), text.rstrip(pad))
    if functions or len(named) > 1:
        for text in named:
            yield from (text[:length] for length in range(len(text)))
            yield from (text[length:] for length in range(1, len(text)))
    yield from ("a", "0", "A", "\0", "\U0010ffff")


def _named_texts(expression: Expression, bounds: list[str]) -> Iterator[str]:
    for node in walk(expression):
        match node:
            case Literal(bytes() as value) if node.type.kind is Kind.STRING:
                yield value.decode("utf-8", "ignore")
            case Literal(int() as days) if node.type.kind is Kind.DATE and DAY_MIN <= days <= DAY_MAX:
                yield day_of(days).isoformat()
            case StartsWith(_, part) | EndsWith(_, part) | Contains(_, part):
                yield part.decode("utf-8", "ignore")
            case Like(_, pattern, escape):
                tails = [bound[place:] for bound in bounds for place in range(min(len(bound), 8))]
                yield from like_samples(pattern.decode(), escape, dict.fromkeys(("", "a", *bounds, *tails)))
            case RLike(_, pattern):
                yield from regex_samples(pattern.decode())


def _pads(expression: Expression) -> list[str]:
    pads = [" ", "  "]
    for node in walk(expression):
        if isinstance(node, Call) and node.function in _TRIMS:
            last = node.operands[-1]
            pads += (
                [last.value.decode()] if isinstance(last, Literal) and isinstance(last.value, bytes) else []
            )
    return [pad for whole in pads for pad in (whole, whole[:1]) if pad]


def _recased_texts(text: str, bounds: list[str]) -> Iterator[str]:
    """Yield the text with some letters in another case, first in the case of a bound."""
    yield from (text.lower(), text.upper(), text.swapcase(), text.title())
    for bound in bounds:
        pairs = itertools.zip_longest(text, bound[: len(text)])
        yield "".join(
            bound_letter if bound_letter and bound_letter.lower() == letter.lower() else letter
            for letter, bound_letter in pairs
        )
    ways = [_letter_cases(letter) for letter in text]
    yield from ("".join(letters) for letters in itertools.islice(itertools.product(*ways), _CASES_MAX))


def _letter_cases(letter: str) -> list[str]:
    ways = dict.fromkeys((letter, letter.lower(), letter.upper(), *_OTHER_CASES.get(letter, "")))
    return [way for way in ways if way]
