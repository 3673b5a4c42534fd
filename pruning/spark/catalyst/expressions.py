"""Converts Catalyst expressions to `pruning.expressions.trees`.

The shape comes from Spark's JSON, the rest from the Java objects. A class that has no converter, a field that
is not as expected, and a type that the rules do not know each give `Opaque`, from which nothing is concluded.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from py4j.protocol import Py4JError

from pruning.expressions.function_groups import TEXT_FUNCTIONS
from pruning.expressions.trees import And, Call, Cast, Column, Expression, Opaque, Or, type_of
from pruning.expressions.types import Kind
from pruning.spark.catalyst.converters import CONVERTERS
from pruning.spark.catalyst.nested_converters import VARIABLE, attribute, has_free_variables
from pruning.spark.catalyst.scope import Scope
from pruning.spark.catalyst.text_converters import TEXTS
from pruning.spark.catalyst.time_converters import TIMES
from pruning.spark.jvm.datatypes import type_of_java
from pruning.spark.jvm.gateway import Java, simple_name
from pruning.spark.jvm.nodes import Node, expression_nodes, is_printable

# The rules are recursive; trees that people write are less deep than this.
DEPTH_MAX = 100
SQL_CHARACTERS_MAX = 500

# The leaves of an expression that depends on columns alone, and the classes that contain another query.
_LEAVES = frozenset({"AttributeReference", "Literal", VARIABLE})
_QUERIES = frozenset({"Exists", "ListQuery"})

_TEXT_AND_TIME = frozenset({Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})

# The classes that the rules decide completely.
_KNOWN_PARTS = frozenset({"StartsWith", "EndsWith", "Contains"})

# The Catalyst expressions that each node was converted from; they may differ in fields that Spark does not
# print.
Origins = dict[Expression, list[Java]]


@dataclass(frozen=True, slots=True)
class _ConvertedNode:
    expression: Expression
    depth: int


def conjuncts(condition: Java, scope: Scope, origins: Origins | None = None) -> list[Expression]:
    """Convert a Catalyst predicate to predicates that must all be TRUE.

    Args:
        condition: A resolved Catalyst expression of type boolean.
        scope: The scanned table's columns by name; other attributes become `Opaque`.
        origins: Receives the Catalyst expression of each node that the rules may leave open and whose value
            columns alone determine.
    """
    predicates: list[Expression] = []
    origins = {} if origins is None else origins
    for part in _printable_parts(condition):
        converted = convert(part, scope, origins)
        predicates.extend(converted.operands if isinstance(converted, And) else (converted,))
    return predicates


def convert(java: Java, scope: Scope, origins: Origins | None = None) -> Expression:
    """Convert one Catalyst expression; the result is `Opaque` where Spark cannot print it."""
    if not is_printable(java):
        return _opaque(java)
    origins = {} if origins is None else origins
    try:
        ordered = expression_nodes(java)
    except (Py4JError, ValueError, KeyError):
        # Spark cannot print some values, such as dates beyond Java's calendar.
        return _opaque(java)
    wanted = _convertible_nodes(ordered)
    done: list[_ConvertedNode] = []
    for node in reversed(ordered):
        if id(node) in wanted:
            is_known = node.name in CONVERTERS
            operands = [done.pop() for _ in node.children] if is_known else []
            done.append(_convert_node(node, operands, scope, origins))
    return done.pop().expression


def _printable_parts(condition: Java) -> list[Java]:
    """Return the condition, or its conjuncts where it is too long to be printed at once."""
    pending, parts = [condition], []
    while pending:
        part = pending.pop()
        if not is_printable(part) and simple_name(part) == "And":
            pending += [part.right(), part.left()]
        else:
            parts.append(part)
    return parts


def _convertible_nodes(ordered: list[Node]) -> set[int]:
    """Return the ids of the nodes without an ancestor that has no converter."""
    wanted = {id(ordered[0])}
    for node in ordered:
        if id(node) in wanted and node.name in CONVERTERS:
            wanted.update(map(id, node.children))
    return wanted


def _convert_node(
    node: Node, operands: list[_ConvertedNode], scope: Scope, origins: Origins
) -> _ConvertedNode:
    expression: Expression | None = None
    converter = CONVERTERS.get(node.name)
    depth = 1 + max((operand.depth for operand in operands), default=0)
    if converter is not None and depth <= DEPTH_MAX:
        try:
            expression = converter(node, tuple(operand.expression for operand in operands), scope)
        except (Py4JError, ValueError, KeyError, IndexError):
            # This release of Spark does not have the field or the method.
            expression = None
    if expression is None:
        return _ConvertedNode(_opaque_with_columns(node, scope, origins), 1)
    if _is_partly_known(node, expression):
        origins.setdefault(expression, []).append(node.java())
    flat = isinstance(expression, And | Or) and any(
        isinstance(operand.expression, type(expression)) for operand in operands
    )
    return _ConvertedNode(expression, depth - 1 if flat else depth)


def _opaque_with_columns(node: Node, scope: Scope, origins: Origins) -> Opaque:
    """Return a node as `Opaque`, with its columns unless another expression has the same text and type."""
    opaque = replace(_opaque(node.java()), columns=_source_columns(node, scope))
    if not opaque.columns:
        return opaque
    others = origins.setdefault(opaque, [])
    if any(not other.equals(node.java()) for other in others):
        return replace(opaque, columns=())
    others.append(node.java())
    return opaque


def _is_partly_known(node: Node, expression: Expression) -> bool:
    """Tell whether the rules may leave a converted node open: text and time functions, and casts of them."""
    if isinstance(expression, Cast):
        return not _TEXT_AND_TIME.isdisjoint((type_of(expression.operand).kind, expression.type.kind))
    is_text = isinstance(expression, Call) and expression.function in TEXT_FUNCTIONS
    return (is_text or node.name in TEXTS or node.name in TIMES) and node.name not in _KNOWN_PARTS


def _opaque(java: Java) -> Opaque:
    try:
        sql: str = java.sql()
    except Py4JError:
        sql = java.toString()
    return Opaque(sql[:SQL_CHARACTERS_MAX], type_of_java(java))


def _source_columns(node: Node, scope: Scope) -> tuple[Column, ...]:
    """Return the columns that alone determine the node's value; none where that is not certain."""
    parts = list(_subtree(node))
    if any(map(_reads_elsewhere, parts)) or has_free_variables(parts) or not node.java().deterministic():
        return ()
    attributes = [attribute(part, (), scope) for part in parts if part.name == "AttributeReference"]
    source_columns: list[Column] = [column for column in attributes if column is not None]
    return tuple(dict.fromkeys(source_columns)) if len(source_columns) == len(attributes) else ()


def _reads_elsewhere(node: Node) -> bool:
    """Tell whether a node may read something that is neither a constant nor a column."""
    return "Subquery" in node.name or node.name in _QUERIES or not (node.children or node.name in _LEAVES)


def _subtree(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        part = pending.pop()
        yield part
        pending.extend(reversed(part.children))
