"""The execution of a planned statement: Spark finds rows and writes files, and one commit follows."""

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JError
from pyarrow import fs
from pyroaring import BitMap
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.functions import broadcast, coalesce, expr, lit, monotonically_increasing_id

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
from pruning.dml.targets import Statement, StatementChange, Target, UncertainStatement, WriteMode
from pruning.errors import InputError
from pruning.metadata.files.locations import is_uri, locate, to_uri
from pruning.spark.jvm.gateway import first_line
from pruning.spark.versioned.frames import version_frame
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

    def __str__(self) -> str:
        if self.version is None:
            return f"{self.plan}\n  committed  nothing, because no row matched"
        return (
            f"{self.plan}\n  committed  version {self.version}: {len(self.removed_files):,} files removed, "
            f"{len(self.added_files):,} added, {self.deleted_positions:,} rows deleted by position"
        )


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
    mode: WriteMode
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

    def _change(self, directory: str) -> StatementChange:
        """Return what the statement changes, after Spark has written its new files into a directory."""
        if self.assignments:
            # Spark refuses an expression that no row can have, also where no row matches.
            self._with_new_values(version_frame(self.spark, self.target.version))
        whole, candidates = self._places(Fate.DELETED), self._places(Fate.REWRITTEN)
        positional = [place for place in candidates if self._leaves_by_position(place)]
        positions = self._matching_positions(positional)
        counts = self._matching_counts(sorted({*candidates} - {*positional}))
        row_counts = self.plan.metadata["row_count"].to_pylist()
        emptied: set[int] = set()
        if self.statement is Statement.DELETE:
            emptied = {place for place, (matching, live) in counts.items() if matching == live}
            emptied |= {place for place, rows in positions.items() if len(rows) == row_counts[place]}
        copied = sorted(counts.keys() - emptied)
        marked = sorted(positions.keys() - emptied)
        written, partitions = self._write_files(copied, marked, directory)
        is_update = self.statement is Statement.UPDATE
        of_copied = [counts[place] for place in copied]
        expected = sum(live if is_update else live - matching for matching, live in of_copied)
        expected += sum(len(positions[place]) for place in marked if is_update)
        if sum(file.row_count for file in written) != expected:
            raise InputError(
                f"{self.target.version.location}: the new files have other rows than the statement selects, "
                "as if its expressions had other values each time; the table was not changed"
            )
        return StatementChange(
            statement=self.statement,
            condition=self.condition,
            directory=directory,
            read=tuple(sorted([*whole, *candidates])),
            removed=tuple(sorted([*whole, *emptied, *copied])),
            deleted={place: positions[place] for place in marked},
            written=tuple(written),
            partitions=partitions,
        )

    def _leaves_by_position(self, place: int) -> bool:
        """Tell whether rows leave a file by their positions, so that it stays."""
        return self.mode is WriteMode.MERGE_ON_READ and self.target.has_row_count(place)

    def _places(self, fate: Fate) -> list[int]:
        """Return the places of the files with a fate."""
        return [place for place, of_file in enumerate(self.plan.blocks.fates.tolist()) if of_file == fate]

    def _matching_positions(self, places: Sequence[int]) -> dict[int, BitMap]:
        """Return the positions of the matching rows by the places of files, without files that have none."""
        if not places:
            return {}
        return matching_positions(rows_at(self.spark, self.target.version, places), self._condition)

    def _matching_counts(self, places: Sequence[int]) -> dict[int, tuple[int, int]]:
        """Return the numbers of matching rows, and of all, of the files that have matching ones."""
        if not places:
            return {}
        return matching_counts(rows_at(self.spark, self.target.version, places), self._condition)

    def _write_files(
        self, copied: Sequence[int], marked: Sequence[int], directory: str
    ) -> tuple[list[WrittenFile], dict[int, int | Mapping[str, Any]]]:
        """Write the new files of a statement, and return them and the partitions of their groups.

        Args:
            copied: The places of files whose other rows are written, too.
            marked: The places of files whose other rows stay where they are.
            directory: The directory of the new files.
        """
        frames = []
        if copied:
            frames.append(rows_at(self.spark, self.target.version, copied).where(~self._condition))
        if self.statement is Statement.UPDATE and (copied or marked):
            matching = rows_at(self.spark, self.target.version, sorted([*copied, *marked]))
            frames.append(self._updated_rows(matching.where(self._condition)))
        if not frames:
            return [], {}
        rows, partitions = self._in_groups(functools.reduce(DataFrame.union, frames), [*copied, *marked])
        columns = [column(name) for name in (*self.target.file_columns, PLACE, POSITION, GROUP)]
        return write_rows(rows.select(*columns), self.target.file_fields, directory), partitions

    def _updated_rows(self, rows: DataFrame) -> DataFrame:
        """Return rows with the new values of their columns.

        Raises:
            InputError: a row violates a condition of the table.
        """
        updated = self._with_new_values(rows)
        for condition in self.target.row_conditions:
            if updated.where(~coalesce(expr(condition), lit(False))).head(1):
                raise InputError(
                    f"{self.target.version.location}: a row would have values that violate the table's "
                    f"condition {condition}; the table was not changed"
                )
        return updated

    def _with_new_values(self, rows: DataFrame) -> DataFrame:
        """Return rows with the new values of their columns, without a check of any row."""
        values = [
            expr(self.assignments[name]).alias(name) if name in self.assignments else column(name)
            for name in rows.columns
        ]
        return rows.select(*values).to(rows.schema)

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
        # Numbers of groups beside the places of files. They are computed once, and stay in the session: a
        # round trip through this process would change times, and a second computation might the numbers.
        number = monotonically_increasing_id() + len(self.target.version.files.paths)
        keys = [f"`{place}" for place in range(len(names))]
        distinct = rows.select(*map(column, names)).distinct().toDF(*keys)
        groups = distinct.withColumn(GROUP, number).localCheckpoint()
        table = pa.Table.from_batches(groups._collect_as_arrow())
        partitions: dict[int, int | Mapping[str, Any]] = {
            row.pop(GROUP): dict(zip(names, row.values(), strict=True)) for row in table.to_pylist()
        }
        is_same = [column(name).eqNullSafe(column(key)) for name, key in zip(names, keys, strict=True)]
        joined = rows.join(broadcast(groups), is_same)
        return joined.select(*map(column, rows.columns), column(GROUP)), partitions


def commit_rows(
    spark: SparkSession,
    target: Target,
    statement: Statement,
    plan: RewritePlan,
    change_of: Callable[[str], StatementChange],
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
    version = None
    try:
        change = change_of(directory)
        if change.removed or change.deleted or change.written:
            version = target.commit(spark, change)
    except UncertainStatement:
        # A version of the table may name the new files.
        raise
    except (PySparkException, Py4JError) as error:
        _delete_directory(directory)
        raise InputError(
            f"{statement.value}: Spark fails on it ({first_line(error)}); the table was not changed"
        ) from error
    except InputError:
        _delete_directory(directory)
        raise
    if version is None:
        return StatementResult(plan=plan, version=None)
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
