"""Block metadata as the inputs of a program: what each aspect of a column is, lane by lane."""

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Type
from pruning.metadata.schema import arrow_type, sql_type
from pruning.rules.interpreters.arrow import to_lanes
from pruning.rules.program import Aspect, Input, Program


def inputs_of(program: Program, metadata: pa.Table) -> dict[Input, pa.Array]:
    """An array of shape (blocks,) for each input of the program.

    Columns that the metadata does not know, or knows under a type that says nothing of the
    program's, are unknown.
    """
    row_count = _flat(metadata.column("row_count"))
    columns = _flat(metadata.column("columns"))
    return {input_: _input(input_, row_count, columns) for input_ in program.inputs}


def _input(input_: Input, row_count: pa.Array, columns: pa.StructArray) -> pa.Array:
    if input_.aspect is Aspect.HAS_ROWS:
        return pc.greater(row_count, 0)
    assert input_.type is not None
    known = columns.type.get_field_index(input_.column) >= 0
    column = pc.struct_field(columns, input_.column) if known else None
    if input_.aspect in (Aspect.LOWER, Aspect.UPPER):
        side = "min" if input_.aspect is Aspect.LOWER else "max"
        bound = None if column is None else _as_type(pc.struct_field(column, side), input_.type)
        return to_lanes(input_, pa.nulls(len(row_count), arrow_type(input_.type)) if bound is None else bound)
    if column is None:
        return pa.repeat(True, len(row_count))
    return _flag(input_.aspect, column, row_count)


def _flag(aspect: Aspect, column: pa.StructArray, row_count: pa.Array) -> pa.Array:
    """An unknown count excludes nothing."""
    null_count, nan_count = pc.struct_field(column, "null_count"), pc.struct_field(column, "nan_count")
    if aspect is Aspect.MAY_NULL:
        return pc.fill_null(pc.not_equal(null_count, 0), True)
    not_null = pc.fill_null(pc.less(null_count, row_count), True)
    if aspect is Aspect.MAY_NAN:
        return pc.and_(not_null, pc.fill_null(pc.not_equal(nan_count, 0), True))
    special = pc.add(null_count, pc.fill_null(nan_count, 0))
    return pc.fill_null(pc.less(special, row_count), True)


def _as_type(bound: pa.Array, wanted: Type) -> pa.Array | None:
    """The bound as one of type `wanted`: the same type, or a wider integer; else None."""
    known = sql_type(bound.type)
    if known == wanted:
        return bound
    wider = known.integral and wanted.integral and _bits(known) < _bits(wanted)
    return bound.cast(arrow_type(wanted)) if wider else None


def _bits(type_: Type) -> int:
    assert type_.integer_range is not None
    return type_.integer_range[1].bit_length()


def _flat(column: pa.ChunkedArray) -> pa.Array:
    if column.num_chunks == 1:
        return column.chunk(0)
    combined: pa.Array | pa.ChunkedArray = column.combine_chunks()
    return combined.chunk(0) if isinstance(combined, pa.ChunkedArray) else combined
