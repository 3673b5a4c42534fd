"""SUMMARY-1: the summary of a group of blocks is true of all rows of the group, and says what can be said."""

from collections.abc import Sequence
from itertools import accumulate, pairwise

import pyarrow as pa
import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from looking_up import rows_of
from searches import find

from mutants.metadata.summaries import MUTANTS
from mutants.replacements import Replacement
from pruning.expressions import types
from pruning.expressions.trees import Column
from pruning.metadata.table.schema import block_schema
from pruning.metadata.table.structs import field_of, whole
from pruning.metadata.table.summaries import summarize
from strategies.base.layouts import tables
from strategies.base.metadata import BlockFacts, ColumnFacts, exact_facts, to_metadata, true_facts
from strategies.base.tables import Table, sort_key

COUNTS = ("null_count", "nan_count")


def table_of_groups(table: Table, sizes: Sequence[int]) -> Table:
    """The table whose blocks are the groups."""
    ends = list(accumulate(sizes))
    groups = [table.blocks[end - size : end] for end, size in zip(ends, sizes, strict=True)]
    return Table(table.columns, tuple(tuple(row for block in group for row in block) for group in groups))


def facts_of(summary: pa.Table, columns: Sequence[Column]) -> list[BlockFacts]:
    """A summary as plain Python."""
    structs = whole(summary["columns"])
    by_column = []
    for column in columns:
        lanes = field_of(structs, column.name)
        bounds = [rows_of(pa.chunked_array([field_of(lanes, side)]), column.type) for side in ("min", "max")]
        others = [
            field_of(lanes, name).to_pylist() for name in (*COUNTS, "byte_count", "min_exact", "max_exact")
        ]
        by_column.append(list(zip(*others, *bounds, strict=True)))
    return [
        BlockFacts(
            rows,
            tuple(
                ColumnFacts(
                    null_count=nulls,
                    nan_count=nans,
                    byte_count=size,
                    lower=lower,
                    upper=upper,
                    lower_exact=lower_exact,
                    upper_exact=upper_exact,
                )
                for nulls, nans, size, lower_exact, upper_exact, lower, upper in (
                    column[group] for column in by_column
                )
            ),
        )
        for group, rows in enumerate(summary["row_count"].to_pylist())
    ]


def lies(said: ColumnFacts, true: ColumnFacts) -> list[str]:
    """The parts of what is said of a column that its rows belie."""
    wrong = [name for name in COUNTS if getattr(said, name) not in (None, getattr(true, name))]
    if true.lower is None or true.upper is None:
        return wrong
    if said.lower is not None and sort_key(said.lower) > sort_key(true.lower) and said.lower != true.lower:
        wrong.append("lower")
    if said.upper is not None and sort_key(said.upper) < sort_key(true.upper) and said.upper != true.upper:
        wrong.append("upper")
    if said.lower_exact and said.lower != true.lower:
        wrong.append("lower_exact")
    if said.upper_exact and said.upper != true.upper:
        wrong.append("upper_exact")
    return wrong


@st.composite
def grouped_tables(draw: st.DrawFn, of: Sequence[types.Type] | None = None) -> tuple[Table, list[int]]:
    """A table, perhaps of certain types, and the sizes of groups of its blocks."""
    table: Table = draw(tables(of))
    ends = sorted(draw(st.sets(st.integers(1, max(1, len(table.blocks) - 1)), max_size=3)))
    bounds = [0, *(end for end in ends if end < len(table.blocks)), len(table.blocks)]
    return table, [end - start for start, end in pairwise(bounds)]


def all_lies(table: Table, sizes: Sequence[int], known: pa.Table) -> list[str]:
    """The parts of the summaries that the rows belie."""
    truth = exact_facts(table_of_groups(table, sizes))
    said = facts_of(summarize(known, sizes), table.columns)
    wrong = [
        "row_count" for group, true in zip(said, truth, strict=True) if group.row_count != true.row_count
    ]
    return wrong + [
        lie
        for group, true in zip(said, truth, strict=True)
        for column, true_column in zip(group.columns, true.columns, strict=True)
        for lie in lies(column, true_column)
    ]


@examples(2)
@given(st.data())
def test_a_summary_is_true_of_all_rows_of_its_group(data: st.DataObject) -> None:
    """SUMMARY-1. Whatever the metadata tells or leaves out."""
    table, sizes = data.draw(grouped_tables())
    known = to_metadata(table, data.draw(true_facts(table)))
    event("several groups" if len(sizes) > 1 else "one group")
    assert all_lies(table, sizes, known) == []


@examples(1)
@given(st.data())
def test_a_summary_of_exact_metadata_is_exact(data: st.DataObject) -> None:
    """All that block metadata can hold of the group, not less."""
    table, sizes = data.draw(grouped_tables())
    said = facts_of(summarize(to_metadata(table, exact_facts(table)), sizes), table.columns)
    assert said == list(exact_facts(table_of_groups(table, sizes)))


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=list(MUTANTS))
def test_mutants_are_caught(monkeypatch: pytest.MonkeyPatch, mutant: Replacement) -> None:
    monkeypatch.setattr(*mutant)
    cases = grouped_tables([types.DOUBLE]).flatmap(lambda case: st.tuples(st.just(case), true_facts(case[0])))
    find(cases, lambda case: bool(all_lies(*case[0], to_metadata(case[0][0], case[1]))))


def test_sums_that_are_too_large_are_unknown() -> None:
    """A file may claim any number of rows."""
    a = Column("a", types.LONG)
    table = Table((a,), (((1,),), ((2,),)))
    rows = to_metadata(table, exact_facts(table)).to_pylist()
    for row in rows:
        row["row_count"] = row["columns"]["a"]["null_count"] = 1 << 62
    (summary,) = summarize(pa.Table.from_pylist(rows, block_schema({"a": types.LONG})), [2]).to_pylist()
    assert summary["row_count"] == (1 << 63) - 1
    assert summary["columns"]["a"]["null_count"] is None


def test_blocks_without_rows_say_nothing() -> None:
    a = Column("a", types.LONG)
    table = Table((a,), ((), ((1,),), ()))
    facts = [exact_facts(table)[1], *exact_facts(table)]
    (summary,) = facts_of(summarize(to_metadata(table, exact_facts(table)), [3]), [a])
    assert summary == facts[0]
    (empty,) = facts_of(summarize(to_metadata(table, exact_facts(table)).slice(0, 1), [1]), [a])
    assert (empty.row_count, empty.columns[0].null_count, empty.columns[0].lower) == (0, 0, None)
