"""PROP-6 for strings, times and nested values: in several session time zones, with and without an index."""

import datetime
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from pyspark.sql import DataFrame
from small_pages import small_pages

import pruning
from mutants.metadata.memberships import BUCKETS_FORGET, FILTERS_FORGET, LISTS_FORGET
from mutants.replacements import Replacement
from oracles.answers.frames import ROW_ORDINAL, pushdown, session
from oracles.answers.unpruned import Raises, needs_ansi, truths_per_row
from oracles.meaning.brute_force import evaluate
from pruning.expressions.names import field_name
from pruning.expressions.sql import to_sql
from pruning.expressions.substitution import substitute
from pruning.expressions.trees import Column, Expression
from pruning.expressions.types import STRING, Type
from pruning.metadata.index import buckets
from pruning.spark.catalyst import zones
from strategies.base.files import write_blocks
from strategies.base.page_layouts import page_layouts
from strategies.base.tables import Table, arrow_array, to_arrow
from strategies.base.zones import ZONES
from strategies.predicates.maps import MAP_NAME, Entries, MapTable, map_predicates, map_tables
from strategies.predicates.nested import NAME, Array, array_predicates, array_tables
from strategies.predicates.text_and_time import zoned_predicates, zoned_tables

PREDICATES = 5
STRUCT = "of a row"
# What is kept of a column in a block at most: all of it, filters and rare values, buckets.
BUDGETS = (1 << 16, 160, 96, 70)


def numbered(blocks: Sequence[pa.Table]) -> list[pa.Table]:
    """Blocks with the ordinal of each row as a last column."""
    starts = [sum(block.num_rows for block in blocks[:place]) for place in range(len(blocks))]
    return [
        block.append_column(ROW_ORDINAL, pa.array(range(start, start + block.num_rows), pa.int64()))
        for start, block in zip(starts, blocks, strict=True)
    ]


def with_struct(block: pa.Table) -> pa.Table:
    """A block with its columns once more as the fields of a struct, which is NULL where all of them are."""
    columns = [column.combine_chunks() for column in block.columns]
    empty = [not any(cell.is_valid for cell in row) for row in zip(*columns, strict=True)]
    mask = pa.array(empty, pa.bool_())
    return block.append_column(
        STRUCT, pa.StructArray.from_arrays(columns, fields=list(block.schema), mask=mask)
    )


def in_struct(predicate: Expression, table: Table) -> Expression:
    """The predicate, asked of the fields instead of the columns."""
    fields = {column: Column(field_name((STRUCT, column.name)), column.type) for column in table.columns}
    return substitute(predicate, fields)


def lose_nothing(
    spark: Any, lake: Path, asked: Sequence[tuple[Expression, list[int]]], zone: str = "UTC"
) -> None:
    """Check that pruned queries give the rows that are wanted, by ordinal; one job for each mode."""
    for ansi in (True, False):
        chosen = [(predicate, rows) for predicate, rows in asked if needs_ansi(predicate) is ansi]
        if not chosen:
            continue
        with session(spark, zone=zone, ansi=ansi), pushdown(spark), small_pages():
            found = pruned_rows(spark, lake, [to_sql(predicate) for predicate, _ in chosen])
        for (predicate, wanted), rows in zip(chosen, found, strict=True):
            event("some rows" if wanted else "no rows")
            assert rows == wanted, f"in {zone}: {to_sql(predicate)}"


def pruned_rows(spark: Any, lake: Path, filters: Sequence[str]) -> list[list[int]]:
    """The rows that each filter leaves, by ordinal: one pruned query with a scan for each of them."""
    files = spark.read.parquet(str(lake))
    scans = [files.where(sql).selectExpr(f"{n}", f"`{ROW_ORDINAL}`") for n, sql in enumerate(filters)]
    rows: list[list[int]] = [[] for _ in filters]
    for number, ordinal in pruning.prune(reduce(DataFrame.unionAll, scans)).collect():
        rows[number].append(ordinal)
    return [sorted(each) for each in rows]


def write(draw: st.DrawFn, blocks: Sequence[pa.Table], lake: Path) -> None:
    """Write blocks with much or little to prune by."""
    source = draw(st.sampled_from(("bounds", "nothing", "index", "index", "own filters")))
    event(f"pruned by {source}")
    lake.mkdir()
    pages = draw(st.none() | page_layouts())
    write_blocks(
        numbered(blocks),
        lake,
        blocks_per_file=draw(st.integers(1, 2)),
        # Without bounds, what else is known must do.
        statistics=source == "bounds" or draw(st.booleans()),
        pages=pages,
        together=pages is not None and draw(st.booleans()),
        dictionary=source == "own filters" or draw(st.booleans()),
        filters=[name for name in blocks[0].column_names if name in "abc"] if source == "own filters" else [],
    )
    if source in ("index", "own filters"):
        budget = draw(st.sampled_from(BUDGETS))
        pruning.index(lake, bytes_per_block=budget, read_data=source == "index")


