"""TABLE-1: tables of both formats under statements, library writers and changes of their columns."""

from collections import Counter
from typing import Any

import pytest
from budget import examples, unshrunk
from hypothesis import given, settings
from hypothesis import strategies as st
from iceberg_runtime import runtime_jar
from table_world import FORMATS, STEPS, run_world

from mutants.metadata.table_worlds import MUTANTS
from pruning.dml import WriteMode
from pruning.errors import InputError

READERS = {
    "delta": ["delta-rs"],
    "iceberg": ["PyIceberg", *(["Iceberg's runtime"] if runtime_jar() is not None else [])],
}


def run_worlds(spark: Any, format_: str, limits: settings, **options: Any) -> Counter[str]:
    """Run worlds, and return how often each thing happened."""
    tally: Counter[str] = Counter()

    @limits
    @given(st.data())
    def run(data: st.DataObject) -> None:
        run_world(spark, format_, data.draw, tally, **options)

    run()
    return tally


@pytest.mark.parametrize("format_", FORMATS)
def test_a_table_always_has_the_rows_of_its_model(spark: Any, format_: str) -> None:
    """TABLE-1, and its reach: each kind of step was taken, and queries and statements left files out."""
    tally = run_worlds(spark, format_, examples(0.07), steps=10)
    assert {f"{format_} {kind}" for kind in (*STEPS, *FORMATS[format_].kinds)} <= tally.keys()
    assert tally["queries that pruned files"] >= 5


@pytest.mark.deep
@pytest.mark.parametrize("format_", FORMATS)
def test_two_thousand_steps_of_tables_keep_their_rows(spark: Any, format_: str) -> None:
    """TABLE-1 at length: 100 worlds of 10 steps, for each format."""
    tally = run_worlds(spark, format_, settings(max_examples=100), steps=10)
    assert {f"{format_} {mode.value} removed rows" for mode in WriteMode} <= tally.keys()
    assert tally["untouched files"]
    assert tally["files dropped unread"]
    for reader in READERS[format_]:
        assert tally[f"{format_} read by {reader}"]


@pytest.mark.parametrize("mutant", MUTANTS)
def test_worlds_of_tables_kill(spark: Any, mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows and the block metadata show them, or an error where values cannot be those of a column."""
    world = MUTANTS[mutant]
    monkeypatch.setattr(*world.mutant)
    with pytest.raises((AssertionError, InputError)):
        run_worlds(spark, world.format, unshrunk(200), steps=6, kinds=world.kinds, queries=False)
