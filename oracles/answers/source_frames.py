"""The tables of a whole query as frames over the sources that it names, and the changes of their files.

Shares   the Query type; no rule, no statistic.
Trusts   Spark's readers of CSV and JSON, its cache and its checkpoints.
"""

import importlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from oracles.answers.frames import ROW_ORDINAL, rows_frame
from oracles.answers.whole_queries import temporary_views, unlimited_rows
from strategies.base.files import write_blocks, write_files
from strategies.base.tables import Table, to_arrow
from strategies.base.text_files import python_rows, write_csv, write_json
from strategies.queries.queries import Query, SourceKind, TableChange, TableSource, table_name

_PYTHON_SOURCE = "skipproof_rows"


@contextmanager
def query_versions(
    spark: SparkSession, query: Query, directory: Path, **options: Any
) -> Iterator[Iterator[list[Any]]]:
    """Run a `with` block in which the tables of a query are views by name, over files in a directory.

    The session must be that of `oracles.answers.frames.session`.

    Args:
        spark: The session.
        query: The query.
        directory: An empty directory.
        options: How files of Parquet are written, as `write_files` takes it, in place of what sources say.
    Yields:
        An iterator over the versions of the tables: at first, and after each change. Each is the whole answer
        of the query, computed in memory; the views have the version until the next one is taken.
    """
    answers = [unlimited_rows(spark, version) for version in query.versions()]
    schemas = {name: _schema(table) for name, table in query.tables_by_name.items()}
    frames, files = {}, {}
    for name, table in query.tables_by_name.items():
        source = query.sources_by_name[name]
        frames[name], files[name] = _frame(spark, table, source, directory / name, options)

    def versions() -> Iterator[list[Any]]:
        for ordinal, answer in enumerate(answers):
            if ordinal:
                change = query.changes[ordinal - 1]
                name = table_name(change.table)
                statistics = options.get("statistics", query.sources_by_name[name].statistics)
                new_files = _Files(query.tables[change.table], directory / name, statistics)
                files[name] = new_files.after(change, files[name], ordinal)
                frame = spark.read.schema(schemas[name]).parquet(str(directory / name))
                frame.createOrReplaceTempView(name)
            yield answer

    try:
        with temporary_views(spark, frames):
            yield versions()
    finally:
        for name, source in query.sources_by_name.items():
            if source.kind is SourceKind.CACHED:
                frames[name].unpersist(blocking=True)


def with_first_twice(versions: Iterator[list[Any]]) -> Iterator[list[Any]]:
    """Yield the first version twice: a predicate cache learns from one run, and is asked in the next."""
    for ordinal, answer in enumerate(versions):
        if not ordinal:
            yield answer
        yield answer


def _frame(
    spark: SparkSession, table: Table, source: TableSource, folder: Path, options: dict[str, Any]
) -> tuple[DataFrame, list[Path]]:
    """Return a table as a frame over its source, and its files of Parquet."""
    folder.mkdir()
    schema, reader = _schema(table), spark.read
    match source.kind:
        case SourceKind.PARQUET:
            layout = {"blocks_per_file": source.blocks_per_file, "statistics": source.statistics} | options
            paths = list(write_files(table, folder, **layout))
            return reader.schema(schema).parquet(str(folder)), paths
        case SourceKind.ROWS:
            frame = spark.createDataFrame(python_rows(table), schema)
        case SourceKind.CSV:
            write_csv(table, folder / "rows.csv")
            frame = reader.schema(schema).csv(str(folder))
        case SourceKind.JSON:
            write_json(table, folder / "rows.json")
            frame = reader.schema(schema).json(str(folder))
        case SourceKind.CACHED:
            frame = _rows(spark, table).cache()
            frame.count()
        case SourceKind.CHECKPOINT:
            frame = _rows(spark, table).localCheckpoint()
        case SourceKind.PYTHON:
            frame = _python_frame(spark, table, schema)
        case SourceKind.RANGE:
            frame = spark.range(len(table.rows)).toDF(table.columns[0].name)
    return frame, []


def _rows(spark: SparkSession, table: Table) -> DataFrame:
    return rows_frame(spark, table).drop(ROW_ORDINAL)


def _python_frame(spark: SparkSession, table: Table, schema: str) -> DataFrame:
    """Return a frame that Python reads; Spark 3.5, which has no such sources, takes the rows themselves."""
    rows = python_rows(table)
    try:
        module: Any = importlib.import_module("pyspark.sql.datasource")
    except ImportError:
        return spark.createDataFrame(rows, schema)
    # Spark's workers get these classes by value, because no module has them.
    reader = type("_Reader", (module.DataSourceReader,), {"read": lambda self, partition: iter(rows)})
    source = type(
        "_Source",
        (module.DataSource,),
        {
            "name": classmethod(lambda cls: _PYTHON_SOURCE),
            "schema": lambda self: schema,
            "reader": lambda self, schema: reader(),
        },
    )
    spark.dataSource.register(source)
    return spark.read.format(_PYTHON_SOURCE).load()


@dataclass(frozen=True, slots=True)
class _Files:
    """The folder of a table of one block a file, and the way in which its files are written."""

    table: Table
    folder: Path
    statistics: bool

    def after(self, change: TableChange, files: list[Path], ordinal: int) -> list[Path]:
        """Change the files, which are in the order of the table's blocks, and return those that are left.

        Args:
            change: The change.
            files: The files before it.
            ordinal: The number of the change, for names.
        """
        gone = [files[place] for place in change.gone]
        for path in gone:
            path.unlink()
        added = []
        for place, block in enumerate(change.blocks):
            path = self.folder / f"change-{ordinal}-{place}.parquet"
            if change.in_place and gone and not place:
                path = gone[0]
            with TemporaryDirectory() as other:
                rows = to_arrow(self.table.columns, block)
                (written,) = write_blocks([rows], Path(other), statistics=self.statistics)
                shutil.move(written, path)
            added.append(path)
        return [path for path in files if path not in gone] + added


def _schema(table: Table) -> str:
    return ", ".join(f"`{column.name}` {column.type.sql}" for column in table.columns)
