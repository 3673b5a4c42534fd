"""Each doubt of the table is reached by a footer that deserves it, and takes what it says it takes."""

import struct
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewriting import BINARY, COLUMN_ORDERS, CREATED_BY, I32, I64, element, rewrite, statistics
from stated_files import (
    FLOATS,
    INTS,
    MAX,
    MAX_VALUE,
    MIN,
    MIN_VALUE,
    OLD,
    OURS,
    Change,
    facts_of,
    stating,
    without_order,
    written,
    written_by,
)

from pruning.expressions import types
from pruning.expressions.trees import Column, Compare, Comparison, Literal
from pruning.metadata.footers import trust
from pruning.metadata.footers.evidence import evidence_of
from pruning.metadata.footers.footer import read_footer
from pruning.metadata.footers.frame_files import facts_of_footers
from pruning.metadata.footers.trust import DOUBTS, doubts
from pruning.metadata.store.collecting import collect
from pruning.rules.sets.truths import Match
from pruning.verdicts.classification import classify_blocks


def _doubts(path: Path) -> set[str]:
    (part,) = facts_of_footers([(str(path), read_footer(str(path)))])
    (column,) = part.frame.columns
    evidence = evidence_of(part.chunks, part.row_counts, column.traits, part.frame.source)
    return {doubt.name for doubt, chunks in doubts(evidence) if chunks[0]}


def _deprecated(footer: dict[int, Any]) -> None:
    """Only the deprecated fields are filled, as before the format named orders."""
    stated = statistics(footer, column=0)
    stated[MAX], stated[MIN] = stated.pop(MAX_VALUE), stated.pop(MIN_VALUE)
    footer.pop(COLUMN_ORDERS)


def _decimal_bytes(footer: dict[int, Any]) -> None:
    element(footer, column=0).update({6: (I32, 5), 7: (I32, 0), 8: (I32, 9)})
    element(footer, column=0).pop(10, None)
    footer[CREATED_BY] = (BINARY, b"parquet-rs version 55.1.0")


def _values(count: int) -> Change:
    """The first chunk claims another number of values."""

    def change(footer: dict[int, Any]) -> None:
        footer[4][1][1][0][1][1][1][0][3][1][5] = (I64, count)

    return change


def _decimal_of_parquet_cpp(footer: dict[int, Any]) -> None:
    footer[CREATED_BY] = (BINARY, b"parquet-cpp version 1.5.1")


TEXTS = pa.array(["a", "b", None])
NAN, DOUBLE_9 = struct.pack("<d", float("nan")), struct.pack("<d", 9.0)
UNKNOWN = {"min": None, "max": None}
DECIMALS = pa.array([Decimal("1.00"), Decimal("2.00")], pa.decimal128(20, 2))
FIELDS = pa.array([{"y": 1}, None], pa.struct([("y", pa.int32())]))
LISTS = pa.array([[1, None], [], None, [5]], pa.list_(pa.int32()))
POLARS, OLD_RUST = b"Polars", b"parquet-rs version 4.0.0"