@examples(0.2)
@given(st.data())
def test_queries_of_text_and_time_lose_no_row(spark: Any, data: st.DataObject) -> None:
    """PROP-6. Each predicate is asked of columns and of the fields of a struct that hold the same."""
    zone = data.draw(st.sampled_from(ZONES))
    table = data.draw(zoned_tables(zone))
    drawn = [data.draw(zoned_predicates(table, zone)) for _ in range(PREDICATES)]
    asked = []
    for predicate, truths in zip(drawn, truths_per_row(spark, table, drawn, zone=zone), strict=True):
        if not isinstance(truths, Raises):
            wanted = [ordinal for ordinal, truth in enumerate(truths) if truth is True]
            asked += [(predicate, wanted), (in_struct(predicate, table), wanted)]
    with TemporaryDirectory() as directory:
        lake = Path(directory) / "lake"
        write(data.draw, [with_struct(to_arrow(table.columns, block)) for block in table.blocks], lake)
        lose_nothing(spark, lake, asked, zone)


@examples(0.15)
@given(st.data())
def test_queries_of_arrays_lose_no_row(spark: Any, data: st.DataObject) -> None:
    """PROP-6, of quantifiers over elements."""
    table = data.draw(array_tables())
    drawn = [data.draw(array_predicates(table)) for _ in range(PREDICATES)]
    rows = [array for block in table.blocks for array in block]
    asked = [
        (predicate, [n for n, array in enumerate(rows) if evaluate(predicate, {NAME: array}) is True])
        for predicate in drawn
    ]
    with TemporaryDirectory() as directory:
        lake = Path(directory) / "lake"
        blocks = [pa.table({NAME: list_array(block, table.type)}) for block in table.blocks]
        write(data.draw, blocks, lake)
        lose_nothing(spark, lake, asked)


@examples(0.15)
@given(st.data())
def test_queries_of_maps_lose_no_row(spark: Any, data: st.DataObject) -> None:
    """PROP-6, of the values of keys."""
    table = data.draw(map_tables())
    conditions = [data.draw(map_predicates(table)) for _ in range(PREDICATES)]
    rows = [entries for block in table.blocks for entries in block]
    answers = [
        (predicate, [n for n, entries in enumerate(rows) if evaluate(predicate, {MAP_NAME: entries}) is True])
        for predicate in conditions
    ]
    with TemporaryDirectory() as directory:
        lake = Path(directory) / "lake"
        write(data.draw, [pa.table({MAP_NAME: map_array(block, table)}) for block in table.blocks], lake)
        lose_nothing(spark, lake, answers)


def map_array(block: Sequence[Entries], table: MapTable) -> pa.MapArray:
    """The maps of a block as an Arrow column."""
    entries = [entry for cell in block for entry in cell or ()]
    keys, values = (
        arrow_array(type_, [entry[place] for entry in entries])
        for place, type_ in enumerate((table.key, table.value))
    )
    starts = [0, *itertools.accumulate(len(cell or ()) for cell in block)]
    # An offset that is NULL is that of a map that is NULL.
    offsets = [None if place < len(block) and block[place] is None else at for place, at in enumerate(starts)]
    return pa.MapArray.from_arrays(pa.array(offsets, pa.int32()), keys, values)


def list_array(block: Sequence[Array], type_: Type) -> pa.ListArray:
    """The arrays of a block as an Arrow column."""
    elements = arrow_array(type_, [cell for array in block for cell in array or ()])
    offsets = [0]
    for array in block:
        offsets.append(offsets[-1] + len(array or ()))
    mask = pa.array([array is None for array in block], pa.bool_())
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), elements, mask=mask)


