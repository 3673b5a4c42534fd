"""PROP-6: a pruned query over Parquet files gives the rows of Spark that skips nothing."""

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from measuring_here import measure_in_process
from small_pages import small_pages

import pruning
from oracles.answers.frames import ROW_ORDINAL, pushdown, session
from oracles.answers.unpruned import Raises, needs_ansi, truths_per_row
from pruning.expressions.sql import to_sql
from pruning.expressions.trees import Column, Compare, Comparison, Expression, Literal
from pruning.expressions.types import LONG
from strategies.base.files import write_files
from strategies.base.layouts import tables
from strategies.base.page_layouts import page_layouts
from strategies.base.tables import Table
from strategies.predicates.predicates import predicates

PREDICATES = 4


def numbered(table: Table) -> Table:
    """The table with the ordinal of each row as a last column."""
    ordinals = iter(range(len(table.rows)))
    blocks = tuple(tuple((*row, next(ordinals)) for row in block) for block in table.blocks)
    return Table((*table.columns, Column(ROW_ORDINAL, LONG)), blocks)


def pruned_ordinals(spark: Any, files: Path, predicate: Expression) -> list[int]:
    """The rows that the pruned query gives, by ordinal, in the session as it is."""
    df = spark.read.parquet(str(files)).where(to_sql(predicate))
    return sorted(row[0] for row in pruning.prune(df).select(f"`{ROW_ORDINAL}`").collect())


@examples(0.3)
@given(st.data())
def test_a_pruned_query_gives_the_rows_of_the_unpruned_one(spark: Any, data: st.DataObject) -> None:
    """PROP-6. With and without statistics, measured or not, by pages or not."""
    table = data.draw(tables(max_rows=4))
    asked = [data.draw(predicates(table, max_leaves=5)) for _ in range(PREDICATES)]
    some = [column.name for column in table.columns[:1]]
    statistics = data.draw(st.sampled_from((True, True, False, some)))
    truths = truths_per_row(spark, table, asked)
    with TemporaryDirectory() as directory:
        path = Path(directory) / "lake"
        path.mkdir()
        pages = data.draw(st.none() | page_layouts())
        together = pages is not None and data.draw(st.booleans())
        write_files(numbered(table), path, statistics=statistics, pages=pages, together=together)
        if data.draw(st.booleans()):
            event("measured")
            with measure_in_process():
                assert not pruning.backfill(path).failures
        for predicate, expected in zip(asked, truths, strict=True):
            assert not isinstance(expected, Raises)
            wanted = [ordinal for ordinal, truth in enumerate(expected) if truth is True]
            event("some rows" if wanted else "no rows")
            with session(spark, ansi=needs_ansi(predicate)), pushdown(spark), small_pages():
                assert pruned_ordinals(spark, path, predicate) == wanted, to_sql(predicate)


@pytest.mark.parametrize("measured", [False, True])
def test_a_query_on_disk_skips_blocks(spark: Any, tmp_path: Path, measured: bool) -> None:
    """Without this, PROP-6 could hold because nothing is ever pruned."""
    blocks = tuple(((2 * block,), (2 * block + 1,)) for block in range(6))
    table = Table((Column("a", LONG),), blocks)
    write_files(numbered(table), tmp_path, statistics=not measured)
    if measured:
        with measure_in_process():
            pruning.backfill(tmp_path)
    low = Compare(Comparison.LESS, table.columns[0], Literal(2, LONG))
    assert pruned_ordinals(spark, tmp_path, low) == [0, 1]
    (scan,) = pruning.explain(spark.read.parquet(str(tmp_path)).where(to_sql(low))).scans
    assert (scan.blocks_kept, scan.blocks_total) == (1, 6)