#            doubt, values, keys, change, what is known then
CASES = [
    ("order unnamed", INTS, OURS, without_order, UNKNOWN | {"null_count": 1}),
    ("deprecated order", TEXTS, OURS, _deprecated, UNKNOWN | {"null_count": 1}),
    ("no usable order", pa.array([1, 5], pa.uint64()), OURS, None, UNKNOWN | {"null_count": 0}),
    ("varying decimals", pa.array([b"\1", b"\2"]), OURS, _decimal_bytes, UNKNOWN),
    ("decimals by signed bytes", DECIMALS, OURS, _decimal_of_parquet_cpp, UNKNOWN),
    ("decimals by unsigned bytes", DECIMALS, OURS, written_by(POLARS), UNKNOWN | {"null_count": 0}),
    ("decimals by their floats", DECIMALS, OURS, written_by(b"hyparquet"), UNKNOWN | {"null_count": 0}),
    ("unsigned merged as signed", pa.array([1, 5], pa.uint32()), OURS, written_by(POLARS), UNKNOWN),
    ("byte strings in another order", TEXTS, OURS, written_by(OLD_RUST), UNKNOWN | {"null_count": 1}),
    (
        "length before the bytes",
        TEXTS,
        OURS,
        stating(f6=(BINARY, b"\1\0\0\0a"), f5=(BINARY, b"\1\0\0\0b")),
        UNKNOWN | {"null_count": 1},
    ),
    ("NaN among the values", FLOATS, OURS, written_by(OLD_RUST), UNKNOWN | {"null_count": 0}),
    (
        "unreadable minimum",
        TEXTS,
        OURS,
        stating(f6=(BINARY, b"\xff")),
        {"min": None, "max": "b", "null_count": 1},
    ),
    (
        "unreadable maximum",
        TEXTS,
        OURS,
        stating(f5=(BINARY, b"\xff")),
        {"min": "a", "max": None, "null_count": 1},
    ),
    ("unreadable bound", INTS, OURS, stating(f6=(BINARY, b"\0")), UNKNOWN | {"null_count": 1}),
    ("NaN as a bound", FLOATS, OURS, stating(f5=(BINARY, NAN)), UNKNOWN),
    ("crossed bounds", FLOATS, OURS, stating(f6=(BINARY, DOUBLE_9)), UNKNOWN),
    (
        "shifted minimum",
        pa.array([date(1500, 1, 1), date(1600, 1, 1)]),
        {},
        None,
        {"min": None, "max": date(1600, 1, 1)},
    ),
    ("shifted maximum", OLD, {}, None, UNKNOWN),
    (
        "NULLs undercounted",
        INTS,
        OURS,
        written_by(b"parquet-cpp-arrow version 5.0.0"),
        {"null_count": None, "min": 1},
    ),
    ("NULLs counted again", INTS, OURS, written_by(POLARS), {"null_count": None, "min": 1, "max": 5}),
    ("NULLs of parents", FIELDS, OURS, written_by(b"DuckDB version v1.5.0"), {"null_count": None, "min": 1}),
    ("NULLs of elements", LISTS, OURS, None, {"null_count": None, "min": 1, "max": 5}),
    ("impossible NULL count", INTS, OURS, stating(f3=(I64, 4)), {"null_count": None, "min": 1, "max": 5}),
    ("bounds without values", INTS, OURS, stating(f3=(I64, 3)), UNKNOWN | {"null_count": None}),
    ("another number of values", INTS, OURS, _values(7), UNKNOWN | {"null_count": None}),
    ("fewer values than rows", LISTS, OURS, _values(2), UNKNOWN | {"null_count": None}),
]


def test_every_doubt_is_reached() -> None:
    """Without this a row of the table could be wrong, and nobody would see it."""
    assert {case[0] for case in CASES} == {doubt.name for doubt in DOUBTS}


@pytest.mark.parametrize(
    ("name", "values", "keys", "change", "known"), CASES, ids=[case[0] for case in CASES]
)
def test_a_doubt_applies_and_takes_what_it_names(
    tmp_path: Path,
    name: str,
    values: pa.Array,
    keys: dict[bytes, bytes],
    change: Change | None,
    known: dict[str, Any],
) -> None:
    """The footer that deserves a doubt meets it, and the rest stays believed."""
    path = written(tmp_path / "x.parquet", values, keys=keys, change=change)
    facts = facts_of(path)
    assert name in _doubts(path)
    assert {key: facts[key] for key in known} == known


# What cannot be decoded is unknown anyway; these doubts say why.
UNDECODED = {"unreadable minimum", "unreadable maximum", "no usable order"}


@pytest.mark.parametrize(
    ("name", "values", "keys", "change", "known"),
    [case for case in CASES if case[0] not in UNDECODED],
    ids=[case[0] for case in CASES if case[0] not in UNDECODED],
)
def test_without_a_doubt_its_case_would_be_believed(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    values: pa.Array,
    keys: dict[bytes, bytes],
    change: Change | None,
    known: dict[str, Any],
) -> None:
    """So each doubt is needed for what it takes."""
    monkeypatch.setattr(trust, "DOUBTS", tuple(doubt for doubt in DOUBTS if doubt.name != name))
    facts = facts_of(written(tmp_path / "x.parquet", values, keys=keys, change=change))
    assert {key: facts[key] for key in known} != known


@pytest.mark.parametrize("values", [INTS, FLOATS, TEXTS, OLD])
def test_an_ordinary_file_meets_no_doubt(tmp_path: Path, values: pa.Array) -> None:
    """Otherwise the cases above would prove nothing of their changes."""
    assert _doubts(written(tmp_path / "x.parquet", values)) == set()


@pytest.mark.parametrize(
    ("writer", "believed"),
    [
        (b"parquet-cpp", False),
        (b"parquet-cpp version 1.5.1-SNAPSHOT", False),
        (b"parquet-cpp-arrow version 6.0.0-SNAPSHOT", False),
        (b"parquet-cpp-arrow version 6.0.0", True),
        (b"parquet-mr version 1.8.1 (build 4aba4da)", False),
        (b"parquet-mr version 1.9.0-cdh6", False),
        (b"parquet-mr (build 32c46643845ea8a705c35d4ec8fc654cc8ff816d)", False),
        (b"parquet-mr version 1.10.0 (build 031a665)", True),
        (b"DuckDB version v1.5.0-dev4781 (build 8a469a87b9)", True),
        (b"", True),
    ],
)
def test_a_null_count_is_believed_unless_the_writer_is_known_to_lose_some(
    tmp_path: Path, writer: bytes, believed: bool
) -> None:
    """NULL counts by writer and version."""
    path = written(tmp_path / "x.parquet", INTS, change=written_by(writer))
    assert (facts_of(path)["null_count"] == 1) is believed


