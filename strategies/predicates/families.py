"""Classify a predicate: its leaves, the rules that it needs, and its shape without the literals."""

import re
from collections.abc import Callable, Mapping

from pruning.expressions import trees
from pruning.expressions.function_groups import ARRAY_FUNCTIONS, TEXT_FUNCTIONS, TIME_FUNCTIONS
from pruning.expressions.traversal import children, columns, walk
from pruning.expressions.trees import (
    Arithmetic,
    Call,
    Case,
    Cast,
    Column,
    Compare,
    Comparison,
    Expression,
    Function,
    In,
    Like,
    Literal,
    StartsWith,
)
from pruning.expressions.types import BOOLEAN, Kind
from strategies.base.tags import NODE_TAGS

SINGLE_COLUMN = "single-column class"
MULTI_COLUMN = "multi-column class"
PREFIX = "prefix LIKE class"
TRUNCATION = "date_trunc class"
OVERALL = "overall"

_FIELDS_OF_TIME = (
    Function.YEAR, Function.QUARTER, Function.MONTH, Function.DAY, Function.DAYOFWEEK, Function.WEEKDAY,
    Function.DAYOFYEAR, Function.WEEKOFYEAR, Function.HOUR, Function.MINUTE, Function.SECOND,
)  # fmt: skip
_DATE_ARITHMETIC = (
    Function.DATE_ADD, Function.DATE_SUB, Function.ADD_MONTHS, Function.DATEDIFF, Function.UNIX_TIMESTAMP,
    Function.PLUS_INTERVAL, Function.TIMESTAMPDIFF, Function.MONTHS_BETWEEN, Function.FROM_UTC,
    Function.TO_UTC,
)  # fmt: skip
_RULES: dict[type, str] = {
    trees.Compare: "comparison",
    trees.And: "boolean",
    trees.Or: "boolean",
    trees.Not: "boolean",
    trees.IsNull: "null_test",
    trees.In: "membership",
    trees.EndsWith: "general LIKE",
    trees.Contains: "general LIKE",
    trees.RLike: "RLIKE",
    trees.Quantified: "arrays",
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
    Function.DATE_TRUNC: "date_trunc",
    Function.TRUNC: "trunc",
    Function.LAST_DAY: "trunc",
    Function.DATE_FORMAT: "date_format",
    **dict.fromkeys(ARRAY_FUNCTIONS, "arrays"),
    **dict.fromkeys(TEXT_FUNCTIONS, "text functions"),
    **dict.fromkeys(_FIELDS_OF_TIME, "fields of time"),
    **dict.fromkeys(_DATE_ARITHMETIC, "date arithmetic"),
}
_TIMES = frozenset({Kind.DATE, Kind.TIMESTAMP, Kind.TIMESTAMP_NTZ})
_WITH_DIGITS = frozenset({Function.FLOOR, Function.CEIL, Function.ROUND, Function.BROUND})
_PLAIN = (trees.Compare, trees.And, trees.Or, trees.Not, trees.IsNull, trees.In, Column, Literal)


def families(predicate: Expression) -> frozenset[str]:
    """Return the rules that a predicate needs, the classes it belongs to, and "overall"."""
    nodes = list(walk(predicate))
    names = {_RULES[type(node)] for node in nodes if type(node) in _RULES}
    names |= {_FUNCTIONS.get(node.function, "elementary") for node in nodes if isinstance(node, Call)}
    names |= {name for name, holds in _TESTS.items() if any(map(holds, nodes))}
    if is_single_column(predicate):
        names.add(SINGLE_COLUMN)
    if is_multi_column(predicate):
        names.add(MULTI_COLUMN)
    if is_prefix_class(predicate):
        names.add(PREFIX)
    if is_truncation_class(predicate):
        names.add(TRUNCATION)
    return frozenset(names | {OVERALL})


def _compares_expressions(node: Expression) -> bool:
    """Tell whether a node compares two expressions, neither of them a constant."""
    return isinstance(node, Compare) and not any(isinstance(side, Literal) for side in children(node))


def _is_time_cast(node: Expression) -> bool:
    """Tell whether a node is a cast from or to a date or time."""
    return isinstance(node, Cast) and any(
        type_.kind in _TIMES for type_ in (node.type, trees.type_of(node.operand))
    )


def _has_wildcards(node: Expression) -> bool:
    """Tell whether a node is a LIKE with wildcards, except one `%` at its end."""
    return isinstance(node, Like) and not _is_prefix_pattern(node)


def _is_prefix_pattern(node: Like) -> bool:
    """Tell whether its only wildcard is one `%` at the end, if any."""
    plain = re.sub(re.escape(node.escape) + ".", "", node.pattern.decode(), flags=re.DOTALL)
    return "_" not in plain and "%" not in plain.removesuffix("%")


