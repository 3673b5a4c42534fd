"""Whether an expression may fail the query on some row."""

from pruning.expressions.function_groups import mode_of
from pruning.expressions.traversal import walk
from pruning.expressions.trees import Arithmetic, Cast, Expression, Mode, Opaque, Operator, type_of
from pruning.expressions.types import Type

_NEVER_OVERFLOWING = frozenset({Operator.ADD, Operator.SUBTRACT, Operator.MULTIPLY})


def may_raise(expression: Expression) -> bool:
    """Whether a row may make the expression raise; what is not understood may."""
    return any(map(_raises, walk(expression)))


def _raises(node: Expression) -> bool:
    if isinstance(node, Opaque):
        return True
    if mode_of(node) is not Mode.ANSI:
        return False
    if isinstance(node, Cast):
        return not _widens(type_of(node.operand), node.type)
    floating = isinstance(node, Arithmetic) and node.type.floating
    return not (floating and isinstance(node, Arithmetic) and node.operator in _NEVER_OVERFLOWING)


def _widens(source: Type, target: Type) -> bool:
    """Whether each value of one numeric type has one in the other."""
    if source == target or (source.integral and target.floating):
        return True
    if source.integral and target.integral:
        assert source.integer_range is not None
        assert target.integer_range is not None
        return source.integer_range[1] <= target.integer_range[1]
    return source.floating and target.floating
