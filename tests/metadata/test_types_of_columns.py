"""Columns have the types that Spark gives them, and bounds only where these are sure."""

import struct
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rewriting import BINARY, COLUMN_ORDERS, KEYS, LIST, rewrite
from stated_files import FLOATS, INTS, OLD, OURS, facts_of, stating, without_order, written, written_by

from pruning.metadata.footers.footer import read_footer
from pruning.metadata.store.collecting import collect
from pruning.metadata.table.blocks import shards
from pruning.metadata.table.schema import column_types

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
    path = written(tmp_path / "x.parquet", values)
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
        pa.array([[[("k", 1)]]], pa.list_(pa.map_(pa.string(), pa.int64()))),
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
    assert column_types(collect(written(tmp_path / "x.parquet", values), cache=False)) == {}


def test_milliseconds_that_overflow_microseconds_are_no_bound(tmp_path: Path) -> None:
    """The scaled bound does not fit 64 bits; the other may then be wrong as well."""
    path = written(tmp_path / "x.parquet", pa.array([0, 2**62], pa.timestamp("ms")))
    assert (facts_of(path)["min"], facts_of(path)["max"]) == (None, None)


def test_a_narrow_integer_outside_its_range_has_no_bounds(tmp_path: Path) -> None:
    """Spark cuts such a value down, so it may land anywhere."""
    path = written(
        tmp_path / "x.parquet",
        pa.array([1, 5], pa.int8()),
        change=stating(f5=(BINARY, struct.pack("<i", 300))),
    )
    assert (facts_of(path)["min"], facts_of(path)["max"]) == (None, None)


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
    facts = facts_of(written(tmp_path / "x.parquet", OLD, keys=keys))
    assert (facts["min"] is not None and facts["max"] is not None) is believed


def test_an_old_maximum_near_the_line_is_not_believed_when_instants_may_shift(tmp_path: Path) -> None:
    """A value just before 1900 may land minutes after it, in some zones."""
    values = pa.array([datetime(1899, 12, 31), datetime(1900, 1, 1)], pa.timestamp("us", tz="UTC"))
    assert facts_of(written(tmp_path / "x.parquet", values, keys={}))["max"] is None


def test_exactness_is_what_the_file_says_and_unknown_where_it_does_not(tmp_path: Path) -> None:
    """Absent is unknown, never exact."""
    said = facts_of(written(tmp_path / "said.parquet", INTS, change=stating(f7=(1, True), f8=(1, False))))
    unsaid = facts_of(written(tmp_path / "unsaid.parquet", INTS, change=stating(f7=None, f8=None)))
    assert (said["min_exact"], said["max_exact"]) == (False, True)
    assert (unsaid["min_exact"], unsaid["max_exact"]) == (None, None)


def test_a_required_column_holds_no_null_whatever_was_counted(tmp_path: Path) -> None:
    """The schema says so, even of a writer that counts wrongly."""
    path = tmp_path / "x.parquet"
    schema = pa.schema([pa.field("x", pa.int32(), nullable=False)])
    pq.write_table(pa.table({"x": [1]}, schema=schema), path)
    rewrite(path, written_by(b"parquet-cpp"))
    assert facts_of(path)["null_count"] == 0


def test_a_name_that_occurs_twice_is_left_out(tmp_path: Path) -> None:
    """Nobody can say which of the two a predicate means."""
    path = tmp_path / "x.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], ["x", "x", "y"]), path)
    (part,) = shards([("x", read_footer(str(path)))])
    assert list(column_types(part.table)) == ["y"]


def test_a_key_list_without_spark_is_a_foreign_file(tmp_path: Path) -> None:
    """No key-value metadata at all is read as foreign too."""
    path = written(tmp_path / "x.parquet", OLD, change=lambda footer: footer.pop(KEYS))
    assert facts_of(path)["min"] is None


def test_an_order_other_than_the_types_own_is_not_known(tmp_path: Path) -> None:
    """A later kind of column order is an unknown one."""
    later = (LIST, (12, [{2: (12, {})}]))

    def order_later(footer: dict[int, Any]) -> None:
        without_order(footer)
        footer[COLUMN_ORDERS] = later

    facts = facts_of(written(tmp_path / "x.parquet", FLOATS, change=order_later))
    assert (facts["min"], facts["max"]) == (None, None)
