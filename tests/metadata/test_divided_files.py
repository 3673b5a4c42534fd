"""DIVIDED-1: block metadata in which some files are divided into their row groups is true of each block."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import pyarrow as pa
import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from searches import find
from test_group_summaries import facts_of, grouped_tables, lies, table_of_groups

from mutants.metadata.divided_files import MUTANTS
from mutants.replacements import Replacement
from pruning.expressions import types
from pruning.expressions.trees import Column
from pruning.metadata.table.measured import STATED
from pruning.metadata.table.structs import field_of, whole
from pruning.metadata.versioned.divided_files import divided_files
from strategies.base.metadata import Facts, exact_facts, to_metadata, true_facts
from strategies.base.tables import Table


@dataclass(frozen=True, slots=True)
class Case:
    """A table whose files are groups of its blocks, some of them divided, and what metadata says of both."""

    table: Table
    sizes: tuple[int, ...]
    divided: frozenset[int]
    of_files: Facts
    of_groups: Facts

    def metadata(self) -> pa.Table:
        """Return the metadata of the divided files."""
        files = to_metadata(table_of_groups(self.table, self.sizes), self.of_files, blocks_per_file=1)
        own = {column.name: "own " + column.name for column in self.table.columns}
        return divided_files(files, self.row_groups(), own)

    def row_groups(self) -> pa.Table:
        """Return the metadata of the row groups of the divided files, under names of the files' own."""
        groups = to_metadata(self.table, self.of_groups)
        names = [f"part-{file:05}.parquet" for file in self.file_of_block()]
        groups = groups.set_column(0, groups.schema.field(0), pa.array(names))
        columns = whole(groups.column("columns"))
        own = pa.StructArray.from_arrays(
            columns.flatten(), names=["own " + field.name for field in columns.type]
        )
        groups = groups.set_column(groups.schema.get_field_index("columns"), "columns", own)
        return groups.filter(pa.array([file in self.divided for file in self.file_of_block()], pa.bool_()))

    def file_of_block(self) -> list[int]:
        return [file for file, size in enumerate(self.sizes) for _ in range(size)]

    def truth(self) -> Facts:
        """Return the exact facts of the blocks, in their order."""
        files, groups = exact_facts(table_of_groups(self.table, self.sizes)), exact_facts(self.table)
        facts: list[Any] = []
        for file, (end, size) in enumerate(zip(accumulate(self.sizes), self.sizes, strict=True)):
            facts += groups[end - size : end] if file in self.divided else [files[file]]
        return tuple(facts)


@st.composite
def cases(draw: st.DrawFn, of: Sequence[types.Type] | None = None) -> Case:
    """Tables in files; shrink to one file that is not divided, with exact facts."""
    table, sizes = draw(grouped_tables(of))
    return Case(
        table,
        tuple(sizes),
        draw(st.frozensets(st.integers(0, len(sizes) - 1))),
        draw(true_facts(table_of_groups(table, sizes))),
        draw(true_facts(table)),
    )


def problems(case: Case) -> list[str]:
    """Return the parts of the metadata that the rows, or the footers, belie."""
    metadata = case.metadata()
    written, truth = facts_of(metadata, case.table.columns), case.truth()
    wrong = [] if len(written) == len(truth) else ["blocks"]
    for block, true in zip(written, truth, strict=False):
        wrong += [] if block.row_count == true.row_count else ["row_count"]
        for column, true_column in zip(block.columns, true.columns, strict=True):
            wrong += lies(column, true_column)
    return wrong + wrongly_stated(case, metadata)


def wrongly_stated(case: Case, metadata: pa.Table) -> list[str]:
    """Return the columns of which bounds are called stated that no footer has."""
    wrong = []
    for column in case.table.columns:
        stated_in: dict[str, list[bool]] = {}
        for row in case.row_groups().to_pylist():
            facts = row["columns"]["own " + column.name]
            has_both = facts["min"] is not None and facts["max"] is not None
            stated_in.setdefault(row["file"], []).append(has_both or facts["null_count"] == row["row_count"])
        written: dict[str, list[bool]] = {}
        flags = field_of(field_of(whole(metadata.column("columns")), column.name), STATED)
        for file, flag in zip(metadata.column("file").to_pylist(), flags.to_pylist(), strict=True):
            written.setdefault(file, []).append(flag)
        if written != {file: stated_in.get(file, [False]) for file in written}:
            wrong.append(f"{column.name} is stated")
    return wrong


@examples(2)
@given(cases())
def test_metadata_of_divided_files_is_true_of_each_block(case: Case) -> None:
    """DIVIDED-1. Whatever logs and footers tell or leave out."""
    event(f"divided {len(case.divided)} of {len(case.sizes)}")
    assert problems(case) == []


@pytest.mark.parametrize("mutant", MUTANTS.values(), ids=list(MUTANTS))
def test_divided_files_kill(mutant: Replacement, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*mutant)
    find(cases([types.DOUBLE]), lambda case: bool(problems(case)))


@pytest.mark.parametrize(
    ("stored", "bounds"), [(types.INTEGER, (3, 4)), (types.LONG, (0, 9)), (types.STRING, (0, 9))]
)
def test_bounds_of_another_type_are_those_of_the_file(stored: types.Type, bounds: tuple[int, int]) -> None:
    """Of an INT column that the footer has in another type, but for narrower integers."""
    of_file = Table((Column("a", types.LONG),), (((0,), (9,)),))
    if stored == types.LONG:
        of_file = Table((Column("a", types.INTEGER),), (((0,), (9,)),))
    values = ((b"3",), (b"4",)) if stored == types.STRING else ((3,), (4,))
    part = Table((Column("a", stored),), (values,))
    divided = divided_files(
        to_metadata(of_file, exact_facts(of_file)), to_metadata(part, exact_facts(part)), {"a": "a"}
    )
    (facts,) = (row["columns"]["a"] for row in divided.to_pylist())
    assert (facts["min"], facts["max"]) == bounds
