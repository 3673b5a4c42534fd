"""Tables of the committed set by runs of pages."""

from itertools import pairwise

import pytest

from strategies.base.tables import is_nan
from strategies.predicates.committed import read
from tools.cut_tables import CutTable, cut_table


@pytest.fixture(scope="module")
def cut_tables() -> list[CutTable]:
    """Some tables, cut."""
    return [cut_table(case.table) for case in read(every=60) if case.table.rows]


def test_what_pages_state_is_true_of_the_rows_of_each_run(cut_tables: list[CutTable]) -> None:
    for cut in cut_tables:
        for block, facts in zip(cut.table.blocks, cut.facts, strict=True):
            assert facts.row_count == len(block) > 0
            for place, column in enumerate(facts.columns):
                cells = [row[place] for row in block]
                values = [cell for cell in cells if cell is not None and not is_nan(cell)]
                assert column.null_count in (None, cells.count(None))
                assert column.lower is None or all(column.lower <= value for value in values)
                assert column.upper is None or all(value <= column.upper for value in values)


def test_pages_do_not_align_and_are_believed(cut_tables: list[CutTable]) -> None:
    """Without this, all runs could be the pages of one column, or nothing be known of any."""
    known = [
        [column.lower is not None for column in facts.columns] for cut in cut_tables for facts in cut.facts
    ]
    assert sum(map(any, known)) > 0.7 * len(known)
    for name in ("lower", "upper"):
        changes = [
            {
                place
                for place, (before, after) in enumerate(pairwise(cut.facts))
                if getattr(before.columns[column], name) != getattr(after.columns[column], name)
            }
            for cut in cut_tables
            for column in range(len(cut.table.columns))
        ]
        assert any(a - b and b - a for a, b in pairwise(changes))


def test_block_metadata_of_runs_has_a_row_for_each(cut_tables: list[CutTable]) -> None:
    for cut in cut_tables:
        assert cut.metadata.column("row_count").to_pylist() == [facts.row_count for facts in cut.facts]
