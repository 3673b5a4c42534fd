"""The reference interpreter: runs a program on one block, with exact Python values. Slow but simple."""

from collections.abc import Callable, Mapping

from pruning.expressions.types import Value
from pruning.rules.program import functions
from pruning.rules.program.exact_arithmetic import ARITHMETIC
from pruning.rules.program.functions import Apply
from pruning.rules.program.operations import Input, Op, Operation, Program
from pruning.rules.sets import primitives
from pruning.rules.sets.cuts import Cuts
from pruning.rules.sets.languages import Language
from pruning.rules.sets.value_sets import meets

# A flag is a bool; a bound is a Value, or None where it is unknown.
Cell = bool | Value | None


def run(program: Program, inputs: Mapping[Input, Cell]) -> tuple[Cell, ...]:
    """Return the program's outputs, in order; `inputs` has a flag or a bound for each of its inputs."""
    cells: list[Cell] = []
    for operation in program.operations:
        operands = [cells[index] for index in operation.operands]
        cells.append(_step(program, operation, operands, inputs))
    return tuple(cells[index] for index in program.outputs)


def _step(program: Program, operation: Operation, operands: list[Cell], inputs: Mapping[Input, Cell]) -> Cell:
    """Return the value of one operation."""
    if isinstance(operation.payload, Input):
        return inputs[operation.payload]
    if operation.op in (Op.FLAG, Op.BOUND, Op.UNKNOWN):
        return None if operation.op is Op.UNKNOWN else _constant(operation)
    if operation.op in ARITHMETIC:
        return _unknown_if_any_is(_arithmetic)(operation, *operands)
    if operation.op is Op.CAST:
        source = program.operations[operation.operands[0]].type
        assert source is not None
        assert operation.type is not None
        return None if operands[0] is None else primitives.cast(operands[0], source, operation.type)
    if operation.op is Op.APPLY:
        return _apply(program, operation, operands)
    return _STEPS[operation.op](operation, *operands)


def _apply(program: Program, operation: Operation, operands: list[Cell]) -> Cell:
    """Return the value of a function; None if an operand is unknown."""
    source, call = program.operations[operation.operands[0]].type, operation.payload
    assert isinstance(call, Apply)
    assert source is not None
    assert operation.type is not None
    values = tuple(operand for operand in operands if operand is not None)
    return functions.apply(call, values, source, operation.type) if len(values) == len(operands) else None


def _constant(operation: Operation) -> Cell:
    """Return the value of a constant operation."""
    assert not isinstance(operation.payload, Input | Cuts | Language | Apply)
    return operation.payload


def _arithmetic(operation: Operation, left: Value, right: Value) -> Cell:
    """Return the result of an arithmetic operation."""
    assert operation.type is not None
    return ARITHMETIC[operation.op](left, right, operation.type)


def _true_if_unknown(decide: Callable[[Value, Value], bool]) -> Callable[..., Cell]:
    """Make a comparison that is true if an operand is unknown, as it cannot be excluded then."""
    return lambda _, left, right: True if left is None or right is None else decide(left, right)


def _unknown_if_any_is(decide: Callable[..., Cell]) -> Callable[..., Cell]:
    """Make an operation that is unknown if an operand is."""
    return lambda operation, *operands: None if None in operands else decide(operation, *operands)


def _over_known(pick: Callable[..., Cell]) -> Callable[..., Cell]:
    """Make an operation on those operands that are known."""
    return lambda _, *operands: pick((cell for cell in operands if cell is not None), default=None)


_STEPS: Mapping[Op, Callable[..., Cell]] = {
    Op.AND: lambda _, left, right: left and right,
    Op.OR: lambda _, left, right: left or right,
    Op.NOT: lambda _, flag: not flag,
    Op.MAYBE_LESS: _true_if_unknown(primitives.less),
    Op.MAYBE_AT_MOST: _true_if_unknown(primitives.at_most),
    Op.MAYBE_MEETS: lambda operation, lower, upper: meets(lower, upper, operation.payload),
    Op.KNOWN: lambda _, bound: bound is not None,
    Op.CHOOSE: lambda _, flag, then, otherwise: then if flag else otherwise,
    Op.LEAST: _unknown_if_any_is(lambda _, left, right: min(left, right)),
    Op.GREATEST: _unknown_if_any_is(lambda _, left, right: max(left, right)),
    Op.LEAST_KNOWN: _over_known(min),
    Op.GREATEST_KNOWN: _over_known(max),
    Op.NEXT: _unknown_if_any_is(lambda operation, bound: primitives.step(bound, operation.type, sign=1)),
    Op.PREVIOUS: _unknown_if_any_is(lambda operation, bound: primitives.step(bound, operation.type, sign=-1)),
}
