"""Generated tables as Spark DataFrames, value for value, and the session settings of the oracles.

Rows are passed as an Arrow stream with an explicit schema, which works with Spark 3.5 and 4
(`createDataFrame` takes Arrow tables only from 4.0 on, and then moves `timestamp_ntz` values by the
session's time zone). Spark keeps small streams as a `LocalRelation`: rows in memory, without anything to
prune by.
"""

import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pruning.expressions.types import Kind, Type
from strategies.base.tables import Table, to_arrow

ROW_ORDINAL = "skipproof row ordinal"  # a name that no generated column has

# The names of types in a schema's JSON where they differ from those in SQL.
_JSON_NAMES = {Kind.BYTE: "byte", Kind.SHORT: "short", Kind.INTEGER: "integer", Kind.LONG: "long"}

# Small queries are faster without code generation, adaptive execution and more than one partition.
# An oracle wants no pushdown, whatever the session's settings say.
_SETTINGS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.execution.arrow.localRelationThreshold": "48MB",
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.aggregatePushdown": "false",
    # Spark 3.5 refuses dates before 1582 in files of other writers, unless it is told their calendar.
    "spark.sql.parquet.datetimeRebaseModeInRead": "CORRECTED",
    "spark.sql.orc.filterPushdown": "false",
    "spark.sql.orc.aggregatePushdown": "false",
}


@contextmanager
def session(spark: SparkSession, *, zone: str = "UTC", ansi: bool = True) -> Iterator[SparkSession]:
    """Run a `with` block under an oracle's settings, and restore the session's settings after it.

    zone: The session's time zone, on which casts between date and timestamp depend.
    ansi: True if overflow raises an error.
    """
    wanted = _SETTINGS | {"spark.sql.session.timeZone": zone, "spark.sql.ansi.enabled": str(ansi).lower()}
    with settings(spark, wanted):
        yield spark


@contextmanager
def pushdown(spark: SparkSession) -> Iterator[None]:
    """Run a `with` block with the pushdown that users have: for the answer that an oracle judges."""
    with settings(spark, {"spark.sql.parquet.filterPushdown": "true"}):
        yield


@contextmanager
def settings(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """Run a `with` block under these settings; settings that were unset before are unset again."""
    before = {key: spark.conf.get(key, None) for key in wanted}
    try:
        for key, value in wanted.items():
            spark.conf.set(key, value)
        yield
    finally:
        for key, old in before.items():
            if old is None:
                spark.conf.unset(key)
            else:
                spark.conf.set(key, old)


def rows_frame(spark: SparkSession, table: Table) -> DataFrame:
    """Return the table's rows as a DataFrame in memory, with their ordinals as a last column."""
    arrow = to_arrow(table.columns, table.rows)
    arrow = arrow.append_column(ROW_ORDINAL, pa.array(range(len(table.rows)), pa.int32()))
    types = {column.name: column.type for column in table.columns} | {ROW_ORDINAL: Type(Kind.INTEGER)}
    return arrow_frame(spark, arrow, types)


def arrow_frame(spark: SparkSession, arrow: pa.Table, types: Mapping[str, Type]) -> DataFrame:
    """Return an Arrow table as a DataFrame whose columns have these types and are nullable."""
    utilities = spark.sparkContext._jvm.org.apache.spark.sql.api.python.PythonSQLUtils
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "rows.arrow"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, arrow.schema) as writer:
            writer.write_table(arrow)
        batches = utilities.readArrowStreamFromFile(str(path))
        frame = utilities.toDataFrame(batches, schema_json(types), spark._jsparkSession)
    return DataFrame(frame, spark)


def schema_json(types: Mapping[str, Type]) -> str:
    """Return the JSON in which Spark writes a schema."""
    fields = [
        {"name": name, "type": _JSON_NAMES.get(type_.kind, type_.sql), "nullable": True, "metadata": {}}
        for name, type_ in types.items()
    ]
    return json.dumps({"type": "struct", "fields": fields})
