"""Ways to prune queries over tables of Iceberg that are wrong in one way each."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from mutants.replacements import Replacement
from pruning.metadata.iceberg.fields import IcebergField, fields_of_schema
from pruning.spark.drive import leaf_tables, scans
from pruning.spark.iceberg import leaves, tables
from pruning.spark.iceberg.entries import files_left
from pruning.spark.iceberg.java_side import LEAVES, compile_class, source_of
from pruning.spark.iceberg.leaves import is_pinned
from pruning.spark.iceberg.tables import plan_iceberg_table
from pruning.spark.lake.tables import Unprunable

_FIRST_IDS: dict[str, int] = {}
_INSTANCES: dict[str, Any] = {}


def _first_fields(schema_json: str) -> dict[str, IcebergField]:
    fields = fields_of_schema(schema_json)
    return {name: replace(field, id=_FIRST_IDS.setdefault(name, field.id)) for name, field in fields.items()}


def _plan_for_first(spark: Any, readers: Sequence[Any], attributes: Any) -> Any:
    return plan_iceberg_table(spark, readers[:1], attributes)


def _files_left_by_first(
    spark: Any, planning: Any, fields: Any, predicates: Sequence[Any], most: int
) -> list[str] | None:
    return files_left(spark, planning, fields, predicates[:1], most)


def _java_side_without_residual_columns(spark: Any, name: str, beside: Any) -> Any:
    """Return an instance of a class with another name: py4j keeps the methods of a name."""
    if name not in _INSTANCES:
        source = source_of(name)
        if name == LEAVES:
            reading = "staged.residualColumns = residualColumns(schema);"
            assert reading in source
            source = source.replace(reading, "staged.residualColumns = new HashSet();")
        for right in {LEAVES, name}:
            source = source.replace(right, f"{right}Mutant")
        _INSTANCES[name] = compile_class(spark, f"{name}Mutant", source, beside)
    if isinstance(_INSTANCES[name], str):
        raise Unprunable(_INSTANCES[name])
    return _INSTANCES[name]


MUTANTS: Mapping[str, Replacement] = {
    "deleted rows are live": Replacement(scans, "countable_verdicts", lambda verdicts, metadata: verdicts),
    "a name is its first field": Replacement(tables, "fields_of_schema", _first_fields),
    "Iceberg knows NaN": Replacement(leaf_tables, "safe_condition", lambda spark, condition: None),
    "all copies of a leaf need what the first needs": Replacement(
        leaf_tables, "plan_iceberg_table", _plan_for_first
    ),
    "a residual filter's columns are those that are read": Replacement(
        leaves, "java_side", _java_side_without_residual_columns
    ),
    "chosen files are all files": Replacement(leaf_tables, "is_stand_in", is_pinned),
}
# Mutants of what Spark's tasks leave of very many files.
IN_TASKS: Mapping[str, Replacement] = {
    "what one query leaves is what another needs": Replacement(
        tables, "_key_in_tasks", lambda in_process, predicates: in_process
    ),
    "the first scan's predicate leaves files": Replacement(tables, "files_left", _files_left_by_first),
}
