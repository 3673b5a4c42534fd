"""DELTA-2: what block metadata says of a file of Delta Lake is true of its live rows."""

import math
import operator
import struct
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pytest
from budget import examples
from delta_logs import WrittenLog, add, column, inline, metadata, protocol
from hypothesis import event, given
from hypothesis import strategies as st
from searches import find
from written_statistics import TYPES, WrittenRows, write_table, written_columns

from mutants.metadata.delta_beliefs import MUTANTS
from pruning.metadata.delta.opening import open_delta_version
from pruning.metadata.table.live_rows import FIELD


def blocks_of(root: Path, name: str) -> list[dict[str, Any]]:
    """Return what is said of a column in each file, with bounds as the rules have values, and of its rows."""
    top = name.removeprefix("`").partition("`")[0]
    table = open_delta_version(str(root)).blocks(frozenset({top}))
    lanes = table["columns"].combine_chunks().field(name)
    marks = table[FIELD].to_pylist() if FIELD in table.schema.names else [False] * len(table)
    columns = [
        {"row_count": rows, "uncounted": mark}
        for rows, mark in zip(table["row_count"].to_pylist(), marks, strict=True)
    ]
    for part in lanes.type:
        for block, value in zip(columns, as_values(lanes.field(part.name)), strict=True):
            block[part.name] = value
    return columns


def as_values(lanes: pa.Array) -> list[Any]:
    if pa.types.is_date(lanes.type):
        lanes = lanes.cast(pa.int32())
    if pa.types.is_timestamp(lanes.type):
        lanes = lanes.cast(pa.int64())
    return lanes.cast(pa.binary()).to_pylist() if pa.types.is_string(lanes.type) else lanes.to_pylist()


def problem(type_: str, files: Sequence[WrittenRows], *, is_nested: bool = False) -> str | None:
    """Return the first thing that block metadata says and that is not so; None if all is true."""
    with TemporaryDirectory() as directory:
        log = write_table(Path(directory) / "t", type_, files, is_nested=is_nested)
        columns = blocks_of(log.root, "`s`.`v`" if is_nested else "v")
    for file, block in zip(files, columns, strict=True):
        wrong = block_problem(block, file)
        if wrong is not None:
            return f"{file}: {wrong} of {block}"
    return None


def block_problem(block: dict[str, Any], file: WrittenRows) -> str | None:
    live = file.live_rows
    if block["uncounted"] != (not file.is_counted):
        return "rows are counted, or not"
    if not block["uncounted"] and block["row_count"] != len(live):
        return "the number of rows"
    nulls = block["null_count"]
    if nulls is not None and (nulls != live.count(None) if file.is_counted else nulls and any(live)):
        return "the count of NULL"
    numbers = [value for value in live if value is not None and not is_nan(value)]
    if block["nan_count"] not in (None, sum(map(is_nan, live))):
        return "the count of NaN"
    for name, beyond in (("min", operator.lt), ("max", operator.gt)):
        bound = block[name]
        if bound is None:
            continue
        if is_nan(bound) or any(beyond(value, bound) for value in numbers):
            return name
        if block[f"{name}_exact"] and bound not in numbers:
            return f"{name}_exact"
    return None


def is_nan(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)


@examples(1)
@given(column=written_columns(), is_nested=st.booleans())
def test_block_metadata_of_delta_never_says_what_is_not_so(
    column: tuple[str, list[WrittenRows]], is_nested: bool
) -> None:
    """DELTA-2. Whatever the type, the writer's habits and the rows that are deleted."""
    event(column[0])
    assert problem(*column, is_nested=is_nested) is None


def is_unlike_its_float(value: Any) -> bool:
    return isinstance(value, Decimal) and Decimal(repr(float(value))) != value


