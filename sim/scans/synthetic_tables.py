"""Synthetic tables: no rows, but the number of rows of each block that satisfy a predicate, and their keys.

Each column of a block takes each whole number between two ends equally often, independently of other columns.
So the rows that satisfy comparisons with constants can be counted, exactly, for millions of blocks.

"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from oracles.meaning.brute_force import evaluate
from pruning.errors import InputError
from pruning.expressions.traversal import columns, walk
from pruning.expressions.trees import Column, Compare, Expression, In, Literal
from pruning.expressions.types import LONG, Type
from pruning.metadata.table.schema import block_schema
from sim.scans.layouts import FileLayout

# A range of whole numbers, including both ends.
Range = tuple[int, int]
EVERYWHERE: Range = (-(2**62), 2**62)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SyntheticColumn:
    """A column: the ends of its values in each block, shape (blocks,).

    Attributes:
        is_sorted: True if the rows of a block are in the order of the values.
    """

    low: np.ndarray
    high: np.ndarray
    is_sorted: bool = False

    def share(self, within: Range) -> np.ndarray:
        """Return the share of each block's values that lies in a range, shape (blocks,)."""
        inside = np.minimum(self.high, within[1]) - np.maximum(self.low, within[0]) + 1
        share: np.ndarray = np.maximum(inside, 0) / (self.high - self.low + 1)
        return share


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SyntheticTable:
    """A table whose values are spread evenly.

    Attributes:
        row_counts: Shape (blocks,).
    """

    name: str
    columns: Mapping[str, SyntheticColumn]
    row_counts: np.ndarray
    metadata: pa.Table
    layout: FileLayout

    @property
    def types(self) -> Mapping[str, Type]:
        """The types of the columns: all are whole numbers."""
        return dict.fromkeys(self.columns, LONG)

    def matching(self, predicate: Expression | None) -> np.ndarray:
        """Return the number of rows of each block that satisfy a predicate, shape (blocks,).

        Raises:
            InputError: the predicate compares columns with each other.
        """
        if predicate is None:
            return self.row_counts
        share = np.zeros(len(self.row_counts))
        for cell in cells(predicate):
            part = np.ones(len(self.row_counts))
            for column, within in cell.items():
                part *= self.columns[column].share(within)
            share += part
        rows: np.ndarray = np.rint(share * self.row_counts).astype(np.int64)
        return rows

    def values(self, column: str, block: int, predicate: Expression | None) -> np.ndarray:
        """Return the values of a column in the rows of a block that satisfy a predicate, ascending, shape
        (rows,).
        """
        spread = self.columns[column]
        low, high = int(spread.low[block]), int(spread.high[block])
        ranges = set()
        for cell in [{}] if predicate is None else cells(predicate):
            if all(self.columns[name].share(within)[block] for name, within in cell.items()):
                least, most = cell.get(column, EVERYWHERE)
                ranges.add((max(low, least), min(high, most)))
        begins, ends = np.array(sorted(ranges), np.int64).reshape(-1, 2).T
        until = np.cumsum(ends - begins + 1)
        rows = int(self.matching(predicate)[block]) if len(until) else 0
        # Rows take values at even distances among all values of the ranges.
        places = np.arange(rows) * (until[-1] if rows else 0) // max(rows, 1)
        at = np.searchsorted(until, places, side="right")
        values: np.ndarray = ends[at] + 1 - (until[at] - places)
        return values


