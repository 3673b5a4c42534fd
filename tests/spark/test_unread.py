"""UNREAD-1, UNREAD-2: no row group that a report calls skipped is read by Spark."""

import functools
import operator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import examples, unshrunk
from hypothesis import event, given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn
from pyspark.sql import DataFrame
from searches import find

import pruning
from pruning.expressions import types
from pruning.expressions.trees import (
    And,
    Column,
    Compare,
    Comparison,
    Expression,
    In,
    IsNull,
    Literal,
    Not,
    Or,
)
from pruning.metadata.table.comparable import comparable_columns, with_comparable
from pruning.metadata.table.schema import block_schema, column_types
from pruning.spark.drive import unread
from pruning.spark.drive.unread import PushedRange, PushedUnion, pushed_ranges, unread_blocks
from skipproof.metering import run_metered
from strategies.base.files import write_blocks, write_files
from strategies.base.layouts import tables
from strategies.base.tables import Table

TYPES = (types.BYTE, types.SHORT, types.INTEGER, types.LONG, types.DOUBLE, types.STRING, types.DATE)
PASSES = {
    Comparison.EQUAL: operator.eq,
    Comparison.NULL_SAFE_EQUAL: operator.eq,
    Comparison.LESS: operator.lt,
    Comparison.AT_MOST: operator.le,
    Comparison.GREATER: operator.gt,
    Comparison.AT_LEAST: operator.ge,
}


@st.composite
def comparisons(draw: DrawFn, table: Table) -> Expression:
    """Conjunctions of what Spark pushes, with constants that the table holds, either way round."""
    parts: list[Expression] = []
    for _ in range(draw(st.integers(1, 2))):
        place = draw(st.integers(0, len(table.columns) - 1))
        column = table.columns[place]
        values = sorted(
            {repr(row[place]): row[place] for row in table.rows if row[place] is not None}.items()
        )
        if not values or draw(st.integers(0, 9)) == 0:
            parts.append(Not(IsNull(column)))
            continue
        alternatives: list[Compare] = []
        for _ in range(draw(st.sampled_from((1, 1, 2, 3)))):
            literal = Literal(draw(st.sampled_from(values))[1], column.type)
            sides = (literal, column) if draw(st.booleans()) else (column, literal)
            alternatives.append(Compare(draw(st.sampled_from(Comparison)), *sides))
        if draw(st.booleans()):
            literals = [side for part in alternatives for side in (part.left, part.right)]
            members = tuple(side for side in literals if isinstance(side, Literal))
            parts.append(In(column, members))
        else:
            parts.append(alternatives[0] if len(alternatives) == 1 else Or(tuple(alternatives)))
    return parts[0] if len(parts) == 1 else And(tuple(parts))


def passes(predicate: Expression, table: Table, row: tuple[Any, ...]) -> bool:
    """Evaluate a conjunction of comparisons on a row; NaN is above every number and equals itself."""
    if isinstance(predicate, And):
        return all(passes(part, table, row) for part in predicate.operands)
    if isinstance(predicate, Or):
        return any(passes(part, table, row) for part in predicate.operands)
    if isinstance(predicate, In):
        equalities = [Compare(Comparison.EQUAL, predicate.operand, member) for member in predicate.members]
        return any(passes(part, table, row) for part in equalities)
    cells = {column: (cell,) for column, cell in zip(table.columns, row, strict=True)}
    if isinstance(predicate, Not):
        return cells[predicate.operand.operand] != (None,)
    assert isinstance(predicate, Compare)
    left, right = (
        cells[side][0] if isinstance(side, Column) else side.value
        for side in (predicate.left, predicate.right)
    )
    if left is None or right is None:
        return False
    return bool(PASSES[predicate.operator](_ordered(left), _ordered(right)))


def _ordered(value: Any) -> Any:
    return (value != value, 0.0 if value != value else value) if isinstance(value, float) else value


def unread_of(predicate: Expression, metadata: pa.Table) -> np.ndarray:
    return unread_blocks(list(pushed_ranges(predicate)), metadata, column_types(metadata))


