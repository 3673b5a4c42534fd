"""The rows that `skipproof blocks` prints: of the system table of blocks, of a query on it, or of looks."""

import tempfile
from collections.abc import Sequence
from dataclasses import astuple, fields
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import pruning
from pruning.metadata.store.past import CompleteLook, complete_looks
from skipproof.commands.answers import first_rows
from skipproof.commands.inputs import NamedTable, query_over
from skipproof.sessions import spark_session

# The names of columns, the first rows, and the number of all rows.
Answer = tuple[list[str], Sequence[Sequence[Any]], int]


def blocks(path: str, columns: list[str] | None, as_of: str | None, sql: str | None, rows: int) -> Answer:
    """Return the first rows of the system table of blocks, or of a query on it in Spark SQL."""
    table = pruning.blocks(path, columns=columns, as_of=as_of)
    if sql is not None:
        return _query(table, sql, rows)
    first = table.slice(0, rows)
    return (
        table.column_names,
        list(zip(*(column.to_pylist() for column in first.columns), strict=True)),
        len(table),
    )


def _query(table: pa.Table, sql: str, rows: int) -> Answer:
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file, spark_session() as spark:
        pq.write_table(table, file.name)
        frame = query_over(spark, [NamedTable("blocks", file.name)], sql)
        first, row_count = first_rows(frame, rows)
        return frame.columns, first, row_count


def looks(path: str, rows: int) -> Answer:
    """Return the last times at which a whole directory was listed, and what had changed since each before."""
    all_looks = complete_looks(path)
    shown = [astuple(look) for look in all_looks[max(0, len(all_looks) - rows) :]]
    return [field.name for field in fields(CompleteLook)], shown, len(all_looks)
