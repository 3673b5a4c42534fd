"""Queries in Spark's own SQL: what they give is asked of Spark, and they are computed as they are written."""

import json
import re
from collections.abc import Sequence

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import StructField, StructType
from pyspark.sql.window import Window

from dynamic_tables.maintenance.algebra import Opaque, TimeKind
from dynamic_tables.on_spark.frames import ROW_ID, RowFrame, cell_name, create_frame
from dynamic_tables.on_spark.physical_types import ENCODED, spark_type, type_of_spark
from dynamic_tables.values.errors import UserError
from dynamic_tables.values.types import Field
from pruning.errors import InputError

# Functions whose values change without a change of any table.
VOLATILE = re.compile(r"\b(current_timestamp|current_date|localtimestamp|now|current_user)\b", re.IGNORECASE)


def query_fields(spark: SparkSession, query: Opaque) -> tuple[Field, ...]:
    """Return the columns that a query of Spark gives.

    Args:
        spark: The session, in which temporary views get the names of what the query reads.
        query: The query.

    Raises:
        InputError: Spark refuses the query, it is not repeatable, or a column has a type without counterpart.
    """
    for name, child in zip(query.tables, query.children, strict=True):
        fields = [StructField(field.name, spark_type(field.type)) for field in readable(child.fields)]
        create_frame(spark, [], StructType(fields)).createOrReplaceTempView(name)
    data = run(spark, text_at(query, 0))
    plan = data._jdf.queryExecution().analyzed()
    if not plan.deterministic() or VOLATILE.search(plan.toString()):
        raise InputError("the query is not repeatable: its result changes without a change of any table")
    return tuple(field_of(field) for field in data.schema.fields)


def text_at(query: Opaque, at_us: int) -> str:
    """Return the text of a query whose calls for the time give this time, microseconds since 1970."""
    text, time = query.text, f"timestamp_micros({at_us})"
    values = {
        TimeKind.TIMESTAMP: time,
        TimeKind.LOCAL: f"CAST({time} AS TIMESTAMP_NTZ)",
        TimeKind.DATE: f"CAST({time} AS DATE)",
        TimeKind.SECONDS: f"{at_us // 1_000_000}L",
    }
    for call in reversed(query.times):
        text = f"{text[: call.start]}{values[call.kind]}{text[call.end :]}"
    return text


def readable(fields: Sequence[Field]) -> list[Field]:
    """Return the columns whose cells Spark has in a type of its own."""
    return [field for field in fields if field.type.kind not in ENCODED]


def run(spark: SparkSession, text: str) -> DataFrame:
    """Return the result of a query.

    Raises:
        InputError: Spark refuses it.
    """
    try:
        return spark.sql(text)
    except PySparkException as error:
        raise InputError(f"Spark refuses the query: {str(error).splitlines()[0]}") from None


def field_of(field: StructField) -> Field:
    """Return a column of Spark.

    Raises:
        InputError: Its type has no counterpart.
    """
    type_ = type_of_spark(json.loads(field.dataType.json()))
    if type_ is None:
        name = field.dataType.simpleString()
        raise InputError(f"column {field.name} is of the type {name}: cast it, for example to STRING")
    return Field(field.name, type_)


def compute(spark: SparkSession, query: Opaque, children: Sequence[RowFrame]) -> RowFrame:
    """Return the rows of a query, each with a hash of its cells and a number among equal ones as its id.

    Args:
        spark: The session.
        query: The query, with the time if it asks for it.
        children: The rows of what it reads, in its order.

    Raises:
        UserError: Spark refuses the query, or it gives other columns than it did.
    """
    for name, child, frame in zip(query.tables, query.children, children, strict=True):
        columns = [
            frame.cells[place].alias(field.name)
            for place, field in enumerate(child.fields)
            if field.type.kind not in ENCODED
        ]
        frame.data.select(*columns).createOrReplaceTempView(name)
    assert query.at_us is not None or not query.times, "the time is that of the refresh"
    try:
        data = run(spark, text_at(query, query.at_us or 0))
        fields = tuple(map(field_of, data.schema.fields))
    except InputError as error:
        raise UserError(str(error)) from None
    if fields != query.fields:
        raise UserError("the query gives other columns than it did: create the table again")
    types = [field.type for field in fields]
    cells = [
        F.col(f"`{field.name}`").cast(spark_type(field.type)).alias(cell_name(place))
        for place, field in enumerate(fields)
    ]
    rows = data.select(*cells)
    names = [cell_name(place) for place in range(len(fields))]
    # NULL has no text, so that it is told apart from every value; a length keeps parts from running together.
    parts = [F.coalesce(F.concat_ws(":", F.length(text), text), F.lit("~")) for text in map(as_text, names)]
    digest = F.sha2(F.concat_ws(";", *parts), 256)
    hashed = rows.withColumn("digest", digest)
    number = F.row_number().over(Window.partitionBy("digest").orderBy("digest"))
    row_id = F.concat(F.lit("q:"), F.col("digest"), F.lit("#"), number).alias(ROW_ID)
    return RowFrame(hashed.select(row_id, *names), tuple(types))


def as_text(name: str) -> F.Column:
    """Return a cell as text."""
    return F.col(name).cast("string")
