"""Cuts blocks into pieces: what may be of a block may be of one of its pieces, whatever the pieces are.

A piece of a column is an interval of its values, its NULLs or its NaNs; a piece of a block is one of
each column. Intervals are cells of a fixed grid, the finest of which few cover the column's bounds,
so that tighter bounds give pieces inside those of looser ones: more knowledge never proves less.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.trees import Column
from pruning.expressions.types import BYTES, Kind, Type
from pruning.rules.program.operations import Aspect, Input

# Cells per column, by how many columns are cut: with NULL and NaN no more than 4,096 pieces a block.
CELLS_MAX = {1: 64, 2: 16, 3: 6, 4: 4, 5: 2, 6: 2}
COLUMNS_MAX = max(CELLS_MAX)
_LONG_DIGITS = 18  # decimals of no more are integers of 64 bits


def pieces_max(columns: int) -> int:
    """How many pieces a block has at most, cut along so many columns: cells, NULL and NaN of each."""
    pieces: int = (CELLS_MAX[columns] + 2) ** columns
    return pieces


@dataclass(frozen=True, slots=True)
class Pieces:
    """Blocks in pieces: of which block each piece is, and what is known of it."""

    parents: np.ndarray
    inputs: Mapping[Input, pa.Array]


@dataclass(frozen=True, slots=True)
class _Axis:
    """One column of some blocks: how many pieces each block has along it, and how to make them."""

    column: Column
    lower: pa.Array
    upper: pa.Array
    start: np.ndarray  # the ordinal of the first cell, of shape (blocks,)
    level: np.ndarray  # log2 of a cell's width
    cells: np.ndarray  # 0 where no row may be a value
    may_null: np.ndarray
    may_nan: np.ndarray

    @property
    def sizes(self) -> np.ndarray:
        sizes: np.ndarray = self.cells + self.may_null + self.may_nan
        return sizes


def split(inputs: Mapping[Input, pa.Array], columns: Sequence[Column], wanted: Sequence[Input]) -> Pieces:
    """The blocks in pieces along the columns.

    Args:
        inputs: For each aspect of each column, and for each input wanted, an array of shape (blocks,).
        columns: At least one and at most `COLUMNS_MAX`, of known types.
        wanted: What is to be known of each piece.
    """
    axes = [_axis(inputs, column, CELLS_MAX[len(columns)]) for column in columns]
    counts = np.prod([axis.sizes for axis in axes], axis=0)
    parents = np.repeat(np.arange(len(counts)), counts)
    rest = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)
    taken = pa.array(parents)
    found: dict[Input, pa.Array] = {}
    for axis in axes:
        sizes = axis.sizes[parents]
        rest, ordinal = np.divmod(rest, sizes)
        found |= _cut(axis, inputs, parents, ordinal)
    return Pieces(
        parents, {name: found[name] if name in found else inputs[name].take(taken) for name in wanted}
    )


def _axis(inputs: Mapping[Input, pa.Array], column: Column, cells_max: int) -> _Axis:
    def flag(aspect: Aspect) -> np.ndarray:
        return _booleans(inputs[Input(aspect, column.name, column.type)])

    lower, upper = (inputs[Input(side, column.name, column.type)] for side in (Aspect.LOWER, Aspect.UPPER))
    start, level, cells = _grid(lower, upper, column.type, cells_max)
    may_nan = flag(Aspect.MAY_NAN) if column.type.floating else np.zeros(len(lower), bool)
    cells = np.where(flag(Aspect.MAY_VALUE), cells, 0)
    return _Axis(column, lower, upper, start, level, cells, flag(Aspect.MAY_NULL), may_nan)


def _booleans(flags: pa.Array) -> np.ndarray:
    booleans: np.ndarray = flags.to_numpy(zero_copy_only=False).astype(bool)
    return booleans


def _grid(
    lower: pa.Array, upper: pa.Array, type_: Type, cells_max: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Per block the first cell, the level of the grid, and how many cells cover [lower, upper]."""
    lanes = len(lower)
    start, level, cells = np.zeros(lanes, np.int64), np.zeros(lanes, np.int64), np.ones(lanes, np.int64)
    if not _countable(type_):
        return start, level, cells
    known = (lower.is_valid().to_numpy(zero_copy_only=False)) & upper.is_valid().to_numpy(
        zero_copy_only=False
    )
    low, high = _ordinals(lower, type_), _ordinals(upper, type_)
    open_ = known & (low <= high)
    for power in range(64):
        first, last = low >> power, high >> power
        # The difference of two integers of 64 bits, as one without a sign.
        fits = open_ & ((last.astype(np.uint64) - first.astype(np.uint64)) < np.uint64(cells_max))
        start, level = np.where(fits, first, start), np.where(fits, power, level)
        cells = np.where(fits, last - first + 1, cells)
        open_ &= ~fits
        if not open_.any():
            break
    return start, level, cells


