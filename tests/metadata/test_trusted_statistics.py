"""Each doubt of the table is reached by a footer that deserves it, and takes what it says it takes."""

import struct
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rewriting import BINARY, COLUMN_ORDERS, CREATED_BY, I32, I64, KEYS, LIST, element, rewrite, statistics

from pruning.classification import classify_blocks
from pruning.expressions import types
from pruning.expressions.trees import Column, Compare, Comparison, Literal
from pruning.metadata import trust
from pruning.metadata.blocks import shards
from pruning.metadata.collecting import collect
from pruning.metadata.evidence import provenance
from pruning.metadata.footer import read_footer
from pruning.metadata.forms import form_of
from pruning.metadata.schema import column_types
from pruning.metadata.trust import DOUBTS, doubts
from pruning.rules.truths import Match

OURS = {b"org.apache.spark.version": b"4.3.0"}
Change = Callable[[dict[int, Any]], None]
MAX, MIN, NULLS, MAX_VALUE, MIN_VALUE = 1, 2, 3, 5, 6


def _write(
    path: Path, values: pa.Array, *, keys: Mapping[bytes, bytes] = OURS, change: Change | None = None
) -> Path:
    table = pa.table({"x": values}).replace_schema_metadata(dict(keys))
    pq.write_table(table, path)
    return path if change is None else rewrite(path, change)


def _facts(path: Path) -> dict[str, Any]:
    (facts,) = collect(path, cache=False).to_pylist()[0]["columns"].values()
    return facts


def _doubts(path: Path) -> set[str]:
    footer = read_footer(str(path))
    leaf, group = footer.leaves[0], footer.row_groups[0]
    form = form_of(leaf.element)
    assert form is not None
    chunk = group.chunks[0]
    found = doubts(
        chunk.statistics,
        leaf,
        form,
        rows=group.row_count,
        values=chunk.value_count,
        source=provenance(footer),
    )
    return {doubt.name for doubt in found}


def _set(**fields: tuple[int, Any] | None) -> Change:
    """Statistics fields by number, written `f6=(BINARY, b"")`; None removes one."""

    def change(footer: dict[int, Any]) -> None:
        stated = statistics(footer, column=0)
        for name, value in fields.items():
            number = int(name[1:])
            if value is None:
                stated.pop(number, None)
            else:
                stated[number] = value

    return change


def _writer(name: bytes) -> Change:
    return lambda footer: footer.update({CREATED_BY: (BINARY, name)})


def _deprecated(footer: dict[int, Any]) -> None:
    """Only the deprecated fields are filled, as before the format named orders."""
    stated = statistics(footer, column=0)
    stated[MAX], stated[MIN] = stated.pop(MAX_VALUE), stated.pop(MIN_VALUE)
    footer.pop(COLUMN_ORDERS)


def _unordered(footer: dict[int, Any]) -> None:
    """min_value and max_value without a named order."""
    footer.pop(COLUMN_ORDERS)
    stated = statistics(footer, column=0)
    stated.pop(MAX, None)
    stated.pop(MIN, None)


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


INTS = pa.array([1, 5, None], pa.int32())
FLOATS = pa.array([1.0, 5.0], pa.float64())
TEXTS = pa.array(["a", "b", None])
OLD = pa.array([date(1200, 1, 1), date(1500, 1, 1)])
NAN, INT_300, DOUBLE_9 = struct.pack("<d", float("nan")), struct.pack("<i", 300), struct.pack("<d", 9.0)
UNKNOWN = {"min": None, "max": None}
DECIMALS = pa.array([Decimal("1.00"), Decimal("2.00")], pa.decimal128(20, 2))
FIELDS = pa.array([{"y": 1}, None], pa.struct([("y", pa.int32())]))
LISTS = pa.array([[1, None], [], None, [5]], pa.list_(pa.int32()))
POLARS, OLD_RUST = b"Polars", b"parquet-rs version 4.0.0"

