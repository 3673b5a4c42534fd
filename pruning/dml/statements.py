"""Statements that change tables of Delta Lake and Apache Iceberg: DELETE and UPDATE ([P] 7).

Files in which no row can match are not opened, and files in which every row matches leave the table unread.
Of the others, either new files take their places, or the positions of the rows that leave them are written.
One commit makes a statement visible, or nothing does.
"""

import contextlib
import os
from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import expr, lit

from pruning.arguments import check_choice, check_text, describe_value
from pruning.dml.changed_rows import PLACE, POSITION, column, rows_at
from pruning.dml.conditions import blocks_for
from pruning.dml.opening import open_target
from pruning.dml.plans import plan_delete, plan_update
from pruning.dml.running import CLAUSE, StatementResult, StatementRun
from pruning.dml.targets import Statement, Target, WriteMode
from pruning.dml.when_clauses import WhenClause
from pruning.errors import InputError
from pruning.spark.drive.predicates import parsed_by
from pruning.spark.jvm.gateway import first_line, same_active_session
from pruning.spark.versioned.schemas import fields_of
from pruning.techniques.dml.rewriting import Then, When

__all__ = ["StatementResult", "WriteMode", "delete", "update"]

_EFFECTS = {Statement.DELETE: Then.DELETE, Statement.UPDATE: Then.UPDATE}
# Times as microseconds in UTC, and dates of the proleptic calendar, as both formats have them.
_WRITER_SETTINGS = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.datetimeRebaseModeInWrite": "CORRECTED",
    "spark.sql.parquet.fieldId.write.enabled": "true",
    "spark.sql.parquet.writeLegacyFormat": "false",
}


def delete(
    spark: SparkSession, table: str | os.PathLike[str] | Any, where: str, *, mode: WriteMode | None = None
) -> StatementResult:
    """Delete rows of a table.

    The condition is evaluated once; the places of its rows are stored by Spark's executors until the
    statement is done.

    Args:
        spark: The session.
        table: The directory of a table of Delta Lake, or of an Iceberg table without a catalog; or the
            table that PyIceberg loads from a catalog.
        where: The condition on the rows, in Spark SQL.
        mode: The way in which rows leave a file of which other rows stay; None is as the table's
            properties say.
    Raises:
        InputError: an argument is of another type; there is no such table, or the condition cannot be
            used; the table does not allow it; or another writer has changed what the statement has read. The
            table has not changed then.
    Example:
        >>> import pruning.dml, pyarrow as pa, tempfile
        >>> from deltalake import write_deltalake
        >>> folder = tempfile.TemporaryDirectory()
        >>> for x in range(3):
        ...     write_deltalake(folder.name, pa.table({"x": [x]}), mode="append")
        >>> result = pruning.dml.delete(spark, folder.name, "x < 2")
        >>> result.version, len(result.removed_files), len(result.added_files)
        (3, 2, 0)
    """
    return _run(spark, table, Statement.DELETE, where, mode, {})


def update(
    spark: SparkSession,
    table: str | os.PathLike[str] | Any,
    assignments: Mapping[str, str],
    where: str = "true",
    *,
    mode: WriteMode | None = None,
) -> StatementResult:
    """Give columns new values in some rows of a table.

    The condition and the values are evaluated once; the new rows are stored by Spark's executors until the
    statement is done.

    Args:
        spark: The session.
        table: As for `delete`.
        assignments: For each column, an expression in Spark SQL over the row before the statement. Its value
            is cast to the column's type as in an INSERT: one that does not fit is an error.
        where: The condition on the rows, in Spark SQL.
        mode: As for `delete`.
    Raises:
        InputError: as `delete`; or a column is not in the table, or is given twice in another letter case.
    Example:
        >>> import pruning.dml, pyarrow as pa, tempfile
        >>> from deltalake import write_deltalake
        >>> folder = tempfile.TemporaryDirectory()
        >>> write_deltalake(folder.name, pa.table({"x": [1, 2], "y": [10, 20]}))
        >>> result = pruning.dml.update(spark, folder.name, {"y": "y + x"}, "x = 2")
        >>> sorted(pruning.table(spark, folder.name).collect())
        [Row(x=1, y=10), Row(x=2, y=22)]
    """
    if not isinstance(assignments, Mapping) or not assignments:
        raise InputError(f"The assignments are {describe_value(assignments)}; give expressions by columns")
    return _run(spark, table, Statement.UPDATE, where, mode, assignments)


