"""Catalyst expressions as `pruning.expressions.trees`.

The shape comes from Spark's JSON, what that leaves out from the Java objects. A class without an
entry in the table, a field that is not as expected, a type the rules do not know: each gives
`Opaque`, of which nothing is ever concluded.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from py4j.protocol import Py4JError

from pruning.expressions.trees import And, Cast, Column, Expression, Opaque, Or, type_of
from pruning.expressions.types import Kind
from pruning.spark.catalyst.converters import CONVERTERS
from pruning.spark.catalyst.nested_converters import VARIABLE, attribute, has_free_variables
from pruning.spark.catalyst.scope import Scope
from pruning.spark.catalyst.text_converters import TEXTS
from pruning.spark.catalyst.time_converters import TIMES
from pruning.spark.jvm.datatypes import type_of_java
from pruning.spark.jvm.gateway import Java, simple_name
from pruning.spark.jvm.nodes import Node, expression_nodes, is_printable

# Rules recurse over trees; deeper ones are beyond what anyone writes by hand.
DEPTH_MAX = 100
SQL_CHARACTERS_MAX = 500

# What a deterministic expression of columns alone ends in, and what ends it in another query.
_LEAVES = frozenset({"AttributeReference", "Literal", VARIABLE})
_QUERIES = frozenset({"Exists", "ListQuery"})

_TEXT_AND_TIME = frozenset({Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})

# Of these the rules know all.
_KNOWN_PARTS = frozenset({"StartsWith", "EndsWith", "Contains"})

# The Catalyst expressions that a node stands for; they may differ in what Spark does not print.
Origins = dict[Expression, list[Java]]


@dataclass(frozen=True, slots=True)
class _ConvertedNode:
    expression: Expression
    depth: int


def conjuncts(condition: Java, scope: Scope, origins: Origins | None = None) -> list[Expression]:
    """What a Catalyst predicate says, as predicates that must all be TRUE.

    Args:
        condition: A resolved Catalyst expression of type boolean.
        scope: Has the scanned table's columns; other attributes become `Opaque`.
        origins: Is told what each node stands for of which no rule knows all, where columns alone
            determine its value.
    """
    found: list[Expression] = []
    origins = {} if origins is None else origins
    for part in _printable_parts(condition):
        converted = convert(part, scope, origins)
        found.extend(converted.operands if isinstance(converted, And) else (converted,))
    return found


def convert(java: Java, scope: Scope, origins: Origins | None = None) -> Expression:
    """One Catalyst expression; the whole of it is `Opaque` where Spark cannot print it."""
    if not is_printable(java):
        return _opaque(java)
    origins = {} if origins is None else origins
    try:
        ordered = expression_nodes(java)
    except (Py4JError, ValueError, KeyError):
        # Spark's printer fails on some values, dates beyond Java's calendar among them.
        return _opaque(java)
    wanted = _convertible_nodes(ordered)
    done: list[_ConvertedNode] = []
    for node in reversed(ordered):
        if id(node) in wanted:
            known = node.name in CONVERTERS
            operands = [done.pop() for _ in node.children] if known else []
            done.append(_convert_node(node, operands, scope, origins))
    return done.pop().expression


def _printable_parts(condition: Java) -> list[Java]:
    """The condition, cut at its outermost ANDs only where it is too long to print at once."""
    pending, parts = [condition], []
    while pending:
        part = pending.pop()
        if not is_printable(part) and simple_name(part) == "And":
            pending += [part.right(), part.left()]
        else:
            parts.append(part)
    return parts


def _convertible_nodes(ordered: list[Node]) -> set[int]:
    """The nodes that no unknown class hides."""
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
            # A field or a method that this release of Spark does not have.
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
    """What no rule knows; of no known columns where another expression has the same text and type."""
    opaque = replace(_opaque(node.java()), columns=_source_columns(node, scope))
    if not opaque.columns:
        return opaque
    others = origins.setdefault(opaque, [])
    if any(not other.equals(node.java()) for other in others):
        return replace(opaque, columns=())
    others.append(node.java())
    return opaque


def _is_partly_known(node: Node, expression: Expression) -> bool:
    """Whether the rules may leave much open although the class is ours: text and times, and casts of them."""
    if isinstance(expression, Cast):
        return not _TEXT_AND_TIME.isdisjoint((type_of(expression.operand).kind, expression.type.kind))
    return (node.name in TEXTS or node.name in TIMES) and node.name not in _KNOWN_PARTS


def _opaque(java: Java) -> Opaque:
    try:
        sql: str = java.sql()
    except Py4JError:
        sql = java.toString()
    return Opaque(sql[:SQL_CHARACTERS_MAX], type_of_java(java))


def _source_columns(node: Node, scope: Scope) -> tuple[Column, ...]:
    """The columns on which alone the node's value depends; none where that is not certain."""
    parts = list(_subtree(node))
    if any(map(_reads_elsewhere, parts)) or has_free_variables(parts) or not node.java().deterministic():
        return ()
    found = [attribute(part, (), scope) for part in parts if part.name == "AttributeReference"]
    known: list[Column] = [column for column in found if column is not None]
    return tuple(dict.fromkeys(known)) if len(known) == len(found) else ()


def _reads_elsewhere(node: Node) -> bool:
    """Whether a node may bring in what is neither a constant nor a column."""
    return "Subquery" in node.name or node.name in _QUERIES or not (node.children or node.name in _LEAVES)


def _subtree(node: Node) -> Iterator[Node]:
    pending = [node]
    while pending:
        part = pending.pop()
        yield part
        pending.extend(reversed(part.children))
