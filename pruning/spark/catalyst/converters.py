"""The table of converters: for each class of Catalyst's expressions, a function that makes a tree of it.

A converter gets the operands as trees. It returns None for a field that is not as expected and for types that
the rules do not know. The converters of constants, comparisons and logic are here; each family of functions
has its own module.
"""

from collections.abc import Mapping

from pruning.expressions.trees import (
    And,
    Case,
    Cast,
    Coalesce,
    Compare,
    Comparison,
    Expression,
    In,
    IsNull,
    Literal,
    Not,
    Or,
    type_of,
)
from pruning.expressions.types import Kind
from pruning.spark.catalyst.clock import clock_column, shifted_clock
from pruning.spark.catalyst.nested_converters import NESTED
from pruning.spark.catalyst.number_converters import NUMBERS, mode_of_java
from pruning.spark.catalyst.scope import Converter, Operands, Scope, have_same_type
from pruning.spark.catalyst.text_converters import TEXTS, through_padding
from pruning.spark.catalyst.time_converters import TIMES, cast_zone, plus_interval
from pruning.spark.jvm.datatypes import type_from_json
from pruning.spark.jvm.literals import literal_value, set_values
from pruning.spark.jvm.nodes import Node


def _literal(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    type_ = type_from_json(node.fields["dataType"])
    if type_.kind is Kind.NULL:
        return Literal(None, type_)
    return Literal(literal_value(node, type_), type_) if type_.has_bounds else None


def _operand(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    return operands[0]


def _compare(operator: Comparison) -> Converter:
    def converter(node: Node, operands: Operands, scope: Scope) -> Expression | None:
        left, right = operands
        if not have_same_type(left, right):
            return None
        if isinstance(right, Literal):
            return through_padding(lambda operand: Compare(operator, operand, right), left)
        return Compare(operator, left, right)

    return converter


def _and(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    return And(tuple(part for o in operands for part in (o.operands if isinstance(o, And) else (o,))))


def _or(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    return Or(tuple(part for o in operands for part in (o.operands if isinstance(o, Or) else (o,))))


def _not(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    return Not(operands[0])


def _is_null(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    return IsNull(operands[0])


def _is_not_null(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    return Not(IsNull(operands[0]))


def _in(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    operand, *members = operands
    # The meaning of an empty list depends on a setting.
    if not members or not have_same_type(operand, *members):
        return None
    if not all(isinstance(member, Literal) for member in members):
        return In(operand, tuple(members))
    return through_padding(lambda text: In(text, tuple(members)), operand)


def _in_set(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    type_ = type_of(operands[0])
    if not type_.has_bounds:
        return None
    values = set_values(node.java().hset(), type_)
    members = tuple(Literal(value, type_) for value in values)
    return through_padding(lambda text: In(text, members), operands[0]) if members else None


def _if(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    condition, then, otherwise = operands
    return Case(((condition, then),), otherwise) if have_same_type(then, otherwise) else None


def _case_when(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    values = operands[1::2]
    if not values or not have_same_type(*values):
        return None
    branches = tuple(zip(operands[0::2], values, strict=False))
    # The children alternate between conditions and values; a last one without a value is the ELSE.
    if len(operands) % 2 == 0:
        return Case(branches, Literal(None, type_of(values[0])))
    return Case(branches, operands[-1]) if have_same_type(values[0], operands[-1]) else None


def _coalesce(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    return Coalesce(operands) if have_same_type(*operands) else None


def _cast(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    source, target = type_of(operands[0]), type_from_json(node.fields["dataType"])
    if not target.has_bounds or not source.has_bounds:
        return None
    return Cast(operands[0], target, mode_of_java(node.java()), cast_zone(node, source, target, scope))


def _clock(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    # Only `without_clock` puts this class into a logical plan.
    return clock_column(node.fields["ordinal"], type_from_json(node.fields["dataType"]))


def _shifted_clock(node: Node, operands: Operands, scope: Scope) -> Expression | None:
    clock = shifted_clock(operands[0], node.java().children().apply(1))
    return plus_interval(node, operands, scope) if clock is None else clock


_LOGIC: Mapping[str, Converter] = {
    "Literal": _literal,
    "BoundReference": _clock,
    "TimeAdd": _shifted_clock,
    "TimestampAddInterval": _shifted_clock,
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
    "If": _if,
    "CaseWhen": _case_when,
    "Coalesce": _coalesce,
    "Cast": _cast,
}

CONVERTERS: Mapping[str, Converter] = {**_LOGIC, **NUMBERS, **TEXTS, **TIMES, **NESTED}
