"""The source of a MERGE: its rows, which are evaluated once, and its keys as the plan takes them."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, expr
from pyspark.sql.types import ByteType, DataType, IntegerType, LongType, ShortType, StructType

from pruning.dml.changed_rows import column
from pruning.dml.target_parts import SOURCE
from pruning.expressions.names import quoted_name
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Column
from pruning.metadata.table.schema import column_types
from pruning.spark.jvm.gateway import dataframe
from pruning.techniques.dml.source_keys import may_equal

# More different values of a key than these are not collected: every file may then have one of them.
_KEYS_MAX = 10_000_000
# The most values or ranges of a key in the condition that a commit records.
_RECORDED_MAX = 64
_INTEGERS = (ByteType, ShortType, IntegerType, LongType)


@dataclass(frozen=True, kw_only=True, eq=False)
class MergeSource:
    """The rows of a source.

    Attributes:
        rows: The rows with the alias `source`, and a column `key_name(i)` for the key i.
        columns: The names of the source's own columns.
        keys: The target's columns that the keys are compared with.
    """

    rows: DataFrame
    columns: tuple[str, ...]
    keys: tuple[str, ...]

    @classmethod
    def evaluate(cls, spark: SparkSession, frame: DataFrame, keys: Mapping[str, str]) -> "MergeSource":
        """Evaluate a source once.

        The plan, the matches and the inserted rows all depend on the rows, and a query may give others
        when it runs again. So the rows are stored by the executors until the statement is done; where one
        of these is lost, the statement fails.

        Args:
            spark: The session of the statement.
            frame: The source.
            keys: For each key, the target's column and a column of the source or an expression over it.
        Raises:
            PySparkException: Spark fails on it.
        """
        columns = tuple(frame.columns)
        values = [
            (column(text) if text in columns else expr(text)).alias(key_name(number))
            for number, text in enumerate(keys.values())
        ]
        stored = frame.alias(SOURCE).select("*", *values).localCheckpoint()
        # The statement has a session of its own.
        rows = dataframe(spark, stored._jdf.queryExecution().analyzed()).alias(SOURCE)
        return cls(rows=rows, columns=columns, keys=tuple(keys))

    def planned_keys(self, target: StructType, blocks: pa.Table) -> "PlannedKeys":
        """Return the values of the keys that can be compared with block metadata.

        Args:
            target: The target's columns.
            blocks: The target's block metadata.
        """
        bounded = column_types(blocks)
        arrays: dict[str, Any] = {}
        is_raising = False
        for number, name in enumerate(self.keys):
            source_type = self.rows.schema[key_name(number)].dataType
            if not _is_same_kind(source_type, target[name].dataType):
                # Spark casts one of the two, which may raise.
                is_raising = True
                continue
            distinct = self.rows.select(column(key_name(number))).distinct().limit(_KEYS_MAX + 1)
            batches = distinct._collect_as_arrow() if name in bounded else []
            values = pa.chunked_array([batch.column(0) for batch in batches], _arrow_type(batches))
            if name in bounded and len(values) <= _KEYS_MAX:
                arrays[name] = values
        return PlannedKeys(arrays=arrays, is_raising=is_raising, blocks=blocks)


@dataclass(frozen=True, kw_only=True, eq=False)
class PlannedKeys:
    """The source's values of the keys.

    Attributes:
        arrays: The values by the target's columns, of those keys whose values are of the column's kind.
        is_raising: True if the equality of another key may raise.
        blocks: The target's block metadata.
    """

    arrays: Mapping[str, Any]
    is_raising: bool
    blocks: pa.Table

    @cached_property
    def condition(self) -> str | None:
        """A condition in Spark SQL that is TRUE on each row of the target with a partner; None for any."""
        types = column_types(self.blocks)
        conditions = [
            to_sql(may_equal(Column(name, types[name]), values, terms_max=_RECORDED_MAX))
            for name, values in self.arrays.items()
        ]
        return " AND ".join(f"({text})" for text in conditions) or None


def key_name(number: int) -> str:
    """Return the column of a source's rows that has the values of a key. No table has such a column."""
    return f"`key {number}"


def key_equality(target: str, number: int) -> Any:
    """Return the equality of a key, a column of Spark over `target` and `source`."""
    return col(f"target.{quoted_name(target)}") == col(f"{SOURCE}.{quoted_name(key_name(number))}")


def _arrow_type(batches: list[pa.RecordBatch]) -> pa.DataType:
    """Return the type of collected values; nothing is known of it where there are none."""
    return batches[0].schema.field(0).type if batches else pa.null()


def _is_same_kind(source: DataType, target: DataType) -> bool:
    """Tell whether Spark compares two types by the values of the target's, without a cast that may raise."""
    return source == target or (isinstance(source, _INTEGERS) and isinstance(target, _INTEGERS))