#     the hard case, the types that have it, and a test for it
HARD_CASES: dict[str, tuple[tuple[str, ...], Callable[[WrittenRows], bool]]] = {
    "a cut text": (
        ("string",),
        lambda file: (
            file.writer == "cutting"
            and any(len(row) > 40 or b"x" * 33 in row for row in file.live_rows if row)
        ),
    ),
    "replaced bytes": (
        ("string",),
        lambda file: any("\ufffd" in row.decode(errors="replace") for row in file.live_rows if row),
    ),
    "NaN beside a number": (
        ("double", "float"),
        lambda file: any(map(is_nan, file.rows)) and not all(map(is_nan, file.rows)),
    ),
    "a lost microsecond before 1970": (
        ("timestamp", "timestamp_ntz"),
        lambda file: (
            file.writer == "toward zero" and any(row % 1000 for row in file.live_rows if row and row < 0)
        ),
    ),
    "lost digits": (
        ("decimal(38,2)",),
        lambda file: file.writer == "rust" and any(map(is_unlike_its_float, file.live_rows)),
    ),
    "a deleted NULL": (
        ("long",),
        lambda file: (
            None in file.rows and None not in file.live_rows and bool(file.live_rows) and not file.is_fresh
        ),
    ),
    "no number of rows": (TYPES, lambda file: not file.is_counted and len(file.rows) > 1),
}


@pytest.mark.parametrize("case", HARD_CASES)
def test_written_columns_reaches_each_hard_case(case: str) -> None:
    """Without this, DELTA-2 could hold because no writer ever loses anything."""
    types, is_hard = HARD_CASES[case]
    column = find(written_columns(types), lambda column: any(map(is_hard, column[1])))
    assert problem(*column) is None


def rows(*values: Any, **options: Any) -> list[WrittenRows]:
    return [WrittenRows(rows=values, alive=options.pop("alive", (True,) * len(values)), **options)]


SINGLE = struct.unpack("f", struct.pack("f", 0.3))[0]
LONG = Decimal("123456789012345678901234567.89")
KILLING: tuple[tuple[str, list[WrittenRows], bool], ...] = (
    ("string", rows(b"x" * 40, writer="cutting"), False),
    ("string", rows(b"a\xff", writer="exact"), False),
    ("string", rows(b"a\x80", b"b", writer="exact"), False),
    ("timestamp", rows(1_234_567), False),
    ("timestamp", rows(-1_500, writer="toward zero"), False),
    ("timestamp", rows(-2_000_000_000_000_000, writer="local"), False),
    ("double", rows(math.nan, 1.5, 2.5, writer="spark 2"), False),
    ("decimal(38,2)", rows(LONG, writer="rust"), False),
    ("decimal(38,2)", rows(LONG), False),
    ("long", rows(1, None, 2, alive=(True, False, True)), False),
    ("long", rows(1, None, is_counted=False), False),
    ("long", rows(None, 1, writer="rust"), True),
    ("long", rows(1, 2, alive=(True, False)), False),
)


def killing_problems(root: Path) -> list[str | None]:
    problems = [problem(type_, files, is_nested=is_nested) for type_, files, is_nested in KILLING]
    return [*problems, widened_problem(root / "widened"), partition_problem(root / "partition")]


def widened_problem(root: Path) -> str | None:
    """Return what is wrong of a double that was a float, with bounds in the shortest texts of floats."""
    changes = [{"fromType": "float", "toType": "double"}]
    stats = {"numRecords": 1, "minValues": {"v": 0.3}, "maxValues": {"v": 0.3}, "nullCount": {"v": 0}}
    log = WrittenLog(root)
    log.commit(protocol(3, "typeWidening"), metadata(column("v", "double", changes=changes)), add("a", stats))
    (block,) = blocks_of(root, "v")
    return block_problem(block, WrittenRows(rows=(SINGLE,), alive=(True,)))


def partition_problem(root: Path) -> str | None:
    """Return what is wrong of a partition whose rows are all deleted."""
    log = WrittenLog(root)
    deleted = add("a", {"numRecords": 1}, partitionValues={"v": "7"}, deletionVector=inline([0]))
    log.commit(protocol(3, "deletionVectors"), metadata(column("v"), partitions=["v"]), deleted)
    (block,) = blocks_of(root, "v")
    return block_problem(block, WrittenRows(rows=(7,), alive=(False,)))


def test_killing_files_of_delta_are_believed_rightly(tmp_path: Path) -> None:
    assert set(killing_problems(tmp_path)) == {None}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_belief_about_delta_is_found_out(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(*MUTANTS[name])
    assert any(killing_problems(tmp_path))
