"""The exact primitive of each arithmetic operation, and on which types it is defined."""

from collections.abc import Callable, Mapping

from pruning.expressions.types import Type, Value
from pruning.rules.program import products
from pruning.rules.program.operations import Op
from pruning.rules.sets import primitives

ARITHMETIC: Mapping[Op, Callable[[Value, Value, Type], Value | None]] = {
    Op.ADD: primitives.add,
    Op.SUBTRACT: lambda left, right, type_: primitives.add(left, right, type_, sign=-1),
    Op.MULTIPLY: products.multiply,
    Op.DIVIDE: products.divide,
    Op.QUOTIENT: products.quotient,
    Op.REMAINDER: products.remainder,
}


def is_defined(op: Op, left: Type, right: Type, target: Type) -> bool:
    """Whether an operation is defined on the operands' types and gives values of the target."""
    if left.kind is not right.kind:
        return False
    if op is Op.QUOTIENT:
        return products.has_products(left) and not left.floating and target.integral
    if left.kind is not target.kind:
        return False
    if op in (Op.ADD, Op.SUBTRACT):
        return primitives.has_sums(left)
    return products.has_products(left) and not (op is Op.DIVIDE and left.integral)
