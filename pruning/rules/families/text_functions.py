"""Rules of the functions of text: predicates on a result are predicates on the operand.

`upper(s) = 'X'` holds of the texts whose upper case is X: a set of values of `s` itself, so that what a
block can give is as exact as for `s`. Where two functions are compared, what is known is a bound.
"""

from collections.abc import Callable

from pruning.expressions.trees import Call, Expression, Function, Literal, type_of
from pruning.expressions.types import STRING, Kind
from pruning.rules.analysis import ranges
from pruning.rules.analysis.environment import Environment
from pruning.rules.analysis.evaluation import Analysis, Rule
from pruning.rules.analysis.ranges import Range
from pruning.rules.program.builder import Builder
from pruning.rules.sets import value_sets
from pruning.rules.sets.cuts import EMPTY, FULL, Cuts
from pruning.rules.sets.languages import Language
from pruning.rules.sets.outcomes import EVERYTHING, NOTHING, ValueSet
from pruning.rules.sets.primitives import prefix_end
from pruning.rules.sets.value_sets import Values
from pruning.rules.text import ascii_case, interval_preimages, letter_case, preimages

_Preimage = tuple[Expression, ValueSet]
_SPACE = b" "


def case_preimage(node: Expression, values: ValueSet) -> _Preimage | None:
    """UPPER and LOWER: `letter_case.case_preimage`, or `ascii_case` where that takes too many states."""
    assert isinstance(node, Call)
    if not _on_text(node):
        return None

    def becoming(wanted: Language) -> Language | None:
        found = letter_case.case_preimage(node.function, wanted)
        return ascii_case.case_preimage_over_ascii(node.function, wanted) if found is None else found

    return _of_operand(node.operands[0], values, becoming)


def trim_preimage(node: Expression, values: ValueSet) -> _Preimage | None:
    """TRIM, LTRIM and RTRIM: `text_functions.trimmed`; spaces only, unless other characters are given."""
    assert isinstance(node, Call)
    operand, *given = node.operands
    literals = [literal.value for literal in given if isinstance(literal, Literal)]
    if not _on_text(node) or len(literals) < len(given):
        return None
    if None in literals:
        return _always_null(operand, values)
    removed = _decoded(literals[0] if literals else _SPACE)
    if removed is None:
        return None
    sides = {"leading": node.function is not Function.RTRIM, "trailing": node.function is not Function.LTRIM}
    return _of_operand(operand, values, lambda wanted: preimages.trim_preimage(wanted, removed, **sides))


def substring_preimage(node: Expression, values: ValueSet) -> _Preimage | None:
    """SUBSTRING: `text_functions.cut_out`, or `text_intervals.starting` where intervals stay intervals."""
    assert isinstance(node, Call)
    operand, *given = node.operands
    literals = [literal.value for literal in given if isinstance(literal, Literal)]
    if not _on_text(node) or len(literals) < 2:
        return None
    position, length = literals
    if position is None or length is None:
        return _always_null(operand, values)
    assert isinstance(position, int)
    assert isinstance(length, int)
    if isinstance(values.cuts, Cuts) and position in (0, 1):
        return operand, _with(values, interval_preimages.truncation_preimage(values.cuts, length))
    return _of_operand(operand, values, lambda wanted: preimages.substring_preimage(wanted, position, length))


def concat_preimage(node: Expression, values: ValueSet) -> _Preimage | None:
    """CONCAT of constants and one other text: `text_functions.surrounded`, or `text_intervals.following`."""
    assert isinstance(node, Call)
    places = [place for place, each in enumerate(node.operands) if not isinstance(each, Literal)]
    if len(places) != 1 or any(type_of(each) != STRING for each in node.operands):
        return None
    operand = node.operands[places[0]]
    literals = [each.value for each in node.operands if isinstance(each, Literal)]
    texts = [value for value in literals if isinstance(value, bytes)]
    if len(texts) < len(literals):
        return _always_null(operand, values)
    before, after = b"".join(texts[: places[0]]), b"".join(texts[places[0] :])
    if isinstance(values.cuts, Cuts) and not after:
        return operand, _with(values, interval_preimages.prefix_preimage(values.cuts, before))
    return _of_operand(operand, values, lambda wanted: preimages.concat_preimage(wanted, before, after))


def pad_preimage(node: Expression, values: ValueSet) -> _Preimage | None:
    """RPAD: `text_functions.padded`."""
    assert isinstance(node, Call)
    operand, *given = node.operands
    literals = [literal.value for literal in given if isinstance(literal, Literal)]
    if not _on_text(node) or len(literals) < 2:
        return None
    length, pad = literals
    if length is None or pad is None:
        return _always_null(operand, values)
    assert isinstance(length, int)
    text = _decoded(pad)
    if text is None:
        return None
    return _of_operand(operand, values, lambda wanted: preimages.pad_preimage(wanted, length, text))


