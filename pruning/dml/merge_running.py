"""The execution of a planned MERGE."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any

import numpy as np
from pyroaring import BitMap
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import coalesce, expr, lit

from pruning.dml.changed_rows import (
    GROUP,
    PLACE,
    POSITION,
    WrittenFile,
    column,
    matching_positions,
    rows_at,
    write_rows,
)
from pruning.dml.merged_rows import CLAUSE
from pruning.dml.plans import RewritePlan
from pruning.dml.row_groups import group_by_values
from pruning.dml.running import StatementResult, commit_rows
from pruning.dml.targets import Statement, StatementChange, Target, WriteMode
from pruning.dml.when_clauses import WhenClause
from pruning.errors import InputError
from pruning.techniques.dml.rewriting import Fate, Then, When


@dataclass(frozen=True, kw_only=True, eq=False)
class MergeRun:
    """One MERGE on its way.

    Attributes:
        spark: The session.
        target: The table.
        mode: The way in which rows leave files of which other rows stay.
        plan: The fates of the version's files.
        clauses: The clauses in order.
        changes: The rows that they change and insert, as `MergedRows.changes` returns them.
        condition: The condition in Spark SQL on the rows of the target that the statement depends on.
    """

    spark: SparkSession
    target: Target
    mode: WriteMode
    plan: RewritePlan
    clauses: Sequence[WhenClause]
    changes: DataFrame
    condition: str

    def execute(self) -> StatementResult:
        """Change the table.

        Raises:
            InputError: as `commit_rows`; or several rows of the source would change one of the target.
        """
        return commit_rows(self.spark, self.target, Statement.MERGE, self.plan, self._change)

    @cached_property
    def _changed_rows(self) -> DataFrame:
        """The changed and inserted rows, with what they are, evaluated once.

        Their places, their partitions and their values must be of one run, since an expression such as
        `rand()` gives others in the next. The executors store the rows until the statement is done.
        """
        return self.changes.localCheckpoint()

    def _change(self, directory: str) -> StatementChange:
        """Return what the statement changes, after Spark has written its new files into a directory."""
        fates = self.plan.blocks.fates
        whole = np.flatnonzero(fates == Fate.DELETED).tolist()
        positions = self._leaving_positions()
        live = self.plan.metadata["row_count"].to_pylist()
        emptied = {place for place, bitmap in positions.items() if len(bitmap) == live[place]} - {*whole}
        rest = sorted(positions.keys() - emptied - {*whole})
        is_by_position = self.mode is WriteMode.MERGE_ON_READ
        rewritten = [] if is_by_position else rest
        written, partitions = self._written_files(directory, rewritten)
        return StatementChange(
            statement=Statement.MERGE,
            condition=self.condition,
            directory=directory,
            read=tuple(np.flatnonzero((fates != Fate.UNTOUCHED) | self.plan.blocks.joined).tolist()),
            removed=tuple(sorted([*whole, *emptied, *rewritten])),
            deleted={place: positions[place] for place in rest} if is_by_position else {},
            written=tuple(written),
            partitions=partitions,
        )

    def _leaving_positions(self) -> dict[int, BitMap]:
        """Return the positions of the rows that change, by the places of their files.

        Raises:
            InputError: several rows of the source would change one row.
        """
        is_changed = column(PLACE).isNotNull()
        positions = matching_positions(self._changed_rows, is_changed)
        several = self._changed_rows.where(is_changed).count() - sum(map(len, positions.values()))
        matched = [clause for clause in self.clauses if clause.when is When.MATCHED]
        # A row can be deleted by several rows of the source, if no other of them could do anything else.
        deletes_all = [clause.then is Then.DELETE and clause.condition is None for clause in matched] == [
            True
        ]
        if several and not deletes_all:
            raise InputError(
                f"{self.target.version.location}: several rows of the source would change one row of the "
                "table, so that the result is not defined; let the source have one row for each. The table "
                "was not changed"
            )
        return positions

    def _written_files(
        self, directory: str, rewritten: Sequence[int]
    ) -> tuple[list[WrittenFile], dict[int, int | Mapping[str, Any]]]:
        """Write the new rows, and those that stay of some files; return the files and their partitions."""
        new = self._with_clause([clause.then is not Then.DELETE for clause in self.clauses])
        self._check_conditions(new)
        moving = [self._is_moving(clause) for clause in self.clauses]
        staying = [
            clause.then is Then.UPDATE and not moves
            for clause, moves in zip(self.clauses, moving, strict=True)
        ]
        in_place = self._with_clause(staying)
        places = [row[0] for row in in_place.select(column(PLACE)).distinct().collect()]
        partitions: dict[int, int | Mapping[str, Any]] = {place: place for place in (*places, *rewritten)}
        parts = []
        if places:
            parts.append(in_place.withColumn(GROUP, column(PLACE)))
        if rewritten:
            parts.append(self._remaining_rows(rewritten).withColumn(GROUP, column(PLACE)))
        if any(moving):
            # Numbers of groups beside the places of files.
            first = len(self.target.version.files.paths)
            moved, values = group_by_values(self._with_clause(moving), self.target.partition_sources, first)
            parts.append(moved)
            partitions |= values
        if not partitions:
            return [], {}
        columns = [column(name) for name in (*self.target.file_columns, PLACE, POSITION, GROUP)]
        rows = reduce(DataFrame.union, [part.select(*columns) for part in parts])
        written = write_rows(rows, self.target.file_fields, directory)
        missing = partitions.keys() - {file.group for file in written}
        if missing:
            raise InputError(
                f"{self.target.version.location}: {len(missing)} groups of new rows are in no file that its "
                "file system lists; the table was not changed"
            )
        return written, partitions

    def _with_clause(self, is_chosen: Sequence[bool]) -> DataFrame:
        """Return the rows that some clauses have made."""
        numbers = [number for number, chosen in enumerate(is_chosen) if chosen]
        return self._changed_rows.where(column(CLAUSE).isin(numbers) if numbers else lit(False))

    def _is_moving(self, clause: WhenClause) -> bool:
        """Tell whether the values that a clause gives decide the partitions of its rows."""
        if clause.then is Then.DELETE:
            return False
        assert isinstance(clause.values, Mapping)
        return clause.then is Then.INSERT or not clause.values.keys().isdisjoint(
            self.target.partition_sources
        )

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

    def _remaining_rows(self, places: Sequence[int]) -> DataFrame:
        """Return the rows of files that no clause changes."""
        rows = rows_at(self.spark, self.target.version, places)
        leaving = self._changed_rows.select(column(PLACE), column(POSITION)).toDF(
            "`place left", "`position left"
        )
        is_leaving = (column(PLACE) == column("`place left")) & (column(POSITION) == column("`position left"))
        return rows.join(leaving, is_leaving, "left_anti")
