"""The execution of a planned statement: Spark makes the new rows and writes them, and one commit follows."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from py4j.protocol import Py4JError
from pyarrow import fs
from pyroaring import BitMap
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import coalesce, expr, lit

from pruning.dml.changed_rows import (
    GROUP,
    PLACE,
    POSITION,
    WrittenFile,
    column,
    positions_by_place,
    rows_at,
    write_rows,
)
from pruning.dml.plans import RewritePlan
from pruning.dml.row_groups import group_by_values
from pruning.dml.targets import Statement, StatementChange, Target, UncertainStatement, WriteMode
from pruning.dml.when_clauses import WhenClause
from pruning.errors import InputError
from pruning.metadata.files.locations import is_uri, locate, to_uri
from pruning.metadata.table.live_rows import live_row_counts
from pruning.spark.jvm.gateway import first_line
from pruning.techniques.dml.rewriting import Fate, Then, When

# The number of the clause that has changed a row or inserted it.
CLAUSE = "`clause"


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
        mode: The way in which rows leave files of which other rows stay.
        plan: The fates of the version's files.
        clauses: Its clauses in order; a DELETE and an UPDATE are one for rows that match.
        changes: The rows that they change and insert: `PLACE` and `POSITION`, of the changed ones; `CLAUSE`;
            and the new values of the table's columns, unless all clauses delete. None if there is no row.
        condition: The condition in Spark SQL on the rows of the target that the statement depends on.
    """

    spark: SparkSession
    target: Target
    statement: Statement
    mode: WriteMode
    plan: RewritePlan
    clauses: Sequence[WhenClause]
    changes: DataFrame | None
    condition: str

    def execute(self) -> StatementResult:
        """Change the table.

        Raises:
            InputError: Spark fails on the statement; several rows of a source would change one of the
                target; a new row violates a condition of the table; or the commit fails. The table has not
                changed then.
        """
        directory = self.target.new_directory()
        version = None
        try:
            change = self._change(directory)
            if change.removed or change.deleted or change.written:
                version = self.target.commit(self.spark, change)
        except UncertainStatement:
            # A version of the table may name the new files.
            raise
        except (PySparkException, Py4JError) as error:
            _delete_directory(directory)
            raise InputError(
                f"{self.statement.value}: Spark fails on it ({first_line(error)}); the table was not changed"
            ) from error
        except InputError:
            _delete_directory(directory)
            raise
        if version is None:
            return StatementResult(plan=self.plan, version=None)
        paths = self.target.version.files.paths
        return StatementResult(
            plan=self.plan,
            version=version,
            removed_files=tuple(paths[place] for place in change.removed),
            added_files=tuple(file.path for file in change.written),
            deleted_positions=sum(map(len, change.deleted.values())),
        )

    @cached_property
    def _changed_rows(self) -> DataFrame | None:
        """The changed and inserted rows, evaluated once; None if there is no row.

        Their places, their partitions and their values must be of one run, since expressions such as
        `rand()` or `current_timestamp()` give others in the next. The executors store the rows until the
        statement is done.
        """
        return None if self.changes is None else self.changes.localCheckpoint()

    @cached_property
    def _counts(self) -> dict[tuple[int, int | None], int]:
        """The numbers of changed and inserted rows by clause and by the place of their file."""
        if self._changed_rows is None:
            return {}
        counts = self._changed_rows.groupBy(column(CLAUSE), column(PLACE)).count().collect()
        return {(clause, place): rows for clause, place, rows in counts}

    def _change(self, directory: str) -> StatementChange:
        """Return the statement's change, after Spark has written its new files into a directory."""
        fates = self.plan.blocks.fates
        whole = np.flatnonzero(fates == Fate.DELETED).tolist()
        positions = self._leaving_positions()
        live = self._live_rows(positions)
        emptied = {place for place, bitmap in positions.items() if len(bitmap) == live[place]} - {*whole}
        rest = sorted(positions.keys() - emptied - {*whole})
        marked = {place: positions[place] for place in rest if self._leave_by_position(place)}
        rewritten = {place: positions[place] for place in rest if place not in marked}
        written, partitions = self._written_files(directory, rewritten)
        expected = sum(
            rows for (clause, _), rows in self._counts.items() if self.clauses[clause].then is not Then.DELETE
        ) + sum(live[place] - len(bitmap) for place, bitmap in rewritten.items())
        if sum(file.row_count for file in written) != expected:
            raise InputError(
                f"{self.target.version.location}: the new files that its file system lists have not the "
                f"{expected:,} rows of the statement; the table was not changed"
            )
        return StatementChange(
            statement=self.statement,
            effects=frozenset(clause.then for clause in self.clauses),
            condition=self.condition,
            directory=directory,
            read=tuple(np.flatnonzero((fates != Fate.UNTOUCHED) | self.plan.blocks.joined).tolist()),
            removed=tuple(sorted([*whole, *emptied, *rewritten])),
            deleted=marked,
            written=tuple(written),
            partitions=partitions,
        )

    def _leave_by_position(self, place: int) -> bool:
        """Tell whether rows leave a file by their positions, so that it stays."""
        return self.mode is WriteMode.MERGE_ON_READ and self.target.has_row_count(place)

    def _leaving_positions(self) -> dict[int, BitMap]:
        """Return the positions of the rows that change, by the places of their files.

        Raises:
            InputError: several rows of a source would change one row.
        """
        if self._changed_rows is None:
            return {}
        positions = positions_by_place(self._changed_rows.where(column(PLACE).isNotNull()))
        changed = sum(rows for (_, place), rows in self._counts.items() if place is not None)
        matched = [clause for clause in self.clauses if clause.when is When.MATCHED]
        # A row can be deleted by several rows of the source, if no other of them could do anything else.
        deletes_all = [clause.then is Then.DELETE and clause.condition is None for clause in matched] == [
            True
        ]
        if changed != sum(map(len, positions.values())) and not deletes_all:
            raise InputError(
                f"{self.target.version.location}: several rows of the source would change one row of the "
                "table, so that the result is not defined; let the source have one row for each. The table "
                "was not changed"
            )
        return positions

    def _live_rows(self, places: Collection[int]) -> dict[int, int]:
        """Return the numbers of live rows of files."""
        stated = live_row_counts(self.plan.metadata)
        counts = {place: rows for place in places if (rows := stated[place]) is not None}
        uncounted = sorted(set(places) - counts.keys())
        if uncounted:
            rows = rows_at(self.spark, self.target.version, uncounted)
            counts |= dict(rows.groupBy(column(PLACE)).count().collect())
        return counts

    def _written_files(
        self, directory: str, rewritten: Mapping[int, BitMap]
    ) -> tuple[list[WrittenFile], dict[int, int | Mapping[str, Any]]]:
        """Write the new rows, and those that stay of some files; return the files and their partitions.

        Args:
            directory: The directory of the new files.
            rewritten: The positions of the rows that leave these files, by their places.
        """
        parts, partitions = self._new_rows()
        if rewritten:
            remaining = rows_at(self.spark, self.target.version, sorted(rewritten), leaving=rewritten)
            parts.append(remaining.withColumn(GROUP, column(PLACE)))
            partitions |= {place: place for place in rewritten}
        if not partitions:
            return [], {}
        columns = [column(name) for name in (*self.target.file_columns, PLACE, POSITION, GROUP)]
        rows = reduce(DataFrame.union, [part.select(*columns) for part in parts])
        files = write_rows(rows, self.target.file_fields, directory, compression=self.target.compression)
        return files, partitions

    def _new_rows(self) -> tuple[list[DataFrame], dict[int, int | Mapping[str, Any]]]:
        """Return the new rows with the groups that they are written in, and the partitions of these.

        Rows stay in the partition of their file, unless a clause gives new values to what decides it.

        Raises:
            InputError: a row violates a condition of the table.
        """
        writing = {place for place, clause in enumerate(self.clauses) if clause.then is not Then.DELETE}
        # Where all clauses delete, the changed rows have no columns of the table.
        if self._changed_rows is None or not writing:
            return [], {}
        moving = {place for place in writing if self._is_moving(self.clauses[place])}
        self._check_conditions(_with_clause(self._changed_rows, writing))
        parts: list[DataFrame] = []
        partitions: dict[int, int | Mapping[str, Any]] = {
            place: place for clause, place in self._counts if place is not None and clause in writing - moving
        }
        if partitions:
            in_place = _with_clause(self._changed_rows, writing - moving)
            parts.append(in_place.withColumn(GROUP, column(PLACE)))
        if any(clause in moving for clause, _ in self._counts):
            # Numbers of groups beside the places of files.
            first = len(self.target.version.files.paths)
            moved, values = group_by_values(
                _with_clause(self._changed_rows, moving), self.target.partition_sources, first
            )
            parts.append(moved)
            partitions |= values
        return parts, partitions

    def _is_moving(self, clause: WhenClause) -> bool:
        """Tell whether the values that a clause gives decide the partitions of its rows."""
        assert isinstance(clause.values, Mapping)
        return clause.then is Then.INSERT or not clause.values.keys().isdisjoint(self.target.placing_columns)

    def _check_conditions(self, new: DataFrame) -> None:
        """Check the table's conditions on new rows.

        Raises:
            InputError: a row violates one of them.
        """
        for condition in self.target.row_conditions:
            if new.where(~coalesce(expr(condition), lit(False))).head(1):
                raise InputError(
                    f"{self.target.version.location}: a row would have values that violate the table's "
                    f"condition {condition}; the table was not changed"
                )


def _with_clause(rows: DataFrame, clauses: Collection[int]) -> DataFrame:
    """Return the rows that clauses with some numbers have made."""
    return rows.where(column(CLAUSE).isin(*clauses) if clauses else lit(False))


def _delete_directory(directory: str) -> None:
    """Delete files that no version names, if there are any."""
    system, root = locate(to_uri(directory) if is_uri(directory) else directory)
    if system.get_file_info(root).type is fs.FileType.Directory:
        system.delete_dir(root)
