"""Converters of Catalyst's text functions.

They convert only strings that are ordered by their bytes. Under another collation `=`, LIKE and `upper` mean
something else, and such strings are of unknown type.
"""

from collections.abc import Callable, Mapping

from pruning.expressions import types
from pruning.expressions.trees import (
    And,
    Call,
    Case,
    Compare,
    Comparison,
    Contains,
    EndsWith,
    Expression,
    Function,
    Like,
    Literal,
    Not,
    Or,
    RLike,
    StartsWith,
    type_of,
)
from pruning.expressions.types import Type, Value
from pruning.spark.catalyst.scope import Converter, Operands, Scope, is_int_constant, text_of
from pruning.spark.jvm.literals import set_values
from pruning.spark.jvm.nodes import Node

_BYTES = "org.apache.spark.unsafe.array.ByteArrayMethods"
_PADDING = "org.apache.spark.sql.catalyst.util.CharVarcharCodegenUtils"


def through_padding(predicate: Callable[[Expression], Expression], operand: Expression) -> Expression:
    """Apply a predicate to an operand; of a padded text, to both branches of the CASE that pads it."""
    match operand:
        case Case(((Compare(_, Call(Function.LENGTH)) as shorter, Call(Function.RPAD) as padded),), text):
            return Case(((shorter, predicate(padded)),), predicate(text))
    return predicate(operand)


def _part_test(class_: type[StartsWith] | type[EndsWith] | type[Contains] | type[RLike]) -> Converter:
    """Return the converter of a test whether a text has a constant part at a certain place."""

    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        operand, part = operands[0], text_of(operands[1])
        if part is None or type_of(operand) != types.STRING:
            return None
        return through_padding(lambda text: class_(text, part), operand)

    return converter


def _like(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    operand, pattern = operands[0], text_of(operands[1])
    if pattern is None or type_of(operand) != types.STRING:
        return None
    escape: str = node.java().escapeChar()
    if len(escape) != 1:
        return None
    return through_padding(lambda text: Like(text, pattern, escape), operand)


def _like_several(connective: type[And] | type[Or], *, negated: bool) -> Converter:
    """Return the converter of LIKE ANY or LIKE ALL, with the patterns that Spark's optimizer left."""

    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        (operand,) = operands
        if type_of(operand) != types.STRING:
            return None
        patterns = set_values(node.java().patterns(), types.STRING)
        matches = tuple(_like_condition(operand, pattern, negated=negated) for pattern in patterns)
        return connective(matches) if matches else None

    return converter


def _like_condition(operand: Expression, pattern: Value | None, *, negated: bool) -> Expression:
    if pattern is None:
        return Literal(None, types.BOOLEAN)
    assert isinstance(pattern, bytes)
    condition = Like(operand, pattern)
    return Not(condition) if negated else condition


def _text_function(function: Function, type_: Type = types.STRING) -> Converter:
    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        return Call(function, operands, type_) if operands and _are_strings(operands) else None

    return converter


def _trim(function: Function) -> Converter:
    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        are_constants = all(text_of(characters) is not None for characters in operands[1:])
        return (
            Call(function, operands, types.STRING) if are_constants and _are_strings(operands[:1]) else None
        )

    return converter


def _substring(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    text, position, length = operands
    fits = _are_strings((text,)) and is_int_constant(position) and is_int_constant(length)
    return Call(Function.SUBSTRING, operands, types.STRING) if fits else None


def _pad(function: Function) -> Converter:
    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        text, length, pad = operands
        fits = _are_strings((text,)) and is_int_constant(length) and text_of(pad) is not None
        return Call(function, operands, types.STRING) if fits else None

    return converter


def _replace(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    text, *parts = operands
    fits = _are_strings((text,)) and all(text_of(part) is not None for part in parts)
    return Call(Function.REPLACE, operands, types.STRING) if fits else None


def _start(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    """Convert `substring_index`, which counts from the end if the number is negative."""
    text, separator, count = operands
    fits = _are_strings((text,)) and bool(text_of(separator)) and is_int_constant(count)
    positive = isinstance(count, Literal) and isinstance(count.value, int) and count.value > 0
    return Call(Function.SUBSTRING_INDEX, operands, types.STRING) if fits and positive else None


def _instr(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    text, part = operands
    fits = _are_strings((text,)) and bool(text_of(part))
    return Call(Function.INSTR, operands, types.INTEGER) if fits else None


def _locate(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    """Convert `locate` and `position` from the first character on."""
    part, text, start = operands
    first = isinstance(start, Literal) and start.value == 1
    return _instr(node, (text, part), scope) if first else None


def _static_call(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    """Convert two calls of Java methods: padding of columns of type `char(n)`, and prefixes of binaries."""
    match node.fields["staticObject"], node.fields["functionName"], operands:
        case (place, "readSidePadding", (text, length)) if place == _PADDING:
            return _padded_text(text, length)
        case (place, "startsWith", (operand, Literal(bytes() as prefix, types.BINARY))) if place == _BYTES:
            return StartsWith(operand, prefix) if type_of(operand) == types.BINARY else None
    return None


def _padded_text(text: Expression, length: Expression) -> Expression | None:
    """Return a text padded with spaces to a length; a longer text, which other writers may leave, stays."""
    if not (_are_strings((text,)) and is_int_constant(length)):
        return None
    shorter = Compare(Comparison.LESS, Call(Function.LENGTH, (text,), types.INTEGER), length)
    spaces = Literal(b" ", types.STRING)
    return Case(((shorter, Call(Function.RPAD, (text, length, spaces), types.STRING)),), text)


def _are_strings(operands: Operands) -> bool:
    return all(type_of(operand) == types.STRING for operand in operands)


TEXTS: Mapping[str, Converter] = {
    "StartsWith": _part_test(StartsWith),
    "EndsWith": _part_test(EndsWith),
    "Contains": _part_test(Contains),
    "RLike": _part_test(RLike),
    "Like": _like,
    "LikeAll": _like_several(And, negated=False),
    "LikeAny": _like_several(Or, negated=False),
    "NotLikeAll": _like_several(And, negated=True),
    "NotLikeAny": _like_several(Or, negated=True),
    "Upper": _text_function(Function.UPPER),
    "Lower": _text_function(Function.LOWER),
    "Concat": _text_function(Function.CONCAT),
    "Length": _text_function(Function.LENGTH, types.INTEGER),
    "StringTrim": _trim(Function.TRIM),
    "StringTrimLeft": _trim(Function.LTRIM),
    "StringTrimRight": _trim(Function.RTRIM),
    "Substring": _substring,
    "StringRPad": _pad(Function.RPAD),
    "StringLPad": _pad(Function.LPAD),
    "StringReplace": _replace,
    "SubstringIndex": _start,
    "StringInstr": _instr,
    "StringLocate": _locate,
    "objects.StaticInvoke": _static_call,
}
