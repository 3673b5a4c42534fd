"""Generated examples for the demo: small tables and predicates, whose verdicts an oracle checks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pruning.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from oracles.answers.unpruned import Counts
    from pruning.expressions.trees import Expression

# One Spark job answers all predicates of a table, and starting a job costs more than answering them.
PREDICATES_PER_TABLE = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """The results of the generated examples; one example is a predicate over a table of a few blocks.

    `blocks` counts verdicts, `skipped` those that let the block be skipped, and `skippable` the blocks
    without a matching row; `difference` is the smallest wrong verdict that was found, or empty.
    """

    examples: int = 0
    blocks: int = 0
    skipped: int = 0
    skippable: int = 0
    difference: str = ""


class _WrongVerdict(AssertionError):
    """A verdict that the oracle contradicts."""


@dataclass(slots=True)
class _Tally:
    """The counts of examples so far."""

    examples: int = 0
    blocks: int = 0
    skipped: int = 0
    skippable: int = 0


def generated_examples(spark: "SparkSession", *, count: int) -> Examples:
    """Classify the blocks of generated tables, and compare each verdict with Spark's count of matching rows.

    Draws the same examples every time; the rows are in memory, so that Spark has nothing to prune by.

    Args:
        count: How many predicates to draw, rounded up to a multiple of `PREDICATES_PER_TABLE`.

    Raises:
        InputError: Hypothesis is not installed.
    """
    if count == 0:
        return Examples()
    tally = _Tally()
    try:
        _check_tables(spark, tables=-(-count // PREDICATES_PER_TABLE), tally=tally)
    except _WrongVerdict as wrong:
        return _summary(tally, difference=str(wrong))
    return _summary(tally)


def _summary(tally: _Tally, *, difference: str = "") -> Examples:
    """Return the result of the examples from their counts."""
    return Examples(
        examples=tally.examples,
        blocks=tally.blocks,
        skipped=tally.skipped,
        skippable=tally.skippable,
        difference=difference,
    )


def _check_tables(spark: "SparkSession", *, tables: int, tally: _Tally) -> None:
    """Draw tables and check their verdicts; raise the first wrong one after shrinking its example."""
    try:
        from hypothesis import HealthCheck, Phase, given, settings
        from hypothesis import strategies as st
    except ImportError as error:
        raise InputError(
            "Generated examples need Hypothesis: run `pip install 'skipproof[testbed]'`."
        ) from error
    from strategies.base.layouts import tables as tables_of
    from strategies.base.metadata import metadata as metadata_of
    from strategies.predicates.predicates import predicates as predicates_over

    # Hypothesis derives its examples from the text of this function: another name would draw others.
    @settings(
        max_examples=tables,
        derandomize=True,
        database=None,
        deadline=None,
        report_multiple_bugs=False,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=[HealthCheck.too_slow],  # a Spark job an example, on any machine
    )
    @given(st.data())
    def every_verdict_holds(data: Any) -> None:
        table = data.draw(tables_of())
        metadata = data.draw(metadata_of(table))
        drawn = [data.draw(predicates_over(table)) for _ in range(PREDICATES_PER_TABLE)]
        _judge(spark, table, metadata, drawn, tally)

    every_verdict_holds()


def _judge(
    spark: "SparkSession", table: Any, metadata: Any, predicates: Sequence["Expression"], tally: _Tally
) -> None:
    """Compare the verdicts of predicates with the oracle's counts of matching rows, and add to the tally."""
    from oracles.answers.unpruned import Raises, matches_per_block
    from pruning.expressions.sql import to_sql
    from pruning.rules.sets.truths import Match
    from pruning.verdicts.classification import classify_blocks

    for predicate, counts in zip(predicates, matches_per_block(spark, table, predicates), strict=True):
        if isinstance(counts, Raises):
            continue
        verdicts = [Match(verdict) for verdict in classify_blocks(predicate, metadata).to_pylist()]
        for block, (verdict, count) in enumerate(zip(verdicts, counts, strict=True)):
            if not _is_true_verdict(verdict.name, count):
                raise _WrongVerdict(
                    f"block {block} is called {verdict.name} for `{to_sql(predicate)}`, but its rows are "
                    f"{count.true} TRUE, {count.false} FALSE, {count.null} NULL: {table.blocks[block]!r}"
                )
        tally.examples += 1
        tally.blocks += len(verdicts)
        tally.skipped += verdicts.count(Match.NONE)
        tally.skippable += sum(count.true == 0 for count in counts)


def _is_true_verdict(verdict: str, count: "Counts") -> bool:
    """Tell whether a verdict agrees with the counts of a block's rows."""
    match verdict:
        case "NONE":
            return count.true == 0
        case "ALL":
            return count.false == 0 and count.null == 0
        case _:
            return True
