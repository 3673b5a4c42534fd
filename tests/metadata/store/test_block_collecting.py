"""Paths in, a row per row group out: listing, order, and files with different columns."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from oracles.answers.frames import settings
from pruning.errors import InputError
from pruning.expressions import types
from pruning.metadata.files.listing import is_data
from pruning.metadata.store.collecting import collect, read_blocks
from pruning.metadata.table import reading
from pruning.metadata.table.schema import block_schema, column_types
from pruning.metadata.views.constant_columns import with_constants

UNKNOWN = dict.fromkeys(("null_count", "nan_count", "byte_count", "min", "max", "min_exact", "max_exact"))


def _write(path: Path, **columns: Any) -> str:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path, row_group_size=2)
    return str(path)


def _bounds(table: pa.Table, column: str) -> list[tuple[Any, Any]]:
    return [(row[column]["min"], row[column]["max"]) for row in table["columns"].to_pylist()]


def test_a_directory_is_listed_by_path_and_hidden_names_are_left_out(tmp_path: Path) -> None:
    """Spark's rule, at any depth; the name of the directory itself does not count."""
    root = tmp_path / "_root"
    for name in ("b.parquet", "a/z.parquet", "_p=1/c.parquet"):
        _write(root / name, x=[1])
    for name in ("_metadata", "_SUCCESS", ".x.crc", "_delta_log/0.json", "a/._x", "d.parquet._COPYING_"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).write_text("no data")
    expected = [f"{root}/_p=1/c.parquet", f"{root}/a/z.parquet", f"{root}/b.parquet"]
    for spelled in (root, f"{root}/"):
        assert collect(spelled, cache=False)["file"].to_pylist() == expected


def test_spark_reads_the_same_files_of_a_directory(tmp_path: Path, spark: Any) -> None:
    """The rule for hidden names against Spark's own listing."""
    root = tmp_path / "table"
    names = ["a.parquet", "_b.parquet", ".c.parquet", "_d=.parquet", "e._COPYING_", "f=1.parquet"]
    for name in names:
        _write(root / name, x=[1])
    read = {os.path.basename(path) for path in spark.read.parquet(str(root)).inputFiles()}
    assert {name for name in names if is_data(name)} == read == {"a.parquet", "_d=.parquet", "f=1.parquet"}


def test_a_list_keeps_its_order_and_its_repetitions(tmp_path: Path) -> None:
    """A file that is given twice is scanned twice."""
    first, second = _write(tmp_path / "1.parquet", x=[1, 2, 3]), _write(tmp_path / "2.parquet", x=[9])
    table = collect([second, first, second])
    assert table["file"].to_pylist() == [second, first, first, second]
    assert table["row_group"].to_pylist() == [0, 0, 1, 0]
    assert _bounds(table, "x") == [(9, 9), (1, 2), (3, 3), (9, 9)]


