"""MERGE INTO tables of Delta Lake and Apache Iceberg ([P] 7)."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from pruning.arguments import check_choice, check_sequence, check_text, describe_value
from pruning.dml.changed_rows import rows_at
from pruning.dml.conditions import blocks_for
from pruning.dml.merge_sources import MergeSource
from pruning.dml.merged_rows import MergedRows, all_values
from pruning.dml.opening import open_target
from pruning.dml.plans import MergeClause, plan_merge
from pruning.dml.running import StatementResult, StatementRun
from pruning.dml.statements import checked_assignments, writing_session
from pruning.dml.target_parts import TargetPart, target_part
from pruning.dml.targets import Statement, Target, WriteMode
from pruning.dml.when_clauses import WhenClause
from pruning.errors import InputError
from pruning.expressions.names import quoted_name
from pruning.spark.jvm.gateway import first_line
from pruning.spark.versioned.schemas import fields_of
from pruning.techniques.dml.rewriting import Then, When


def merge(
    spark: SparkSession,
    table: str | os.PathLike[str] | Any,
    source: DataFrame,
    keys: Mapping[str, str],
    clauses: Sequence[WhenClause],
    *,
    on: str | None = None,
    mode: WriteMode | None = None,
) -> StatementResult:
    """Change, delete and insert rows of a table by the rows of a source, as Spark's MERGE INTO does.

    A row of the table matches one of the source if all keys are equal and not NULL, and `on` is TRUE. To each
    pair, and to each row without a partner, the first of its clauses applies whose condition is TRUE.

    Files that can have no key of the source are not opened. The source and the changed rows are each
    computed once and stored by Spark's executors until the statement is done.

    Args:
        spark: The session.
        table: As for `delete`.
        source: The rows of the source.
        keys: For each column of the table that is a key, the column of the source that it equals, or an
            expression in Spark SQL over `source`.
        clauses: The WHEN clauses in order; at least one.
        on: A further condition on pairs, in Spark SQL over `target` and `source`.
        mode: As for `delete`.
    Raises:
        InputError: as `update`; or several rows of the source would change one row of the table, unless the
            only clause of matched rows is a DELETE without condition. The table has not changed then.
    Example:
        >>> import pruning.dml, pyarrow as pa, tempfile
        >>> from pruning.dml import Then, When, WhenClause
        >>> from deltalake import write_deltalake
        >>> folder = tempfile.TemporaryDirectory()
        >>> write_deltalake(folder.name, pa.table({"x": [1, 2], "y": [10, 20]}))
        >>> source = spark.createDataFrame([(2, 5), (3, 7)], "x long, y long")
        >>> clauses = [
        ...     WhenClause(when=When.MATCHED, then=Then.UPDATE, values={"y": "target.y + source.y"}),
        ...     WhenClause(when=When.NOT_MATCHED, then=Then.INSERT, values="*"),
        ... ]
        >>> result = pruning.dml.merge(spark, folder.name, source, {"x": "x"}, clauses)
        >>> sorted(pruning.table(spark, folder.name).collect())
        [Row(x=1, y=10), Row(x=2, y=25), Row(x=3, y=7)]
    """
    _check_arguments(source, keys, clauses, on, mode)
    try:
        with writing_session(spark) as session:
            target = open_target(session, table)
            mode = target.default_mode(Statement.MERGE) if mode is None else mode
            target.check(Statement.MERGE, frozenset(clause.then for clause in clauses), mode)
            names = checked_assignments(session, target, keys, noun="key")
            clauses = [_with_values(session, target, clause) for clause in clauses]
            return _run(session, target, MergeSource.evaluate(session, source, names), clauses, on, mode)
    except (PySparkException, Py4JError) as error:
        raise InputError(
            f"MERGE: Spark fails on it ({first_line(error)}); the table was not changed"
        ) from error


def _run(
    spark: SparkSession,
    target: Target,
    source: MergeSource,
    clauses: Sequence[WhenClause],
    on: str | None,
    mode: WriteMode,
) -> StatementResult:
    """Plan a MERGE, and execute it."""
    schema = StructType.fromJson(json.loads(target.version.schema))
    MergedRows(rows=rows_at(spark, target.version, []), source=source, on=on, clauses=clauses).check()
    columns = fields_of(target.version.schema)
    on_part = target_part(spark, on, columns, source.columns)
    parts = [
        target_part(spark, clause.condition, columns, source.columns if clause.when is When.MATCHED else ())
        if clause.when is not When.NOT_MATCHED
        else TargetPart()
        for clause in clauses
    ]
    texts = [part.text for part in (on_part, *parts) if part.text is not None]
    blocks = blocks_for(spark, target.version, [*texts, *map(quoted_name, source.keys)])
    planned = source.planned_keys(schema, blocks)
    plan = plan_merge(
        blocks,
        [
            MergeClause(when=clause.when, then=clause.then, condition=part.text, more=part.more)
            for clause, part in zip(clauses, parts, strict=True)
        ],
        keys=planned.arrays,
        on=on_part.text,
        on_more=on_part.more or planned.is_raising,
    )
    rows = rows_at(spark, target.version, plan.blocks.read_blocks.tolist())
    run = StatementRun(
        spark=spark,
        target=target,
        statement=Statement.MERGE,
        mode=mode,
        plan=plan,
        clauses=clauses,
        changes=MergedRows(rows=rows, source=source, on=on, clauses=clauses).changes(),
        condition=_dependence([planned.condition, on_part.text], clauses, parts),
    )
    return run.execute()


def _dependence(
    matching: Sequence[str | None], clauses: Sequence[WhenClause], parts: Sequence[TargetPart]
) -> str:
    """Return the condition on the rows that a statement depends on, over the target alone.

    Claim     The statement would do the same if there were other rows on which the condition is not TRUE.
    Proof     (1) A row that has a partner satisfies all that `matching` has of ON. Each row that is changed
              as matched has one, and a row is inserted if none in the table is its partner.
              (2) Any other row that changes satisfies the condition of a clause that is for rows not
              matched by the source.

    Args:
        matching: The parts of ON over the target alone; None is no condition.
        clauses: The clauses.
        parts: The parts of their conditions over the target alone.
    """
    may_match = [f"({text})" for text in matching if text is not None]
    alternatives = [" AND ".join(may_match) or "true"]  # (1)
    alternatives += [  # (2)
        part.text or "true"
        for clause, part in zip(clauses, parts, strict=True)
        if clause.when is When.NOT_MATCHED_BY_SOURCE
    ]
    return "true" if "true" in alternatives else " OR ".join(f"({text})" for text in alternatives)


def _check_arguments(source: Any, keys: Any, clauses: Any, on: Any, mode: Any) -> None:
    if not isinstance(source, DataFrame) or not hasattr(source, "_jdf"):
        raise InputError(f"The source is {describe_value(source)}; give a DataFrame of a session here.")
    if not isinstance(keys, Mapping) or not keys:
        raise InputError(f"The keys are {describe_value(keys)}; give columns of the source by the table's.")
    check_sequence("clauses", clauses, "WhenClause")
    for clause in clauses:
        if not isinstance(clause, WhenClause):
            raise InputError(f"An element of clauses is {describe_value(clause)}; give a WhenClause.")
    if not clauses:
        raise InputError("MERGE has no clause; give at least one WHEN.")
    for place, clause in enumerate(clauses):
        if any(other.when is clause.when and other.condition is None for other in clauses[:place]):
            raise InputError(
                f"A clause {clause.when.value} is behind one without condition, so that it can never apply; "
                "give that one last."
            )
    if on is not None:
        check_text("on", on)
    if mode is not None:
        check_choice("mode", mode, WriteMode)


def _with_values(spark: SparkSession, target: Target, clause: WhenClause) -> WhenClause:
    """Return a clause with its values by the table's own names of columns."""
    if clause.then is Then.DELETE:
        return clause
    if isinstance(clause.values, Mapping):
        return replace(clause, values=checked_assignments(spark, target, clause.values))
    return replace(clause, values=all_values(list(fields_of(target.version.schema))))