#            doubt, values, keys, change, what is known then
CASES = [
    ("order unnamed", INTS, OURS, _unordered, UNKNOWN | {"null_count": 1}),
    ("deprecated order", TEXTS, OURS, _deprecated, UNKNOWN | {"null_count": 1}),
    ("no usable order", pa.array([1, 5], pa.uint64()), OURS, None, UNKNOWN | {"null_count": 0}),
    ("varying decimals", pa.array([b"\1", b"\2"]), OURS, _decimal_bytes, UNKNOWN),
    ("decimals by signed bytes", DECIMALS, OURS, _decimal_of_parquet_cpp, UNKNOWN),
    ("decimals by unsigned bytes", DECIMALS, OURS, _writer(POLARS), UNKNOWN | {"null_count": 0}),
    ("decimals by their floats", DECIMALS, OURS, _writer(b"hyparquet"), UNKNOWN | {"null_count": 0}),
    ("unsigned merged as signed", pa.array([1, 5], pa.uint32()), OURS, _writer(POLARS), UNKNOWN),
    ("byte strings in another order", TEXTS, OURS, _writer(OLD_RUST), UNKNOWN | {"null_count": 1}),
    (
        "length before the bytes",
        TEXTS,
        OURS,
        _set(f6=(BINARY, b"\1\0\0\0a"), f5=(BINARY, b"\1\0\0\0b")),
        UNKNOWN | {"null_count": 1},
    ),
    ("NaN among the values", FLOATS, OURS, _writer(OLD_RUST), UNKNOWN | {"null_count": 0}),
    (
        "unreadable minimum",
        TEXTS,
        OURS,
        _set(f6=(BINARY, b"\xff")),
        {"min": None, "max": "b", "null_count": 1},
    ),
    (
        "unreadable maximum",
        TEXTS,
        OURS,
        _set(f5=(BINARY, b"\xff")),
        {"min": "a", "max": None, "null_count": 1},
    ),
    ("unreadable bound", INTS, OURS, _set(f6=(BINARY, b"\0")), UNKNOWN | {"null_count": 1}),
    ("NaN as a bound", FLOATS, OURS, _set(f5=(BINARY, NAN)), UNKNOWN),
    ("crossed bounds", FLOATS, OURS, _set(f6=(BINARY, DOUBLE_9)), UNKNOWN),
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
        _writer(b"parquet-cpp-arrow version 5.0.0"),
        {"null_count": None, "min": 1},
    ),
    ("NULLs counted again", INTS, OURS, _writer(POLARS), {"null_count": None, "min": 1, "max": 5}),
    ("NULLs of parents", FIELDS, OURS, _writer(b"DuckDB version v1.5.0"), {"null_count": None, "min": 1}),
    ("NULLs of elements", LISTS, OURS, None, {"null_count": None, "min": 1, "max": 5}),
    ("impossible NULL count", INTS, OURS, _set(f3=(I64, 4)), {"null_count": None, "min": 1, "max": 5}),
    ("bounds without values", INTS, OURS, _set(f3=(I64, 3)), UNKNOWN | {"null_count": None}),
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
    path = _write(tmp_path / "x.parquet", values, keys=keys, change=change)
    facts = _facts(path)
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
    facts = _facts(_write(tmp_path / "x.parquet", values, keys=keys, change=change))
    assert {key: facts[key] for key in known} != known


@pytest.mark.parametrize("values", [INTS, FLOATS, TEXTS, OLD])
def test_an_ordinary_file_meets_no_doubt(tmp_path: Path, values: pa.Array) -> None:
    """Otherwise the cases above would prove nothing of their changes."""
    assert _doubts(_write(tmp_path / "x.parquet", values)) == set()


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
    path = _write(tmp_path / "x.parquet", INTS, change=_writer(writer))
    assert (_facts(path)["null_count"] == 1) is believed


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
    facts = _facts(_write(tmp_path / "x.parquet", values, change=_writer(writer)))
    assert (facts["min"] is not None and facts["max"] is not None) is believed


def test_zeros_of_either_sign_are_within_a_bound_of_zero(tmp_path: Path) -> None:
    """0.0 and -0.0 are equal, so a bound of the one needs no doubt because of the other."""
    zeros = pa.array([0.0, -0.0, 0.0])
    for bound in (struct.pack("<d", 0.0), struct.pack("<d", -0.0)):
        change = _set(f5=(BINARY, bound), f6=(BINARY, bound))
        blocks = collect(_write(tmp_path / "x.parquet", zeros, change=change), cache=False)
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
    facts = _facts(path)
    present = [value for value in values.to_pylist() if value is not None]
    assert (facts["min"], facts["max"]) == (min(present), max(present))
    assert facts["min_exact"] is facts["max_exact"] is None


TYPES = [
    (pa.array([1], pa.uint8()), "smallint", 1),
    (pa.array([65535], pa.uint16()), "int", 65535),
    (pa.array([2**32 - 1], pa.uint32()), "bigint", 2**32 - 1),
    (pa.array([-3], pa.int8()), "tinyint", -3),
    (pa.array([b"\xff"]), "binary", b"\xff"),
    (pa.array([b"ab"], pa.binary(2)), "binary", b"ab"),
    (pa.array([Decimal("-1.23")], pa.decimal128(20, 2)), "decimal(20,2)", Decimal("-1.23")),
    (pa.array([Decimal("-1.23")], pa.decimal128(38, 2)), "decimal(38,2)", Decimal("-1.23")),
    (pa.array([datetime(2020, 1, 1)], pa.timestamp("ms")), "timestamp_ntz", datetime(2020, 1, 1)),
    (
        pa.array([datetime(2020, 1, 1, tzinfo=UTC)], pa.timestamp("us", tz="UTC")),
        "timestamp",
        datetime(2020, 1, 1, tzinfo=UTC),
    ),
    (pa.array([-1.5], pa.float32()), "float", -1.5),
]


