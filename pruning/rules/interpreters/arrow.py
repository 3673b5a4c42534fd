"""Runs a program on many blocks at once: Arrow arrays, a lane per block, in cache-sized chunks.

A flag is a boolean array without nulls; a bound is an array whose nulls mean "unknown". Bounds are
kept as Arrow holds them in block metadata, except that strings are binary, booleans are small
integers, and dates and timestamps are their integers.
"""

from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Kind, Type, Value
from pruning.rules.interpreters import arrow_kernels as kernels
from pruning.rules.interpreters.arrow_kernels import Lanes
from pruning.rules.program import Aspect, Input, Op, Operation, Program

# 16 operations on 32 Ki lanes of 8 bytes stay inside a second-level cache of a few MiB.
CHUNK_LANES = 32_768


def run(
    program: Program, inputs: Mapping[Input, pa.Array], lanes: int, *, chunk_lanes: int = CHUNK_LANES
) -> list[pa.BooleanArray]:
    """The program's output flags, each of shape (lanes,).

    Args:
        program: Its outputs are flags.
        inputs: An array of shape (lanes,) for each of its inputs, as `metadata.lanes` makes them.
        lanes: The number of blocks.
        chunk_lanes: Blocks to evaluate at a time.
    """
    last_use = _last_use(program)
    parts: list[list[pa.Array]] = [[] for _ in program.outputs]
    for start in range(0, lanes, chunk_lanes):
        size = min(chunk_lanes, lanes - start)
        chunk = {key: array.slice(start, size) for key, array in inputs.items()}
        for part, flag in zip(parts, _run_chunk(program, chunk, last_use), strict=True):
            part.append(_spread(flag, size))
    return [pa.concat_arrays(part) if part else pa.array([], pa.bool_()) for part in parts]


def _run_chunk(program: Program, inputs: Mapping[Input, pa.Array], last_use: Sequence[int]) -> list[Lanes]:
    cells: list[Lanes | None] = []
    for position, operation in enumerate(program.operations):
        operands = [cells[index] for index in operation.operands]
        cells.append(_step(program, operation, operands, inputs))
        for index in operation.operands:
            if last_use[index] == position:
                cells[index] = None  # free it: a chunk's memory is that of the live lanes alone
    return [cells[index] for index in program.outputs]


def _last_use(program: Program) -> list[int]:
    last = list(range(len(program.operations)))
    for position, operation in enumerate(program.operations):
        for index in operation.operands:
            last[index] = position
    for index in program.outputs:
        last[index] = len(program.operations)
    return last


def _spread(flag: Lanes, size: int) -> pa.Array:
    return pa.repeat(flag, size) if isinstance(flag, pa.Scalar) else flag


def lane_type(type_: Type) -> pa.DataType:
    """The Arrow type of a bound's lanes."""
    if type_.kind is Kind.DECIMAL:
        return pa.decimal128(type_.precision, type_.scale)
    return kernels.LANE_TYPES[type_.kind]


def lane_scalar(value: Value | None, type_: Type) -> pa.Scalar:
    """A constant as a lane."""
    return pa.scalar(int(value) if isinstance(value, bool) else value, lane_type(type_))


def to_lanes(input_: Input, array: pa.Array) -> pa.Array:
    """A column's bounds, as block metadata holds them, as lanes; without a copy where it can be."""
    if input_.aspect not in (Aspect.LOWER, Aspect.UPPER):
        return array
    assert input_.type is not None
    return kernels.reinterpret(array, lane_type(input_.type))


def _step(
    program: Program, operation: Operation, operands: Sequence[Lanes], inputs: Mapping[Input, pa.Array]
) -> Lanes:
    payload, type_ = operation.payload, operation.type
    if isinstance(payload, Input):
        return inputs[payload]
    if operation.op is Op.FLAG:
        return pa.scalar(payload)
    if type_ is None:
        return _FLAGS[operation.op](*operands, *(() if payload is None else (payload,)))
    if operation.op in (Op.BOUND, Op.UNKNOWN):
        assert not isinstance(payload, tuple)
        return lane_scalar(payload, type_)
    if operation.op is Op.CAST:
        source = program.operations[operation.operands[0]].type
        assert source is not None
        return kernels.cast(operands[0], source, type_, lane_type(type_))
    return _BOUNDS[operation.op](type_, *operands)


_FLAGS: Mapping[Op, Callable[..., Lanes]] = {
    Op.AND: pc.and_,
    Op.OR: pc.or_,
    Op.NOT: pc.invert,
    Op.MAYBE_LESS: lambda left, right: kernels.unless_excluded(pc.less(left, right)),
    Op.MAYBE_AT_MOST: lambda left, right: kernels.unless_excluded(pc.less_equal(left, right)),
    Op.MAYBE_MEETS: kernels.maybe_meets,
    Op.MAYBE_LEAVES: kernels.maybe_leaves,
    Op.KNOWN: pc.is_valid,
}
_BOUNDS: Mapping[Op, Callable[..., Lanes]] = {
    Op.CHOOSE: lambda _, flag, then, otherwise: pc.if_else(flag, then, otherwise),
    Op.LEAST: lambda _, left, right: pc.min_element_wise(left, right, skip_nulls=False),
    Op.GREATEST: lambda _, left, right: pc.max_element_wise(left, right, skip_nulls=False),
    Op.LEAST_KNOWN: lambda _, left, right: pc.min_element_wise(left, right, skip_nulls=True),
    Op.GREATEST_KNOWN: lambda _, left, right: pc.max_element_wise(left, right, skip_nulls=True),
    Op.ADD: lambda type_, left, right: kernels.add(left, right, type_, sign=1),
    Op.SUBTRACT: lambda type_, left, right: kernels.add(left, right, type_, sign=-1),
    Op.NEXT: lambda type_, bound: kernels.step(bound, type_, sign=1),
    Op.PREVIOUS: lambda type_, bound: kernels.step(bound, type_, sign=-1),
}