@pytest.mark.parametrize(
    ("writer", "values", "believed"),
    [
        (b"parquet-mr version 1.9.0", TEXTS, False),
        (b"parquet-mr version 1.10.0", TEXTS, True),
        (b"parquet-mr (build 32c46643)", TEXTS, False),
        (b"parquet-rs version 5.1.0", TEXTS, False),
        (b"parquet-rs version 5.2.0", TEXTS, True),
        (b"parquet-mr version 1.8.2", FLOATS, False),
        (b"parquet-mr version 1.10.0", FLOATS, True),
        (b"parquet-cpp version 1.3.1", FLOATS, False),
        (b"parquet-cpp version 1.4.0", FLOATS, True),
        (b"impala version 2.12.0-RELEASE", FLOATS, False),
        (b"impala version 3.0.0-RELEASE", FLOATS, False),
        (b"impala version 3.1.0-RELEASE", FLOATS, True),
        (b"Arrow2 - Native Rust implementation of Arrow", DECIMALS, False),
        (b"Arrow2 - Native Rust implementation of Arrow", pa.array([1, 5], pa.uint32()), False),
        (b"Polars", pa.array([1, 5], pa.uint16()), True),
        (b"Polars", pa.array([1, 5], pa.int32()), True),
        (b"parquet-mr version 1.8.2", pa.array([1, 5], pa.int32()), True),
    ],
)
def test_bounds_are_believed_unless_the_writer_is_known_to_get_that_type_wrong(
    tmp_path: Path, writer: bytes, values: pa.Array, believed: bool
) -> None:
    """Bounds by writer, version and type."""
    facts = facts_of(written(tmp_path / "x.parquet", values, change=written_by(writer)))
    assert (facts["min"] is not None and facts["max"] is not None) is believed


def test_zeros_of_either_sign_are_within_a_bound_of_zero(tmp_path: Path) -> None:
    """0.0 and -0.0 are equal, so a bound of the one needs no doubt because of the other."""
    zeros = pa.array([0.0, -0.0, 0.0])
    for bound in (struct.pack("<d", 0.0), struct.pack("<d", -0.0)):
        change = stating(f5=(BINARY, bound), f6=(BINARY, bound))
        blocks = collect(written(tmp_path / "x.parquet", zeros, change=change), cache=False)
        column, zero = Column("x", types.DOUBLE), Literal(-0.0, types.DOUBLE)
        for operator in (Comparison.EQUAL, Comparison.AT_LEAST, Comparison.AT_MOST):
            assert classify_blocks(Compare(operator, column, zero), blocks).to_pylist() != [Match.NONE]
        below = classify_blocks(Compare(Comparison.LESS, column, zero), blocks)
        assert below.to_pylist() == [Match.NONE]


@given(
    pages=st.lists(st.lists(st.integers(0, 2**32 - 1), min_size=1), min_size=1),
)
def test_bounds_in_signed_order_are_crossed_or_right(pages: list[list[int]]) -> None:
    """Why numbers compared in one wrong order throughout need no doubt of their own."""
    values = [value for page in pages for value in page]
    lower, upper = min(values, key=_as_signed), max(values, key=_as_signed)
    assert lower > upper or (lower, upper) == (min(values), max(values))


def _as_signed(value: int) -> int:
    return value - 2**32 if value >= 2**31 else value


@pytest.mark.parametrize(
    "values",
    [
        INTS,
        FLOATS,
        pa.array([True, False]),
        pa.array([date(2000, 1, 1)]),
        pa.array([Decimal("1.5")], pa.decimal128(5, 1)),
    ],
)
def test_deprecated_bounds_of_signed_types_are_believed_but_never_exact(
    tmp_path: Path, values: pa.Array
) -> None:
    """Signed order is those types' own order; decimals here are stored as integers."""
    path = tmp_path / "x.parquet"
    table = pa.table({"x": values}).replace_schema_metadata(OURS)
    pq.write_table(table, path, store_schema=False, store_decimal_as_integer=True)
    rewrite(path, _deprecated)
    facts = facts_of(path)
    present = [value for value in values.to_pylist() if value is not None]
    assert (facts["min"], facts["max"]) == (min(present), max(present))
    assert facts["min_exact"] is facts["max_exact"] is None
