"""Splits blocks into pieces: a predicate may hold in a block only if it may hold in one of its pieces.

A piece of a column is an interval of its values, its NULLs or its NaNs; a piece of a block combines one
of each column. Intervals are cells of a fixed grid, the finest one of which few cells cover the column's
bounds. So tighter bounds give pieces inside those of looser ones: better metadata never proves less.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.trees import Column
from pruning.expressions.types import BYTES, Kind, Type
from pruning.rules.program.operations import Aspect, Input

# Cells per column, by the number of columns: with NULL and NaN at most 4,096 pieces a block.
CELLS_MAX = {1: 64, 2: 16, 3: 6, 4: 4, 5: 2, 6: 2}
COLUMNS_MAX = max(CELLS_MAX)
_LONG_DIGITS = 18  # decimals of up to so many digits are integers of 64 bits


def pieces_max(columns: int) -> int:
    """Return the greatest number of pieces of a block: cells, NULL and NaN of each of the columns."""
    pieces: int = (CELLS_MAX[columns] + 2) ** columns
    return pieces


@dataclass(frozen=True, slots=True)
class BlockPieces:
    """The pieces of some blocks: the block that each belongs to, and its metadata."""

    parents: np.ndarray
    inputs: Mapping[Input, pa.Array]


@dataclass(frozen=True, slots=True)
class _Axis:
    """One column of some blocks: the number of pieces of each block along it, and their grid."""

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
        """The number of pieces of each block along the column."""
        sizes: np.ndarray = self.cells + self.may_null + self.may_nan
        return sizes


def split(
    inputs: Mapping[Input, pa.Array], columns: Sequence[Column], wanted: Sequence[Input]
) -> BlockPieces:
    """Return the pieces of the blocks along the columns.

    Args:
        inputs: For each aspect of each column, and for each input wanted, an array of shape (blocks,).
        columns: At least one and at most `COLUMNS_MAX`, of known types.
        wanted: The inputs to compute for each piece.
    """
    axes = [_axis(inputs, column, CELLS_MAX[len(columns)]) for column in columns]
    counts = np.prod([axis.sizes for axis in axes], axis=0)
    parents = np.repeat(np.arange(len(counts)), counts)
    rest = np.arange(len(parents)) - np.repeat(np.cumsum(counts) - counts, counts)
    taken = pa.array(parents)
    piece_inputs: dict[Input, pa.Array] = {}
    for axis in axes:
        sizes = axis.sizes[parents]
        rest, ordinal = np.divmod(rest, sizes)
        piece_inputs |= _axis_inputs(axis, inputs, parents, ordinal)
    return BlockPieces(
        parents,
        {name: piece_inputs[name] if name in piece_inputs else inputs[name].take(taken) for name in wanted},
    )


def _axis(inputs: Mapping[Input, pa.Array], column: Column, cells_max: int) -> _Axis:
    """Return the axis of a column: the grid of each block."""

    def flag(aspect: Aspect) -> np.ndarray:
        """Return a flag of the column for each block."""
        return _booleans(inputs[Input(aspect, column.name, column.type)])

    lower, upper = (inputs[Input(side, column.name, column.type)] for side in (Aspect.LOWER, Aspect.UPPER))
    start, level, cells = _grid(lower, upper, column.type, cells_max)
    may_nan = flag(Aspect.MAY_NAN) if column.type.floating else np.zeros(len(lower), bool)
    cells = np.where(flag(Aspect.MAY_VALUE), cells, 0)
    return _Axis(column, lower, upper, start, level, cells, flag(Aspect.MAY_NULL), may_nan)


def _booleans(flags: pa.Array) -> np.ndarray:
    """Return flags as a numpy array."""
    booleans: np.ndarray = flags.to_numpy(zero_copy_only=False).astype(bool)
    return booleans


def _grid(
    lower: pa.Array, upper: pa.Array, type_: Type, cells_max: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return per block the first cell, the level of the grid, and the number of cells over [lower, upper]."""
    lanes = len(lower)
    start, level, cells = np.zeros(lanes, np.int64), np.zeros(lanes, np.int64), np.ones(lanes, np.int64)
    if not _countable(type_):
        return start, level, cells
    bounded = (lower.is_valid().to_numpy(zero_copy_only=False)) & upper.is_valid().to_numpy(
        zero_copy_only=False
    )
    low, high = _ordinals(lower, type_), _ordinals(upper, type_)
    open_ = bounded & (low <= high)
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
    """Tell whether the values of a type are numbered, so that a grid can divide them."""
    if type_.kind is Kind.DECIMAL:
        return type_.precision <= _LONG_DIGITS
    return type_.has_bounds and type_.kind not in BYTES


def _ordinals(bound: pa.Array, type_: Type) -> np.ndarray:
    """Return the ordinal of each value in its type; any number for an unknown one."""
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
    """Return the integer type with the width of a float."""
    return np.int32 if type_.kind is Kind.FLOAT else np.int64


def _values(ordinals: np.ndarray, type_: Type, lane_type: pa.DataType) -> pa.Array:
    """Return the values of ordinals: the inverse of `_ordinals`."""
    if type_.kind is Kind.DECIMAL:
        words = np.column_stack([ordinals, ordinals >> 63]).astype(np.int64)
        return pa.Array.from_buffers(lane_type, len(ordinals), [None, pa.py_buffer(words.tobytes())])
    if not type_.floating:
        return pa.array(ordinals.astype(lane_type.to_pandas_dtype()), lane_type)
    narrow: np.ndarray = ordinals.astype(_bits_of(type_))
    bits: np.ndarray = np.where(narrow < np.int64(0), np.iinfo(narrow.dtype).min - narrow, narrow)
    return pa.array(bits.view(np.float32 if type_.kind is Kind.FLOAT else np.float64), lane_type)


def _axis_inputs(
    axis: _Axis, inputs: Mapping[Input, pa.Array], parents: np.ndarray, ordinal: np.ndarray
) -> dict[Input, pa.Array]:
    """Return the inputs of the column in each piece: first its cells, then NULL, then NaN."""
    cells = axis.cells[parents]
    name, type_, taken = axis.column.name, axis.column.type, pa.array(parents)
    is_value = ordinal < cells
    is_null = axis.may_null[parents] & (ordinal == cells)
    flags = {
        Aspect.MAY_VALUE: is_value,
        Aspect.MAY_NULL: is_null,
        Aspect.MAY_NAN: ~is_value & ~is_null,
    }
    flag_inputs = {}
    for aspect, piece in flags.items():
        input_ = Input(aspect, name, type_)
        if input_ in inputs or aspect is not Aspect.MAY_NAN:
            flag_inputs[input_] = pa.array(piece)
    lower, upper = axis.lower.take(taken), axis.upper.take(taken)
    if _countable(type_):
        first = axis.start[parents] + ordinal
        level = axis.level[parents]
        inner_start, inner_end = is_value & (ordinal > 0), is_value & (ordinal < cells - 1)
        lower = _where(inner_start, _values(first << level, type_, lower.type), lower)
        upper = _where(inner_end, _values(((first + 1) << level) - 1, type_, upper.type), upper)
    return flag_inputs | {Input(Aspect.LOWER, name, type_): lower, Input(Aspect.UPPER, name, type_): upper}


def _where(chosen: np.ndarray, then: pa.Array, otherwise: pa.Array) -> pa.Array:
    """Return `then` where chosen, else `otherwise`; without a copy if nothing is chosen."""
    return pc.if_else(pa.array(chosen), then, otherwise) if chosen.any() else otherwise
