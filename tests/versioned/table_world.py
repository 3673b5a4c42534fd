"""A table that statements, library writers and other engines change step by step, and the model of its rows.

After each step the newest version is read in full, and queries over it and over an earlier version are
pruned and compared with the model.
"""

import json
import tempfile
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from delta_world import DeltaTableOfWorld
from hypothesis import strategies as st
from iceberg_world import IcebergTableOfWorld
from table_model import (
    COLUMNS_MAX,
    NAMES,
    NUMBER,
    NUMBER_ID,
    VALUES,
    WIDER,
    ModelColumn,
    ModelRow,
    ModelState,
    model_values,
)
from version_rows import live_rows, problem_of_blocks, rows_by_file, written_rows

import pruning
from oracles.answers.frames import ROW_ORDINAL, rows_frame, session, settings
from oracles.answers.open_answers import answer_difference
from oracles.answers.rows import bag
from oracles.answers.whole_queries import temporary_views, unlimited_rows
from pruning.dml import WriteMode, delete, update
from pruning.expressions.sql import literal_sql, to_sql
from pruning.expressions.types import Type
from pruning.metadata.versioned.table_version import TableVersion
from pruning.spark.versioned.frames import version_frame
from strategies.base.tables import Table
from strategies.choices import choose
from strategies.predicates.scalars import scalar
from strategies.queries.endings import Ending, end_query
from strategies.queries.queries import Query, table_name
from strategies.queries.relations import (
    Catalog,
    SampledRelation,
    condition,
    scope_of,
    with_filter,
    with_range,
)

FORMATS: Mapping[str, Any] = {"delta": DeltaTableOfWorld, "iceberg": IcebergTableOfWorld}
STATEMENTS = ("delete", "update")
STEPS = ("append", *STATEMENTS, "delete_positions", "compact", "add_column")
_ENDINGS = (Ending.NONE, Ending.NONE, Ending.LIMIT, Ending.LIMIT_OFFSET, Ending.TOP_K, Ending.TOP_K_OFFSET)
_FILES_MIN = 3
_PUSHDOWN = "spark.sql.parquet.filterPushdown"