def _countable(type_: Type) -> bool:
    if type_.kind is Kind.DECIMAL:
        return type_.precision <= _LONG_DIGITS
    return type_.has_bounds and type_.kind not in BYTES


def _ordinals(bound: pa.Array, type_: Type) -> np.ndarray:
    """The place of each value in the sequence of its type; anything for an unknown one."""
    if type_.kind is Kind.DECIMAL:
        words: np.ndarray = np.frombuffer(bound.buffers()[1], np.int64)
        return words[2 * bound.offset :: 2][: len(bound)].copy()
    values: np.ndarray = bound.fill_null(0).to_numpy(zero_copy_only=False)
    if not type_.floating:
        integers: np.ndarray = values.astype(np.int64)
        return integers
    bits: np.ndarray = (values + 0).view(_bits_of(type_))  # adding zero makes -0.0 the one 0.0
    return np.where(bits < np.int64(0), np.iinfo(bits.dtype).min - bits, bits).astype(np.int64)


def _bits_of(type_: Type) -> type[np.int32] | type[np.int64]:
    return np.int32 if type_.kind is Kind.FLOAT else np.int64


def _values(ordinals: np.ndarray, type_: Type, lane_type: pa.DataType) -> pa.Array:
    """The inverse of `_ordinals`."""
    if type_.kind is Kind.DECIMAL:
        words = np.column_stack([ordinals, ordinals >> 63]).astype(np.int64)
        return pa.Array.from_buffers(lane_type, len(ordinals), [None, pa.py_buffer(words.tobytes())])
    if not type_.floating:
        return pa.array(ordinals.astype(lane_type.to_pandas_dtype()), lane_type)
    narrow: np.ndarray = ordinals.astype(_bits_of(type_))
    bits: np.ndarray = np.where(narrow < np.int64(0), np.iinfo(narrow.dtype).min - narrow, narrow)
    return pa.array(bits.view(np.float32 if type_.kind is Kind.FLOAT else np.float64), lane_type)


def _cut(
    axis: _Axis, inputs: Mapping[Input, pa.Array], parents: np.ndarray, ordinal: np.ndarray
) -> dict[Input, pa.Array]:
    """What is known of the column in each piece: first its cells, then NULL, then NaN."""
    cells = axis.cells[parents]
    name, type_, taken = axis.column.name, axis.column.type, pa.array(parents)
    is_value = ordinal < cells
    is_null = axis.may_null[parents] & (ordinal == cells)
    flags = {
        Aspect.MAY_VALUE: is_value,
        Aspect.MAY_NULL: is_null,
        Aspect.MAY_NAN: ~is_value & ~is_null,
    }
    found = {}
    for aspect, piece in flags.items():
        input_ = Input(aspect, name, type_)
        if input_ in inputs or aspect is not Aspect.MAY_NAN:
            found[input_] = pa.array(piece)
    lower, upper = axis.lower.take(taken), axis.upper.take(taken)
    if _countable(type_):
        first = axis.start[parents] + ordinal
        level = axis.level[parents]
        inner_start, inner_end = is_value & (ordinal > 0), is_value & (ordinal < cells - 1)
        lower = _where(inner_start, _values(first << level, type_, lower.type), lower)
        upper = _where(inner_end, _values(((first + 1) << level) - 1, type_, upper.type), upper)
    return found | {Input(Aspect.LOWER, name, type_): lower, Input(Aspect.UPPER, name, type_): upper}


def _where(chosen: np.ndarray, then: pa.Array, otherwise: pa.Array) -> pa.Array:
    return pc.if_else(pa.array(chosen), then, otherwise) if chosen.any() else otherwise
