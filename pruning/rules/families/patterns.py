"""Predicates on the characters of a text: startswith, endswith, contains, LIKE and RLIKE ([P] 3.1).

The set of texts on which such a predicate is TRUE is an interval (for a prefix) or a regular language, and
so is the set on which it is FALSE. Both are exact for all UTF-8, wherever the wildcards are.
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
    """Return the values that have the prefix (TRUE) and those that do not (FALSE).

    Claim     A value of the operand that gives startswith a truth value is in that set.
    Proof     s has the prefix p if and only if p <= s < end(p), where end(p) is the least byte
              string above all that have it (axiom PREFIX, tested).
    """
    assert isinstance(node, StartsWith)
    return _outcomes(node.operand, BYTES, _prefix_sets(node.prefix))


def ends_with(analysis: Analysis, node: Expression) -> Outcomes:
    """Return the values that end in the suffix (TRUE) and those that do not (FALSE).

    Claim     A value of the operand that gives endswith a truth value is in that set.
    Proof     The automaton knows how much of the suffix the bytes read end in (`_substring_sets`): all of it.
    """
    assert isinstance(node, EndsWith)
    return _outcomes(node.operand, BYTES, _substring_sets(node.suffix, at_end=True))


def contains(analysis: Analysis, node: Expression) -> Outcomes:
    """Return the values that contain the part (TRUE) and those that do not (FALSE).

    Claim     A value of the operand that gives contains a truth value is in that set.
    Proof     As for `ends_with`, of some of the bytes read.
    """
    assert isinstance(node, Contains)
    return _outcomes(node.operand, BYTES, _substring_sets(node.part, at_end=False))


def like(analysis: Analysis, node: Expression) -> Outcomes:
    """Return the texts that match (TRUE) and those that do not (FALSE).

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
    """Return the texts of which some part matches (TRUE) and the others (FALSE).

    Claim     A value of the operand that gives RLIKE a truth value is in that set.
    Proof     As for LIKE (2); of a pattern that is not known the text after `^` is (`certain_prefix`).
    """
    assert isinstance(node, RLike)
    return _outcomes(node.operand, frozenset({Kind.STRING}), rlike_sets(node.pattern))


def _outcomes(operand: Expression, kinds: frozenset[Kind], sets: _Sets) -> Outcomes:
    """Return the outcomes of a predicate that is TRUE and FALSE on two sets of texts."""
    if type_of(operand).kind not in kinds:
        return Outcomes(operand, true=NUMBERS, false=NUMBERS, null=NULL_ONLY)
    true, false = sets
    return Outcomes(operand, true=ValueSet(true), false=ValueSet(false), null=NULL_ONLY)


def like_sets(pattern: bytes, escape: str) -> _Sets:
    """Return the texts that match a pattern of LIKE, and those that do not."""
    prefix, rest = like_patterns.prefix(pattern, escape)
    if not rest:
        return _with_complement(cuts.of_values([prefix], BINARY))  # (1)
    if not rest.strip("%") and escape != "%":
        return _prefix_sets(prefix)
    # Spark may make a pattern an equality, or a startswith, which compare bytes.
    by_bytes = chr(REPLACEMENT).encode() in pattern
    return _pattern_sets(like_patterns.parse(pattern, escape), prefix, by_bytes=by_bytes)  # (2)


def rlike_sets(pattern: bytes) -> _Sets:
    """Return the texts in which Java finds a pattern, and those in which it does not."""
    return _pattern_sets(
        java_patterns.parse_search(pattern), java_patterns.certain_prefix(pattern), by_bytes=False
    )


def _pattern_sets(pattern: Pattern | None, prefix: bytes, *, by_bytes: bool) -> _Sets:
    """Return the sets of a parsed pattern; if it is not supported or too large, its prefix decides."""
    sets = None if pattern is None else match_sets(pattern, by_bytes=by_bytes)
    if sets is None:
        return cuts.with_prefix(prefix, BINARY), FULL
    return _simplest(sets.true), _simplest(sets.false)


def _prefix_sets(prefix: bytes) -> _Sets:
    """Return the byte strings with a prefix, and the others."""
    return _with_complement(cuts.with_prefix(prefix, BINARY))


def _with_complement(values: Values) -> _Sets:
    """Return an exact set and its complement."""
    return values, value_sets.complement(values)


@lru_cache(maxsize=256)
def _substring_sets(part: bytes, *, at_end: bool) -> _Sets:
    """Return the byte strings that contain a part, anywhere or at their end, and the others.

    A state is the length of the longest prefix of the part that the bytes read end in (the automaton of
    Knuth, Morris and Pratt).
    """
    if not part:
        return _with_complement(FULL)
    shorter = _borders(part)

    def step(state: int, byte: int) -> int:
        """Return the length of the prefix that the bytes read end in after one more byte."""
        if state == len(part):
            if not at_end:
                return state
            state = shorter[state]
        while state > 0 and part[state] != byte:
            state = shorter[state]
        return state + (part[state] == byte)

    language = languages.from_automaton(
        0, step, lambda state: state == len(part), byte_classes=_byte_classes(part), states_max=STATES_MAX
    )
    return _UNKNOWN if language is None else _with_complement(language)


def _borders(part: bytes) -> list[int]:
    """Return the length of the longest border (proper suffix that is a prefix) of each prefix of a part."""
    borders = [0, 0]
    for byte in part[1:]:
        border = borders[-1]
        while border > 0 and part[border] != byte:
            border = borders[border]
        borders.append(border + (part[border] == byte))
    return borders


def _byte_classes(part: bytes) -> bytes:
    """Number the bytes so that those of the part are alone, and all others together."""
    numbers = {byte: number for number, byte in enumerate(sorted(set(part)), 1)}
    return bytes(numbers.get(byte, 0) if len(numbers) < 255 else byte for byte in range(256))


def _simplest(language: Language) -> Values:
    """Return a language as intervals if it is empty or full."""
    if language.empty or language.full:
        return FULL if language.full else EMPTY
    return language


STARTS_WITH = Rule(outcomes=starts_with)
ENDS_WITH = Rule(outcomes=ends_with)
CONTAINS = Rule(outcomes=contains)
LIKE = Rule(outcomes=like)
RLIKE = Rule(outcomes=rlike)
