"""Classifies blocks: one predicate, block metadata in, a verdict per block out."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.trees import Expression
from pruning.metadata.table.coverings import coverings_of
from pruning.metadata.table.memberships import indexed
from pruning.metadata.views.lanes import Blocks
from pruning.rules.analysis.evaluation import BOUNDS_ALONE, Beyond
from pruning.rules.compile.canonical import canonical
from pruning.rules.compile.conjuncts import analyse_conjuncts
from pruning.rules.compile.table import RULES
from pruning.rules.compile.verdicts import analyse
from pruning.rules.interpreters import adaptive as adapting
from pruning.rules.interpreters.arrow import interpreter
from pruning.rules.program.operations import Program
from pruning.rules.sets.truths import Match
from pruning.verdicts.refinement import refine

# A request to an object store and the decoding of a few pages: what skipping one block spares at least.
READ_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Classification:
    """Verdicts, and what was not asked of every block.

    Attributes:
        verdicts: As `classify_blocks` gives them.
        deferred: The conjuncts of the predicate that were cut, in whole or in part: they stay in the
            query, and decide there.
    """

    verdicts: pa.Int8Array
    deferred: tuple[Expression, ...] = ()


def compile_predicate(predicate: Expression, *, beyond: Beyond = BOUNDS_ALONE) -> Program:
    """The program that tells which truth values the predicate may take in a block.

    It can be pickled, so that one compiled in the driver runs unchanged in executors.

    Args:
        predicate: A boolean expression.
        beyond: What to ask of blocks beside bounds and counts; metadata that cannot tell excludes
            nothing.
    """
    return analyse(canonical(predicate), RULES, beyond=beyond)


def beyond_bounds(metadata: pa.Table) -> Beyond:
    """What block metadata knows beside bounds and counts, for `compile_predicate`."""
    return Beyond(indexed=indexed(metadata), points=tuple(coverings_of(metadata)))


def classify_blocks(
    predicate: Expression | Program, metadata: pa.Table, *, adaptive: bool = True, refined: bool = True
) -> pa.Int8Array:
    """What is proved of each block.

    Args:
        predicate: A boolean expression over the metadata's columns, or one compiled already.
        metadata: As `pruning.metadata.table.schema` says, a row per block.
        adaptive: Whether to ask of each block only what is not decided yet, the most telling first.
            The verdicts are the same.
        refined: Whether to look at blocks that stay SOME again, in pieces, where the predicate
            relates columns to each other or themselves and there are not too many such blocks.
    Returns:
        `Match` as int8, of shape (blocks,): 0 NONE, 1 SOME, 2 ALL. A block without rows is NONE.
    """
    program = (
        predicate
        if isinstance(predicate, Program)
        else compile_predicate(predicate, beyond=beyond_bounds(metadata))
    )
    blocks = Blocks.of(metadata)
    inputs_at = partial(blocks.inputs, program)
    if adaptive:
        outcome = adapting.run(program, inputs_at, metadata.num_rows, clock=time.perf_counter)
        verdicts = pa.array(outcome.verdicts)
    else:
        verdicts = _verdicts(*interpreter.run(program, inputs_at, metadata.num_rows))
    return refine(program, blocks, verdicts) if refined else verdicts


def _verdicts(may_true: pa.Array, may_false: pa.Array, may_null: pa.Array) -> pa.Int8Array:
    always = pc.and_not(pc.and_not(may_true, may_false), may_null)
    some = pc.if_else(may_true, int(Match.SOME), int(Match.NONE))
    return pc.if_else(always, int(Match.ALL), some).cast(pa.int8())


def classify_within(
    predicate: Expression,
    metadata: pa.Table,
    *,
    read_seconds: float | None = READ_SECONDS,
    clock: Callable[[], float] = time.perf_counter,
    chunk_lanes: int | None = None,
) -> Classification:
    """As `classify_blocks`, but without conjuncts that take longer than what they skip.

    A conjunct is cut for the blocks that remain when asking it of them is predicted to take longer
    than reading the blocks that it alone would skip ([P] 3.2). Few blocks are never enough to cut one.
    A block that it was not asked of is NONE or SOME, and then no block is looked at in pieces.

    Args:
        predicate: A boolean expression over the metadata's columns.
        metadata: As `pruning.metadata.table.schema` says, a row per block.
        read_seconds: What it takes to read a block, > 0; None, and no conjunct is cut.
        clock: Seconds from any beginning.
        chunk_lanes: Blocks to look at between decisions; None is what suits the predicate.
    """
    program, conjuncts = analyse_conjuncts(predicate, RULES, beyond=beyond_bounds(metadata))
    blocks = Blocks.of(metadata)
    outcome = adapting.run(
        program,
        partial(blocks.inputs, program),
        metadata.num_rows,
        clock=clock,
        groups=[part.flags for part in conjuncts],
        read_seconds=read_seconds,
        chunk_lanes=chunk_lanes,
    )
    deferred = tuple(part.node for ordinal, part in enumerate(conjuncts) if ordinal in outcome.cut)
    verdicts = pa.array(outcome.verdicts)
    return Classification(verdicts if deferred else refine(program, blocks, verdicts), deferred)
