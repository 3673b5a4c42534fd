"""PAGE-1: verdicts on rows by page indexes, against a second opinion on each row.

Files are written by Arrow for C++ or for Rust, with pages of few rows that do not align. No Spark is asked.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from arro3.io import write_parquet
from budget import examples, unshrunk
from hypothesis import given, settings
from hypothesis import strategies as st
from searches import find

from mutants.metadata.pages import RUN_MUTANTS
from oracles.meaning.arithmetic import Overflow
from oracles.meaning.brute_force import evaluate
from oracles.meaning.numbers import NoSecondOpinion
from pruning.expressions.traversal import leaf_names
from pruning.expressions.trees import And, Column, Compare, Comparison, Expression, IsNull, Literal, Or
from pruning.expressions.types import INTEGER, LONG
from pruning.metadata.backfill.measured_files import measure_files
from pruning.metadata.pages.measured_pages import MeasuredFiles, pages_of_shards
from pruning.metadata.pages.page_reading import ArrowFiles
from pruning.metadata.store.collecting import collect
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import classify_blocks
from pruning.verdicts.page_verdicts import classify_rows
from strategies.base.layouts import tables
from strategies.base.page_layouts import PageLayout, page_layouts
from strategies.base.tables import Table, to_arrow
from strategies.predicates.predicates import predicates

SPARK = {"org.apache.spark.version": "4.3.0"}


class Writer(Enum):
    """The libraries that write page indexes."""

    CPP = "pyarrow"
    RUST = "arro3"


@dataclass(frozen=True, slots=True)
class PagedCase:
    """A table of a row group for each block, its pages, a predicate, and whether its pages were measured."""

    table: Table
    layout: PageLayout
    predicate: Expression
    is_measured: bool = False
    writer: Writer = Writer.CPP


@st.composite
def paged_cases(draw: st.DrawFn) -> PagedCase:
    """Cases of any type, in row groups of up to a dozen rows."""
    table = draw(tables(max_blocks=2, max_rows=12))
    return PagedCase(
        table,
        draw(page_layouts()),
        draw(predicates(table, max_leaves=5)),
        is_measured=draw(st.booleans()),
        writer=draw(st.sampled_from(Writer)),
    )


def _measured_now(source: ArrowFiles, files: Sequence[str], columns: object) -> MeasuredFiles:
    """Measure the pages of files, as if they had been measured before."""
    return pages_of_shards(measure_files(files, columns=None, level="page").shards)


def write_case(case: PagedCase, folder: Path) -> dict[tuple[str, int], int]:
    """Write the table of a case, a row group for each block; return the blocks by files and row groups."""
    blocks = [to_arrow(case.table.columns, block) for block in case.table.blocks]
    if case.layout.lists_beside:
        lists = [
            pa.array([[row] * (row % 3) for row in range(len(block))], pa.list_(pa.int64()))
            for block in blocks
        ]
        blocks = [block.append_column("lists", lanes) for block, lanes in zip(blocks, lists, strict=True)]
    blocks = [block.replace_schema_metadata(SPARK) for block in blocks]
    if case.writer is Writer.RUST:
        # It has no call for a row group, so that each is a file.
        paths = [str(folder / f"{number}.parquet") for number in range(len(blocks))]
        for block, path in zip(blocks, paths, strict=True):
            write_parquet(block, path, key_value_metadata=SPARK, **rust_options(case.layout))
        return {(path, 0): number for number, path in enumerate(paths)}
    file = str(folder / "t.parquet")
    with pq.ParquetWriter(file, blocks[0].schema, **case.layout.options) as writer:
        for block in blocks:
            writer.write_table(block, row_group_size=max(1, block.num_rows))
    return {(file, number): number for number in range(len(blocks))}


def rust_options(layout: PageLayout) -> dict[str, Any]:
    """Return the options of the writer in Rust, which states bounds of every page."""
    return {
        "data_page_size_limit": layout.page_bytes,
        "data_page_row_count_limit": 2 * layout.batch_rows,
        "write_batch_size": layout.batch_rows,
        "writer_version": f"parquet_{layout.version.replace('.', '_')}",
        "dictionary_enabled": layout.dictionary,
    }


def verdicts_on_rows(case: PagedCase) -> list[list[Match]]:
    """Return the verdict on each row of each row group, which each row must have exactly once."""
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        if case.is_measured:
            patch.setattr(ArrowFiles, "measured_pages", _measured_now)
        block_of = write_case(case, Path(folder))
        metadata = collect(folder, cache=False)
        runs = classify_rows(
            metadata, leaf_names(case.predicate), partial(classify_blocks, case.predicate)
        ).to_pylist()
        whole = classify_blocks(case.predicate, metadata).to_pylist()
    of_groups: list[list[Match]] = [[] for _ in case.table.blocks]
    located = metadata.select(["file", "row_group", "row_offset"]).to_pylist()
    offsets = {block_of[group["file"], group["row_group"]]: group["row_offset"] for group in located}
    for run in runs:
        number = block_of[run["file"], run["row_group"]]
        rows = of_groups[number]
        assert run["row_offset"] == offsets[number] + len(rows)
        rows += [Match(run["verdict"])] * run["row_count"]
    assert list(map(len, of_groups)) == list(map(len, case.table.blocks))
    for number, verdict in zip(offsets, whole, strict=True):
        # What is proved of a row group is proved of each of its rows.
        assert verdict == Match.SOME or set(of_groups[number]) <= {verdict}
    return of_groups


def loses_rows(case: PagedCase) -> bool:
    """Tell whether a row has a verdict that is wrong; a row on which the predicate raises has none."""
    for block, verdicts in zip(case.table.blocks, verdicts_on_rows(case), strict=True):
        for row, verdict in zip(block, verdicts, strict=True):
            try:
                truth = evaluate(case.predicate, case.table.as_mapping(row))
            except (Overflow, NoSecondOpinion):  # releases of Spark or Java differ on a few values
                continue
            if (verdict is Match.NONE and truth is True) or (verdict is Match.ALL and truth is not True):
                return True
    return False


@examples(0.4)
@given(paged_cases())
def test_rows_called_none_never_match_and_rows_called_all_always_do(case: PagedCase) -> None:
    """PAGE-1."""
    assert not loses_rows(case)


@pytest.mark.deep
@settings(max_examples=20_000)
@given(paged_cases())
def test_twenty_thousand_files_have_true_verdicts_on_rows(case: PagedCase) -> None:
    """PAGE-1, at length."""
    assert not loses_rows(case)


@pytest.mark.parametrize("writer", Writer)
def test_either_writer_writes_runs_of_each_verdict(writer: Writer) -> None:
    """Without this, one of them could write files without page indexes."""

    def decides_rows(case: PagedCase) -> bool:
        if case.writer is not writer or case.is_measured:
            return False
        return any({Match.NONE, Match.ALL} <= set(rows) for rows in verdicts_on_rows(case))

    find(paged_cases(), decides_rows, settings=unshrunk(3_000))


REACHED: list[Sequence[Match]] = [
    (Match.NONE, Match.SOME),
    (Match.ALL, Match.SOME),
    (Match.NONE, Match.ALL),
    (Match.NONE, Match.SOME, Match.ALL),
]


@pytest.mark.parametrize("together", REACHED, ids=lambda together: "-".join(match.name for match in together))
def test_row_groups_with_rows_of_each_verdict_are_drawn(together: Sequence[Match]) -> None:
    """Without this, PAGE-1 could hold because pages decide nothing."""

    def reached(case: PagedCase) -> bool:
        return any(set(together) <= set(rows) for rows in verdicts_on_rows(case))

    find(paged_cases(), reached, settings=unshrunk(3_000))


def test_rows_are_decided_by_measured_pages_alone() -> None:
    """Without this, nothing could be measured: the file has no bounds, so it decides nothing itself."""

    def decides_rows(case: PagedCase) -> bool:
        if case.layout.has_bounds or not case.is_measured:
            return False
        rows = [verdict for of_group in verdicts_on_rows(case) for verdict in of_group]
        of_file = [
            verdict for of_group in verdicts_on_rows(replace(case, is_measured=False)) for verdict in of_group
        ]
        return {Match.NONE, Match.ALL} <= set(rows) and set(of_file) == {Match.SOME}

    find(paged_cases(), decides_rows, settings=unshrunk(3_000))


A, B, NARROW = Column("a", LONG), Column("b", LONG), Column("narrow", INTEGER)
# Three numbers of 8 bytes or five of 4 end a page, and NULL takes no byte.
UNALIGNED = PageLayout(page_bytes=17, batch_rows=1, version="1.0", dictionary=False, lists_beside=False)


def cases_for_mutants() -> list[PagedCase]:
    """Return cases of pages that do not align, with some NULLs on a page that is cut."""
    seldom = Table((A, B), (tuple((None if row % 4 else row, 12 - row) for row in range(12)),))
    narrow = Table((A, NARROW), (tuple((row, None if row % 6 == 4 else row) for row in range(12)),))
    every_a = Or((IsNull(A), Compare(Comparison.LESS, A, Literal(100, LONG))))
    above = Compare(Comparison.GREATER, B, Literal(7, LONG))
    return [
        PagedCase(seldom, UNALIGNED, And((every_a, above))),
        PagedCase(seldom, UNALIGNED, Or((IsNull(A), above))),
        PagedCase(narrow, UNALIGNED, And((every_a, IsNull(NARROW)))),
    ]


def test_cases_for_mutants_have_true_verdicts() -> None:
    """They show wrong verdicts of mutants alone."""
    assert not any(map(loses_rows, cases_for_mutants()))


COUNTED = [name for name in RUN_MUTANTS if "NULLs" in name or "one column" in name]


@pytest.mark.parametrize("name", COUNTED)
def test_a_mutant_of_runs_loses_rows(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """PAGE-1 kills it on one of these cases."""
    monkeypatch.setattr(*RUN_MUTANTS[name])
    assert any(map(loses_rows, cases_for_mutants()))
