"""PROP-5: verdicts against Spark that skips nothing; PROP-4 inside its executors."""

from functools import partial
from typing import Any

from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st

from oracles.answers.unpruned import Raises, matches_per_block
from pruning.expressions.trees import Mode
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import beyond_bounds, classify_blocks, compile_predicate
from strategies.base.layouts import tables
from strategies.base.metadata import metadata
from strategies.predicates.predicates import predicates

MODES = tuple(Mode)
PREDICATES = 20  # one Spark job answers them all
ZONES = ("UTC", "America/New_York", "Asia/Kolkata")


@examples(0.5)
@given(st.data())
def test_verdicts_agree_with_spark(spark: Any, data: st.DataObject) -> None:
    """PROP-5. NONE only where no row matches, ALL only where each does, in each session zone."""
    table = data.draw(tables())
    zone = data.draw(st.sampled_from(ZONES))
    asked = [data.draw(predicates(table, max_leaves=6, modes=MODES)) for _ in range(PREDICATES)]
    known = data.draw(metadata(table))
    for predicate, counts in zip(asked, matches_per_block(spark, table, asked, zone=zone), strict=True):
        if isinstance(counts, Raises):
            event("raises")
            continue
        for verdict, block in zip(classify_blocks(predicate, known).to_pylist(), counts, strict=True):
            event(f"verdict {Match(verdict).name}")
            assert verdict != Match.NONE or block.true == 0, predicate
            assert verdict != Match.ALL or block.false == block.null == 0 < block.true, predicate


@examples(0.08)
@given(st.data())
def test_verdicts_in_executors_are_those_of_the_driver(spark: Any, data: st.DataObject) -> None:
    """PROP-4 across processes: the same program, unchanged, in a Python worker of Spark's."""
    table = data.draw(tables())
    predicate = data.draw(predicates(table, max_leaves=8, modes=MODES))
    known = data.draw(metadata(table))
    program = compile_predicate(predicate, beyond=beyond_bounds(known))
    (there,) = spark.sparkContext.parallelize([known], 1).map(partial(classify_blocks, program)).collect()
    assert there.to_pylist() == classify_blocks(predicate, known).to_pylist()
