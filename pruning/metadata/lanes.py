"""Block metadata as the inputs of a program: what each aspect of a column is, lane by lane."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Type
from pruning.metadata.schema import arrow_type, sql_type
from pruning.rules.interpreters.arrow import to_lanes
from pruning.rules.program import Aspect, Input, Program


@dataclass(frozen=True, slots=True)
class Blocks:
    """Block metadata that a program can be run over."""

    row_count: pa.Array
    columns: pa.StructArray

    @classmethod
    def of(cls, metadata: pa.Table) -> "Blocks":
        """The blocks of a metadata table of the shape `pruning.metadata.schema` says."""
        return cls(_flat(metadata.column("row_count")), _flat(metadata.column("columns")))

    def inputs(self, program: Program, start: int, size: int) -> Mapping[Input, pa.Array]:
        """An array of shape (size,) for each input of the program, from block `start` on.

        Columns that the metadata does not know, or knows under a type that says nothing of the
        program's, are unknown.
        """
        rows, columns = self.row_count.slice(start, size), self.columns.slice(start, size)
        return {input_: _input(input_, rows, columns) for input_ in program.inputs}


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
    return _flag(input_.aspect, input_.type, column, row_count)


def _flag(aspect: Aspect, type_: Type, column: pa.StructArray, row_count: pa.Array) -> pa.Array:
    """An unknown count excludes nothing."""
    null_count = pc.struct_field(column, "null_count")
    if aspect is Aspect.MAY_NULL:
        return _unless_known(pc.not_equal(null_count, 0))
    if aspect is Aspect.MAY_VALUE and not type_.floating:
        return _unless_known(pc.less(null_count, row_count))
    nan_count = pc.struct_field(column, "nan_count")
    if aspect is Aspect.MAY_VALUE:
        return _unless_known(pc.less(pc.add(null_count, pc.fill_null(nan_count, 0)), row_count))
    some = _unless_known(pc.less(null_count, row_count))
    return pc.and_(some, _unless_known(pc.not_equal(nan_count, 0)))


def _unless_known(flag: pa.Array) -> pa.Array:
    return pc.fill_null(flag, True) if flag.null_count else flag


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
    return column.chunk(0) if column.num_chunks == 1 else pa.concat_arrays(column.chunks)