def stated(path: Path, group: int, column: str) -> Any:
    """The bounds of a column chunk as pyarrow gives them."""
    file = pq.ParquetFile(path)
    return file.metadata.row_group(group).column(file.schema_arrow.names.index(column)).statistics


def drawn(data: st.DataObject, directory: str) -> tuple[Table, pa.Table]:
    """A table, and the block metadata of its files."""
    kinds = data.draw(st.lists(st.sampled_from(TYPES), min_size=1, max_size=2))
    table = data.draw(tables(kinds, max_rows=4))
    write_files(table, Path(directory))
    return table, pruning.collect(directory, cache=False)


@examples(2)
@given(st.data())
def test_an_unread_block_holds_no_row_that_passes_and_pyarrow_states_its_bounds(data: st.DataObject) -> None:
    """UNREAD-1. By the rows, by the file's statistics as another reader gives them, by the empty range."""
    with TemporaryDirectory() as directory:
        table, metadata = drawn(data, directory)
        predicate = data.draw(comparisons(table))
        unread_mask = unread_of(predicate, metadata)
        event(f"unread: {bool(unread_mask.any())}")
        for place, block in enumerate(table.blocks):
            if unread_mask[place]:
                assert not any(passes(predicate, table, row) for row in block)
                assert block
                chunks = [
                    stated(Path(metadata["file"][place].as_py()), metadata["row_group"][place].as_py(), name)
                    for name in {range_.column for range_ in pushed_ranges(predicate)}
                ]
                assert any(chunk.has_min_max or chunk.null_count == len(block) for chunk in chunks)


ORIGINAL = unread.is_outside


def strict(range_: PushedRange | PushedUnion) -> PushedRange | PushedUnion:
    """Exclude the ends of a range; of a union, each range is changed when it is looked at itself."""
    if isinstance(range_, PushedUnion):
        return range_
    return replace(range_, lower_strict=True, upper_strict=True)


