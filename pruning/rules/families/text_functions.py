"""Rules of the functions of text: a predicate on the result is one on the operand, by preimages.

`upper(s) = 'X'` is TRUE of the texts whose upper case is X, which is a set of values of `s` itself, so the
verdict is as exact as for `s`. Where two functions are compared, only bounds are known.
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
from pruning.rules.text import ascii_case, interval_preimages, letter_case, preimages, search_preimages

_Preimage = tuple[Expression, ValueSet]
_SPACE = b" "
_COUNT_MAX = 16  # occurrences of a separator; more are not analysed


def case_preimage(node: Expression, values: ValueSet) -> _Preimage | None:
    """Return the preimage of UPPER or LOWER: by `letter_case`, or `ascii_case` if it has too many states."""
    assert isinstance(node, Call)
    if not _on_text(node):
        return None

    def becoming(wanted: Language) -> Language | None:
        """Return the texts whose upper or lower case is wanted."""
        exact = letter_case.case_preimage(node.function, wanted)
        return ascii_case.case_preimage_over_ascii(node.function, wanted) if exact is None else exact

    return _operand_preimage(node.operands[0], values, becoming)


def trim_preimage(node: Expression, values: ValueSet) -> _Preimage | None:
    """Return the preimage of TRIM, LTRIM or RTRIM, of spaces or of literal characters."""
    assert isinstance(node, Call)
    operand, *arguments = node.operands
    literals = [literal.value for literal in arguments if isinstance(literal, Literal)]
    if not _on_text(node) or len(literals) < len(arguments):
        return None
    if None in literals:
        return _always_null(operand, values)
    removed = _decode(literals[0] if literals else _SPACE)
    if removed is None:
        return None
    sides = {"leading": node.function is not Function.RTRIM, "trailing": node.function is not Function.LTRIM}
    return _operand_preimage(
        operand, values, lambda wanted: preimages.trim_preimage(wanted, removed, **sides)
    )


def substring_preimage(node: Expression, values: ValueSet) -> _Preimage | None:
    """Return the preimage of SUBSTRING; from the first character on, intervals stay intervals."""
    assert isinstance(node, Call)
    operand, *arguments = node.operands
    literals = [literal.value for literal in arguments if isinstance(literal, Literal)]
    if not _on_text(node) or len(literals) < 2:
        return None
    position, length = literals
    if position is None or length is None:
        return _always_null(operand, values)
    assert isinstance(position, int)
    assert isinstance(length, int)
    if isinstance(values.cuts, Cuts) and position in (0, 1):
        return operand, _with_cuts(values, interval_preimages.truncation_preimage(values.cuts, length))
    return _operand_preimage(
        operand, values, lambda wanted: preimages.substring_preimage(wanted, position, length)
    )


def concat_preimage(node: Expression, values: ValueSet) -> _Preimage | None:
    """Return the preimage of CONCAT of literals and one other text."""
    assert isinstance(node, Call)
    places = [place for place, argument in enumerate(node.operands) if not isinstance(argument, Literal)]
    if len(places) != 1 or any(type_of(argument) != STRING for argument in node.operands):
        return None
    operand = node.operands[places[0]]
    literals = [argument.value for argument in node.operands if isinstance(argument, Literal)]
    texts = [value for value in literals if isinstance(value, bytes)]
    if len(texts) < len(literals):
        return _always_null(operand, values)
    before, after = b"".join(texts[: places[0]]), b"".join(texts[places[0] :])
    if isinstance(values.cuts, Cuts) and not after:
        return operand, _with_cuts(values, interval_preimages.prefix_preimage(values.cuts, before))
    return _operand_preimage(operand, values, lambda wanted: preimages.concat_preimage(wanted, before, after))


def pad_preimage(node: Expression, values: ValueSet) -> _Preimage | None:
    """Return the preimage of RPAD or LPAD."""
    assert isinstance(node, Call)
    operand, *arguments = node.operands
    literals = [literal.value for literal in arguments if isinstance(literal, Literal)]
    if not _on_text(node) or len(literals) < 2:
        return None
    length, pad = literals
    if length is None or pad is None:
        return _always_null(operand, values)
    assert isinstance(length, int)
    text = _decode(pad)
    if text is None:
        return None
    pad_text = (
        search_preimages.left_pad_preimage if node.function is Function.LPAD else preimages.pad_preimage
    )
    return _operand_preimage(operand, values, lambda wanted: pad_text(wanted, length, text))


def replace_preimage(node: Expression, values: ValueSet) -> _Preimage | None:
    """Return the preimage of REPLACE by literal texts."""
    assert isinstance(node, Call)
    operand, *arguments = node.operands
    texts = [_text(argument) for argument in arguments]
    if not _on_text(node) or None in texts:
        return None
    part, replacement = (str(text) for text in texts)
    return _operand_preimage(
        operand, values, lambda wanted: search_preimages.replace_preimage(wanted, part, replacement)
    )


def start_preimage(node: Expression, values: ValueSet) -> _Preimage | None:
    """Return the preimage of SUBSTRING_INDEX by a literal separator and a small positive number."""
    assert isinstance(node, Call)
    operand, separator, count = node.operands
    text, number = _text(separator), count.value if isinstance(count, Literal) else None
    if not _on_text(node) or not text or not isinstance(number, int) or not 1 <= number <= _COUNT_MAX:
        return None
    return _operand_preimage(
        operand, values, lambda wanted: search_preimages.start_preimage(wanted, text, number)
    )


def position_preimage(node: Expression, values: ValueSet) -> _Preimage | None:
    """Return the preimage of INSTR of a literal text."""
    assert isinstance(node, Call)
    operand, part = node.operands[0], _text(node.operands[1])
    if type_of(operand) != STRING or not part or not isinstance(values.cuts, Cuts):
        return None
    if values.cuts.full or values.cuts.empty:
        return operand, values
    return operand, _with_cuts(values, _simplest(search_preimages.position_preimage(values.cuts, part)))


def _text(operand: Expression) -> str | None:
    """Return the text of a literal; None of NULL, of what is not UTF-8, and of any other operand."""
    value = operand.value if isinstance(operand, Literal) else None
    return _decode(value) if isinstance(value, bytes) else None


def length_preimage(node: Expression, values: ValueSet) -> _Preimage | None:
    """Return the preimage of LENGTH."""
    assert isinstance(node, Call)
    operand = node.operands[0]
    if type_of(operand) != STRING or not isinstance(values.cuts, Cuts):
        return None
    if values.cuts.full or values.cuts.empty:
        return operand, values
    return operand, _with_cuts(values, _simplest(preimages.length_preimage(values.cuts)))


def _on_text(node: Call) -> bool:
    """Tell whether the function maps a string to a string."""
    return node.type == STRING and type_of(node.operands[0]) == STRING


def _decode(value: object) -> str | None:
    """Return the text of a literal; None if it is not UTF-8."""
    assert isinstance(value, bytes)
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _operand_preimage(
    operand: Expression, values: ValueSet, preimage: Callable[[Language], Language | None]
) -> _Preimage:
    """Return the operand's values whose result is wanted; NULL gives NULL, and nothing else does."""
    if values.cuts.full or values.cuts.empty:
        return operand, values
    wanted = value_sets.as_language(values.cuts)
    return operand, _with_cuts(values, FULL if wanted is None else _simplest(preimage(wanted)))


