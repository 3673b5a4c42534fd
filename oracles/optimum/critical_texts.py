"""Texts within bounds at which a predicate may change its mind, for `oracles.optimum.witnesses`.

They begin as the bounds do, up to any character, step off them to the next one, and go on with the
predicate's literals, texts that its patterns match, and what its functions make these of.
"""

import itertools
from collections.abc import Iterable, Iterator, Mapping

from oracles.meaning.zones import day_of
from oracles.optimum.domains import Known
from oracles.optimum.samples import of_like, of_regular_expression
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
# Letters that become ASCII ones, or that ASCII ones stand for.
_OTHER_CASES = {"s": "\u017f", "S": "\u017f", "k": "\u212a", "K": "\u212a", "i": "\u0131", "I": "\u0131"}


def critical_texts(expression: Expression, known: Known, all_known: Mapping[str, Known]) -> list[bytes]:
    """Texts that a column may hold, the likelier witnesses first."""
    bounds = [side.decode("utf-8", "ignore") for side in _sides(all_known.values())]
    own = [side.decode("utf-8", "ignore") for side in _sides([known])]
    stems = list(dict.fromkeys(_stems(own)))
    pieces = list(dict.fromkeys(_pieces(expression, own)))[:_PIECES_MAX]
    found: dict[bytes, None] = {}
    for text in itertools.chain(bounds, _spliced(stems, pieces, _lengths(expression))):
        encoded = text.encode("utf-8", "ignore")
        if encoded not in found and known.holds(encoded):
            found[encoded] = None
            if len(found) == TEXTS_MAX:
                break
    return list(found)


def _sides(known: Iterable[Known]) -> Iterator[bytes]:
    for each in known:
        for side in (each.lower, each.upper):
            if isinstance(side, bytes):
                yield side


def _stems(bounds: list[str]) -> Iterator[str]:
    """Beginnings of the bounds, the longest first, and those with another last character."""
    yield from bounds
    yield ""
    for bound in bounds:
        yield from (bound + filler for filler in _FILLERS)
    for length in range(max(map(len, bounds), default=0), 0, -1):
        for bound in bounds:
            if length <= len(bound):
                start, last = bound[: length - 1], bound[length - 1]
                yield from (start + other for other in (last, _stepped(last, 1), _stepped(last, -1)))


def _stepped(character: str, step: int) -> str:
    code = ord(character) + step
    code = {0xD800: 0xE000, 0xDFFF: 0xD7FF}.get(code, code)
    return chr(code) if 0 <= code <= 0x10FFFF else ""


def _spliced(stems: list[str], pieces: list[str], lengths: list[int]) -> Iterator[str]:
    """Stems and pieces side by side, one over the other, and with more at the end."""
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
    for one, other in itertools.product(pieces, pieces):
        yield one + other


def _lengths(expression: Expression) -> list[int]:
    numbers = [
        int(node.value)
        for node in walk(expression)
        if isinstance(node, Literal) and node.type.kind is Kind.INTEGER and node.value is not None
    ]
    near = {number + step for number in numbers for step in (-1, 0, 1)}
    return sorted(length for length in near if 0 < length < 64)


def _pieces(expression: Expression, bounds: list[str]) -> Iterator[str]:
    """What the predicate names, what its patterns match, and what its functions make such texts of."""
    named = list(dict.fromkeys(_named(expression, bounds)))
    functions = {node.function for node in walk(expression) if isinstance(node, Call)}
    for text in named:
        yield text
        yield from _cases(text, bounds) if functions & _CASED else ()
    if functions & _TRIMS:
        for text, pad in itertools.product(named, _pads(expression)):
            yield from (pad + text, text + pad, pad + text + pad, text.strip(pad), text.rstrip(pad))
    if functions or len(named) > 1:
        for text in named:
            yield from (text[:length] for length in range(len(text)))
            yield from (text[length:] for length in range(1, len(text)))
    yield from ("a", "0", "A", "\0", "\U0010ffff")


def _named(expression: Expression, bounds: list[str]) -> Iterator[str]:
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
                yield from of_like(pattern.decode(), escape, dict.fromkeys(("", "a", *bounds, *tails)))
            case RLike(_, pattern):
                yield from of_regular_expression(pattern.decode())


def _pads(expression: Expression) -> list[str]:
    pads = [" ", "  "]
    for node in walk(expression):
        if isinstance(node, Call) and node.function in _TRIMS:
            last = node.operands[-1]
            pads += (
                [last.value.decode()] if isinstance(last, Literal) and isinstance(last.value, bytes) else []
            )
    return [pad for whole in pads for pad in (whole, whole[:1]) if pad]


def _cases(text: str, bounds: list[str]) -> Iterator[str]:
    """The text with some of its letters in another case: as a bound has them first."""
    yield from (text.lower(), text.upper(), text.swapcase(), text.title())
    for bound in bounds:
        pairs = itertools.zip_longest(text, bound[: len(text)])
        yield "".join(other if other and other.lower() == one.lower() else one for one, other in pairs)
    ways = [_ways(letter) for letter in text]
    yield from ("".join(letters) for letters in itertools.islice(itertools.product(*ways), _CASES_MAX))


def _ways(letter: str) -> list[str]:
    ways = dict.fromkeys((letter, letter.lower(), letter.upper(), *_OTHER_CASES.get(letter, "")))
    return [way for way in ways if way]