def _run(
    spark: SparkSession,
    table: Any,
    statement: Statement,
    where: str,
    mode: WriteMode | None,
    assignments: Mapping[str, str],
) -> StatementResult:
    """Check a statement against its table, plan it, and execute it."""
    check_text("where", where)
    if mode is not None:
        check_choice("mode", mode, WriteMode)
    with writing_session(spark) as session:
        target = open_target(session, table)
        _check_names(session, target)
        mode = target.default_mode(statement) if mode is None else mode
        target.check(statement, frozenset({_EFFECTS[statement]}), mode)
        checked = checked_assignments(session, target, assignments)
        return statement_run(session, target, statement, where, mode, checked).execute()


def statement_run(
    spark: SparkSession,
    target: Target,
    statement: Statement,
    where: str,
    mode: WriteMode,
    assignments: Mapping[str, str],
) -> StatementRun:
    """Plan a DELETE or an UPDATE of the version that a target has read.

    Args:
        spark: A session of `writing_session`.
        target: The table.
        statement: The kind.
        where: The condition, in Spark SQL.
        mode: The way in which rows leave a file of which other rows stay.
        assignments: Expressions in Spark SQL by the table's own names of columns; none for a DELETE.
    """
    blocks = blocks_for(spark, target.version, [where])
    is_delete = statement is Statement.DELETE
    plan = plan_delete(where, blocks) if is_delete else plan_update(where, blocks)
    places = plan.blocks.rewritten_blocks.tolist()
    rows = rows_at(spark, target.version, places)
    try:
        changes = _with_new_values(rows.where(expr(where)), assignments).withColumn(CLAUSE, lit(0))
    except PySparkException as error:
        # Spark refuses an expression that no row can have, also where no row matches.
        raise InputError(
            f"{statement.value}: Spark fails on it ({first_line(error)}); the table was not changed"
        ) from error
    then = Then.DELETE if is_delete else Then.UPDATE
    return StatementRun(
        spark=spark,
        target=target,
        statement=statement,
        mode=mode,
        plan=plan,
        clauses=[WhenClause(when=When.MATCHED, then=then, values=assignments or None)],
        changes=changes if places else None,
        condition=where,
    )


def _with_new_values(rows: DataFrame, assignments: Mapping[str, str]) -> DataFrame:
    """Return rows with the new values of their columns, and the places of rows; without any, these alone."""
    if not assignments:
        return rows.select(column(PLACE), column(POSITION))
    values = [
        expr(assignments[name]).alias(name) if name in assignments else column(name) for name in rows.columns
    ]
    # The casts are those of an INSERT.
    return rows.select(*values).to(rows.schema)


@contextlib.contextmanager
def writing_session(spark: Any) -> Iterator[SparkSession]:
    """Give a session like another, which writes times as tables have them, and by which predicates are read.

    It has the functions, views and settings of the other. The active session stays as it was.

    Raises:
        InputError: there is no session of this process.
    """
    if not isinstance(spark, SparkSession) or not hasattr(spark, "_jsparkSession"):
        raise InputError(
            f"A {type(spark).__name__} was given where a Spark session of this process is needed."
        )
    with same_active_session(spark):
        writing = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
        for name, value in _WRITER_SETTINGS.items():
            writing.conf.set(name, value)
        with parsed_by(writing):
            yield writing


def _check_names(spark: SparkSession, target: Target) -> None:
    """Refuse a table in which a name may mean two columns.

    Raises:
        InputError: as the first line says.
    """
    if spark.conf.get("spark.sql.caseSensitive") == "true":
        return
    names: dict[str, str] = {}
    for name in fields_of(target.version.schema):
        other = names.setdefault(name.lower(), name)
        if other != name:
            raise InputError(
                f"{target.version.location}: the columns {other} and {name} differ in letter case alone; set "
                "spark.sql.caseSensitive to true"
            )


def checked_assignments(
    spark: SparkSession, target: Target, assignments: Mapping[str, str], *, noun: str = "new value"
) -> dict[str, str]:
    """Return expressions by the table's own names of columns.

    Args:
        spark: The session, whose configuration says whether the letter case of a name matters.
        target: The table.
        assignments: The expressions, by names of columns.
        noun: The noun for an expression in errors.
    Raises:
        InputError: a name is of no column, or two are of the same; or an expression is no text.
    """
    is_case_sensitive = spark.conf.get("spark.sql.caseSensitive") == "true"
    columns = {name if is_case_sensitive else name.lower(): name for name in fields_of(target.version.schema)}
    checked: dict[str, str] = {}
    for name, expression in assignments.items():
        check_text("The name of a column", name)
        check_text(f"The {noun} of {name}", expression)
        known_name = columns.get(name if is_case_sensitive else name.lower())
        if known_name is None:
            raise InputError(
                f"{target.version.location}: has no column {name}; it has {', '.join(columns.values())}"
            )
        if known_name in checked:
            raise InputError(f"The column {known_name} is given two {noun}s; give it one")
        checked[known_name] = expression
    return checked
