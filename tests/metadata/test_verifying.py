"""Data beside what is believed of it: each kind of lie is caught, true files have none, and no file kills."""

from collections.abc import Callable
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewriting import BINARY, I64, ROW_GROUPS, rewrite, statistics

from pruning.metadata.views import verifying
from pruning.metadata.views.verifying import FileCheck, check_file, verify

NULLS, MAX_VALUE, MIN_VALUE = 3, 5, 6
OURS = {b"org.apache.spark.version": b"4.3.0"}
TRUE_FLAG = (1, True)
FIVE, SIX = (5).to_bytes(4, "little"), (6).to_bytes(4, "little")


def _write(path: Path, values: Any, change: Callable[[dict[int, Any]], object] | None = None) -> str:
    pq.write_table(pa.table({"x": values}).replace_schema_metadata(OURS), path)
    return str(path if change is None else rewrite(path, change))


def _set(**fields: tuple[int, Any]) -> Callable[[dict[int, Any]], object]:
    numbered = {int(name[1:]): value for name, value in fields.items()}
    return lambda footer: statistics(footer, column=0).update(numbered)


INTS = pa.array([5, 6, 8, None], pa.int32())
LISTS = pa.array([[5, 6], [], None, [8, None]], pa.list_(pa.int32()))
FIELDS = pa.array([{"y": 5}, {"y": 6}, {"y": 8}, None], pa.struct([("y", pa.int32())]))

#        what the file says, what is false of it
LIES = [
    ("minimum", _set(f6=(BINARY, SIX)), "6", "5"),
    ("maximum", _set(f5=(BINARY, SIX)), "6", "8"),
    ("NULL count", _set(f3=(I64, 2)), "2", "1"),
    ("exact minimum", _set(f6=(BINARY, bytes(4)), f8=TRUE_FLAG), "0", "5"),
    ("exact maximum", _set(f5=(BINARY, b"\x09\0\0\0"), f7=TRUE_FLAG), "9", "8"),
]


@pytest.mark.parametrize(("claim", "change", "says", "data"), LIES, ids=[case[0] for case in LIES])
@pytest.mark.parametrize("values", [INTS, LISTS, FIELDS], ids=["flat", "elements", "field"])
def test_each_kind_of_lie_is_caught_where_it_stands(
    tmp_path: Path, values: pa.Array, claim: str, change: Callable[..., object], says: str, data: str
) -> None:
    """The row group and column, what the file says and what the data say."""
    found = check_file(_write(tmp_path / "x.parquet", values, change))
    if claim == "NULL count" and values is LISTS:
        assert found.lies == ()
        return
    (lie,) = found.lies
    assert (lie.row_group, lie.claim, lie.says, lie.data) == (0, claim, says, data)
    assert lie.column == {INTS.type: "x", LISTS.type: "`x`[]", FIELDS.type: "`x`.`y`"}[values.type]
    assert found.problems == ()


def test_a_wrong_number_of_rows_is_caught_or_cannot_be_read(tmp_path: Path) -> None:
    """Elements have no number of values that would betray it sooner."""

    def fewer(footer: dict[int, Any]) -> None:
        footer[3] = (I64, 2)
        footer[ROW_GROUPS][1][1][0][3] = (I64, 2)

    found = check_file(_write(tmp_path / "x.parquet", LISTS, fewer))
    assert found.lies or found.problems


def test_a_bound_that_is_loose_is_no_lie(tmp_path: Path) -> None:
    """Widened bounds are true."""
    loose = _set(f6=(BINARY, bytes(4)), f8=(1, False))
    assert check_file(_write(tmp_path / "x.parquet", INTS, loose)).lies == ()


def test_what_is_not_believed_anyway_is_not_held_against_a_file(tmp_path: Path) -> None:
    """Crossed bounds are false, and nobody relies on them."""
    crossed = _set(f6=(BINARY, b"\x09\0\0\0"))
    assert check_file(_write(tmp_path / "x.parquet", INTS, crossed)).lies == ()


