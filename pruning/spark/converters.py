"""What each class of Catalyst's expressions is as a tree, given its operands as trees.

None is the answer for a field that is not as expected and for types that the rules do not know.
"""

from collections.abc import Callable, Mapping

from pruning.expressions import types
from pruning.expressions.trees import (
    And,
    Arithmetic,
    Call,
    Case,
    Cast,
    Coalesce,
    Column,
    Compare,
    Comparison,
    Expression,
    Function,
    In,
    IsNull,
    Like,
    Literal,
    Mode,
    Not,
    Operator,
    Or,
    StartsWith,
    type_of,
)
from pruning.expressions.types import Kind, Type
from pruning.spark.datatypes import type_from_json, type_of_java
from pruning.spark.jvm import Java
from pruning.spark.literals import literal_value, set_values
from pruning.spark.nodes import Node

# The name in the scanned table of each attribute, by Catalyst's expression id.
Names = Mapping[int, str]
Operands = tuple[Expression, ...]
# Raises KeyError, ValueError or IndexError, too, for what is none of ours after all.
Converter = Callable[[Node, Operands, Names], Expression | None]


def _alike(*expressions: Expression) -> bool:
    """Whether all have one known type."""
    first, *others = [type_of(expression) for expression in expressions]
    return first.known and all(other == first for other in others)


def _literal(node: Node, operands: Operands, names: Names) -> Expression | None:
    type_ = type_from_json(node.fields["dataType"])
    if type_.kind is Kind.NULL:
        return Literal(None, type_)
    return Literal(literal_value(node, type_), type_) if type_.known else None


def attribute(node: Node, operands: Operands, names: Names) -> Expression | None:
    name = names.get(node.fields["exprId"]["id"])
    return None if name is None else Column(name, type_from_json(node.fields["dataType"]))


def _operand(node: Node, operands: Operands, names: Names) -> Expression | None:
    return operands[0]


def _compare(operator: Comparison) -> Converter:
    def converter(node: Node, operands: Operands, names: Names) -> Expression | None:
        left, right = operands
        return Compare(operator, left, right) if _alike(left, right) else None

    return converter


def _and(node: Node, operands: Operands, names: Names) -> Expression | None:
    return And(tuple(part for o in operands for part in (o.operands if isinstance(o, And) else (o,))))


def _or(node: Node, operands: Operands, names: Names) -> Expression | None:
    return Or(tuple(part for o in operands for part in (o.operands if isinstance(o, Or) else (o,))))


def _not(node: Node, operands: Operands, names: Names) -> Expression | None:
    return Not(operands[0])


def _is_null(node: Node, operands: Operands, names: Names) -> Expression | None:
    return IsNull(operands[0])


def _is_not_null(node: Node, operands: Operands, names: Names) -> Expression | None:
    return Not(IsNull(operands[0]))


def _in(node: Node, operands: Operands, names: Names) -> Expression | None:
    operand, *members = operands
    # What an empty list means depends on a setting.
    return In(operand, tuple(members)) if members and _alike(operand, *members) else None


def _in_set(node: Node, operands: Operands, names: Names) -> Expression | None:
    type_ = type_of(operands[0])
    if not type_.known:
        return None
    values = set_values(node.java().hset(), type_)
    return In(operands[0], tuple(Literal(value, type_) for value in values)) if values else None


def _text(expression: Expression) -> bytes | None:
    """The bytes of a string constant."""
    match expression:
        case Literal(bytes() as value, Type(Kind.STRING)):
            return value
    return None


def _starts_with(node: Node, operands: Operands, names: Names) -> Expression | None:
    operand, prefix = operands[0], _text(operands[1])
    return None if prefix is None or type_of(operand) != types.STRING else StartsWith(operand, prefix)


def _like(node: Node, operands: Operands, names: Names) -> Expression | None:
    operand, pattern = operands[0], _text(operands[1])
    if pattern is None or type_of(operand) != types.STRING:
        return None
    escape: str = node.java().escapeChar()
    return Like(operand, pattern, escape) if len(escape) == 1 else None


def _if(node: Node, operands: Operands, names: Names) -> Expression | None:
    condition, then, otherwise = operands
    return Case(((condition, then),), otherwise) if _alike(then, otherwise) else None


def _case_when(node: Node, operands: Operands, names: Names) -> Expression | None:
    values = operands[1::2]
    if not values or not _alike(*values):
        return None
    branches = tuple(zip(operands[0::2], values, strict=False))
    # The children are conditions and values in turn; an odd one out is the ELSE.
    if len(operands) % 2 == 0:
        return Case(branches, Literal(None, type_of(values[0])))
    return Case(branches, operands[-1]) if _alike(values[0], operands[-1]) else None


def _coalesce(node: Node, operands: Operands, names: Names) -> Expression | None:
    return Coalesce(operands) if _alike(*operands) else None


def _arithmetic(operator: Operator) -> Converter:
    def converter(node: Node, operands: Operands, names: Names) -> Expression | None:
        left, right = operands
        java = node.java()
        type_ = type_of_java(java)
        both = {type_of(left).kind, type_of(right).kind}
        if not _numeric(type_) or both != {type_.kind}:
            return None
        return Arithmetic(operator, left, right, type_, _mode(java))

    return converter


def _divide(node: Node, operands: Operands, names: Names) -> Expression | None:
    fits = type_of(operands[0]).kind in (Kind.DOUBLE, Kind.DECIMAL)
    return _arithmetic(Operator.DIVIDE)(node, operands, names) if fits else None


