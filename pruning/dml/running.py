"""The execution of a planned statement: Spark finds rows and writes files, and one commit follows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from py4j.protocol import Py4JError
from pyarrow import fs
from pyroaring import BitMap
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import broadcast, coalesce, expr, lit
from pyspark.sql.types import StructType

from pruning.dml.changed_rows import (
    GROUP,
    PLACE,
    POSITION,
    WrittenFile,
    column,
    matching_counts,
    matching_positions,
    rows_at,
    write_rows,
)
from pruning.dml.plans import RewritePlan
from pruning.dml.targets import Mode, Statement, StatementConflict, TableChange, Target
from pruning.errors import InputError
from pruning.metadata.files.locations import is_uri, locate, to_uri
from pruning.spark.jvm.gateway import first_line
from pruning.techniques.dml.rewriting import Fate


@dataclass(frozen=True, kw_only=True, eq=False)
class StatementResult:
    """The effect of a statement.

    Attributes:
        plan: The files and their fates, as they were planned from metadata.
        version: The version of Delta Lake, or Iceberg's snapshot, that the statement has committed; None if
            no row matched, so that nothing was committed.
        removed_files: The files that have left the table, those that were rewritten among them.
        added_files: The files that have entered it.
        deleted_positions: The number of rows that have left files which stay.
    """

    plan: RewritePlan
    version: int | None
    removed_files: tuple[str, ...] = ()
    added_files: tuple[str, ...] = ()
    deleted_positions: int = 0


@dataclass(frozen=True, kw_only=True, eq=False)
class StatementRun:
    """One statement on its way.

    Attributes:
        spark: The session.
        target: The table.
        statement: Its kind.
        condition: Its condition in Spark SQL.
        mode: The way in which rows leave files of which other rows stay.
        plan: The fates of the version's files.
        assignments: Expressions in Spark SQL, by the columns that they give new values.
    """

    spark: SparkSession
    target: Target
    statement: Statement
    condition: str
    mode: Mode
    plan: RewritePlan
    assignments: Mapping[str, str]

    def execute(self) -> StatementResult:
        """Change the table.

        Raises:
            InputError: as `commit_rows`.
        """
        return commit_rows(self.spark, self.target, self.statement, self.plan, self._change)

    @cached_property
    def _condition(self) -> Column:
        return coalesce(expr(self.condition), lit(False))

    def _change(self, directory: str) -> TableChange:
        """Return what the statement changes, after Spark has written its new files into a directory."""
        whole, candidates = self._places(Fate.DELETED), self._places(Fate.REWRITTEN)
        counts, positions = self._matches(candidates)
        live = self.plan.metadata["row_count"].to_pylist()
        emptied = {
            place
            for place, count in counts.items()
            if self.statement is Statement.DELETE and count == live[place]
        }
        rest = sorted(counts.keys() - emptied)
        rows = self._new_rows(rest) if rest else None
        partitions: dict[int, int | Mapping[str, Any]] = {}
        written: list[WrittenFile] = []
        if rows is not None:
            rows, partitions = self._in_groups(rows, rest)
            columns = [column(name) for name in (*self.target.file_columns, PLACE, POSITION, GROUP)]
            written = write_rows(rows.select(*columns), self.target.file_fields, directory)
            self._check_written(written, partitions)
        leaving = rest if self.mode is Mode.COPY_ON_WRITE else []
        return TableChange(
            statement=self.statement,
            condition=self.condition,
            read=tuple(sorted([*whole, *candidates])),
            removed=tuple(sorted([*whole, *emptied, *leaving])),
            deleted={place: positions[place] for place in rest if place in positions},
            written=tuple(written),
            partitions=partitions,
        )

    def _check_written(self, written: Sequence[WrittenFile], partitions: Mapping[int, Any]) -> None:
        """Check that an update has written each group: each has a row.

        Raises:
            InputError: files are missing, as in a store that lists new files late.
        """
        missing = partitions.keys() - {file.group for file in written}
        if missing and self.statement is Statement.UPDATE:
            raise InputError(
                f"{self.target.version.location}: {len(missing)} groups of new rows are in no file that its "
                "file system lists; the table was not changed"
            )

    def _places(self, fate: Fate) -> list[int]:
        """Return the places of the files with a fate."""
        return [place for place, of_file in enumerate(self.plan.blocks.fates.tolist()) if of_file == fate]

    def _matches(self, places: Sequence[int]) -> tuple[dict[int, int], dict[int, BitMap]]:
        """Return the numbers of matching rows, and positions that are deleted, by the places of files."""
        if not places:
            return {}, {}
        rows = rows_at(self.spark, self.target.version, places)
        if self.mode is Mode.COPY_ON_WRITE:
            return matching_counts(rows, self._condition), {}
        positions = matching_positions(rows, self._condition)
        return {place: len(bitmap) for place, bitmap in positions.items()}, positions

    def _new_rows(self, places: Sequence[int]) -> DataFrame | None:
        """Return the rows of new files, with `PLACE` and `POSITION` of the rows that they are made from."""
        rows = rows_at(self.spark, self.target.version, places)
        remaining = rows.where(~self._condition)
        if self.statement is Statement.DELETE:
            return remaining if self.mode is Mode.COPY_ON_WRITE else None
        updated = self._updated_rows(rows.where(self._condition))
        return updated.union(remaining) if self.mode is Mode.COPY_ON_WRITE else updated

    def _updated_rows(self, rows: DataFrame) -> DataFrame:
        """Return rows with the new values of their columns.

        Raises:
            InputError: a row violates a condition of the table.
        """
        values = [
            expr(self.assignments[name]).alias(name) if name in self.assignments else column(name)
            for name in rows.columns
        ]
        updated = rows.select(*values).to(rows.schema)
        for condition in self.target.row_conditions:
            if updated.where(~coalesce(expr(condition), lit(False))).head(1):
                raise InputError(
                    f"{self.target.version.location}: a row would have values that violate the table's "
                    f"condition {condition}; the table was not changed"
                )
        return updated

    def _in_groups(
        self, rows: DataFrame, places: Sequence[int]
    ) -> tuple[DataFrame, dict[int, int | Mapping[str, Any]]]:
        """Return rows with the number of the group that each is written with, and the groups' partitions.

        The rows of one file stay together. Where a statement gives columns that decide the partition new
        values, so do those with the same values of these.
        """
        sources = [name for name in self.target.partition_sources if name in self.assignments]
        if not sources:
            return rows.withColumn(GROUP, column(PLACE)), {place: place for place in places}
        names = list(self.target.partition_sources)
        distinct = rows.select(*map(column, names)).distinct().collect()
        # Numbers of groups beside the places of files.
        first = len(self.target.version.files.paths)
        partitions = {first + number: row.asDict() for number, row in enumerate(distinct)}
        groups = self.spark.createDataFrame(
            [(*row, first + number) for number, row in enumerate(distinct)],
            StructType([rows.schema[name] for name in names]).add(GROUP, "integer"),
        ).toDF(*(f"`{number}" for number in range(len(names))), GROUP)
        is_same = [column(name).eqNullSafe(column(f"`{number}")) for number, name in enumerate(names)]
        joined = rows.join(broadcast(groups), is_same)
        return joined.select(*map(column, rows.columns), column(GROUP)), partitions


def commit_rows(
    spark: SparkSession,
    target: Target,
    statement: Statement,
    plan: RewritePlan,
    change_of: Callable[[str], TableChange],
) -> StatementResult:
    """Commit what a statement changes.

    Args:
        spark: The session.
        target: The table.
        statement: The statement's kind.
        plan: Its plan.
        change_of: Writes the new files into the directory with a path, and returns the change.
    Raises:
        InputError: Spark fails on the statement, a new row violates a condition of the table, or the commit
            fails. The table has not changed then.
    """
    directory = target.new_directory()
    try:
        change = change_of(directory)
    except (PySparkException, Py4JError, InputError) as error:
        _delete_directory(directory)
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{statement.value}: Spark fails on it ({first_line(error)}); the table was not changed"
        ) from error
    if not (change.removed or change.deleted or change.written):
        return StatementResult(plan=plan, version=None)
    try:
        version = target.commit(spark, change)
    except StatementConflict:
        _delete_directory(directory)
        raise
    paths = target.version.files.paths
    return StatementResult(
        plan=plan,
        version=version,
        removed_files=tuple(paths[place] for place in change.removed),
        added_files=tuple(file.path for file in change.written),
        deleted_positions=sum(map(len, change.deleted.values())),
    )


def _delete_directory(directory: str) -> None:
    """Delete files that no version names, if there are any."""
    system, root = locate(to_uri(directory) if is_uri(directory) else directory)
    if system.get_file_info(root).type is fs.FileType.Directory:
        system.delete_dir(root)