@pytest.mark.parametrize(("values", "sql", "bound"), TYPES, ids=[case[1] for case in TYPES])
def test_a_column_has_the_type_that_spark_gives_it(
    tmp_path: Path, values: pa.Array, sql: str, bound: object
) -> None:
    """Types and decoded bounds, unsigned integers widened."""
    path = _write(tmp_path / "x.parquet", values)
    table = collect(path, cache=False)
    facts = table.to_pylist()[0]["columns"]["x"]
    assert column_types(table)["x"].sql == sql
    assert (facts["min"], facts["max"]) == (bound, bound)


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1], pa.time64("us")),
        pa.array([1], pa.timestamp("ns")),
        pa.array(np.array([1.0], np.float16)),
        pa.array([[[1]]]),
        pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
        # Older releases of pyarrow write a UUID as plain bytes, which Spark reads.
        pa.array([b"0" * 16], pa.uuid()) if int(pa.__version__.split(".")[0]) >= 22 else pa.nulls(1),
        pa.nulls(2),
    ],
    ids=lambda values: str(values.type),
)
def test_a_type_without_columns_of_a_certain_meaning_is_left_out(tmp_path: Path, values: pa.Array) -> None:
    """Left out, not guessed."""
    if isinstance(values, pa.ExtensionArray):
        values = values.cast(values.type)
    assert column_types(collect(_write(tmp_path / "x.parquet", values), cache=False)) == {}


def test_milliseconds_that_overflow_microseconds_are_no_bound(tmp_path: Path) -> None:
    """The scaled bound does not fit 64 bits; the other may then be wrong as well."""
    path = _write(tmp_path / "x.parquet", pa.array([0, 2**62], pa.timestamp("ms")))
    assert (_facts(path)["min"], _facts(path)["max"]) == (None, None)


def test_a_narrow_integer_outside_its_range_has_no_bounds(tmp_path: Path) -> None:
    """Spark cuts such a value down, so it may land anywhere."""
    path = _write(tmp_path / "x.parquet", pa.array([1, 5], pa.int8()), change=_set(f5=(BINARY, INT_300)))
    assert (_facts(path)["min"], _facts(path)["max"]) == (None, None)


@pytest.mark.parametrize(
    ("keys", "believed"),
    [
        ({}, False),
        ({b"org.apache.spark.version": b"2.4.8"}, False),
        (OURS, True),
        (OURS | {b"org.apache.spark.legacyDateTime": b""}, False),
        (OURS | {b"org.apache.spark.legacyINT96": b""}, False),
    ],
)
def test_old_dates_are_believed_only_where_spark_does_not_shift_them(
    tmp_path: Path, keys: dict[bytes, bytes], believed: bool
) -> None:
    """Spark's own rule, and every file that Spark did not write."""
    facts = _facts(_write(tmp_path / "x.parquet", OLD, keys=keys))
    assert (facts["min"] is not None and facts["max"] is not None) is believed


def test_an_old_maximum_near_the_line_is_not_believed_when_instants_may_shift(tmp_path: Path) -> None:
    """A value just before 1900 may land minutes after it, in some zones."""
    values = pa.array([datetime(1899, 12, 31), datetime(1900, 1, 1)], pa.timestamp("us", tz="UTC"))
    assert _facts(_write(tmp_path / "x.parquet", values, keys={}))["max"] is None


def test_exactness_is_what_the_file_says_and_unknown_where_it_does_not(tmp_path: Path) -> None:
    """Absent is unknown, never exact."""
    said = _facts(_write(tmp_path / "said.parquet", INTS, change=_set(f7=(1, True), f8=(1, False))))
    unsaid = _facts(_write(tmp_path / "unsaid.parquet", INTS, change=_set(f7=None, f8=None)))
    assert (said["min_exact"], said["max_exact"]) == (False, True)
    assert (unsaid["min_exact"], unsaid["max_exact"]) == (None, None)


def test_a_required_column_holds_no_null_whatever_was_counted(tmp_path: Path) -> None:
    """The schema says so, even of a writer that counts wrongly."""
    path = tmp_path / "x.parquet"
    schema = pa.schema([pa.field("x", pa.int32(), nullable=False)])
    pq.write_table(pa.table({"x": [1]}, schema=schema), path)
    rewrite(path, _writer(b"parquet-cpp"))
    assert _facts(path)["null_count"] == 0


def test_a_name_that_occurs_twice_is_left_out(tmp_path: Path) -> None:
    """Nobody can say which of the two a predicate means."""
    path = tmp_path / "x.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], ["x", "x", "y"]), path)
    (part,) = shards([("x", read_footer(str(path)))])
    assert list(column_types(part.table)) == ["y"]


def test_a_key_list_without_spark_is_a_foreign_file(tmp_path: Path) -> None:
    """No key-value metadata at all is read as foreign too."""
    path = _write(tmp_path / "x.parquet", OLD, change=lambda footer: footer.pop(KEYS))
    assert _facts(path)["min"] is None


def test_an_order_other_than_the_types_own_is_not_known(tmp_path: Path) -> None:
    """A later kind of column order is an unknown one."""
    later = (LIST, (12, [{2: (12, {})}]))

    def order_later(footer: dict[int, Any]) -> None:
        _unordered(footer)
        footer[COLUMN_ORDERS] = later

    facts = _facts(_write(tmp_path / "x.parquet", FLOATS, change=order_later))
    assert (facts["min"], facts["max"]) == (None, None)