class World:
    """One table, with its model."""

    def __init__(self, spark: Any, format_: str, draw: Any, folder: Path, tally: Counter[str]) -> None:
        self.spark, self.draw, self.tally, self.format = spark, draw, tally, format_
        self.numbers = 0
        types = choose(draw, list(VALUES)), choose(draw, list(VALUES))
        columns = [
            ModelColumn(id=place, name=NAMES[place - 1], type=type_)
            for place, type_ in enumerate(types, start=1)
        ]
        self.state = ModelState(columns=tuple(columns), rows={})
        self.column_count = len(columns)
        self.table = FORMATS[format_](draw, folder, self.state)
        self.versions: dict[int, ModelState] = {}
        for _ in range(_FILES_MIN):
            self.append()

    def kinds(self, chosen: Collection[str] | None) -> list[str]:
        """Return the kinds of steps that the table can take, each once; of those chosen, if some are."""
        return [kind for kind in (*STEPS, *self.table.kinds) if chosen is None or kind in chosen]

    def step(self, kind: str) -> None:
        """Take a step of a kind, or append rows if the table cannot take such a one now."""
        possible = kind if self._can(kind) else "append"
        getattr(self, possible)()
        self.tally[f"{self.format} {possible}"] += 1

    def _can(self, kind: str) -> bool:
        if kind in (*STATEMENTS, "delete_positions", "compact"):
            return bool(self.state.rows)
        if kind == "add_column":
            return len(self.state.columns) < COLUMNS_MAX
        return True

    def append(self) -> None:
        """Add a few rows with values that lie close together."""
        rows: dict[int, ModelRow] = {}
        pools = {}
        for column in self.state.columns:
            start = choose(self.draw, range(len(column.values)))
            pools[column.id] = (*column.values[start : start + 3], None)
        for _ in range(choose(self.draw, (1, 2, 3, 4))):
            self.numbers += 1
            cells = {id_: choose(self.draw, pool) for id_, pool in pools.items()}
            rows[self.numbers] = cells | {NUMBER_ID: self.numbers}
        self.table.append(self.draw, self.state, list(rows.values()))
        self._commit(self.state.with_rows(rows))

    def delete(self) -> None:
        """Delete rows by a statement."""
        where, mode = self._condition(), choose(self.draw, tuple(WriteMode))
        numbers, live = self._matching(where), rows_by_file(self.table.open())
        result = delete(self.spark, self.table.handle, where, mode=mode)
        self._check_statement(result, mode, numbers, live)
        self._commit(self.state.with_rows({}, numbers))

    def update(self) -> None:
        """Give one or two columns new values in some rows by a statement."""
        where, mode = self._condition(), choose(self.draw, tuple(WriteMode))
        chosen = {choose(self.draw, self.state.columns) for _ in range(choose(self.draw, (1, 1, 2)))}
        assignments = {column: self._expression(column) for column in chosen}
        numbers, live = self._matching(where), rows_by_file(self.table.open())
        changed = self._updated(numbers, assignments)
        result = update(
            self.spark,
            self.table.handle,
            {column.name: text for column, text in assignments.items()},
            where,
            mode=mode,
        )
        self._check_statement(result, mode, numbers, live)
        self._commit(self.state.with_rows(changed))

    def delete_positions(self) -> None:
        """Delete rows of one or two files as a library writer does."""
        version = self.table.open()
        chosen = {choose(self.draw, range(len(version.files.paths))) for _ in range(2)}
        positions: dict[int, list[int]] = {}
        dead: set[int] = set()
        for place in sorted(chosen):
            numbers = [row[NUMBER] for row in written_rows(version, place)]
            start = choose(self.draw, range(len(numbers)))
            positions[place] = list(range(start, len(numbers), choose(self.draw, (2, 1, 3))))
            # An UPDATE may have moved a row to another file.
            (deleted,) = version.deleted_rows.positions([place])
            dead |= {numbers[position] for position in positions[place] if position not in deleted}
        if not dead & self.state.rows.keys():
            return
        self.table.delete_positions(positions)
        self._commit(self.state.with_rows({}, sorted(dead)))

    def compact(self) -> None:
        """Write the rows of several files into one."""
        version = self.table.open()
        bitmaps = version.deleted_rows.positions(range(len(version.files.paths)))
        start = choose(self.draw, range(len(bitmaps)))
        numbers = {
            place: [
                row[NUMBER]
                for position, row in enumerate(written_rows(version, place))
                if position not in bitmaps[place]
            ]
            for place in range(start, min(start + 3, len(bitmaps)))
        }
        # A library writer may have left files without live rows.
        if any(numbers.values()):
            self.table.compact(self.draw, self.state, numbers)
            self._commit(self.state)

    def add_column(self) -> None:
        """Add a column, perhaps under the name of one that was dropped."""
        names = {column.name for column in self.state.columns}
        free = [name for name in NAMES if name not in names]
        self.column_count += 1
        column = ModelColumn(id=self.column_count, name=free[0], type=choose(self.draw, list(VALUES)))
        self._evolve([*self.state.columns, column])

    def drop_column(self) -> None:
        """Drop a column."""
        columns = [column for column in self.state.columns if self.table.may_drop(column)]
        if columns and len(self.state.columns) > 1:
            lost = choose(self.draw, columns)
            self._evolve([column for column in self.state.columns if column != lost])

    def rename_column(self) -> None:
        """Give a column a name that no column has now."""
        names = {column.name for column in self.state.columns}
        free = [name for name in NAMES if name not in names]
        old = choose(self.draw, self.state.columns)
        self._replace(old, name=choose(self.draw, free) if free else f"{old.name}_")

    def widen_column(self) -> None:
        """Give a column a wider type."""
        columns = [column for column in self.state.columns if column.type in WIDER]
        if columns:
            old = choose(self.draw, columns)
            self._replace(old, type_=WIDER[old.type])

    def evolve_partitions(self) -> None:
        """Change the partition spec of Iceberg."""
        self.table.evolve_partitions(self.draw, self.state)

    def _replace(self, old: ModelColumn, *, name: str | None = None, type_: Type | None = None) -> None:
        new = ModelColumn(id=old.id, name=name or old.name, type=type_ or old.type)
        self._evolve([new if column == old else column for column in self.state.columns])

    def _evolve(self, columns: Sequence[ModelColumn]) -> None:
        state = self.state.with_columns(columns)
        self.table.change_columns(self.state, state)
        self.state = state
        # A change of columns is a version of Delta Lake, and no snapshot of Iceberg.
        if self.format == "delta":
            self._commit(state)

    def _commit(self, state: ModelState) -> None:
        """Remember the newest version, unless nothing was committed."""
        self.state = state
        version = self.table.open().version
        if version is not None:
            self.versions.setdefault(version, state)

    def _condition(self) -> str:
        """Draw the condition of a statement, of columns that it is easy to think of."""
        return condition(self.draw, self.state.table)[0]

    def _expression(self, column: ModelColumn) -> str:
        """Draw the new value of a column: a constant, or one that depends on the row."""
        depends = choose(self.draw, (False, True)) and not self.table.is_partition_source(column)
        if depends and column.type in VALUES:
            return to_sql(scalar(self.draw, scope_of(self.state.table), column.type, 3))
        value = choose(self.draw, (*column.values, None))
        return "NULL" if value is None else literal_sql(value, column.type)

    def _matching(self, where: str) -> list[int]:
        """Return the numbers of the rows that satisfy a condition."""
        rows = rows_frame(self.spark, self.state.table).where(where).select(NUMBER).collect()
        return sorted(row[0] for row in rows)

    def _updated(
        self, numbers: Sequence[int], assignments: Mapping[ModelColumn, str]
    ) -> dict[int, dict[int, Any]]:
        """Return rows with their new values, by their numbers."""
        items = [
            f"CAST({text} AS {column.type.sql}) AS `new {column.id}`" for column, text in assignments.items()
        ]
        frame = rows_frame(self.spark, self.state.table).drop(ROW_ORDINAL).selectExpr(f"{NUMBER}", *items)
        arrow = pa.Table.from_batches(frame._collect_as_arrow())
        values = {name: model_values(arrow[name]) for name in arrow.column_names}
        changed = {}
        for place, number in enumerate(values[NUMBER]):
            if number in numbers:
                new = {column.id: values[f"new {column.id}"][place] for column in assignments}
                changed[int(str(number))] = {**self.state.rows[int(str(number))], **new}
        return changed

    def _check_statement(
        self, result: Any, mode: WriteMode, numbers: Sequence[int], live: Mapping[str, Sequence[Any]]
    ) -> None:
        """Check what a statement says of itself.

        Args:
            result: The outcome.
            mode: The way in which it writes.
            numbers: The rows that it changes.
            live: The live rows of each file before.
        """
        changed = [file for file, fate in result.plan.files.items() if fate != "untouched"]
        if numbers:
            assert result.version is not None, numbers
        else:
            # A file without a live row may be dropped unread.
            assert result.version is None or not any(live[file] for file in changed), (result, live)
        plan = result.plan.files.values()
        self.tally["untouched files"] += sum(fate == "untouched" for fate in plan)
        self.tally["files dropped unread"] += sum(fate == "deleted" for fate in plan)
        self.tally[f"{self.format} {mode.value} removed rows"] += bool(numbers)

    def check(self) -> None:
        """Compare the newest version, and queries over it and an earlier one, with the model."""
        newest = self.table.open()
        self.check_rows(newest, self.state)
        names = [column.name for column in self.state.all_columns]
        for reader, table in self.table.rows_of_other_readers(self.spark):
            rows = [tuple(row[name] for name in names) for row in table.to_pylist()]
            check_same(rows, self.state.python_rows(), reader)
            self.tally[f"{self.format} read by {reader}"] += 1
        self.check_query(newest, self.state)
        # In their order: ids of snapshots are drawn by chance.
        earlier = choose(self.draw, list(self.versions))
        self.check_query(self.table.open(earlier), self.versions[earlier])

    def check_versions(self) -> None:
        """Check that each version of the table so far has its rows."""
        for version, state in self.versions.items():
            self.check_rows(self.table.open(version), state)

    def check_rows(self, version: TableVersion, state: ModelState) -> None:
        """Compare the rows and the block metadata of a version with the model, without Spark."""
        names = [column.name for column in state.all_columns]
        rows = [tuple(row[name] for name in names) for row in live_rows(version)]
        check_same(rows, state.python_rows(), "rows")
        problem = problem_of_blocks(version, names)
        assert problem is None, problem
        fields = {field["name"]: field["type"] for field in json.loads(version.schema)["fields"]}
        assert fields.keys() == set(names)

    def check_query(self, version: TableVersion, state: ModelState) -> None:
        """Draw a query, prune it over a version, and compare its answer with the model's."""
        query = _query(self.draw, state)
        pushdown = choose(self.draw, ("false", "true"))
        expected = unlimited_rows(self.spark, query)
        frame = version_frame(self.spark, version)
        with settings(self.spark, {_PUSHDOWN: pushdown}), temporary_views(self.spark, {"t0": frame}):
            pruned = pruning.prune(self.spark.sql(query.sql))
            answer = pruned.collect()
            problem = answer_difference(query, answer, expected)
            assert problem is None, f"{query.sql}: {problem}"
            if any(scan.removals for scan in pruning.explain(pruned).scans):
                self.tally["queries that pruned files"] += 1