_PATTERNS = (trees.StartsWith, trees.EndsWith, trees.Contains, trees.Like, trees.RLike)
_CYCLIC = frozenset(_FIELDS_OF_TIME) - {Function.YEAR}


def _calls(functions: frozenset[Function]) -> Callable[[Expression], bool]:
    return lambda node: isinstance(node, Call) and node.function in functions


# Rules by the names of their modules, where these differ from the families, and families of several kinds.
_TESTS: dict[str, Callable[[Expression], bool]] = {
    "patterns": lambda node: isinstance(node, _PATTERNS),
    "text": _calls(TEXT_FUNCTIONS),
    "fields": _calls(_CYCLIC),
    "time": _calls(TIME_FUNCTIONS - _CYCLIC - {Function.DATE_FORMAT}),
    "date_fields": _calls(frozenset({Function.DATE_FORMAT})),
    "order": _compares_expressions,
    "casts under a zone": _is_time_cast,
    "prefix": lambda node: isinstance(node, StartsWith | Like) and not _has_wildcards(node),
    "general LIKE": _has_wildcards,
}


def is_prefix_class(predicate: Expression) -> bool:
    """Tell whether it combines `LIKE 'abc%'` and `startswith` of one column with comparisons of it."""
    nodes = list(walk(predicate))
    wanted = [node for node in nodes if _is_prefix(node)]
    return (
        bool(wanted)
        and len(columns(predicate)) == 1
        and all(_is_plain(node) for node in nodes if node not in wanted)
    )


def is_truncation_class(predicate: Expression) -> bool:
    """Tell whether it combines comparisons of `date_trunc(unit, t)` with literals and of that column."""
    if len(columns(predicate)) != 1:
        return False
    calls = [node for node in walk(predicate) if isinstance(node, Call)]
    return (
        bool(calls)
        and all(map(_is_truncation, calls))
        and all(_is_plain(_without_truncation(node)) for node in walk(predicate) if node not in calls)
    )


def _is_prefix(node: Expression) -> bool:
    if isinstance(node, StartsWith):
        return isinstance(node.operand, Column)
    return isinstance(node, Like) and isinstance(node.operand, Column) and _is_prefix_pattern(node)


def _is_truncation(node: Call) -> bool:
    return node.function is Function.DATE_TRUNC and isinstance(node.operands[1], Column)


def _without_truncation(node: Expression) -> Expression:
    """Return the comparison or list with the column itself instead of `date_trunc` of it."""
    match node:
        case Compare(operator, Call(Function.DATE_TRUNC, (_, column)), other):
            return Compare(operator, column, other)
        case In(Call(Function.DATE_TRUNC, (_, column)), members):
            return In(column, members)
        case _:
            return node


def is_single_column(predicate: Expression) -> bool:
    """Tell whether it has comparisons, IN and NULL tests of one column and literals, and no others."""
    return len(columns(predicate)) == 1 and all(_is_plain(node) for node in walk(predicate))


def is_multi_column(predicate: Expression) -> bool:
    """Tell whether it has at least two columns, arithmetic and IF."""
    kinds = {type(node) for node in walk(predicate)}
    return len(columns(predicate)) > 1 and Arithmetic in kinds and Case in kinds


def leaf_count(predicate: Expression) -> int:
    """Count columns and literals, except numbers of digits; the literals of an IN list count as one."""
    if isinstance(predicate, In):
        literals = any(isinstance(member, Literal) for member in predicate.members)
        others = [member for member in predicate.members if not isinstance(member, Literal)]
        return leaf_count(predicate.operand) + literals + sum(map(leaf_count, others))
    operands = children(predicate)
    if isinstance(predicate, Call) and predicate.function in _WITH_DIGITS:
        operands = operands[:1]
    return sum(map(leaf_count, operands)) or 1


def shape(predicate: Expression) -> str:
    """Return the predicate with `?` for literals and numbers for columns, which like predicates share."""
    numbers = {name: number for number, name in enumerate(columns(predicate), start=1)}
    return _shape(predicate, numbers)


def _is_plain(node: Expression) -> bool:
    """Tell whether a node is of the single-column class: booleans are combined, not compared."""
    if isinstance(node, In):
        return isinstance(node.operand, Column) and all(
            isinstance(member, Literal) for member in node.members
        )
    if isinstance(node, Compare):
        return _is_truth_test(node) or all(
            isinstance(side, Column | Literal) for side in (node.left, node.right)
        )
    return isinstance(node, _PLAIN)


def _is_truth_test(node: Compare) -> bool:
    """Tell whether a node is `p IS [NOT] TRUE` or the like."""
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
            return f"({f' {NODE_TAGS[type(node)].upper()} '.join(parts)})"
        case trees.Cast():
            return f"cast({parts[0]} AS {node.type})[{node.mode.name.lower()}]"
        case Call():
            return f"{node.function.value}({', '.join(parts)})"
        case _:
            return f"{NODE_TAGS[type(node)].lower()}({', '.join(parts)})"
