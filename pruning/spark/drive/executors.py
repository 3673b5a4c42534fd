"""Classifies blocks inside Spark's executors, for metadata that is too large for one machine ([M])."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, functions

from pruning.errors import InputError
from pruning.expressions.traversal import leaf_names
from pruning.expressions.trees import Expression
from pruning.expressions.types import Type
from pruning.metadata.table.schema import block_schema, column_fields
from pruning.rules.program.operations import Program
from pruning.spark.jvm.datatypes import type_of_field
from pruning.verdicts.classification import beyond_bounds, classify_blocks, compile_predicate

_VERDICTS = "file string, row_group int, verdict tinyint"


@dataclass(frozen=True, slots=True)
class _RowClassifier:
    """A function that classifies rows of a metadata table that Spark holds."""

    program: Program
    schema: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            metadata = pa.Table.from_batches([batch]).cast(self.schema)
            verdicts = classify_blocks(self.program, metadata)
            yield pa.RecordBatch.from_arrays(
                [batch["file"], batch["row_group"], verdicts], ["file", "row_group", "verdict"]
            )


def frame_column_types(metadata: DataFrame) -> dict[str, Type]:
    """Return the columns in a DataFrame of block metadata, with their SQL types.

    Raises:
        InputError: the DataFrame is not of block metadata.
    """
    fields = {field["name"]: field for field in json.loads(metadata.schema.json())["fields"]}
    missing = [name for name in block_schema({}).names if name not in fields]
    if missing:
        raise InputError(
            f"The DataFrame has no column {missing[0]!r}, so it is no block metadata; "
            "read what `pruning.collect` returns."
        )
    types = {}
    for name, struct in _struct_fields(fields["columns"]).items():
        statistics = _struct_fields(struct)
        type_ = type_of_field(statistics["min"]) if "min" in statistics else None
        if type_ is None or not type_.has_bounds or set(column_fields(type_).names) - set(statistics):
            raise InputError(
                f"The statistics of column {name!r} in the DataFrame are not those of block metadata; "
                "read what `pruning.collect` returns."
            )
        types[name] = type_
    return types


def _struct_fields(field: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """Return the fields of a struct by name from the JSON of the field that holds it; empty for others."""
    type_ = field["type"]
    return {inner["name"]: inner for inner in type_["fields"]} if isinstance(type_, dict) else {}


def classify_frame(predicate: Expression, metadata: DataFrame, types: Mapping[str, Type]) -> DataFrame:
    """Return the verdict on each block of a metadata table that Spark holds: file, row_group, verdict.

    Spark reads the columns that the predicate names.

    Args:
        predicate: The predicate.
        metadata: A table of block metadata, in any order of rows.
        types: Its columns.
    """
    named = {name: types[name] for name in leaf_names(predicate) if name in types}
    if not named:
        # Arrow and Spark disagree on structs without fields.
        named = dict(list(types.items())[:1])
    schema = block_schema(named)
    program = compile_predicate(predicate, beyond=beyond_bounds(schema.empty_table()))
    columns = functions.struct(
        *(
            functions.struct(
                *(
                    functions.col("columns").getField(name).getField(field.name).alias(field.name)
                    for field in column_fields(type_)
                )
            ).alias(name)
            for name, type_ in named.items()
        )
    )
    others = [name for name in schema.names if name != "columns"]
    rows = metadata.select(*others, columns.alias("columns"))
    return rows.mapInArrow(_RowClassifier(program, schema), _VERDICTS)
