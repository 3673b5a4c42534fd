"""Predicates on the characters of a text: startswith, endswith, contains, LIKE and RLIKE ([P] 3.1).

The set of texts on which one is TRUE is an interval (a prefix) or a language; so is that on which it
is FALSE. Both are exact for all UTF-8, whatever stands before and behind a wildcard.
"""

from functools import lru_cache

from pruning.expressions.trees import Contains, EndsWith, Expression, Like, RLike, StartsWith, type_of
from pruning.expressions.types import BINARY, BYTES, Kind
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.sets import cuts, languages, value_sets
from pruning.rules.sets.cuts import EMPTY, FULL
from pruning.rules.sets.languages import STATES_MAX, Language
from pruning.rules.sets.outcomes import NULL_ONLY, NUMBERS, Outcomes, ValueSet
from pruning.rules.sets.value_sets import Values
from pruning.rules.text import java_patterns, like_patterns
from pruning.rules.text.characters import REPLACEMENT
from pruning.rules.text.regular_expressions import Pattern, match_sets

_Sets = tuple[Values, Values]
_UNKNOWN: _Sets = (FULL, FULL)


def starts_with(analysis: Analysis, node: Expression) -> Outcomes:
    """Whether a value has the prefix (TRUE), lacks it (FALSE), or is NULL.

    Claim     A value of the operand that gives startswith a truth value is in that set.
    Proof     s has the prefix p if and only if p <= s < end(p), where end(p) is the least byte
              string above all that have it (axiom PREFIX, tested).
    """
    assert isinstance(node, StartsWith)
    return _outcomes(node.operand, BYTES, _prefixed(node.prefix))


def ends_with(analysis: Analysis, node: Expression) -> Outcomes:
    """Whether a value ends in the suffix (TRUE), does not (FALSE), or is NULL.

    Claim     A value of the operand that gives endswith a truth value is in that set.
    Proof     The automaton knows how much of the suffix the bytes read end in (`_searched`): all of it.
    """
    assert isinstance(node, EndsWith)
    return _outcomes(node.operand, BYTES, _searched(node.suffix, at_end=True))


def contains(analysis: Analysis, node: Expression) -> Outcomes:
    """Whether a value holds the part (TRUE), does not (FALSE), or is NULL.

    Claim     A value of the operand that gives contains a truth value is in that set.
    Proof     As for `ends_with`, of some of the bytes read.
    """
    assert isinstance(node, Contains)
    return _outcomes(node.operand, BYTES, _searched(node.part, at_end=False))


def like(analysis: Analysis, node: Expression) -> Outcomes:
    """Whether a text matches (TRUE), does not (FALSE), or is NULL.

    Claim     A value of the operand that gives LIKE a truth value is in that set.
    Premises  Spark refuses a malformed pattern, so that no row has a value.
    Proof     (1) Text without a wildcard is a value, text and `%` a prefix: bytes that are not UTF-8
                  do not spell that text.
              (2) Any other pattern is a regular expression (`regular.matches`); where that takes too
                  many states a match still starts with the text before the first wildcard.
    """
    assert isinstance(node, Like)
    return _outcomes(node.operand, frozenset({Kind.STRING}), like_sets(node.pattern, node.escape))


def rlike(analysis: Analysis, node: Expression) -> Outcomes:
    """Whether a part of a text matches (TRUE), none does (FALSE), or it is NULL.

    Claim     A value of the operand that gives RLIKE a truth value is in that set.
    Proof     As for LIKE (2); of a pattern that is not known the text after `^` is (`certain_prefix`).
    """
    assert isinstance(node, RLike)
    return _outcomes(node.operand, frozenset({Kind.STRING}), rlike_sets(node.pattern))


def _outcomes(operand: Expression, kinds: frozenset[Kind], sets: _Sets) -> Outcomes:
    if type_of(operand).kind not in kinds:
        return Outcomes(operand, true=NUMBERS, false=NUMBERS, null=NULL_ONLY)
    true, false = sets
    return Outcomes(operand, true=ValueSet(true), false=ValueSet(false), null=NULL_ONLY)


def like_sets(pattern: bytes, escape: str) -> _Sets:
    """The texts that match a pattern of LIKE, and those that do not."""
    prefix, rest = like_patterns.prefix(pattern, escape)
    if not rest:
        return _exactly(cuts.of_values([prefix], BINARY))  # (1)
    if not rest.strip("%") and escape != "%":
        return _prefixed(prefix)
    # Spark may make a pattern an equality, or a startswith, which compare bytes.
    by_bytes = chr(REPLACEMENT).encode() in pattern
    return _matched(like_patterns.parse(pattern, escape), prefix, by_bytes=by_bytes)  # (2)


def rlike_sets(pattern: bytes) -> _Sets:
    """The texts in which Java finds a pattern, and those in which it does not."""
    return _matched(
        java_patterns.parse_search(pattern), java_patterns.certain_prefix(pattern), by_bytes=False
    )


def _matched(pattern: Pattern | None, prefix: bytes, *, by_bytes: bool) -> _Sets:
    found = None if pattern is None else match_sets(pattern, by_bytes=by_bytes)
    if found is None:
        return cuts.with_prefix(prefix, BINARY), FULL
    return _simplest(found.true), _simplest(found.false)


def _prefixed(prefix: bytes) -> _Sets:
    return _exactly(cuts.with_prefix(prefix, BINARY))


def _exactly(values: Values) -> _Sets:
    return values, value_sets.complement(values)


@lru_cache(maxsize=256)
def _searched(part: bytes, *, at_end: bool) -> _Sets:
    """The byte strings that hold a part, at their end or anywhere, and the others.

    A state is how long a start of the part is, at most, that the bytes read end in.
    """
    if not part:
        return _exactly(FULL)
    shorter = _borders(part)

    def step(state: int, byte: int) -> int:
        if state == len(part):
            if not at_end:
                return state
            state = shorter[state]
        while state > 0 and part[state] != byte:
            state = shorter[state]
        return state + (part[state] == byte)

    found = languages.from_automaton(
        0, step, lambda state: state == len(part), byte_classes=_named(part), states_max=STATES_MAX
    )
    return _UNKNOWN if found is None else _exactly(found)


def _borders(part: bytes) -> list[int]:
    """Of each start of a part, by length, the longest shorter start that it ends in."""
    borders = [0, 0]
    for byte in part[1:]:
        border = borders[-1]
        while border > 0 and part[border] != byte:
            border = borders[border]
        borders.append(border + (part[border] == byte))
    return borders


def _named(part: bytes) -> bytes:
    """A number for each byte: those of the part are alone, all others together."""
    numbers = {byte: number for number, byte in enumerate(sorted(set(part)), 1)}
    return bytes(numbers.get(byte, 0) if len(numbers) < 255 else byte for byte in range(256))


def _simplest(found: Language) -> Values:
    if found.empty or found.full:
        return FULL if found.full else EMPTY
    return found


STARTS_WITH = Rule(outcomes=starts_with)
ENDS_WITH = Rule(outcomes=ends_with)
CONTAINS = Rule(outcomes=contains)
LIKE = Rule(outcomes=like)
RLIKE = Rule(outcomes=rlike)