def _with_cuts(values: ValueSet, cuts: Values) -> ValueSet:
    """Return the set with its values replaced; NULL and NaN stay."""
    return ValueSet(cuts, null=values.null, nan=values.nan)


def _simplest(language: Language | None) -> Values:
    """Return a language as intervals if it is empty or full, or has too many states."""
    if language is None or language.full:
        return FULL
    return EMPTY if language.empty else language


def _always_null(operand: Expression, values: ValueSet) -> _Preimage:
    """Return the preimage of a function with a NULL argument, which is NULL on every row."""
    return operand, EVERYTHING if values.null else NOTHING


def unknown_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of any text; NULL only where an operand is."""
    assert isinstance(node, Call)
    return _null_where_operand_is(analysis, node, environment)


def shortened_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of a prefix of the operand, which is at most the operand.

    Claim     Each row's RTRIM, or SUBSTRING from the first character on, lies in the range.
    Premises  A start of a string is at most the string, byte by byte.
    Proof     left(v) <= v <= upper.
    """
    assert isinstance(node, Call)
    any_text = _null_where_operand_is(analysis, node, environment)
    operand = node.operands[0]
    if not _on_text(node) or not _is_start(node):
        return any_text
    return ranges.within(analysis.build, any_text, any_text.lower, analysis.range(operand, environment).upper)


def _is_start(node: Call) -> bool:
    """Tell whether the result is a prefix of the operand."""
    if node.function is Function.RTRIM:
        return True
    position = node.operands[1]
    return isinstance(position, Literal) and position.value in (0, 1)


def lengthened_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of a text that starts with the first operand, and is at least that operand.

    Claim     Each row's CONCAT lies in the range.
    Proof     (1) lower <= v <= v + w.
              (2) After a constant p, no text is above all that start with p.
    """
    assert isinstance(node, Call)
    build = analysis.build
    any_text = _null_where_operand_is(analysis, node, environment)
    first = node.operands[0] if node.operands else None
    if first is None or node.type != STRING or type_of(first) != STRING:
        return any_text
    end = prefix_end(first.value) if isinstance(first, Literal) and isinstance(first.value, bytes) else None
    start = analysis.range(first, environment)
    return ranges.within(build, any_text, start.lower, build.bound(end, STRING))  # (1), (2)


def length_range(analysis: Analysis, node: Expression, environment: Environment) -> Range:
    """Return the range of a number of characters or bytes, which is never negative."""
    assert isinstance(node, Call)
    build = analysis.build
    any_number = _null_where_operand_is(analysis, node, environment)
    if node.type.kind is not Kind.INTEGER:
        return any_number
    return ranges.within(build, any_number, build.bound(0, node.type), build.unknown(node.type))


def _null_where_operand_is(analysis: Analysis, node: Call, environment: Environment) -> Range:
    """Return the range of any value, NULL where an operand is."""
    build: Builder = analysis.build
    operands = [analysis.range(operand, environment) for operand in node.operands]
    anything = ranges.anything(build, node.type)
    return Range(
        lower=anything.lower,
        upper=anything.upper,
        may_null=build.or_(*(operand.may_null for operand in operands)),
        may_nan=anything.may_nan,
        may_value=build.and_(anything.may_value, *(operand.may_value for operand in operands)),
    )


CASE = Rule(range=unknown_range, preimage=case_preimage)
TRIM = Rule(range=unknown_range, preimage=trim_preimage)
RTRIM = Rule(range=shortened_range, preimage=trim_preimage)
SUBSTRING = Rule(range=shortened_range, preimage=substring_preimage)
CONCAT = Rule(range=lengthened_range, preimage=concat_preimage)
LENGTH = Rule(range=length_range, preimage=length_preimage)
RPAD = LPAD = Rule(range=unknown_range, preimage=pad_preimage)
REPLACE = Rule(range=unknown_range, preimage=replace_preimage)
SUBSTRING_INDEX = Rule(range=unknown_range, preimage=start_preimage)
INSTR = Rule(range=length_range, preimage=position_preimage)
