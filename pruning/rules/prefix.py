"""Prefixes: startswith, and LIKE by the literal text before its first wildcard ([P] 3.1).

The prefix of a pattern is a *widened* predicate: it can prove that no row matches; that every row
matches only where nothing but `%` follows it.
"""

from pruning.expressions.trees import Expression, Like, StartsWith, type_of
from pruning.expressions.types import BYTES
from pruning.rules import cuts
from pruning.rules.analysis import Analysis, Rule
from pruning.rules.outcomes import NULL_ONLY, NUMBERS, Outcomes, ValueSet

_REPLACEMENT = "\ufffd"


def outcomes(analysis: Analysis, node: Expression) -> Outcomes:
    """Whether a value has the prefix (TRUE), lacks it (FALSE), or is NULL.

    Claim     A value of the operand that gives startswith or LIKE a truth value is in that set.
    Proof     s has the prefix p if and only if p <= s < end(p), where end(p) is the least byte
              string above all that have it (axiom PREFIX, tested). So
              (1) TRUE only of values from p on and below end(p);
              (2) FALSE only of the others - or of any, if more than p has to match.
    """
    assert isinstance(node, StartsWith | Like)
    type_ = type_of(node.operand)
    if type_.kind not in BYTES:
        return Outcomes(node.operand, true=NUMBERS, false=NUMBERS, null=NULL_ONLY)
    prefix, exact = _prefix(node)
    having = cuts.prefixed(prefix, type_)  # (1)
    lacking = ValueSet(cuts.complement(having)) if exact else NUMBERS  # (2)
    return Outcomes(node.operand, true=ValueSet(having), false=lacking, null=NULL_ONLY)


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


PREFIX = Rule(outcomes=outcomes)