def _integral_divide(node: Node, operands: Operands, names: Names) -> Expression | None:
    left, right = operands
    kinds = {type_of(left).kind, type_of(right).kind}
    java = node.java()
    if kinds not in ({Kind.LONG}, {Kind.DECIMAL}) or type_of_java(java) != types.LONG:
        return None
    return Arithmetic(Operator.INTEGRAL_DIVIDE, left, right, types.LONG, _mode(java))


def _magnitude(function: Function) -> Converter:
    def converter(node: Node, operands: Operands, names: Names) -> Expression | None:
        type_ = type_of(operands[0])
        return Call(function, operands, type_, _raising(node, "failOnError")) if _numeric(type_) else None

    return converter


def _rounding(function: Function) -> Converter:
    def converter(node: Node, operands: Operands, names: Names) -> Expression | None:
        type_ = type_of_java(node.java())
        kinds = {type_of(operands[0]).kind, type_.kind}
        if not _numeric(type_) or len(kinds) != 1 or not _is_digits(operands[1]):
            return None
        return Call(function, operands, type_, _raising(node, "ansiEnabled"))

    return converter


def _to_whole(function: Function) -> Converter:
    """FLOOR or CEIL, to a bigint but of decimals."""

    def converter(node: Node, operands: Operands, names: Names) -> Expression | None:
        source, type_ = type_of(operands[0]), type_of_java(node.java())
        if source == type_ == types.LONG:
            return operands[0]
        fits = source == types.DOUBLE and type_ == types.LONG
        fits = fits or source.kind is type_.kind is Kind.DECIMAL
        return Call(function, operands, type_) if fits else None

    return converter


def _to_digits(function: Function) -> Converter:
    """FLOOR or CEIL of a decimal to a number of digits."""

    def converter(node: Node, operands: Operands, names: Names) -> Expression | None:
        type_ = type_of_java(node.java())
        decimals = type_of(operands[0]).kind is type_.kind is Kind.DECIMAL
        return Call(function, operands, type_) if decimals and _is_digits(operands[1]) else None

    return converter


def _of_doubles(function: Function) -> Converter:
    def converter(node: Node, operands: Operands, names: Names) -> Expression | None:
        doubles = all(type_of(operand) == types.DOUBLE for operand in operands)
        return Call(function, operands, types.DOUBLE) if doubles else None

    return converter


def _extreme(function: Function) -> Converter:
    def converter(node: Node, operands: Operands, names: Names) -> Expression | None:
        return Call(function, operands, type_of(operands[0])) if _alike(*operands) else None

    return converter


def _numeric(type_: Type) -> bool:
    return type_.integral or type_.floating or type_.kind is Kind.DECIMAL


def _is_digits(expression: Expression) -> bool:
    """Whether an expression is a literal number of digits."""
    match expression:
        case Literal(int(), Type(Kind.INTEGER)):
            return True
    return False


def _cast(node: Node, operands: Operands, names: Names) -> Expression | None:
    type_ = type_from_json(node.fields["dataType"])
    if not type_.known or not type_of(operands[0]).known:
        return None
    return Cast(operands[0], type_, _mode(node.java()))


def _mode(java: Java) -> Mode:
    """Raises: KeyError, for a mode that is none of Spark's three."""
    return Mode[java.evalMode().toString()]


def _raising(node: Node, field: str) -> Mode:
    """The mode that a flag of an expression means.

    Raises:
        KeyError: there is no such flag.
    """
    return {True: Mode.ANSI, False: Mode.LEGACY}[node.fields[field]]


CONVERTERS: Mapping[str, Converter] = {
    "Literal": _literal,
    "AttributeReference": attribute,
    "Alias": _operand,
    "KnownNotNull": _operand,
    "KnownNullable": _operand,
    "EqualTo": _compare(Comparison.EQUAL),
    "EqualNullSafe": _compare(Comparison.NULL_SAFE_EQUAL),
    "LessThan": _compare(Comparison.LESS),
    "LessThanOrEqual": _compare(Comparison.AT_MOST),
    "GreaterThan": _compare(Comparison.GREATER),
    "GreaterThanOrEqual": _compare(Comparison.AT_LEAST),
    "And": _and,
    "Or": _or,
    "Not": _not,
    "IsNull": _is_null,
    "IsNotNull": _is_not_null,
    "In": _in,
    "InSet": _in_set,
    "StartsWith": _starts_with,
    "Like": _like,
    "If": _if,
    "CaseWhen": _case_when,
    "Coalesce": _coalesce,
    "Add": _arithmetic(Operator.ADD),
    "Subtract": _arithmetic(Operator.SUBTRACT),
    "Multiply": _arithmetic(Operator.MULTIPLY),
    "Divide": _divide,
    "IntegralDivide": _integral_divide,
    "Remainder": _arithmetic(Operator.REMAINDER),
    "UnaryMinus": _magnitude(Function.NEGATE),
    "Abs": _magnitude(Function.ABS),
    "Signum": _of_doubles(Function.SIGN),
    "Floor": _to_whole(Function.FLOOR),
    "Ceil": _to_whole(Function.CEIL),
    "RoundFloor": _to_digits(Function.FLOOR),
    "RoundCeil": _to_digits(Function.CEIL),
    "Round": _rounding(Function.ROUND),
    "BRound": _rounding(Function.BROUND),
    "Sqrt": _of_doubles(Function.SQRT),
    "Exp": _of_doubles(Function.EXP),
    "Log": _of_doubles(Function.LN),
    "Log10": _of_doubles(Function.LOG10),
    "Log2": _of_doubles(Function.LOG2),
    "Log1p": _of_doubles(Function.LOG1P),
    "Logarithm": _of_doubles(Function.LOG),
    "Pow": _of_doubles(Function.POWER),
    "Greatest": _extreme(Function.GREATEST),
    "Least": _extreme(Function.LEAST),
    "Cast": _cast,
}