def check_same(rows: Sequence[Any], expected: Sequence[Any], reader: str) -> None:
    """Compare bags of rows."""
    present, wanted = bag(rows), bag(expected)
    assert present == wanted, f"{reader}: too many {present - wanted}, missing {wanted - present}"


def run_world(
    spark: Any,
    format_: str,
    draw: Any,
    tally: Counter[str],
    *,
    steps: int,
    kinds: Collection[str] | None = None,
    queries: bool = True,
) -> None:
    """Change a table in several steps, and check it after each. Shrinks to: one step.

    Args:
        spark: The session.
        format_: One of `FORMATS`.
        draw: Draws from a strategy.
        tally: Counts what happened.
        steps: The most steps; of so many, each kind is among them if they are as many as the kinds.
        kinds: The kinds of steps; None is all.
        queries: False to read rows and metadata alone, without Spark.
    """
    with session(spark), tempfile.TemporaryDirectory() as folder:
        world = World(spark, format_, draw, Path(folder), tally)
        in_turn: list[str] = []
        for _ in range(choose(draw, (1, steps, steps, steps))):
            in_turn = in_turn or list(draw(st.permutations(world.kinds(kinds))))
            kind = in_turn.pop()
            world.step(kind)
            try:
                if queries:
                    world.check()
                else:
                    world.check_rows(world.table.open(), world.state)
            except AssertionError as error:
                raise AssertionError(f"after {kind}: {error}") from error
        world.check_versions()


def _query(draw: Any, state: ModelState) -> Query:
    """Draw a query over the table `t0`: filters, LIMIT and top-k."""
    table = state.table
    catalog = Catalog((), tables=[table])
    relation = _relation(table)
    for _ in range(choose(draw, (1, 1, 0, 2))):
        relation = choose(draw, (with_filter, with_range))(draw, relation)
    return end_query(draw, catalog, relation, choose(draw, _ENDINGS))


def _relation(sample: Table) -> SampledRelation:
    name = table_name(0)
    return SampledRelation(
        sql=f"SELECT * FROM {name}", sample=sample, top="scan", unique=(NUMBER,), table=name
    )
