"""Classification of blocks: a verdict per block, from one predicate and block metadata."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from pruning.expressions.trees import Expression
from pruning.metadata.table.coverings import coverings_of
from pruning.metadata.table.memberships import indexed_columns
from pruning.metadata.views.lanes import Blocks
from pruning.rules.analysis.evaluation import BOUNDS_ONLY, ExtraMetadata
from pruning.rules.compile.canonical import canonical
from pruning.rules.compile.conjuncts import analyse_conjuncts
from pruning.rules.compile.table import RULES
from pruning.rules.compile.verdicts import analyse
from pruning.rules.interpreters import adaptive as adapting
from pruning.rules.interpreters.arrow import interpreter
from pruning.rules.program.operations import Program
from pruning.rules.sets.truths import match_codes
from pruning.verdicts.refinement import refine

# The least time that skipping a block saves: a request to an object store and the decoding of a few pages.
READ_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Classification:
    """Verdicts, and the conjuncts that were not evaluated for every block.

    Attributes:
        verdicts: As `classify_blocks` returns them.
        deferred: The conjuncts of the predicate that were skipped for some or all blocks; the query
            still evaluates them.
    """

    verdicts: pa.Int8Array
    deferred: tuple[Expression, ...] = ()


def compile_predicate(predicate: Expression, *, beyond: ExtraMetadata = BOUNDS_ONLY) -> Program:
    """Compile a predicate to a program that computes the truth values it may take in a block.

    A program can be pickled, so one that is compiled in the driver runs unchanged in executors.

    Args:
        predicate: A boolean expression.
        beyond: The facts to use besides bounds and counts; those that the metadata lacks exclude nothing.
    """
    return analyse(canonical(predicate), RULES, beyond=beyond)


def beyond_bounds(metadata: pa.Table) -> ExtraMetadata:
    """Return the facts in block metadata besides bounds and counts, for `compile_predicate`."""
    return ExtraMetadata(indexed=indexed_columns(metadata), points=tuple(coverings_of(metadata)))


def classify_blocks(
    predicate: Expression | Program, metadata: pa.Table, *, adaptive: bool = True, refined: bool = True
) -> pa.Int8Array:
    """Return what is proved about each block.

    Args:
        predicate: A boolean expression over the metadata's columns, or a compiled program.
        metadata: As `pruning.metadata.table.schema` describes, a row per block.
        adaptive: Whether to evaluate for each block only what is still undecided, most selective part
            first. The verdicts are the same.
        refined: Whether to divide blocks that stay SOME into pieces and evaluate these, if the predicate
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
    always_true = pc.and_not(pc.and_not(may_true, may_false), may_null)
    flags = (lanes.to_numpy(zero_copy_only=False) for lanes in (may_true, always_true))
    return pa.array(match_codes(*flags))


def classify_within(
    predicate: Expression,
    metadata: pa.Table,
    *,
    read_seconds: float | None = READ_SECONDS,
    clock: Callable[[], float] = time.perf_counter,
    chunk_lanes: int | None = None,
) -> Classification:
    """Classify blocks without the conjuncts that take longer than they save.

    A conjunct is skipped for the remaining blocks if evaluating it is predicted to take longer than reading
    the blocks that it alone would skip ([P] 3.2); that needs more than a few blocks. A block for which a
    conjunct was skipped is NONE or SOME. If any was skipped, no block is refined.

    Args:
        predicate: A boolean expression over the metadata's columns.
        metadata: As `pruning.metadata.table.schema` describes, a row per block.
        read_seconds: The time to read a block, > 0; with None, no conjunct is skipped.
        clock: A function that returns seconds since any fixed time.
        chunk_lanes: The blocks to evaluate between decisions; None to choose by the predicate.
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
