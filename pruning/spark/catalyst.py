"""Catalyst expressions as `pruning.expressions.trees`.

The shape comes from Spark's JSON, what that leaves out from the Java objects. A class without an
entry in the table, a field that is not as expected, a type the rules do not know: each gives
`Opaque`, of which nothing is ever concluded.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from py4j.protocol import Py4JError

from pruning.expressions import types
from pruning.expressions.trees import (
    And,
    Arithmetic,
    Case,
    Cast,
    Coalesce,
    Column,
    Compare,
    Comparison,
    Expression,
    In,
    IsNull,
    Like,
    Literal,
    Mode,
    Not,
    Opaque,
    Operator,
    Or,
    StartsWith,
    type_of,
)
from pruning.expressions.types import Kind, Type
from pruning.spark.datatypes import type_from_json, type_of_java
from pruning.spark.jvm import Java, simple_name
from pruning.spark.literals import literal_value, set_values
from pruning.spark.nodes import Node, nodes, printable

# Rules recurse over trees; deeper ones are beyond what anyone writes by hand.
DEPTH_MAX = 100
SQL_CHARACTERS_MAX = 500

# The name in the scanned table of each attribute, by Catalyst's expression id.
Names = Mapping[int, str]
Operands = tuple[Expression, ...]
# None where the expression is none of ours after all.
Converter = Callable[[Node, Operands, Names], Expression | None]


@dataclass(frozen=True, slots=True)
class _Converted:
    expression: Expression
    depth: int


def conjuncts(condition: Java, names: Names) -> list[Expression]:
    """What a Catalyst predicate says, as predicates that must all be TRUE.

    Args:
        condition: A resolved Catalyst expression of type boolean.
        names: The scanned table's columns; other attributes become `Opaque`.
    """
    found: list[Expression] = []
    for part in _printable_parts(condition):
        converted = convert(part, names)
        found.extend(converted.operands if isinstance(converted, And) else (converted,))
    return found


def convert(java: Java, names: Names) -> Expression:
    """One Catalyst expression; the whole of it is `Opaque` where Spark cannot print it."""
    if not printable(java):
        return _opaque(java)
    try:
        ordered = nodes(java)
    except (Py4JError, ValueError, KeyError):
        # Spark's printer fails on some values, dates beyond Java's calendar among them.
        return _opaque(java)
    wanted = _reachable(ordered)
    done: list[_Converted] = []
    for node in reversed(ordered):
        if id(node) in wanted:
            known = node.name in CONVERTERS
            operands = [done.pop() for _ in node.children] if known else []
            done.append(_converted(node, operands, names))
    return done.pop().expression


def _printable_parts(condition: Java) -> list[Java]:
    """The condition, cut at its outermost ANDs only where it is too long to print at once."""
    pending, parts = [condition], []
    while pending:
        part = pending.pop()
        if not printable(part) and simple_name(part) == "And":
            pending += [part.right(), part.left()]
        else:
            parts.append(part)
    return parts


def _reachable(ordered: list[Node]) -> set[int]:
    """The nodes that no unknown class hides."""
    wanted = {id(ordered[0])}
    for node in ordered:
        if id(node) in wanted and node.name in CONVERTERS:
            wanted.update(map(id, node.children))
    return wanted


def _converted(node: Node, operands: list[_Converted], names: Names) -> _Converted:
    expression: Expression | None = None
    converter = CONVERTERS.get(node.name)
    depth = 1 + max((operand.depth for operand in operands), default=0)
    if converter is not None and depth <= DEPTH_MAX:
        try:
            expression = converter(node, tuple(operand.expression for operand in operands), names)
        except (Py4JError, ValueError, KeyError, IndexError):
            # A field or a method that this release of Spark does not have.
            expression = None
    if expression is None:
        return _Converted(_opaque(node.java()), 1)
    flat = isinstance(expression, And | Or) and any(
        isinstance(operand.expression, type(expression)) for operand in operands
    )
    return _Converted(expression, depth - 1 if flat else depth)


def _opaque(java: Java) -> Opaque:
    try:
        sql: str = java.sql()
    except Py4JError:
        sql = java.toString()
    return Opaque(sql[:SQL_CHARACTERS_MAX], type_of_java(java))


def _alike(*expressions: Expression) -> bool:
    """Whether all have one known type."""
    first, *others = [type_of(expression) for expression in expressions]
    return first.known and all(other == first for other in others)


def _literal(node: Node, operands: Operands, names: Names) -> Expression | None:
    type_ = type_from_json(node.fields["dataType"])
    if type_.kind is Kind.NULL:
        return Literal(None, type_)
    return Literal(literal_value(node, type_), type_) if type_.known else None


def _attribute(node: Node, operands: Operands, names: Names) -> Expression | None:
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
        numeric = type_.integral or type_.floating or type_.kind is Kind.DECIMAL
        if not numeric or both != {type_.kind}:
            return None
        return Arithmetic(operator, left, right, type_, _mode(java))

    return converter


def _cast(node: Node, operands: Operands, names: Names) -> Expression | None:
    type_ = type_from_json(node.fields["dataType"])
    if not type_.known or not type_of(operands[0]).known:
        return None
    return Cast(operands[0], type_, _mode(node.java()))


def _mode(java: Java) -> Mode:
    """Raises: KeyError, for a mode that is none of Spark's three."""
    return Mode[java.evalMode().toString()]


CONVERTERS: Mapping[str, Converter] = {
    "Literal": _literal,
    "AttributeReference": _attribute,
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
    "Cast": _cast,
}
