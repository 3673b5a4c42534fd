"""Refinement: undecided blocks are divided into pieces that the program may decide."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from pruning.expressions.trees import Column
from pruning.metadata.views.lanes import Blocks
from pruning.rules.interpreters.arrow import interpreter
from pruning.rules.interpreters.pieces import COLUMNS_MAX, BlockPieces, pieces_max, split
from pruning.rules.program.operations import Aspect, Input, Program
from pruning.rules.sets.truths import Match, match_codes

# Every block becomes hundreds of pieces; with more blocks this takes longer than it is likely to save.
BLOCKS_MAX = 4_096
_PIECES_AT_ONCE = 65_536


def refine(program: Program, blocks: Blocks, verdicts: pa.Int8Array) -> pa.Int8Array:
    """Return the verdicts, with those of SOME refined if `program.correlated` names columns.

    Claim     A block called NONE has no row on which the predicate is TRUE; ALL likewise.
    Premises  The program is sound for each piece.
    Proof     Each row of the block is a row of one piece: its value of a column is in one cell, or is
              NULL or NaN. So what no piece may be, no row is.
    """
    if not program.correlated:
        return verdicts
    undecided = np.flatnonzero(verdicts.to_numpy() == Match.SOME)
    if not 0 < len(undecided) <= BLOCKS_MAX:
        return verdicts
    refined = verdicts.to_numpy().copy()
    # The number of columns must not depend on the block, or looser bounds could prove more.
    columns = program.correlated[:COLUMNS_MAX]
    input_names = [*program.inputs, *(input_ for column in columns for input_ in _aspects(column))]
    block_inputs = blocks.inputs(program, 0, len(verdicts))
    at_once = _PIECES_AT_ONCE // pieces_max(len(columns))
    for start in range(0, len(undecided), at_once):
        chosen = undecided[start : start + at_once]
        inputs = {input_: block_inputs[input_].take(pa.array(chosen)) for input_ in input_names}
        refined[chosen] = _verdicts(program, split(inputs, columns, program.inputs), len(chosen))
    return pa.array(refined)


def _aspects(column: Column) -> Sequence[Input]:
    aspects = [Aspect.LOWER, Aspect.UPPER, Aspect.MAY_NULL, Aspect.MAY_VALUE]
    if column.type.floating:
        aspects.append(Aspect.MAY_NAN)
    return [Input(aspect, column.name, column.type) for aspect in aspects]


def _verdicts(program: Program, pieces: BlockPieces, blocks: int) -> np.ndarray:
    def inputs_at(start: int, size: int) -> dict[Input, pa.Array]:
        return {input_: lanes.slice(start, size) for input_, lanes in pieces.inputs.items()}

    outputs = interpreter.run(program, inputs_at, len(pieces.parents))
    may_true, may_false, may_null = (flags.to_numpy(zero_copy_only=False) for flags in outputs)
    true = np.bincount(pieces.parents[may_true], minlength=blocks) > 0
    not_true = np.bincount(pieces.parents[may_false | may_null], minlength=blocks) > 0
    return match_codes(true, true & ~not_true)
