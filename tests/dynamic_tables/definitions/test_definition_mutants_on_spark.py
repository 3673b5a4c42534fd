"""Definitions that are written by hand show mistakes of the backend on Spark."""

from itertools import pairwise
from typing import Any

import pytest
from definition_sets import SHOP_HISTORY, Definition, selected_definitions
from spark_intervals import (
    Intervals,
    changes_by_spark,
    changes_in_python,
    full_by_spark,
    full_in_python,
)

from mutants.spark_backends import SPARK_MUTANTS
from strategies.dynamic.base_tables import interval_changes

# By mutant, a definition whose rows, or else whose changes, are wrong.
WRONG_ROWS = {
    "rows without partner are lost": "a left join",
    "ids of a union have no branch": "a union of a table with itself",
    "equal cells count again": "distinct values",
}
WRONG_CHANGES = {"NULL is not NULL": "keys alone", "deleted rows stay": "DISTINCT"}


def shop_intervals(definition: Definition) -> Intervals:
    """A definition over the intervals of the shop."""
    versions = SHOP_HISTORY.versions()
    types = {table.identity: [field.type for field in table.fields] for table in SHOP_HISTORY.tables}
    sources = definition.query.sources
    changes = [
        {identity: interval.changes for identity, interval in interval_changes(*ends).items()}
        for ends in pairwise(versions)
    ]
    return Intervals(definition.query, {identity: types[identity] for identity in sources}, versions, changes)


@pytest.mark.parametrize("mutant", WRONG_ROWS)
def test_a_definition_kills_a_mutant_of_an_operator_on_spark(spark: Any, mutant: str) -> None:
    """LOWER-1 can fail."""
    (definition,) = selected_definitions(WRONG_ROWS[mutant]).definitions
    intervals = shop_intervals(definition)
    with pytest.raises(AssertionError):
        assert full_by_spark(SPARK_MUTANTS[mutant](spark), intervals) == full_in_python(intervals)


@pytest.mark.parametrize("mutant", WRONG_CHANGES)
def test_a_definition_kills_a_mutant_of_maintenance_on_spark(spark: Any, mutant: str) -> None:
    """LOWER-1 can fail."""
    (definition,) = selected_definitions(WRONG_CHANGES[mutant]).definitions
    intervals = shop_intervals(definition)
    with pytest.raises(AssertionError):
        assert changes_by_spark(SPARK_MUTANTS[mutant](spark), intervals) == changes_in_python(intervals)
