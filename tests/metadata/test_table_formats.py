"""Directories of Delta Lake, Iceberg and Hudi tables: whoever reads them as plain Parquet is told so."""

import contextlib
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.errors import InputError, SkippedFileWarning
from pruning.metadata.files.locations import parent_and_name
from skipproof.commands.describing import describe

DELTA, ICEBERG, HUDI = "Delta Lake", "Iceberg", "Hudi"

#          the markers, relative to the table's root     its data file      what is read    the format
LAYOUTS = [
    (["_delta_log/00000000000000000000.json"],           "0.parquet",       "",             DELTA),
    (["_delta_log/00000000000000000000.json"],           "p=1/0.parquet",   "",             DELTA),
    (["_delta_log/00000000000000000000.json"],           "p=1/0.parquet",   "p=1",          DELTA),
    (["_delta_log/00000000000000000000.json"],           "p=1/q=2/0.parquet", "p=1/q=2",    DELTA),
    (["_delta_log/00000000000000000000.json"],           "0.parquet",       "0.parquet",    DELTA),
    (["metadata/v1.metadata.json"],                      "data/0.parquet",  "",             ICEBERG),
    (["metadata/v1.metadata.json"],                      "data/0.parquet",  "data",         ICEBERG),
    (["metadata/00001-a.metadata.json"],                 "data/p=1/0.parquet", "data/p=1",  ICEBERG),
    (["metadata/v1.metadata.json"],                      "data/0.parquet",  "data/0.parquet", ICEBERG),
    ([".hoodie/hoodie.properties"],                      "p=1/0.parquet",   "p=1",          HUDI),
    ([],                                                 "0.parquet",       "",             None),
    (["metadata/readme.txt"],                            "0.parquet",       "",             None),
    (["_delta_log"],                                     "0.parquet",       "",             None),
    (["_delta_log/00000000000000000000.json"],           "plain/0.parquet", "plain",        None),
]  # fmt: skip


def write_layout(root: Path, markers: list[str], file: str) -> None:
    """A data file, and files of no content that make the directory one of a table format."""
    for marker in markers:
        (root / marker).parent.mkdir(parents=True, exist_ok=True)
        (root / marker).write_text("{}")
    (root / file).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"a": pa.array([1, 2], pa.int64())}), root / file)


def warnings_of(path: Path) -> list[str]:
    """The texts of the warnings that `collect` gives, but for those of files that are no Parquet files."""
    with warnings.catch_warnings(record=True) as caught, contextlib.suppress(InputError):
        warnings.simplefilter("always")
        pruning.collect(str(path))
    return [
        str(warning.message) for warning in caught if not issubclass(warning.category, SkippedFileWarning)
    ]


@pytest.mark.parametrize(("markers", "file", "read", "format_"), LAYOUTS)
def test_each_reader_names_the_format_of_the_table(
    tmp_path: Path, markers: list[str], file: str, read: str, format_: str | None
) -> None:
    """`collect` by a warning, `describe` by a note: one sentence, which names the table's root."""
    root = tmp_path / "a table 100%"
    write_layout(root, markers, file)
    notes = list(describe(str(root / read)).notes)
    assert notes == warnings_of(root / read)
    if format_ is None:
        assert notes == []
    else:
        (note,) = notes
        assert note.startswith(f"{root}: is a {format_} table")


def test_a_report_names_the_format_too(spark: Any, tmp_path: Path) -> None:
    """`prune` and `explain`, by a note of the scan; of partitions that were asked for alone as well."""
    root = tmp_path / "a table 100%"
    write_layout(root, ["_delta_log/0.json"], "p=1/0.parquet")
    write_layout(root, [], "p=2/0.parquet")
    for read in (root, root / "p=1"):
        df = spark.read.parquet(str(read)).where("a = 1")
        (scan,) = pruning.explain(pruning.prune(df)).scans
        (note,) = [note for note in scan.notes if "Delta Lake" in note]
        assert note.partition(": is a ")[0] == str(root)
        assert note in str(pruning.explain(df))


def test_files_that_a_real_table_has_removed_are_spoken_of(tmp_path: Path) -> None:
    """Delta keeps the file whose rows a DELETE has replaced; read as plain Parquet they all count."""
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(str(tmp_path), pa.table({"a": pa.array(range(10), pa.int64())}))
    deltalake.DeltaTable(str(tmp_path)).delete("a < 5")
    with pytest.warns(UserWarning, match="is a Delta Lake table"):
        metadata = pruning.collect(str(tmp_path))
    assert sum(metadata.column("row_count").to_pylist()) == 15


@pytest.mark.parametrize(
    ("path", "parent", "name"),
    [
        ("/lake/t/p=1", "/lake/t", "p=1"),
        ("/lake/t/", "/lake", "t"),
        ("/t", "/", "t"),
        ("t/x.parquet", "t", "x.parquet"),
        ("x.parquet", ".", "x.parquet"),
        (".", None, "."),
        ("file:/lake/p=%3F", "file:/lake", "p=%3F"),
        ("file:/lake", None, "lake"),
        ("s3://bucket/t/p=1?endpoint_override=http://h/", "s3://bucket/t?endpoint_override=http://h/", "p=1"),
        ("s3://bucket/t", "s3://bucket", "t"),
        ("s3://bucket", None, "bucket"),
    ],
)
def test_what_holds_a_path_is_spelled_as_the_path(path: str, parent: str | None, name: str) -> None:
    assert parent_and_name(path) == (parent, name)