def run_table(table: SyntheticTable, blocks: np.ndarray) -> SyntheticTable:
    """Return a table whose blocks are the runs of blocks, in order: each is in one page of each column.

    The columns lie in the layout's first places, in their order.
    """
    runs = table.layout.runs
    columns = {}
    for place, (name, spread) in enumerate(table.columns.items()):
        low, high = spread.low[blocks], spread.high[blocks]
        if not spread.is_sorted:
            columns[name] = SyntheticColumn(low=np.repeat(low, runs), high=np.repeat(high, runs))
            continue
        count = table.layout.pages_of(place)
        # If there are fewer values than pages, adjacent pages share one.
        cuts = low[:, None] + (high - low + 1)[:, None] * np.arange(count + 1) // count
        begins = np.minimum(cuts[:, :-1], high[:, None])
        ends = np.maximum(begins, cuts[:, 1:] - 1)
        columns[name] = SyntheticColumn(
            low=np.repeat(begins.ravel(), runs // count), high=np.repeat(ends.ravel(), runs // count)
        )
    rows = np.repeat(-(-table.row_counts[blocks] // runs), runs)
    return synthetic_table(table.name, columns, rows, FileLayout(sizes=np.zeros(len(rows), np.int64)))


def cells(predicate: Expression) -> Iterator[Mapping[str, Range]]:
    """Yield the disjoint parts of the space of its columns in which a predicate is TRUE.

    Raises:
        InputError: the predicate compares columns with each other.
    """
    ends: dict[str, set[int]] = {name: set() for name in columns(predicate)}
    for node in walk(predicate):
        column, constants = _comparison_constants(node)
        if column is not None:
            ends[column].update(constants)
    names = sorted(ends)
    for ranges in itertools.product(*(list(_between(ends[name])) for name in names)):
        cell = dict(zip(names, ranges, strict=True))
        if evaluate(predicate, {name: within[0] for name, within in cell.items()}) is True:
            yield cell


def _comparison_constants(node: Expression) -> tuple[str | None, Sequence[int]]:
    """Return the column of a comparison, and its constants."""
    match node:
        case Compare(left=Column(name=name), right=right):
            operands: Sequence[Expression] = (right,)
        case In(operand=Column(name=name), members=operands):
            pass
        case Compare() | In():
            operands, name = (node,), ""
        case _:
            return None, ()
    constants = [
        operand.value
        for operand in operands
        if isinstance(operand, Literal) and isinstance(operand.value, int)
    ]
    if len(constants) < len(operands):
        raise InputError("a table without rows can only be asked for columns compared with constants")
    return name, constants


def _between(constants: set[int]) -> Iterator[Range]:
    """Yield the constants and the ranges between them, in order."""
    least, most = EVERYWHERE
    for constant in sorted(constants):
        if least < constant:
            yield least, constant - 1
        yield constant, constant
        least = constant + 1
    yield least, most


def synthetic_table(
    name: str, columns: Mapping[str, SyntheticColumn], row_counts: np.ndarray, layout: FileLayout
) -> SyntheticTable:
    """Return a table with metadata that has the exact ends of each column."""
    blocks = len(row_counts)
    schema = block_schema(dict.fromkeys(columns, LONG))
    per_file = layout.blocks_per_file
    ordinals = pa.array(np.arange(blocks))
    nothing, yes = pa.array(np.zeros(blocks, np.int64)), pa.array(np.ones(blocks, bool))
    facts = {
        column: pa.StructArray.from_arrays(
            [
                {
                    "null_count": nothing,
                    "nan_count": nothing,
                    "min": pa.array(spread.low),
                    "max": pa.array(spread.high),
                    "min_exact": yes,
                    "max_exact": yes,
                }.get(field.name, pa.nulls(blocks, field.type))
                for field in schema.field("columns").type.field(column).type
            ],
            fields=list(schema.field("columns").type.field(column).type),
        )
        for column, spread in columns.items()
    }
    lanes = {
        "file": pc.binary_join_element_wise(name, pc.cast(pc.divide(ordinals, per_file), pa.string()), "/"),
        "row_group": pa.array((np.arange(blocks) % per_file).astype(np.int32)),
        "row_offset": nothing,
        "row_count": pa.array(row_counts),
        "columns": pa.StructArray.from_arrays(
            [facts[field.name] for field in schema.field("columns").type],
            fields=list(schema.field("columns").type),
        ),
    }
    metadata = pa.Table.from_arrays(
        [lanes.get(field.name, pa.nulls(blocks, field.type)) for field in schema], schema=schema
    )
    return SyntheticTable(name=name, columns=columns, row_counts=row_counts, metadata=metadata, layout=layout)
