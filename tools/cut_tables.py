"""Tables as runs of pages: what is made known of the runs, and what their pages state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq

from pruning.expressions.types import Value
from pruning.metadata.pages.kept_rows import KeptRows, Runs
from pruning.metadata.pages.page_beliefs import ColumnPages
from pruning.metadata.pages.page_reading import read_pages
from pruning.metadata.pages.run_blocks import run_blocks
from pruning.metadata.store.collecting import collect
from pruning.metadata.table.schema import sql_type
from pruning.rules.interpreters.arrow.interpreter import lane_type
from pruning.rules.interpreters.arrow.kernels import reinterpret
from strategies.base.metadata import NOTHING, BlockFacts, ColumnFacts, Facts
from strategies.base.page_layouts import PageLayout
from strategies.base.tables import Table, to_arrow

# Three numbers of eight bytes, or five of four, end a page, so that pages do not align.
LAYOUT = PageLayout(page_bytes=17, batch_rows=1, version="1.0", dictionary=False, lists_beside=False)
# The file names a release of Spark, so that old dates are believed.
_SPARK = {b"org.apache.spark.version": b"4.3.0"}


@dataclass(frozen=True, slots=True)
class CutTable:
    """A table whose blocks are runs of pages.

    Attributes:
        table: The rows of each run.
        facts: What the pages state of each run, of columns whose index is believed.
        metadata: The block metadata that is made of it.
    """

    table: Table
    facts: Facts
    metadata: pa.Table


def cut_table(table: Table) -> CutTable:
    """Return a table, written as one row group of many pages, by its runs; it has rows."""
    rows = table.rows
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.parquet"
        arrow = to_arrow(table.columns, rows).replace_schema_metadata(_SPARK)
        pq.write_table(arrow, path, row_group_size=len(rows), **LAYOUT.options)
        groups = collect(path, cache=False)
        (pages,) = read_pages(groups, [column.name for column in table.columns])
    runs = run_blocks(KeptRows.all_of(groups), [pages])
    places = list(zip(runs.starts.tolist(), runs.ends.tolist(), strict=True))
    blocks = tuple(tuple(rows[start:end]) for start, end in places)
    by_column = [_facts_of_runs(pages, column.name, runs) for column in table.columns]
    facts = tuple(
        BlockFacts(end - start, columns)
        for (start, end), columns in zip(places, zip(*by_column, strict=True), strict=True)
    )
    return CutTable(Table(table.columns, blocks), facts, runs.blocks)


def _facts_of_runs(pages: Mapping[str, ColumnPages], name: str, runs: Runs) -> list[ColumnFacts]:
    """Return what the pages of a column state of each run, which lies in one of them."""
    of_column = pages.get(name)
    if of_column is None:
        return [NOTHING] * len(runs.starts)
    lowers, uppers = _values(of_column.min), _values(of_column.max)
    nulls, counts = of_column.null_counts.to_pylist(), of_column.row_counts.tolist()
    places = of_column.first_rows.searchsorted(runs.starts, "right") - 1
    return [
        ColumnFacts(
            null_count=_in_part(nulls[page], counts[page], rows),
            nan_count=None,
            byte_count=None,
            lower=lowers[page],
            upper=uppers[page],
            lower_exact=None,
            upper_exact=None,
        )
        for page, rows in zip(places.tolist(), (runs.ends - runs.starts).tolist(), strict=True)
    ]


def _in_part(null_count: int | None, page_rows: int, rows: int) -> int | None:
    """Return the NULLs of a part of a page; None where the page does not tell."""
    if null_count == page_rows:
        return rows
    return null_count if null_count == 0 or rows == page_rows else None


def _values(bounds: pa.Array) -> Sequence[Value | None]:
    values: list[Value | None] = reinterpret(bounds, lane_type(sql_type(bounds.type))).to_pylist()
    return values