def length_preimage(node: Expression, values: ValueSet) -> _Preimage | None:
    """LENGTH: `text_functions.of_length`."""
    assert isinstance(node, Call)
    operand = node.operands[0]
    if type_of(operand) != STRING or not isinstance(values.cuts, Cuts):
        return None
    if values.cuts.full or values.cuts.empty:
        return operand, values
    return operand, _with(values, _simplest(preimages.length_preimage(values.cuts)))


def _on_text(node: Call) -> bool:
    return node.type == STRING and type_of(node.operands[0]) == STRING


def _decoded(value: object) -> str | None:
    assert isinstance(value, bytes)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _of_operand(
    operand: Expression, values: ValueSet, preimage: Callable[[Language], Language | None]
) -> _Preimage:
    """The values of the operand whose result is wanted; NULL gives NULL, and only NULL does."""
    if values.cuts.full or values.cuts.empty:
        return operand, values
    wanted = value_sets.as_language(values.cuts)
    return operand, _with(values, FULL if wanted is None else _simplest(preimage(wanted)))


def _with(values: ValueSet, found: Values) -> ValueSet:
    return ValueSet(found, null=values.null, nan=values.nan)


def _simplest(found: Language | None) -> Values:
    if found is None or found.full:
        return FULL
    return EMPTY if found.empty else found


def _always_null(operand: Expression, values: ValueSet) -> _Preimage:
    """A constant argument is NULL: so is each result."""
    return operand, EVERYTHING if values.null else NOTHING


def unknown_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Any text; NULL only where an operand is (UPPER, LOWER, and what no bound is known of)."""
    assert isinstance(node, Call)
    return _nulls(analysis, node, environment)


def shortened_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """A start of the operand is at most the operand.

    Claim     Each row's RTRIM, or SUBSTRING from the first character on, lies in the range.
    Premises  A start of a string is at most the string, byte by byte.
    Proof     left(v) <= v <= upper.
    """
    assert isinstance(node, Call)
    known = _nulls(analysis, node, environment)
    operand = node.operands[0]
    if not _on_text(node) or not _is_start(node):
        return known
    return ranges.within(analysis.build, known, known.lower, analysis.range(operand, environment).upper)


def _is_start(node: Call) -> bool:
    if node.function is Function.RTRIM:
        return True
    position = node.operands[1]
    return isinstance(position, Literal) and position.value in (0, 1)


def lengthened_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """A text that starts with the first operand is at least that operand.

    Claim     Each row's CONCAT lies in the range.
    Proof     (1) lower <= v <= v + w.
              (2) After a constant p, no text is above all that start with p.
    """
    assert isinstance(node, Call)
    build = analysis.build
    known = _nulls(analysis, node, environment)
    first = node.operands[0] if node.operands else None
    if first is None or node.type != STRING or type_of(first) != STRING:
        return known
    end = prefix_end(first.value) if isinstance(first, Literal) and isinstance(first.value, bytes) else None
    start = analysis.range(first, environment)
    return ranges.within(build, known, start.lower, build.bound(end, STRING))  # (1), (2)


def length_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """A number of characters, or of bytes: none is negative."""
    assert isinstance(node, Call)
    build = analysis.build
    known = _nulls(analysis, node, environment)
    if node.type.kind is not Kind.INTEGER:
        return known
    return ranges.within(build, known, build.bound(0, node.type), build.unknown(node.type))


def _nulls(analysis: Analysis, node: Call, environment: Environment) -> Range:
    """Any value, NULL where an operand is."""
    build: Builder = analysis.build
    operands = [analysis.range(operand, environment) for operand in node.operands]
    known = ranges.anything(build, node.type)
    return Range(
        lower=known.lower,
        upper=known.upper,
        may_null=build.or_(*(operand.may_null for operand in operands)),
        may_nan=known.may_nan,
        may_value=build.and_(known.may_value, *(operand.may_value for operand in operands)),
    )


CASE = Rule(range=unknown_range, preimage=case_preimage)
TRIM = Rule(range=unknown_range, preimage=trim_preimage)
RTRIM = Rule(range=shortened_range, preimage=trim_preimage)
SUBSTRING = Rule(range=shortened_range, preimage=substring_preimage)
CONCAT = Rule(range=lengthened_range, preimage=concat_preimage)
LENGTH = Rule(range=length_range, preimage=length_preimage)
RPAD = Rule(range=unknown_range, preimage=pad_preimage)
