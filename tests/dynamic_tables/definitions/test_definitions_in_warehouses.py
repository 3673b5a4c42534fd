"""Warehouses keep the results of two hundred definitions, whoever computes them and whatever the format."""

from pathlib import Path
from typing import Any

import pytest
from definition_sets import definition_group, group_names, selected_definitions
from definition_worlds import DefinitionsWorld, with_intervals

from dynamic_tables.stores.formats import LOGS

OTHER_FORMATS = ("delta", "iceberg")
# Groups that have forty definitions together, for the other formats in a deep run on Spark.
FORTY = ("joins", "aggregates", "nested", "drawn 0")
FEW = ("a group above FLATTEN", "a join with VALUES")


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("joins", "parquet"),
        ("flattened", "parquet"),
        ("drawn 69", "parquet"),
        *(("with constants", format) for format in OTHER_FORMATS),
    ],
)
def test_python_maintains_some_definitions_in_a_warehouse(tmp_path: Path, name: str, format: str) -> None:
    """WAREHOUSE-1, DIFF-1, DIFF-2. Contents and ids are those of full evaluation; contents, DuckDB's."""
    group = with_intervals(definition_group(name), 1)
    DefinitionsWorld(tmp_path / "w", group, format=format).check_all_intervals()


@pytest.mark.deep
@pytest.mark.parametrize("format", LOGS)
@pytest.mark.parametrize("name", group_names())
def test_python_maintains_two_hundred_definitions_in_warehouses(
    tmp_path: Path, name: str, format: str
) -> None:
    """WAREHOUSE-1, DIFF-1, DIFF-2 again, of each definition over eight intervals."""
    DefinitionsWorld(tmp_path / "w", definition_group(name), format=format).check_all_intervals()


def test_spark_maintains_a_few_definitions_in_a_warehouse(tmp_path: Path, spark: Any) -> None:
    """LOWER-1, WAREHOUSE-1. Contents and ids are those of full evaluation by Python and by Spark."""
    group = with_intervals(selected_definitions(*FEW), 1)
    DefinitionsWorld(tmp_path / "w", group, spark=spark).check_all_intervals()


def test_forty_definitions_are_forty() -> None:
    assert sum(len(definition_group(name).definitions) for name in FORTY) >= 40


@pytest.mark.deep
@pytest.mark.parametrize(
    ("name", "format"),
    [
        *((name, "parquet") for name in group_names()),
        *((name, format) for format in OTHER_FORMATS for name in FORTY),
    ],
)
def test_spark_maintains_two_hundred_definitions_in_warehouses(
    tmp_path: Path, spark: Any, name: str, format: str
) -> None:
    """LOWER-1, WAREHOUSE-1 again, of each definition over eight intervals."""
    group = definition_group(name)
    DefinitionsWorld(tmp_path / "w", group, spark=spark, format=format).check_all_intervals()
