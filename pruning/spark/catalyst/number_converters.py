"""Converters of Catalyst's arithmetic and numeric functions."""

from collections.abc import Mapping

from pruning.expressions import types
from pruning.expressions.trees import Arithmetic, Call, Expression, Function, Mode, Operator, type_of
from pruning.expressions.types import Kind, Type
from pruning.spark.catalyst.scope import Converter, Operands, Scope, have_same_type, is_int_constant
from pruning.spark.jvm.datatypes import type_of_java
from pruning.spark.jvm.gateway import Java
from pruning.spark.jvm.nodes import Node


def mode_of_java(java: Java) -> Mode:
    """Return the mode of arithmetic or a cast, which decides what happens if the result does not fit.

    Raises:
        KeyError: it is none of Spark's three modes.
    """
    return Mode[java.evalMode().toString()]


def _arithmetic(operator: Operator) -> Converter:
    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        left, right = operands
        java = node.java()
        type_ = type_of_java(java)
        both = {type_of(left).kind, type_of(right).kind}
        if not _is_numeric(type_) or both != {type_.kind}:
            return None
        return Arithmetic(operator, left, right, type_, mode_of_java(java))

    return converter


def _divide(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    fits = type_of(operands[0]).kind in (Kind.DOUBLE, Kind.DECIMAL)
    return _arithmetic(Operator.DIVIDE)(node, operands, scope) if fits else None


def _integral_divide(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    left, right = operands
    kinds = {type_of(left).kind, type_of(right).kind}
    java = node.java()
    if kinds not in ({Kind.LONG}, {Kind.DECIMAL}) or type_of_java(java) != types.LONG:
        return None
    return Arithmetic(Operator.INTEGRAL_DIVIDE, left, right, types.LONG, mode_of_java(java))


def _magnitude(function: Function) -> Converter:
    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        type_ = type_of(operands[0])
        return (
            Call(function, operands, type_, _mode_of_flag(node, "failOnError"))
            if _is_numeric(type_)
            else None
        )

    return converter


def _rounding(function: Function) -> Converter:
    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        type_ = type_of_java(node.java())
        kinds = {type_of(operands[0]).kind, type_.kind}
        if not _is_numeric(type_) or len(kinds) != 1 or not is_int_constant(operands[1]):
            return None
        return Call(function, operands, type_, _mode_of_flag(node, "ansiEnabled"))

    return converter


def _to_whole(function: Function) -> Converter:
    """Return the converter of FLOOR or CEIL, whose result is a bigint except for decimals."""

    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        source, type_ = type_of(operands[0]), type_of_java(node.java())
        if source == type_ == types.LONG:
            return operands[0]
        fits = source == types.DOUBLE and type_ == types.LONG
        fits = fits or source.kind is type_.kind is Kind.DECIMAL
        return Call(function, operands, type_) if fits else None

    return converter


def _to_digits(function: Function) -> Converter:
    """Return the converter of FLOOR or CEIL of a decimal to a number of digits."""

    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        type_ = type_of_java(node.java())
        decimals = type_of(operands[0]).kind is type_.kind is Kind.DECIMAL
        return Call(function, operands, type_) if decimals and is_int_constant(operands[1]) else None

    return converter


def _double_function(function: Function) -> Converter:
    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        doubles = all(type_of(operand) == types.DOUBLE for operand in operands)
        return Call(function, operands, types.DOUBLE) if doubles else None

    return converter


def _extreme(function: Function) -> Converter:
    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        return Call(function, operands, type_of(operands[0])) if have_same_type(*operands) else None

    return converter


def _is_numeric(type_: Type) -> bool:
    return type_.integral or type_.floating or type_.kind is Kind.DECIMAL


def _mode_of_flag(node: Node, field: str) -> Mode:
    """Return the mode that a flag of an expression means.

    Raises:
        KeyError: there is no such flag.
    """
    return {True: Mode.ANSI, False: Mode.LEGACY}[node.fields[field]]


NUMBERS: Mapping[str, Converter] = {
    "Add": _arithmetic(Operator.ADD),
    "Subtract": _arithmetic(Operator.SUBTRACT),
    "Multiply": _arithmetic(Operator.MULTIPLY),
    "Divide": _divide,
    "IntegralDivide": _integral_divide,
    "Remainder": _arithmetic(Operator.REMAINDER),
    "UnaryMinus": _magnitude(Function.NEGATE),
    "Abs": _magnitude(Function.ABS),
    "Signum": _double_function(Function.SIGN),
    "Floor": _to_whole(Function.FLOOR),
    "Ceil": _to_whole(Function.CEIL),
    "RoundFloor": _to_digits(Function.FLOOR),
    "RoundCeil": _to_digits(Function.CEIL),
    "Round": _rounding(Function.ROUND),
    "BRound": _rounding(Function.BROUND),
    "Sqrt": _double_function(Function.SQRT),
    "Exp": _double_function(Function.EXP),
    "Log": _double_function(Function.LN),
    "Log10": _double_function(Function.LOG10),
    "Log2": _double_function(Function.LOG2),
    "Log1p": _double_function(Function.LOG1P),
    "Logarithm": _double_function(Function.LOG),
    "Pow": _double_function(Function.POWER),
    "Greatest": _extreme(Function.GREATEST),
    "Least": _extreme(Function.LEAST),
}
