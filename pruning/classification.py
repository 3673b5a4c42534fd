"""Classifies blocks: one predicate, block metadata in, a verdict per block out."""

from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.trees import Expression
from pruning.metadata.lanes import Blocks
from pruning.rules.analysis import analyse
from pruning.rules.interpreters import arrow
from pruning.rules.program import Program
from pruning.rules.table import RULES
from pruning.rules.truths import Match


def compile_predicate(predicate: Expression) -> Program:
    """The program that tells which truth values the predicate may take in a block.

    It can be pickled, so that one compiled in the driver runs unchanged in executors.
    """
    return analyse(predicate, RULES)


def classify_blocks(predicate: Expression | Program, metadata: pa.Table) -> pa.Int8Array:
    """What is proved of each block.

    Args:
        predicate: A boolean expression over the metadata's columns, or one compiled already.
        metadata: As `pruning.metadata.schema` says, a row per block.
    Returns:
        `Match` as int8, of shape (blocks,): 0 NONE, 1 SOME, 2 ALL. A block without rows is NONE.
    """
    program = predicate if isinstance(predicate, Program) else compile_predicate(predicate)
    inputs_at = partial(Blocks.of(metadata).inputs, program)
    may_true, may_false, may_null = arrow.run(program, inputs_at, metadata.num_rows)
    always = pc.and_not(pc.and_not(may_true, may_false), may_null)
    verdicts = pc.if_else(always, int(Match.ALL), pc.if_else(may_true, int(Match.SOME), int(Match.NONE)))
    return verdicts.cast(pa.int8())
