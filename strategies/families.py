"""What a predicate is made of: its leaves, the rules it needs, its shape without the literals."""

from collections.abc import Mapping

from pruning.expressions import trees
from pruning.expressions.trees import (
    Arithmetic,
    Call,
    Case,
    Column,
    Compare,
    Comparison,
    Expression,
    Function,
    In,
    Literal,
    children,
    columns,
    walk,
)
from pruning.expressions.types import BOOLEAN

SINGLE_COLUMN = "single-column class"
MULTI_COLUMN = "multi-column class"
OVERALL = "overall"

_RULES: dict[type, str] = {
    trees.Compare: "comparison",
    trees.And: "boolean",
    trees.Or: "boolean",
    trees.Not: "boolean",
    trees.IsNull: "null_test",
    trees.In: "membership",
    trees.StartsWith: "prefix",
    trees.Like: "prefix",
    trees.Case: "conditional",
    trees.Coalesce: "conditional",
    trees.Arithmetic: "arithmetic",
    trees.Cast: "cast",
}
_FUNCTIONS = {
    Function.NEGATE: "magnitude",
    Function.ABS: "magnitude",
    Function.SIGN: "magnitude",
    Function.FLOOR: "rounding",
    Function.CEIL: "rounding",
    Function.ROUND: "rounding",
    Function.BROUND: "rounding",
    Function.GREATEST: "extremes",
    Function.LEAST: "extremes",
}
_WITH_DIGITS = frozenset({Function.FLOOR, Function.CEIL, Function.ROUND, Function.BROUND})
_PLAIN = (trees.Compare, trees.And, trees.Or, trees.Not, trees.IsNull, trees.In, Column, Literal)


def families(predicate: Expression) -> frozenset[str]:
    """The rules that a predicate needs, the classes it belongs to, and "overall"."""
    nodes = list(walk(predicate))
    found = {_RULES[type(node)] for node in nodes if type(node) in _RULES}
    found |= {_FUNCTIONS.get(node.function, "elementary") for node in nodes if isinstance(node, Call)}
    if any(map(_relates, nodes)):
        found.add("order")
    if is_single_column(predicate):
        found.add(SINGLE_COLUMN)
    if is_multi_column(predicate):
        found.add(MULTI_COLUMN)
    return frozenset(found | {OVERALL})


def _relates(node: Expression) -> bool:
    """Whether it compares two expressions, neither of them a constant."""
    return isinstance(node, Compare) and not any(isinstance(side, Literal) for side in children(node))


def is_single_column(predicate: Expression) -> bool:
    """Comparisons, IN and NULL tests of one column and literals, and boolean combinations of them."""
    return len(columns(predicate)) == 1 and all(_plain(node) for node in walk(predicate))


def is_multi_column(predicate: Expression) -> bool:
    """At least two columns, with arithmetic and IF."""
    kinds = {type(node) for node in walk(predicate)}
    return len(columns(predicate)) > 1 and Arithmetic in kinds and Case in kinds


def leaf_count(predicate: Expression) -> int:
    """Columns and literals, numbers of digits aside; the literals of a list of IN count as one."""
    if isinstance(predicate, In):
        literals = any(isinstance(member, Literal) for member in predicate.members)
        others = [member for member in predicate.members if not isinstance(member, Literal)]
        return leaf_count(predicate.operand) + literals + sum(map(leaf_count, others))
    operands = children(predicate)
    if isinstance(predicate, Call) and predicate.function in _WITH_DIGITS:
        operands = operands[:1]
    return sum(map(leaf_count, operands)) or 1


def shape(predicate: Expression) -> str:
    """The predicate with `?` for each literal and a number for each column: what like predicates share."""
    numbers = {name: number for number, name in enumerate(columns(predicate), start=1)}
    return _shape(predicate, numbers)


def _plain(node: Expression) -> bool:
    """Whether a node is of the single-column class: booleans are combined, not compared with one another."""
    if isinstance(node, In):
        return isinstance(node.operand, Column) and all(isinstance(each, Literal) for each in node.members)
    if isinstance(node, Compare):
        return _truth_test(node) or all(
            isinstance(side, Column | Literal) for side in (node.left, node.right)
        )
    return isinstance(node, _PLAIN)


def _truth_test(node: Compare) -> bool:
    """`p IS [NOT] TRUE` and the like."""
    tests = node.operator is Comparison.NULL_SAFE_EQUAL and isinstance(node.right, Literal)
    return tests and trees.type_of(node.right) == BOOLEAN


def _shape(node: Expression, numbers: Mapping[str, int]) -> str:
    parts = [_shape(child, numbers) for child in children(node)]
    match node:
        case Literal():
            return "NULL" if node.value is None else "?"
        case Column():
            return f"<{numbers[node.name]} {node.type}>"
        case Compare():
            return f"({parts[0]} {node.operator.value} {parts[1]})"
        case Arithmetic():
            return f"({parts[0]} {node.operator.value} {parts[1]})[{node.mode.name.lower()}]"
        case In():
            return f"({parts[0]} IN ({', '.join(sorted(set(parts[1:])))}))"
        case trees.And() | trees.Or():
            return f"({f' {type(node).__name__.upper()} '.join(parts)})"
        case trees.Cast():
            return f"cast({parts[0]} AS {node.type})[{node.mode.name.lower()}]"
        case Call():
            return f"{node.function.value}({', '.join(parts)})"
        case _:
            return f"{type(node).__name__.lower()}({', '.join(parts)})"
