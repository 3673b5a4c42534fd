"""Prefixes: startswith, and LIKE by the literal text before its first wildcard ([P] 3.1).

The prefix of a pattern is a *widened* predicate: it can prove that no row matches; that every row
matches only where nothing but `%` follows it.
"""

from pruning.expressions.trees import Column, Expression, Like, StartsWith
from pruning.expressions.types import BYTES
from pruning.rules import ranges
from pruning.rules.analysis import Analysis, Rule
from pruning.rules.environment import Environment
from pruning.rules.primitives import prefix_end
from pruning.rules.program import Flag
from pruning.rules.ranges import Range
from pruning.rules.truths import Truths

_REPLACEMENT = "\ufffd"


def may(analysis: Analysis, node: Expression, environment: Environment, truth: Truths) -> Flag:
    """Whether a value may have the prefix (TRUE), may lack it (FALSE), or is NULL.

    Claim     If a row gives startswith or LIKE this truth value, the flag holds.
    Premises  Values lie inside their bounds in the order of bytes.
    Proof     s has the prefix p if and only if p <= s < end(p), where end(p) is the least byte
              string above all that have it (axiom PREFIX, tested). So
              (1) TRUE only if p <= upper and lower < end(p);
              (2) FALSE only if lower < p or end(p) <= upper - or if more than p has to match.
    """
    assert isinstance(node, StartsWith | Like)
    build, known = analysis.build, analysis.range(node.operand, environment)
    if truth is Truths.NULL:
        return known.may_null
    if known.type.kind not in BYTES:
        return known.may_value
    prefix, exact = _prefix(node)
    if truth is Truths.FALSE and not exact:
        return known.may_value
    start = build.bound(prefix, known.type)
    end = build.bound(prefix_end(prefix), known.type)  # unknown where nothing is above the prefix
    if truth is Truths.TRUE:  # (1)
        inside = build.and_(build.maybe_at_most(start, known.upper), build.maybe_less(known.lower, end))
        return build.and_(known.may_value, inside)
    above = build.flag(False) if prefix_end(prefix) is None else build.maybe_at_most(end, known.upper)
    outside = build.or_(build.maybe_less(known.lower, start), above)  # (2)
    return build.and_(known.may_value, outside)


def assume(analysis: Analysis, node: Expression, environment: Environment, truths: Truths) -> Environment:
    """TRUE puts a column between the prefix and its end; TRUE and FALSE make it not NULL."""
    assert isinstance(node, StartsWith | Like)
    if not isinstance(node.operand, Column) or node.operand.type.kind not in BYTES:
        return environment
    build, known = analysis.build, analysis.range(node.operand, environment)
    pieces: list[Range] = []
    if Truths.TRUE in truths:
        prefix, _ = _prefix(node)
        start, end = build.bound(prefix, known.type), build.bound(prefix_end(prefix), known.type)
        pieces.append(ranges.within(build, ranges.not_null(build, known), start, end))
    if Truths.FALSE in truths:
        pieces.append(ranges.not_null(build, known))
    if Truths.NULL in truths:
        pieces.append(ranges.only_null(build, known))
    return environment.with_column(node.operand.name, ranges.union_of(build, pieces))


def _prefix(node: StartsWith | Like) -> tuple[bytes, bool]:
    """The bytes that a match starts with, and whether every value that starts so matches."""
    if isinstance(node, StartsWith):
        return node.prefix, True
    return like_prefix(node.pattern, node.escape)


def like_prefix(pattern: bytes, escape: str) -> tuple[bytes, bool]:
    """The literal text before a LIKE pattern's first wildcard, and whether only `%` follows.

    Spark matches characters, and reads bytes that are not UTF-8 as U+FFFD; so the prefix ends
    before that character too: values with other bytes match it. A malformed pattern, which Spark
    refuses, gives the text before the fault.
    """
    text = pattern.decode("utf-8", errors="replace")
    prefix: list[str] = []
    position = 0
    while position < len(text):
        character = text[position]
        if character == escape:
            position += 1
            character = text[position : position + 1]
            if character not in ("%", "_", escape):
                return "".join(prefix).encode(), False
        elif character in "%_":
            return "".join(prefix).encode(), not text[position:].strip("%")
        if character == _REPLACEMENT:
            return "".join(prefix).encode(), False
        prefix.append(character)
        position += 1
    return "".join(prefix).encode(), False


PREFIX = Rule(may=may, assume=assume)