def test_bounds_taken_for_strict_are_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without this, UNREAD-1 could hold because no block is ever called unread."""
    monkeypatch.setattr(unread, "is_outside", lambda range_, stated: ORIGINAL(strict(range_), stated))

    def wrong(data: st.DataObject) -> bool:
        with TemporaryDirectory() as directory:
            table, metadata = drawn(data, directory)
            predicate = data.draw(comparisons(table))
            mask = unread_of(predicate, metadata)
        blocks = [block for block, skipped in zip(table.blocks, mask, strict=True) if skipped]
        return any(passes(predicate, table, row) for block in blocks for row in block)

    find(st.data(), wrong, settings=unshrunk(2_000))


#         lower upper  null passes   min   max  nulls  unread   because
CASES = [
    (1,    5,    False,         6,    9,    0,     True),    # above
    (1,    5,    False,         5,    9,    0,     False),   # touching
    (None, 5,    False,         5,    9,    0,     False),
    (1,    5,    False,         2,    3,    0,     False),   # inside, whatever it holds
    (1,    5,    True,          6,    9,    0,     True),
    (1,    5,    True,          6,    9,    1,     False),   # a NULL passes
    (1,    5,    True,          6,    9,    None,  False),   # it may
    (1,    5,    False,         6,    None, 0,     False),   # the reader uses no bound alone
    (1,    5,    False,         None, None, 4,     True),    # NULL alone
    (1,    5,    True,          None, None, 4,     False),
    (None, None, False,         None, None, 4,     True),    # IS NOT NULL
    (1,    5,    False,         None, None, None,  False),   # nothing is known
]  # fmt: skip


def blocks_of(*facts: tuple[int | None, int | None, int | None], names: tuple[str, ...] = ("a",)) -> pa.Table:
    """Blocks of four rows of an int, which is comparable where it is named."""
    rows = [
        {"file": "f", "row_group": i, "row_offset": 4 * i, "row_count": 4, "columns": {"a": fact}}
        for i, fact in enumerate({"min": low, "max": high, "null_count": nulls} for low, high, nulls in facts)
    ]
    return with_comparable(pa.Table.from_pylist(rows, block_schema({"a": types.INTEGER})), names)


@pytest.mark.parametrize(("lower", "upper", "null_passes", "least", "greatest", "nulls", "is_unread"), CASES)
def test_a_block_is_unread_exactly_where_its_own_bounds_exclude_it(
    lower: int | None,
    upper: int | None,
    null_passes: bool,
    least: int | None,
    greatest: int | None,
    nulls: int | None,
    is_unread: bool,
) -> None:
    range_ = PushedRange(column="a", type=types.INTEGER, lower=lower, upper=upper, null_passes=null_passes)
    known = {"a": types.INTEGER}
    assert unread_blocks([range_], blocks_of((least, greatest, nulls)), known).tolist() == [is_unread]
    # Nothing is claimed of what the reader may not compare, under another type, or where it is switched off.
    for metadata, read, kinds in (
        (blocks_of((least, greatest, nulls), names=()), known, unread._KINDS),
        (blocks_of((least, greatest, nulls)), {"a": types.LONG}, unread._KINDS),
        (blocks_of((least, greatest, nulls)), known, frozenset()),
    ):
        assert not unread_blocks([range_], metadata, read, kinds=kinds).any()


def test_columns_are_comparable_as_every_file_stores_them(tmp_path: Path) -> None:
    """Not unsigned ones, decimals or fields; and none that one of the files stores otherwise."""
    plain = {"i": pa.array([1], pa.int32()), "s": ["x"], "f": [1.5], "n": pa.array([None], pa.int64())}
    others = {
        "u": pa.array([1], pa.uint32()),
        "d": pa.array([1], pa.decimal128(5, 2)),
        "r": [{"x": 1}],
        "w": pa.array([1], pa.int64()),
    }
    pq.write_table(pa.table(plain | others), tmp_path / "0.parquet")
    assert comparable_columns(pruning.collect(str(tmp_path))) == {"i", "s", "f", "n", "w"}
    pq.write_table(pa.table({"i": [1], "s": ["x"], "w": pa.array([1], pa.uint32())}), tmp_path / "1.parquet")
    for _ in range(2):
        # The second time from what was kept.
        assert comparable_columns(pruning.collect(str(tmp_path))) == {"s", "f", "n"}


ROWS = 4
PREDICATES = (
    "id < {0}",
    "id >= {0} AND t <> 'no'",
    "IF(id % 2 = 0, id, id + 1) BETWEEN {0} AND {1}",
    "coalesce(n, {0}) IN ({0}, {1})",
    "id IN ({0}, {1})",
    "t IN (lpad({0}, 3, '0'), lpad({1}, 3, '0'))",
    "u = {0} OR u = {1}",
    "x < {0} AND x IS NOT NULL",
    "n <= {0}",
    "IF(u > {0}, u, 0) = {1}",
)


@st.composite
def layouts(draw: DrawFn) -> list[list[int]]:
    """Numbers of row groups of `ROWS` rows each, in some order; each is a multiple of what it counts from."""
    starts = draw(st.lists(st.integers(0, 6), min_size=2, max_size=5))
    spreads = [draw(st.integers(1, 3)) for _ in starts]
    return [
        [10 * start + spread * row for row in range(ROWS)]
        for start, spread in zip(starts, spreads, strict=True)
    ]


def write_layout(numbers: list[list[int]], directory: str) -> None:
    """Files of two row groups: the same numbers as a long, a text, an unsigned int, a double, with NULLs."""
    groups = [
        pa.table(
            {
                "id": pa.array(group, pa.int64()),
                "t": [f"{number:03}" for number in group],
                "u": pa.array(group, pa.uint32()),
                "x": pa.array(group, pa.float64()),
                "n": pa.array([None if number % 20 > 12 else number for number in group], pa.int32()),
            }
        )
        for group in numbers
    ]
    write_blocks(groups, Path(directory))


@examples(0.06)
@given(layouts(), st.data())
def test_spark_reads_no_row_group_that_a_report_calls_skipped(
    spark: Any, numbers: list[list[int]], data: st.DataObject
) -> None:
    """UNREAD-2. By Spark's own count of the rows that left the scans of some queries, run as one."""
    with TemporaryDirectory() as directory:
        write_layout(numbers, directory)
        table = spark.read.schema("id long, t string, u long, x double, n int").parquet(directory)
        queries = []
        for _ in range(4):
            group = data.draw(st.sampled_from(numbers))
            constants = sorted(data.draw(st.sampled_from(group)) for _ in range(2))
            where = data.draw(st.sampled_from(PREDICATES)).format(*constants)
            queries.append(pruning.prune(table.where(where)))
        scans = [scan for query in queries for scan in pruning.explain(query).scans]
        for scan in scans:
            event("inside a file" if scan.blocks_read_max < scan.blocks_total else "nothing skipped")
            unread_count = scan.files_total - scan.files_kept + scan.blocks_total - scan.blocks_read_max
            assert scan.requests_saved == unread_count
        together = functools.reduce(DataFrame.unionAll, queries)
        read = run_metered(spark, together.collect).rows
        assert read <= ROWS * sum(scan.blocks_read_max for scan in scans)