def test_a_relative_path_is_kept_as_given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file column is how the caller spelled it."""
    monkeypatch.chdir(tmp_path)
    _write(Path("d/x.parquet"), x=[1])
    assert collect("d/x.parquet")["file"].to_pylist() == ["d/x.parquet"]
    assert collect("./d")["file"].to_pylist() == ["./d/x.parquet"]


@pytest.mark.parametrize("make", [lambda path: [], lambda path: path / "absent", lambda path: path])
def test_no_path_a_missing_one_and_an_empty_directory_are_refused(
    tmp_path: Path, make: Callable[[Path], Any]
) -> None:
    """Bad input, one sentence."""
    with pytest.raises(InputError):
        collect(make(tmp_path))


def test_the_first_unreadable_file_is_named(tmp_path: Path) -> None:
    """Nothing is answered for the others: their blocks alone are not the table."""
    good, bad = _write(tmp_path / "a.parquet", x=[1]), tmp_path / "b.parquet"
    bad.write_text("no")
    with pytest.raises(InputError, match=f"^{bad}: "):
        collect(tmp_path, cache=False)
    table, failures, _ = read_blocks([str(bad), good])
    assert table["file"].to_pylist() == [good]
    assert list(failures) == [str(bad)]


def test_a_column_that_a_file_lacks_is_unknown_in_its_blocks(tmp_path: Path) -> None:
    """Unknown, never zero and never all NULL."""
    files = [_write(tmp_path / "1.parquet", x=[1]), _write(tmp_path / "2.parquet", y=["a"])]
    rows = collect(files)["columns"].to_pylist()
    assert rows[0]["y"] == rows[1]["x"] == UNKNOWN
    assert (rows[0]["x"]["min"], rows[1]["y"]["min"]) == (1, "a")


def test_integers_are_widened_to_the_widest(tmp_path: Path) -> None:
    """In whatever order the files come."""
    narrow = _write(tmp_path / "1.parquet", x=pa.array([-1], pa.int16()))
    wide = _write(tmp_path / "2.parquet", x=pa.array([2**40], pa.int64()))
    for files in ([narrow, wide], [wide, narrow]):
        table = collect(files)
        assert column_types(table) == {"x": types.LONG}
        assert sorted(_bounds(table, "x")) == [(-1, -1), (2**40, 2**40)]


def test_other_types_than_the_first_files_are_unknown(tmp_path: Path) -> None:
    """Text and numbers cannot share bounds; the first file decides, in the order asked for."""
    number = _write(tmp_path / "1.parquet", x=[1])
    text = _write(tmp_path / "2.parquet", x=["a"])
    assert _bounds(collect([number, text]), "x") == [(1, 1), (None, None)]
    assert _bounds(collect([text, number]), "x") == [("a", "a"), (None, None)]


def test_integers_wider_than_the_first_files_are_unknown_where_a_third_type_is(tmp_path: Path) -> None:
    """The first file's type is taken, and a larger number is none of its values."""
    files = [
        _write(tmp_path / "1.parquet", x=pa.array([1], pa.int32())),
        _write(tmp_path / "2.parquet", x=pa.array([1 << 40], pa.int64())),
        _write(tmp_path / "3.parquet", x=["a"]),
        _write(tmp_path / "4.parquet", x=pa.array([7], pa.int16())),
    ]
    assert [row["x"]["max"] for row in collect(files)["columns"].to_pylist()] == [1, None, None, 7]


def test_empty_row_groups_and_files_still_give_columns(tmp_path: Path) -> None:
    """A file without rows has one empty row group, or none at all."""
    schema = pa.schema([("x", pa.int32())])
    pq.ParquetWriter(tmp_path / "none.parquet", schema).close()
    with pq.ParquetWriter(tmp_path / "zero.parquet", schema) as writer:
        writer.write_table(schema.empty_table())
    none, zero = (collect(tmp_path / name, cache=False) for name in ("none.parquet", "zero.parquet"))
    assert none.schema == zero.schema == block_schema({"x": types.INTEGER})
    assert (len(none), zero["row_count"].to_pylist()) == (0, [0])


def test_a_file_without_a_known_column_still_has_its_blocks(tmp_path: Path) -> None:
    """Counting rows needs no column."""
    table = collect(_write(tmp_path / "x.parquet", n=[[[1]], [[2]], [[3]]]))
    assert table["row_count"].to_pylist() == [2, 1]
    assert column_types(table) == {}


