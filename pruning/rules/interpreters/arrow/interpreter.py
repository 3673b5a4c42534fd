"""Runs a program on many blocks at once: Arrow arrays, a lane per block, in cache-sized chunks.

A flag is a boolean array without nulls; a bound is an array whose nulls mean "unknown". Bounds are
kept as Arrow holds them in block metadata, except that strings are binary, booleans are small
integers, and dates and timestamps are their integers.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Kind, Type
from pruning.rules.interpreters.arrow import functions, kernels, languages, products
from pruning.rules.interpreters.arrow.kernels import Lanes
from pruning.rules.program.functions import Apply
from pruning.rules.program.operations import Aspect, Input, Op, Operation, Program
from pruning.rules.sets.languages import Language
from pruning.rules.sets.value_sets import Values

# 16 operations on 32 Ki lanes of 8 bytes stay inside a second-level cache of a few MiB.
CHUNK_LANES = 32_768


def run(
    program: Program,
    inputs_at: Callable[[int, int], Mapping[Input, pa.Array]],
    lanes: int,
    *,
    chunk_lanes: int = CHUNK_LANES,
) -> list[pa.BooleanArray]:
    """Return the program's output flags, each of shape (lanes,).

    Args:
        program: Its outputs are flags.
        inputs_at: Given the first lane and the number of lanes of a chunk, an array of that many
            lanes for each of the program's inputs.
        lanes: The number of blocks.
        chunk_lanes: Blocks to evaluate at a time.
    """
    prepared = prepare(program)
    parts: list[list[pa.Array]] = [[] for _ in program.outputs]
    for start in range(0, lanes, chunk_lanes):
        size = min(chunk_lanes, lanes - start)
        for part, flag in zip(parts, _run_chunk(prepared, inputs_at(start, size)), strict=True):
            part.append(pa.repeat(flag, size) if isinstance(flag, pa.Scalar) else flag)
    return [pa.concat_arrays(part) if part else pa.array([], pa.bool_()) for part in parts]


def run_chunk(program: Program, inputs: Mapping[Input, pa.Array]) -> list[Lanes]:
    """Return the program's outputs over one chunk; a scalar where every lane is the same."""
    return _run_chunk(prepare(program), inputs)


@dataclass(frozen=True, slots=True)
class PreparedProgram:
    """A program with its constants as scalars, and the last use of each cell."""

    program: Program
    constants: Mapping[int, pa.Scalar]
    last_use: Sequence[int]


def prepare(program: Program) -> PreparedProgram:
    """Prepare a program to run chunk by chunk."""
    constants = {
        index: lane_scalar(operation.payload, operation.type)
        for index, operation in enumerate(program.operations)
        if operation.op in (Op.FLAG, Op.BOUND, Op.UNKNOWN)
    }
    return PreparedProgram(program, constants, _last_use(program))


def _run_chunk(prepared: PreparedProgram, inputs: Mapping[Input, pa.Array]) -> list[Lanes]:
    """Run a prepared program over one chunk, and free each cell after its last use."""
    program = prepared.program
    cells: list[Lanes | None] = []
    for position, operation in enumerate(program.operations):
        operands = [cells[index] for index in operation.operands]
        constant = prepared.constants.get(position)
        cells.append(step(program, operation, operands, inputs) if constant is None else constant)
        for index in operation.operands:
            if prepared.last_use[index] == position:
                cells[index] = None  # free the lanes, so that only those still needed take memory
    return [cells[index] for index in program.outputs]


def _last_use(program: Program) -> list[int]:
    """Return the last operation that uses each cell; the number of operations for outputs."""
    last = list(range(len(program.operations)))
    for position, operation in enumerate(program.operations):
        for index in operation.operands:
            last[index] = position
    for index in program.outputs:
        last[index] = len(program.operations)
    return last