def test_a_skipped_row_group_inside_a_pushed_range_is_said_to_be_read(spark: Any, tmp_path: Path) -> None:
    """It holds no needed row, and Spark reads it: it is neither skipped nor a request that is saved."""
    # The second row group has no NULL, and the same numbers otherwise.
    write_layout(
        [[10, 11, 13, 14], [10, 11, 12, 12], [100, 101, 102, 103], [100, 200, 201, 202]], str(tmp_path)
    )
    df = spark.read.parquet(str(tmp_path)).where("n IS NULL AND IF(id % 2 = 0, id, id) = 11")
    (scan,) = pruning.explain(df).scans
    assert (scan.blocks_kept, scan.blocks_read_max, scan.blocks_total) == (1, 2, 4)
    lines = list(scan.lines())
    assert "  blocks   1 of 4 kept, at most 2 read, 50.0 % skipped" in lines
    assert "  skipped  2 with their files; 1 may be read in vain" in lines
    # One file, and its two row groups.
    assert "  requests at least 3 saved" in lines


def test_a_row_group_in_a_gap_between_pushed_ranges_is_skipped(spark: Any, tmp_path: Path) -> None:
    """One range around the needed row groups would hold it."""
    write_layout([[0, 1, 2, 3], [50, 51, 52, 53], [100, 101, 102, 103], [200, 201, 202, 203]], str(tmp_path))
    df = spark.read.parquet(str(tmp_path)).where("IF(id % 2 = 0, id, id + 1) IN (2, 102)")
    (scan,) = pruning.explain(df).scans
    assert (scan.blocks_kept, scan.blocks_read_max, scan.requests_saved) == (2, 2, 2)
    assert scan.range_filters == ("((`id` >= 0L AND `id` <= 3L) OR (`id` >= 100L AND `id` <= 103L))",)
    pruned = pruning.prune(df)
    assert run_metered(spark, pruned.collect).rows <= 2 * ROWS


@pytest.mark.parametrize(("least", "greatest", "is_unread"), [(6, 9, True), (5, 6, False), (1, 1, False)])
def test_a_union_drops_a_block_that_is_outside_each_of_its_ranges(
    least: int, greatest: int, is_unread: bool
) -> None:
    ranges = [
        PushedRange(column="a", type=types.INTEGER, lower=lower, upper=upper)
        for lower, upper in ((1, 5), (12, 15))
    ]
    metadata = blocks_of((least, greatest, 0))
    known = {"a": types.INTEGER}
    assert unread_blocks([PushedUnion(tuple(ranges))], metadata, known).tolist() == [is_unread]


@pytest.mark.parametrize("switch", ["spark.sql.parquet.filterPushdown", "parquet.filter.stats.enabled"])
def test_nothing_inside_files_is_called_skipped_where_nothing_is_pushed(
    spark: Any, tmp_path: Path, switch: str
) -> None:
    write_layout([[0, 1, 2, 3], [50, 51, 52, 53], [100, 101, 102, 103]], str(tmp_path))
    df = spark.read.parquet(str(tmp_path)).where("id < 3")
    before = spark.conf.get(switch, None)
    assert pruning.explain(df).scans[0].requests_saved == 3
    spark.conf.set(switch, "false")
    try:
        (scan,) = pruning.explain(df).scans
        assert (scan.blocks_read_max, scan.requests_saved) == (2, 2)
    finally:
        spark.conf.unset(switch) if before is None else spark.conf.set(switch, before)