# One block in six satisfies each of these, in New York: blocks hold a month and a letter each.
FAMILIES = {
    "prefix LIKE": "s LIKE 'c%'",
    "general LIKE": "s LIKE '_c%'",
    "ILIKE": "s ILIKE 'C%'",
    "RLIKE": "s RLIKE '^c+'",
    "a text function": "upper(trim(s)) = 'CC1'",
    "date_trunc": "date_trunc('month', at) = timestamp'2024-03-01'",
    "trunc": "trunc(at, 'month') = date'2024-03-01'",
    "a field of time": "month(at) = 3",
    "date arithmetic": "date_add(CAST(at AS DATE), 30) < date'2024-03-05'",
    "a cast under a zone": "CAST(at AS DATE) = date'2024-03-31'",
    "a time as text": "date_format(at, 'yyyy-MM') = '2024-03'",
    "a list": "s IN ('cc1', 'cc2', 'xx')",
    "a field of a struct": f"lower(`{STRUCT}`.s) LIKE 'cc%'",
    "a time in a struct": f"date_trunc('month', `{STRUCT}`.at) = timestamp'2024-03-01'",
    "exists": "exists(xs, x -> x LIKE 'cc%')",
    "array_contains": "array_contains(xs, 'cc1')",
    "the value of a key": "m['k'] = 'cc1'",
    "half of a conjunction": "s LIKE 'c%' AND md5(s) > ''",
}
ZONE = "America/New_York"
BLOCKS = 6


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Six blocks in three files: the last hours of a month in New York, and texts of one letter."""
    blocks = []
    for month in range(1, BLOCKS + 1):
        text = chr(ord("a") + month - 1) * 2
        # Three in the morning of the next day, as UTC has it.
        times = [datetime.datetime(2024, month + 1, 1, 3, minute, tzinfo=datetime.UTC) for minute in (0, 30)]
        block = pa.table({"s": [f"{text}1", f"{text}2"], "at": pa.array(times, pa.timestamp("us", "UTC"))})
        block = with_struct(block)
        block = block.append_column("xs", pa.array([[f"{text}1", f"{text}2"], [f"{text}2"]]))
        entries = [[("k", f"{text}1"), (text, f"{text}3")], [("k", f"{text}2")]]
        blocks.append(block.append_column("m", pa.array(entries, pa.map_(pa.string(), pa.string()))))
    lake = tmp_path_factory.mktemp("months")
    write_blocks(numbered(blocks), lake)
    return lake


@pytest.mark.parametrize("family", FAMILIES)
def test_each_family_skips_files_and_blocks(spark: Any, months: Path, family: str) -> None:
    """Without this, PROP-6 could hold because nothing is ever pruned."""
    with session(spark, zone=ZONE):
        (scan,) = pruning.explain(spark.read.parquet(str(months)).where(FAMILIES[family])).scans
        assert (scan.files_kept, scan.blocks_kept, scan.blocks_total) == (1, 1, BLOCKS)
        assert any(pruned_rows(spark, months, [FAMILIES[family]]))


def test_the_rules_of_another_zone_are_found_out(
    spark: Any, months: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In Kolkata these instants are in the next month."""
    with session(spark, zone=ZONE):
        assert pruned_rows(spark, months, [FAMILIES["a field of time"]]) == [[4, 5]]
        monkeypatch.setattr(zones, "trusted_zone", lambda *_: "Asia/Kolkata")
        assert pruned_rows(spark, months, [FAMILIES["a field of time"]]) == [[]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where alone an answer comes from: what else is kept is too little to tell.

    Attributes:
        budget: The bytes for a column in a block.
        predicate: What the rows of one block in six satisfy.
        fault: The mutant in which the source forgets a value.
    """

    budget: int
    predicate: str
    fault: Replacement


SOURCES = {
    "dictionary": Source(budget=1 << 16, predicate="upper(w) LIKE '%ONLY3'", fault=LISTS_FORGET),
    "rare values": Source(budget=560, predicate="w LIKE '%only3'", fault=LISTS_FORGET),
    "filter": Source(budget=240, predicate="upper(w) = 'MONLY3'", fault=FILTERS_FORGET),
    "bucket": Source(budget=0, predicate="v LIKE '{}'", fault=BUCKETS_FORGET),
    "own filters": Source(budget=1 << 12, predicate="lower(w) = 'monly3'", fault=FILTERS_FORGET),
}


@pytest.mark.parametrize("name", SOURCES)
def test_each_source_skips_blocks_and_its_fault_is_found_out(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Bounds tell nothing of these columns. A source that forgets a value loses its row."""
    source = SOURCES[name]
    blocks = [pa.table({"w": texts(place), "v": alike(place)}) for place in range(BLOCKS)]
    write_blocks(numbered(blocks), tmp_path, filters=["w"] if name == "own filters" else [])
    asked = source.predicate.format(alike(3)[50])
    assert kept(spark, tmp_path, asked) == BLOCKS
    pruning.index(tmp_path, bytes_per_block=source.budget, read_data=name != "own filters")
    assert kept(spark, tmp_path, asked) == 1
    (rows,) = pruned_rows(spark, tmp_path, [asked])
    assert rows
    monkeypatch.setattr(*source.fault)
    assert pruned_rows(spark, tmp_path, [asked]) != [rows]


def texts(place: int) -> list[str]:
    """Texts of a block that are those of all, but for one."""
    return ["a", *(f"m{number:06}" for number in range(100)), f"monly{place}", "z"]


def alike(place: int) -> list[str]:
    """As many texts, whose hashes leave one rest, the block's own."""
    candidates = [f"v{number}" for number in range(2_000)]
    hashes = buckets.hashes_of([text.encode() for text in candidates], STRING)
    chosen = [text for text, hash_ in zip(candidates, hashes, strict=True) if hash_ % BLOCKS == place]
    return chosen[: len(texts(place))]


def kept(spark: Any, lake: Path, predicate: str) -> int:
    """How many blocks of a lake may hold rows that satisfy a predicate."""
    (scan,) = pruning.explain(spark.read.parquet(str(lake)).where(predicate)).scans
    return int(scan.blocks_kept or 0)
