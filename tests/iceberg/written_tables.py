"""Generated tables as tables of Iceberg: files, evolution of their columns, partitions and deletes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from oracles.answers.frames import ROW_ORDINAL, rows_frame
from pruning.expressions.types import Kind, Type
from strategies.base.tables import Block, Row, Table
from strategies.queries.queries import Query

# Iceberg has no smaller integers than int.
_WIDENED = {Kind.BYTE: "int", Kind.SHORT: "int"}
# Rows with at least this number are deleted again.
DELETED_FROM = 1_000_000
_METRICS = ("truncate(16)", "truncate(2)", "full", "counts", "none")
_BY_KIND = {
    Kind.STRING: ("truncate(2, {})", "truncate(9, {})"),
    Kind.DATE: ("years({})", "months({})", "days({})"),
    Kind.TIMESTAMP: ("years({})", "days({})", "hours({})"),
    Kind.INTEGER: ("truncate(3, {})", "bucket(2, {})"),
    Kind.LONG: ("truncate(3, {})", "bucket(2, {})"),
    Kind.DECIMAL: ("truncate(50, {})",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The way in which a table is written.

    Attributes:
        version: The version of Iceberg's format, 2 or 3.
        metrics: The mode of metrics of all columns.
        partition: A transform with a place for the first column; empty for none.
        repartitioned: True if the first half of the blocks is written without the partition.
        renamed: True if the first column had another name before.
        late: True if the second column is added after the first half of the blocks, where it is NULL.
        dead: Of each block, the number of rows that are deleted after they were written.
    """

    version: int
    metrics: str
    partition: str = ""
    repartitioned: bool = False
    renamed: bool = False
    late: bool = False
    dead: tuple[int, ...] = ()


@st.composite
def forms(draw: DrawFn, table: Table) -> Form:
    """Ways to write a table.

    Shrinks to: plain files with full metrics.
    """
    kind = table.columns[0].type.kind
    partitions = ("", "", "{}", *_BY_KIND.get(kind, ()))
    return Form(
        version=draw(st.sampled_from((2, 3))),
        metrics=draw(st.sampled_from(_METRICS)),
        partition=draw(st.sampled_from(partitions)),
        repartitioned=draw(st.booleans()),
        renamed=draw(st.booleans()),
        late=draw(st.booleans()),
        dead=tuple(draw(st.sampled_from((0, 0, 1, 2, 5))) for _ in table.blocks),
    )


def with_forms(query: Query, forms_of: Sequence[Form]) -> Query:
    """Return the query over tables whose late columns are NULL in the blocks before they were added."""
    tables = tuple(
        _with_late_column(table) if form.late else table
        for table, form in zip(query.tables, forms_of, strict=True)
    )
    return replace(query, tables=tables)


def _with_late_column(table: Table) -> Table:
    first, later = _halves(table)
    return replace(
        table, blocks=(*(tuple((row[0], None, *row[2:]) for row in block) for block in first), *later)
    )


def _halves(table: Table) -> tuple[Sequence[Block], Sequence[Block]]:
    half = len(table.blocks) // 2
    return table.blocks[:half], table.blocks[half:]


def write_table(spark: Any, table: Table, name: str, form: Form) -> Any:
    """Write a table as one of Iceberg, a file for each block that has rows, and return a frame that reads it.

    Deleted rows are copies of the table's rows with other numbers in its last column.
    """
    columns = table.columns
    # A column cannot be renamed after partitions of format version 2 name it by its old name.
    old = "before" if form.renamed else columns[0].name
    names = [old, *(column.name for column in columns[1:])]
    types = [_stored_type(column.type) for column in columns]
    created = [
        f"`{column}` {type_}"
        for place, (column, type_) in enumerate(zip(names, types, strict=True))
        if not (form.late and place == 1)
    ]
    spark.sql(
        f"CREATE TABLE {name} ({', '.join(created)}) USING iceberg TBLPROPERTIES ("
        f"'format-version'='{form.version}', 'write.delete.mode'='merge-on-read', "
        f"'write.metadata.metrics.default'='{form.metrics}', 'write.spark.fanout.enabled'='true', "
        "'write.distribution-mode'='none', 'write.delete.distribution-mode'='none', "
        "'commit.manifest-merge.enabled'='false')"
    )
    numbers = iter(range(DELETED_FROM, 2 * DELETED_FROM))
    dead = form.dead or (0,) * len(table.blocks)
    blocks = [
        (
            *block,
            *((*block[place % len(block)][:-1], next(numbers)) for place in range(count if block else 0)),
        )
        for block, count in zip(table.blocks, dead, strict=True)
    ]
    half = len(blocks) // 2
    if form.partition and not form.repartitioned:
        _partition_by(spark, name, form.partition, old)
    left_out = frozenset({1}) if form.late else frozenset[int]()
    _append(spark, table, blocks[:half], name, names, left_out)
    if form.late:
        spark.sql(f"ALTER TABLE {name} ADD COLUMN `{names[1]}` {types[1]} AFTER `{old}`")
    if form.renamed:
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN `{old}` TO `{columns[0].name}`")
        names[0] = columns[0].name
    if form.partition and form.repartitioned:
        _partition_by(spark, name, form.partition, names[0])
    _append(spark, table, blocks[half:], name, names, frozenset())
    if any(len(block) > len(written) for block, written in zip(blocks, table.blocks, strict=True)):
        spark.sql(f"DELETE FROM {name} WHERE `{names[-1]}` >= {DELETED_FROM}")
    return spark.table(name).selectExpr(
        *(f"CAST(`{column.name}` AS {column.type.sql}) AS `{column.name}`" for column in columns)
    )


def _stored_type(type_: Type) -> str:
    return _WIDENED.get(type_.kind, type_.sql)


def _partition_by(spark: Any, name: str, partition: str, column: str) -> None:
    """Add a partition field, as the extensions of Iceberg for Spark do it."""
    java = spark._jvm.org.apache.iceberg
    update = java.spark.Spark3Util.loadIcebergTable(spark._jsparkSession, name).updateSpec()
    transform, _, argument = partition.partition("(")
    terms = java.expressions.Expressions
    match transform:
        case "{}":
            update.addField(column).commit()
        case "truncate" | "bucket":
            term = getattr(terms, transform)(column, int(argument.partition(",")[0]))
            update.addField(term).commit()
        case _:
            update.addField(getattr(terms, transform.removesuffix("s"))(column)).commit()
    spark.sql(f"REFRESH TABLE {name}")


def _append(
    spark: Any,
    table: Table,
    blocks: Sequence[Sequence[Row]],
    name: str,
    names: Sequence[str],
    left_out: frozenset[int],
) -> None:
    """Append a file for each block; with partitions, a file for each partition of it."""
    frames = [rows_frame(spark, Table(table.columns, (tuple(block),))) for block in blocks if block]
    if not frames:
        return
    columns = [
        f"CAST(`{column.name}` AS {_stored_type(column.type)}) AS `{new}`"
        for place, (column, new) in enumerate(zip(table.columns, names, strict=True))
        if place not in left_out
    ]
    united = reduce(lambda one, other: one.union(other), (frame.coalesce(1) for frame in frames))
    united.drop(ROW_ORDINAL).selectExpr(*columns).writeTo(name).append()