def lane_type(type_: Type) -> pa.DataType:
    """Return the Arrow type of a bound's lanes."""
    if type_.kind is Kind.DECIMAL:
        return pa.decimal128(type_.precision, type_.scale)
    return kernels.LANE_TYPES[type_.kind]


def lane_scalar(value: object, type_: Type | None) -> pa.Scalar:
    """Return a constant flag (of no type) or bound as a scalar; None is "unknown"."""
    if type_ is None:
        return pa.scalar(value, pa.bool_())
    return pa.scalar(int(value) if isinstance(value, bool) else value, lane_type(type_))


def to_lanes(input_: Input, array: pa.Array) -> pa.Array:
    """Return a column's bounds in block metadata as lanes; without a copy if possible."""
    if input_.aspect not in (Aspect.LOWER, Aspect.UPPER):
        return array
    assert input_.type is not None
    return kernels.reinterpret(array, lane_type(input_.type))


def step(
    program: Program, operation: Operation, operands: Sequence[Lanes], inputs: Mapping[Input, pa.Array]
) -> Lanes:
    """Run one operation over one chunk."""
    payload, type_ = operation.payload, operation.type
    if isinstance(payload, Input):
        return inputs[payload]
    if type_ is None:
        return _FLAGS[operation.op](*operands, *(() if payload is None else (payload,)))
    if operation.op is Op.CAST:
        source = program.operations[operation.operands[0]].type
        assert source is not None
        return functions.cast(operands[0], source, type_, lane_type(type_))
    if operation.op is Op.APPLY:
        source = program.operations[operation.operands[0]].type
        assert source is not None
        assert isinstance(payload, Apply)
        return functions.apply(payload, operands, source, type_, lane_type(type_))
    return _BOUNDS[operation.op](type_, *operands)


def _maybe_meets(lower: Lanes, upper: Lanes, values: Values) -> Lanes:
    """Return the flag that ranges may hold a value of a set."""
    if isinstance(values, Language):
        return languages.maybe_meets(lower, upper, values)
    return kernels.maybe_meets(lower, upper, values)


_FLAGS: Mapping[Op, Callable[..., Lanes]] = {
    Op.AND: pc.and_,
    Op.OR: pc.or_,
    Op.NOT: pc.invert,
    Op.MAYBE_LESS: lambda left, right: kernels.true_where_null(pc.less(left, right)),
    Op.MAYBE_AT_MOST: lambda left, right: kernels.true_where_null(pc.less_equal(left, right)),
    Op.MAYBE_MEETS: _maybe_meets,
    Op.KNOWN: pc.is_valid,
}
_BOUNDS: Mapping[Op, Callable[..., Lanes]] = {
    Op.CHOOSE: lambda _, flag, then, otherwise: pc.if_else(flag, then, otherwise),
    Op.LEAST: lambda _, left, right: pc.min_element_wise(left, right, skip_nulls=False),
    Op.GREATEST: lambda _, left, right: pc.max_element_wise(left, right, skip_nulls=False),
    Op.LEAST_KNOWN: lambda _, left, right: pc.min_element_wise(left, right, skip_nulls=True),
    Op.GREATEST_KNOWN: lambda _, left, right: pc.max_element_wise(left, right, skip_nulls=True),
    Op.ADD: lambda type_, left, right: products.add(left, right, type_, sign=1),
    Op.SUBTRACT: lambda type_, left, right: products.add(left, right, type_, sign=-1),
    Op.MULTIPLY: lambda type_, left, right: products.multiply(left, right, type_),
    Op.DIVIDE: lambda type_, left, right: products.divide(left, right, type_),
    Op.QUOTIENT: lambda type_, left, right: products.quotient(left, right, type_),
    Op.REMAINDER: lambda type_, left, right: products.remainder(left, right, type_),
    Op.NEXT: lambda type_, bound: products.step(bound, type_, sign=1),
    Op.PREVIOUS: lambda type_, bound: products.step(bound, type_, sign=-1),
}