VALUES = st.one_of(
    st.lists(st.none() | st.integers(-(2**63), 2**63 - 1)).map(lambda held: pa.array(held, pa.int64())),
    st.lists(st.none() | st.integers(0, 2**16 - 1)).map(lambda held: pa.array(held, pa.uint16())),
    st.lists(st.none() | st.integers(0, 2**64 - 1)).map(lambda held: pa.array(held, pa.uint64())),
    st.lists(st.none() | st.floats()).map(lambda held: pa.array(held, pa.float64())),
    st.lists(st.none() | st.text()).map(lambda held: pa.array(held, pa.string())),
    st.lists(st.none() | st.text()).map(lambda held: pa.array(held, pa.string()).dictionary_encode()),
    st.lists(st.none() | st.binary()).map(lambda held: pa.array(held, pa.binary())),
    st.lists(st.none() | st.booleans()).map(lambda held: pa.array(held, pa.bool_())),
    st.lists(st.none() | st.dates(date(1600, 1, 1))).map(lambda held: pa.array(held, pa.date32())),
    st.lists(st.none() | st.datetimes()).map(lambda held: pa.array(held, pa.timestamp("ms"))),
    st.lists(st.none() | st.decimals(-999, 999, places=2)).map(
        lambda held: pa.array([None if one is None else Decimal(one) for one in held], pa.decimal128(20, 2))
    ),
    st.lists(st.none() | st.lists(st.none() | st.floats(width=32), max_size=3)).map(
        lambda held: pa.array(held, pa.list_(pa.float32()))
    ),
)


@given(values=VALUES)
def test_files_that_pyarrow_writes_tell_no_lies(
    tmp_path_factory: pytest.TempPathFactory, values: pa.Array
) -> None:
    """Of any type, with NULL, NaN and infinity; what is checked is what is believed."""
    found = check_file(_write(tmp_path_factory.getbasetemp() / "true.parquet", values))
    assert (found.lies, found.problems) == ((), ())


def test_statements_are_checked_of_every_row_group_and_column(tmp_path: Path) -> None:
    """Without this, checking nothing would find no lies: rows, NULLs, two bounds, both exact."""
    path = tmp_path / "x.parquet"
    pq.write_table(pa.table({"x": range(10), "y": range(10)}), path, row_group_size=5)
    assert check_file(str(path)).claims in (2 * 2 * 4, 2 * 2 * 6)


def test_files_are_read_in_another_process_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """More files than one process is asked of; the answers are those of this process."""
    monkeypatch.setattr(verifying, "BATCH_FILES", 2)
    files = [_write(tmp_path / f"{number}.parquet", INTS) for number in range(3)]
    files += [_write(tmp_path / "lie.parquet", INTS, LIES[0][1]), str(tmp_path / "absent.parquet")]
    found = list(verify(files))
    assert found == [check_file(file) for file in files]
    assert [len(one.lies) for one in found] == [0, 0, 0, 1, 0]
    assert found[-1].problems


@pytest.mark.parametrize(
    ("does", "seconds", "said"),
    [
        ("os.abort()", 600, "kills the process that reads it (SIGABRT)"),
        ("os._exit(3)", 600, "ends the process that reads it (status 3)"),
        ("time.sleep(600)", 5, "takes longer than 5 seconds to read"),
    ],
)
def test_a_file_that_takes_its_reader_down_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, does: str, seconds: float, said: str
) -> None:
    """The files before and after it are answered for."""
    deadly = (
        "import os, time; from pruning.metadata.views import verifying; check = verifying.check_file\n"
        f"verifying.check_file = lambda file: {does} if 'deadly' in file else check(file)\n"
        "verifying.serve()"
    )
    monkeypatch.setattr(verifying, "_SERVE", deadly)
    files = [_write(tmp_path / name, INTS) for name in ("a.parquet", "deadly.parquet", "b.parquet")]
    first, second, third = verify(files, seconds_per_file=seconds)
    assert first == check_file(files[0])
    assert third == check_file(files[2])
    assert second == FileCheck(file=files[1], problems=second.problems)
    (sentence,) = second.problems
    assert sentence.startswith(f"{files[1]}: ")
    assert said in sentence


def test_values_are_shown_short_and_without_python_s_dates(tmp_path: Path) -> None:
    """A date that Python has no room for, and a text of any length."""
    days = pa.array([10_000_000], pa.int32()).cast(pa.date32())
    later = _set(
        f6=(BINARY, (10_000_001).to_bytes(4, "little")), f5=(BINARY, (10_000_002).to_bytes(4, "little"))
    )
    lies = check_file(_write(tmp_path / "d.parquet", days, later)).lies
    assert [lie.claim for lie in lies] == ["minimum", "exact maximum"][: len(lies)]
    assert all(lie.says.startswith("29349-") for lie in lies)
    texts = _set(f6=(BINARY, b"b" * 500), f5=(BINARY, b"c" * 500))
    (lie, *_) = check_file(_write(tmp_path / "t.parquet", pa.array(["a"]), texts)).lies
    assert lie.claim == "minimum"
    assert len(lie.says) < 100