def test_files_that_spark_wrote_are_read_alike(tmp_path: Path, spark: Any) -> None:
    """The running Spark's own writer: bounds by min_value, and old dates it does not shift."""
    path = str(tmp_path / "spark")
    modes = ("datetimeRebaseModeInWrite", "int96RebaseModeInWrite")  # Spark 3 asks which calendar is meant
    with settings(spark, {f"spark.sql.parquet.{mode}": "CORRECTED" for mode in modes}):
        spark.sql(
            "SELECT DATE'1200-01-01' d, TIMESTAMP'1850-01-01 00:00:00' t, CAST(1.5 AS decimal(20,1)) p, "
            "'é' s, CAST(NULL AS int) i, X'FF' b"
        ).write.parquet(path)
    table = collect(path)
    (row,) = table["columns"].to_pylist()
    assert {name: type_.sql for name, type_ in column_types(table).items()} == {
        field.name: "int" if field.dataType.simpleString() == "int" else field.dataType.simpleString()
        for field in spark.read.parquet(path).schema
    }
    assert row["i"]["null_count"] == 1
    assert (row["d"]["min"].year, row["s"]["max"], row["b"]["min"], str(row["p"]["max"])) == (
        1200,
        "é",
        b"\xff",
        "1.5",
    )


def test_spark_and_threads_read_the_same(tmp_path: Path, spark: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The job's answer is the threads' answer, failures and mixed schemas included."""
    monkeypatch.setattr(reading, "SPARK_FILES_MIN", 1)
    monkeypatch.setattr(reading, "_FILES_PER_TASK", 2)
    files = [_write(tmp_path / f"{n}.parquet", **({"x": [n]} if n % 2 else {"y": ["a"]})) for n in range(5)]
    bad = tmp_path / "bad.parquet"
    bad.write_text("no")
    jobs = []
    job = reading._read_in_spark
    monkeypatch.setattr(reading, "_read_in_spark", lambda *args: jobs.append(job(*args)) or jobs[-1])
    table, failures, _ = read_blocks([*files, str(bad)], spark=spark)
    expected, expected_failures, _ = read_blocks([*files, str(bad)])
    assert len(jobs) == 1
    assert table.equals(expected)
    assert failures == expected_failures
    assert len(failures) == 1


def test_threads_take_over_where_the_job_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Executors without this package are no reason to fail."""
    monkeypatch.setattr(reading, "SPARK_FILES_MIN", 1)
    file = _write(tmp_path / "x.parquet", x=[1])
    assert len(collect(file, spark=object(), cache=False)) == 1


def test_a_constant_column_is_exact_and_null_where_the_value_is(tmp_path: Path) -> None:
    """A partition value per block, as metadata of its own."""
    table = with_constants(
        collect(_write(tmp_path / "x.parquet", x=[1, 2, 3])), "p", types.STRING, [b"a", None]
    )
    first, second = (row["p"] for row in table["columns"].to_pylist())
    assert first == UNKNOWN | {"null_count": 0, "min": "a", "max": "a", "min_exact": True, "max_exact": True}
    assert second == UNKNOWN | {"null_count": 1}
    assert column_types(table) == {"x": types.LONG, "p": types.STRING}
    assert _bounds(table, "x") == [(1, 2), (3, 3)]
    table.validate(full=True)


def test_a_constant_column_replaces_one_of_its_name_and_holds_any_type(tmp_path: Path) -> None:
    """Days and microseconds are integers; NaN is counted, not bounded."""
    table = collect(_write(tmp_path / "x.parquet", x=[1]))
    table = with_constants(table, "x", types.DATE, [-1])
    table = with_constants(table, "f", types.DOUBLE, [float("nan")])
    (row,) = table["columns"].to_pylist()
    assert row["x"]["min"].isoformat() == "1969-12-31"
    assert row["f"] == UNKNOWN | {"null_count": 0, "nan_count": 1}
    assert list(column_types(with_constants(table, "x", types.unknown("void"), [None]))) == ["f"]


@pytest.mark.parametrize(
    ("type_", "values"), [(types.BYTE, [300]), (types.STRING, [b"\xff"]), (types.LONG, [])]
)
def test_a_constant_that_does_not_fit_is_refused_by_its_column(
    tmp_path: Path, type_: types.Type, values: Any
) -> None:
    """One value per block, of the column's type."""
    table = collect(_write(tmp_path / "x.parquet", x=[1]))
    with pytest.raises(InputError, match=r"^Column 'p'"):
        with_constants(table, "p", type_, values)
