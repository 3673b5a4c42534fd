"""Generated tables as Spark DataFrames, value for value, and the session settings of an oracle.

Rows travel as an Arrow stream beside an explicit schema, which is one route for Spark 3.5 and 4
(`createDataFrame` takes Arrow tables from 4.0 on only, and then moves `timestamp_ntz` values by
the session's time zone). Spark keeps small streams as a `LocalRelation`: rows in memory, nothing
to prune by.
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

ROW_ORDINAL = "skipproof row ordinal"  # no generated column is called so

# Names of types in the JSON of a schema, where they are not those of SQL.
_JSON_NAMES = {Kind.BYTE: "byte", Kind.SHORT: "short", Kind.INTEGER: "integer", Kind.LONG: "long"}

# Small queries are faster without code generation, adaptive execution and more than one partition;
# whatever the session was told about pushdown, an oracle wants none.
_SETTINGS = {
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.execution.arrow.localRelationThreshold": "48MB",
    "spark.sql.parquet.filterPushdown": "false",
    "spark.sql.parquet.aggregatePushdown": "false",
    "spark.sql.orc.filterPushdown": "false",
    "spark.sql.orc.aggregatePushdown": "false",
}


@contextmanager
def session(spark: SparkSession, *, zone: str = "UTC", ansi: bool = True) -> Iterator[SparkSession]:
    """Settings under which an oracle runs; on leaving, the session is as it was before.

    Args:
        zone: The session's time zone, which casts between date and timestamp depend on.
        ansi: Whether overflow raises.
    """
    wanted = _SETTINGS | {"spark.sql.session.timeZone": zone, "spark.sql.ansi.enabled": str(ansi).lower()}
    with settings(spark, wanted):
        yield spark


@contextmanager
def settings(spark: SparkSession, wanted: Mapping[str, str]) -> Iterator[None]:
    """Session settings for the time of a `with` block; those unset before are unset again."""
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
    """The table's rows in memory, with their ordinal in `table.rows` as a last column."""
    arrow = to_arrow(table.columns, table.rows)
    arrow = arrow.append_column(ROW_ORDINAL, pa.array(range(len(table.rows)), pa.int32()))
    types = {column.name: column.type for column in table.columns} | {ROW_ORDINAL: Type(Kind.INTEGER)}
    return arrow_frame(spark, arrow, types)


def arrow_frame(spark: SparkSession, arrow: pa.Table, types: Mapping[str, Type]) -> DataFrame:
    """An Arrow table as a DataFrame whose columns have the given types, nullable all of them."""
    utilities = spark.sparkContext._jvm.org.apache.spark.sql.api.python.PythonSQLUtils
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "rows.arrow"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, arrow.schema) as writer:
            writer.write_table(arrow)
        batches = utilities.readArrowStreamFromFile(str(path))
        frame = utilities.toDataFrame(batches, schema_json(types), spark._jsparkSession)
    return DataFrame(frame, spark)


def schema_json(types: Mapping[str, Type]) -> str:
    """Spark's JSON of a schema."""
    fields = [
        {"name": name, "type": _JSON_NAMES.get(type_.kind, type_.sql), "nullable": True, "metadata": {}}
        for name, type_ in types.items()
    ]
    return json.dumps({"type": "struct", "fields": fields})
