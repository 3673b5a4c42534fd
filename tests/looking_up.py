"""Asks memberships for the values that blocks are known to hold: none may be denied."""

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pruning.expressions.types import Kind, Type, Value
from pruning.metadata.index import block_values, membership_budget
from pruning.metadata.index.block_values import DistinctValues
from pruning.metadata.index.membership_query import may_hold
from pruning.metadata.index.own_filters import Budget
from pruning.metadata.table.memberships import FIELD, value_type
from pruning.metadata.table.schema import arrow_type
from pruning.metadata.table.structs import field_of
from pruning.rules.interpreters.arrow import kernels
from pruning.rules.interpreters.arrow.interpreter import lane_type
from pruning.rules.sets import cuts

Rows = Sequence[Value | None]


def array(values: Rows, type_: Type) -> pa.Array:
    """Values as an Arrow column of the type that block metadata gives it."""
    if type_.kind is Kind.BOOLEAN:
        return pa.array(values, pa.bool_())
    lanes = pa.array(values, lane_type(type_))
    return lanes if type_.kind is Kind.DECIMAL else lanes.view(arrow_type(type_))


def rows_of(column: pa.ChunkedArray, type_: Type) -> list[Value | None]:
    """The rows of a column as Python holds values of a type."""
    if type_.kind is Kind.STRING:
        column = column.cast(pa.binary())
    plain = column.cast(arrow_type(type_)).combine_chunks()
    found = plain if type_.kind is Kind.BOOLEAN else kernels.reinterpret(plain, lane_type(type_))
    return list(found.to_pylist())


def looked_at(rows: Rows, type_: Type, budget: Budget) -> DistinctValues:
    """What indexing finds in a block."""
    values = block_values.distinct_values(pa.chunked_array([array(rows, type_)]), type_)
    return DistinctValues.of(values, type_, budget)


def memberships(blocks: Iterable[Rows], type_: Type, bytes_per_block: int) -> pa.StructArray:
    """What is kept of blocks of one column `x`."""
    budget = Budget(bytes_per_block)
    kept = membership_budget.budgeted_memberships(
        [looked_at(rows, type_, budget) for rows in blocks], type_, budget
    )
    return pa.StructArray.from_arrays([kept], names=["x"])


def told(known: pa.StructArray, part: str, column: str = "x") -> list[bool]:
    """Per block, whether a part of its memberships is there."""
    return list(pc.is_valid(field_of(field_of(known, column), part)).to_pylist())


def present(rows: Rows) -> set[Value]:
    """The values of rows that are neither NULL nor NaN."""
    return {row for row in rows if row is not None and not (isinstance(row, float) and math.isnan(row))}


def holding(known: pa.StructArray, value: Value, type_: Type, column: str = "x") -> list[bool]:
    """Per block, whether it may hold the value."""
    return list(may_hold(known, column, type_, cuts.of_values([value], type_)).to_pylist())


def denied(
    known: pa.StructArray, blocks: Sequence[Rows], type_: Type, column: str = "x"
) -> list[tuple[int, Value]]:
    """The values, with their blocks, that are in a block which is said not to hold them."""
    held = [present(rows) for rows in blocks]
    found = []
    for value in set().union(*held):
        may = holding(known, value, type_, column)
        found += [(place, value) for place, values in enumerate(held) if value in values and not may[place]]
    return found


def excluded(known: pa.StructArray, value: Value, type_: Type, column: str = "x") -> int:
    """How many blocks cannot hold the value."""
    return holding(known, value, type_, column).count(False)


def denied_in_files(metadata: pa.Table, column: str) -> list[tuple[int, Value]]:
    """The same, of the blocks of files, whose rows are read here."""
    known = metadata.column(FIELD).combine_chunks()
    type_ = value_type(known.type.field(column).type)
    blocks = []
    for file, group in zip(
        *(metadata.column(name).to_pylist() for name in ("file", "row_group")), strict=True
    ):
        blocks.append(rows_of(pq.ParquetFile(Path(file)).read_row_group(group, [column])[column], type_))
    return denied(known, blocks, type_, column)
