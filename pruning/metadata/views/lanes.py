"""Block metadata as inputs of a program: an array for each aspect of a column, a lane per block."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.types import Type
from pruning.metadata.index.membership_query import MembershipIndex
from pruning.metadata.table.coverings import coverings_of, may_be_inside
from pruning.metadata.table.memberships import FIELD, is_compatible
from pruning.metadata.table.schema import arrow_type, sql_type
from pruning.metadata.table.structs import field_of, has_field, whole
from pruning.rules.interpreters.arrow.interpreter import to_lanes
from pruning.rules.program.operations import Aspect, Input, Program
from pruning.rules.sets.regions import CoordinatePair, RegionQuery


@dataclass(frozen=True, slots=True)
class Blocks:
    """Block metadata prepared as the inputs of programs."""

    row_count: pa.Array
    columns: pa.StructArray
    membership_index: MembershipIndex | None = None
    coverings: Mapping[CoordinatePair, pa.ListArray] = field(default_factory=dict)
    _parts: dict[tuple[str, str], pa.Array | None] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, metadata: pa.Table) -> "Blocks":
        """Prepare a table of block metadata, as `pruning.metadata.table.schema` describes."""
        membership_index = (
            MembershipIndex(whole(metadata.column(FIELD))) if FIELD in metadata.schema.names else None
        )
        return cls(
            whole(metadata.column("row_count")),
            whole(metadata.column("columns")),
            membership_index,
            coverings_of(metadata),
        )

    def inputs(self, program: Program, start: int, size: int) -> Mapping[Input, pa.Array]:
        """Return an array of shape (size,) for each input of the program, from block `start` on.

        Columns that the metadata lacks, or has with an incompatible type, are unknown. Each array is made
        when it is accessed.
        """
        return _Inputs(self, program.inputs, start, size)

    def part(self, column: str, name: str) -> pa.Array | None:
        """Return one statistic of a column for all blocks, or None if the metadata lacks the column."""
        key = (column, name)
        if key not in self._parts:
            has_column = has_field(self.columns, column)
            self._parts[key] = field_of(field_of(self.columns, column), name) if has_column else None
        return self._parts[key]


@dataclass(frozen=True, slots=True)
class _Inputs(Mapping[Input, pa.Array]):
    """The inputs of a program over a range of blocks, made when they are accessed."""

    blocks: Blocks
    names: tuple[Input, ...]
    start: int
    size: int

    def __getitem__(self, input_: Input) -> pa.Array:
        if input_.aspect is Aspect.HAS_ROWS:
            return pc.greater(self._row_count(), 0)
        assert input_.type is not None
        if input_.aspect in (Aspect.LOWER, Aspect.UPPER):
            bound = self._part(input_, "min" if input_.aspect is Aspect.LOWER else "max")
            typed = None if bound is None else _as_type(bound, input_.type)
            return to_lanes(input_, pa.nulls(self.size, arrow_type(input_.type)) if typed is None else typed)
        if input_.aspect is Aspect.MAY_HOLD:
            return self._may_hold(input_, input_.type)
        if input_.aspect is Aspect.MAY_BE_INSIDE:
            return self._may_be_inside(input_)
        return self._flag(input_, input_.type)

    def __iter__(self) -> Iterator[Input]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def _flag(self, input_: Input, type_: Type) -> pa.Array:
        """Return a flag by the counts of NULL and NaN; an unknown count excludes nothing."""
        null_count = self._part(input_, "null_count")
        if null_count is None:
            return pa.repeat(True, self.size)
        if input_.aspect is Aspect.MAY_NULL:
            return _true_where_unknown(pc.not_equal(null_count, 0))
        if input_.aspect is Aspect.MAY_VALUE and not type_.floating:
            return _true_where_unknown(pc.less(null_count, self._row_count()))
        nan_count = self._part(input_, "nan_count")
        if input_.aspect is Aspect.MAY_VALUE:
            absent = pc.add(null_count, pc.fill_null(nan_count, 0))
            return _true_where_unknown(pc.less(absent, self._row_count()))
        some = _true_where_unknown(pc.less(null_count, self._row_count()))
        return pc.and_(some, _true_where_unknown(pc.not_equal(nan_count, 0)))

    def _may_hold(self, input_: Input, type_: Type) -> pa.Array:
        """Return the flags of a membership query; a column of another type excludes nothing."""
        bound = self._part(input_, "min")
        membership_index = self.blocks.membership_index
        if membership_index is None or bound is None or not is_compatible(sql_type(bound.type), type_):
            return pa.repeat(True, self.size)
        return membership_index.may_hold(input_.column, type_, input_.argument, self.start, self.size)

    def _may_be_inside(self, input_: Input) -> pa.Array:
        """Return the flags of blocks that may have points in a region; without coverings, all may."""
        assert isinstance(input_.argument, RegionQuery)
        coverings = self.blocks.coverings.get(CoordinatePair(input_.column, input_.argument.longitude))
        if coverings is None:
            return pa.repeat(True, self.size)
        return may_be_inside(coverings, input_.argument.region, self.start, self.size)

    def _row_count(self) -> pa.Array:
        return self.blocks.row_count.slice(self.start, self.size)

    def _part(self, input_: Input, name: str) -> pa.Array | None:
        part = self.blocks.part(input_.column, name)
        return None if part is None else part.slice(self.start, self.size)


def _true_where_unknown(flag: pa.Array) -> pa.Array:
    return pc.fill_null(flag, True) if flag.null_count else flag


def _as_type(bound: pa.Array, wanted: Type) -> pa.Array | None:
    """Cast a bound to type `wanted`, the same or a wider integer type; None for other types."""
    stored = sql_type(bound.type)
    if stored == wanted:
        return bound
    return bound.cast(arrow_type(wanted)) if is_compatible(stored, wanted) else None
