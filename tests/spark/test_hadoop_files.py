"""Tables that only Spark's own file systems reach: here `viewfs`, which Hadoop maps to local directories."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JError

import pruning
from mutants.metadata.hadoop_files import MUTANTS
from pruning.errors import DamagedMetadataWarning
from pruning.metadata.files import places
from pruning.metadata.files.locations import CACHE_DIRECTORY, table_directory
from pruning.metadata.store import log, recording
from pruning.metadata.store.collecting import read_listed_blocks
from pruning.spark.jvm import compiling
from pruning.spark.lake import hadoop_files
from pruning.spark.lake.hadoop_files import HadoopFiles, hadoop_listing

LONG_AGO_NS = 1_600_000_000_123_000_000
# A space, signs that URIs escape or give a meaning, and letters beyond ASCII.
NAMES = (
    "a b.parquet",
    "50%25.parquet",
    "c+d#e.parquet",
    "é\u0301ß.parquet",
    *(f"{n}.parquet" for n in range(12)),
)


@pytest.fixture
def lake(spark: Any, tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A local directory, and its URI in a mount table of its own."""
    host = tmp_path.name
    key = f"fs.viewfs.mounttable.{host}.link./t"
    configuration = spark._jsc.hadoopConfiguration()
    folder = tmp_path / "lake"
    folder.mkdir()
    configuration.set(key, folder.as_uri())
    yield folder, f"viewfs://{host}/t"
    configuration.unset(key)


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that the user names for metadata."""
    place = tmp_path / "kept" / "metadata"
    monkeypatch.setenv(places.ENVIRONMENT, str(place))
    return place


@pytest.fixture
def read_files(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose footers were read."""
    names: list[str] = []
    read = HadoopFiles.read_footers

    def record(self: HadoopFiles, listed_files: Any) -> Any:
        names.extend(Path(listed.path).name for listed in listed_files)
        return read(self, listed_files)

    monkeypatch.setattr(HadoopFiles, "read_footers", record)
    return names


def write(folder: Path, number: int, name: str | None = None, **options: Any) -> Path:
    """Write a file with two row groups, of the rows `10 * number` to `10 * number + 9`."""
    path = folder / (name or f"{number}.parquet")
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"x": range(10 * number, 10 * number + 10)}), path, row_group_size=5, **options)
    os.utime(path, ns=(LONG_AGO_NS, LONG_AGO_NS))
    return path


def kept_names(df: Any) -> list[str]:
    return sorted(Path(file).name for file in df.inputFiles())


def test_a_lake_is_pruned_as_its_local_twin(spark: Any, lake: tuple[Path, str]) -> None:
    """The same files, blocks and rows, of names that Spark escapes too."""
    folder, uri = lake
    for number, name in enumerate(NAMES):
        write(folder, number, name)
    for condition in ("x = 3", "x BETWEEN 18 AND 31", "x > 1000", "IF(x > 50, x, 0) > 70"):
        here, there = (spark.read.parquet(root).where(condition) for root in (folder.as_uri(), uri))
        local, remote = pruning.prune(here), pruning.prune(there)
        assert kept_names(remote) == kept_names(local) != kept_names(there)
        assert sorted(remote.collect()) == sorted(there.collect())
        local_scan, remote_scan = (pruning.explain(frame).scans[0] for frame in (here, there))
        assert (local_scan.files_kept, local_scan.blocks_kept) == (
            remote_scan.files_kept,
            remote_scan.blocks_kept,
        )
        assert remote_scan.notes == ()


def test_partitions_prune_too(spark: Any, lake: tuple[Path, str], kept: Path) -> None:
    folder, uri = lake
    for number in range(4):
        write(folder / f"part={number % 2}", number)
    df = spark.read.parquet(uri).where("part = 1 AND x < 15")
    assert kept_names(pruning.prune(df)) == ["1.parquet"]
    assert [row.x for row in pruning.prune(df).collect()] == [10, 11, 12, 13, 14]


def test_a_footer_longer_than_the_tail_is_read(spark: Any, lake: tuple[Path, str]) -> None:
    """A request brings 64 KiB; of many columns, the footer is longer."""
    folder, uri = lake
    for number in range(3):
        columns = {f"a column with a long name {place:05}": [number] for place in range(1_500)}
        pq.write_table(pa.table(columns), folder / f"{number}.parquet")
    df = spark.read.parquet(uri).where("`a column with a long name 01499` = 2")
    assert kept_names(pruning.prune(df)) == ["2.parquet"]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"no Parquet at all", "is not a complete Parquet file"),
        (b"PAR1", "is not a complete Parquet file"),
        (b"tiny", "is not a complete Parquet file"),
        (b"PAR1" + b"\xff\xff\xff\x7fPAR1", "claims a footer of 2147483647 bytes"),
        (b"PAR1 \x04\0\0\0PARE", "is encrypted"),
        (b"PAR1abcd\x04\0\0\0PAR1", "is damaged"),
    ],
)
def test_a_damaged_file_is_read_in_full_and_said(
    spark: Any, lake: tuple[Path, str], content: bytes, sentence: str
) -> None:
    folder, uri = lake
    write(folder, 1)
    (folder / "9.parquet").write_bytes(content)
    df = spark.read.schema("x long").parquet(uri).where("x > 1000")
    (scan,) = pruning.explain(df).scans
    assert scan.files_kept == 1
    assert len(scan.notes) == 1
    assert sentence in scan.notes[0]
    assert f"{uri}/9.parquet" in scan.notes[0]


@pytest.mark.parametrize("count", [5, 12])
def test_a_file_that_changed_since_the_frame_was_made_is_read(
    spark: Any, lake: tuple[Path, str], count: int
) -> None:
    """One whose footer would say that it has no such row; many files are listed by their directory."""
    folder, uri = lake
    for number in range(count):
        write(folder, number)
    for changed in (3, 4):
        df = spark.read.parquet(uri).where("x = 35")
        write(folder, 99, f"{changed}.parquet", compression="none")
        os.utime(folder / f"{changed}.parquet")
        pruned = pruning.prune(df)
        assert f"{changed}.parquet" in kept_names(pruned)
        (scan,) = pruning.explain(pruned).scans
        assert any("has been written since the DataFrame was made" in note for note in scan.notes)


def test_a_file_that_is_gone_is_said(spark: Any, lake: tuple[Path, str]) -> None:
    folder, uri = lake
    for number in range(12):
        write(folder, number)
    df = spark.read.parquet(uri).where("x = 35")
    (folder / "3.parquet").unlink()
    (scan,) = pruning.explain(df).scans
    assert [note for note in scan.notes if "3.parquet: cannot be listed" in note]


def test_kept_metadata_spares_every_footer_until_files_change(
    spark: Any, lake: tuple[Path, str], kept: Path, read_files: list[str]
) -> None:
    """A changed and an added file are noticed in the same run."""
    folder, uri = lake
    for number in range(12):
        write(folder, number)

    def pruned_names(condition: str) -> list[str]:
        return kept_names(pruning.prune(spark.read.parquet(uri).where(condition)))

    assert pruned_names("x = 35") == ["3.parquet"]
    assert len(read_files) == 12
    assert pruned_names("x = 45") == ["4.parquet"]
    assert len(read_files) == 12
    write(folder, 3, "5.parquet", compression="none")
    write(folder, 3, "added.parquet")
    assert pruned_names("x = 35") == ["3.parquet", "5.parquet", "added.parquet"]
    assert sorted(read_files[12:]) == ["5.parquet", "added.parquet"]
    assert not (folder / CACHE_DIRECTORY).exists()
    assert [path.name for path in kept.glob("*/*")] == [log.FOLDER]


def test_collect_reads_what_prune_reads(
    spark: Any, lake: tuple[Path, str], kept: Path, read_files: list[str]
) -> None:
    """It lists by the session, too, a directory and a file, and opens what is not kept yet."""
    folder, uri = lake
    for number in range(3):
        write(folder, number)
    pruning.prune(spark.read.parquet(uri).where("x = 15"))
    assert len(read_files) == 3
    write(folder, 3)
    assert pruning.collect(uri, spark=spark)["file"].unique().to_pylist() == [
        f"{uri}/{number}.parquet" for number in range(4)
    ]
    assert pruning.collect(f"{uri}/2.parquet", spark=spark).num_rows == 2
    assert read_files[3:] == ["3.parquet"]
    assert pruning.classify("x >= 35", uri).to_pylist() == [0] * 7 + [2]


def test_nothing_is_kept_where_no_directory_is_named(
    spark: Any, lake: tuple[Path, str], read_files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(places.ENVIRONMENT, raising=False)
    folder, uri = lake
    write(folder, 1)
    for _ in range(2):
        pruning.prune(spark.read.parquet(uri).where("x = 35"))
    assert read_files == ["1.parquet"] * 2


def test_a_time_in_whole_seconds_that_is_young_is_no_identity(
    spark: Any, lake: tuple[Path, str], kept: Path, read_files: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many stores give it: a file may be written twice in one second."""
    folder, uri = lake
    path = write(folder, 1)
    second_ns = LONG_AGO_NS - LONG_AGO_NS % 10**9
    os.utime(path, ns=(second_ns, second_ns))
    for age_ns, times_read in ((10**9, 2), (3 * 10**9, 3)):
        monkeypatch.setattr(recording.time, "time_ns", lambda age_ns=age_ns: second_ns + age_ns)
        for _ in range(2):
            pruning.prune(spark.read.parquet(uri).where("x = 35"))
        assert len(read_files) == times_read


def test_a_damaged_store_is_rebuilt(
    spark: Any, lake: tuple[Path, str], kept: Path, read_files: list[str]
) -> None:
    folder, uri = lake
    write(folder, 1)
    df = spark.read.parquet(uri).where("x = 35")
    pruning.prune(df)
    for cut in (10, 100, 1_000):
        newest = max(kept.glob("*/*/v*"))
        newest.write_bytes(newest.read_bytes()[:-cut])
        with pytest.warns(DamagedMetadataWarning):
            assert kept_names(pruning.prune(df)) == []
        assert kept_names(pruning.prune(df)) == []
    assert len(read_files) == 4


def test_without_the_compiler_the_table_is_read_in_full(
    spark: Any, lake: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise Py4JError("org.codehaus.janino.SimpleCompiler does not exist in the JVM")

    monkeypatch.setattr(compiling, "_compile", refuse)
    folder, uri = lake
    write(folder, 1)
    df = spark.read.parquet(uri).where("x = 35")
    assert "SimpleCompiler does not exist" in str(pruning.explain(df))
    assert kept_names(pruning.prune(df)) == ["1.parquet"]
    (status,) = HadoopFiles(spark).statuses([f"{uri}/1.parquet"])
    assert "its file system cannot be asked" in status


def test_answers_are_of_limited_size(
    spark: Any, lake: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Long footers are asked for one by one."""
    folder, uri = lake
    for number in range(5):
        write(folder, number)
    paths = [f"{uri}/{number}.parquet" for number in range(5)]
    hadoop = HadoopFiles(spark)
    stamps = [stamp for stamp in hadoop.statuses(paths) if not isinstance(stamp, str)]
    listing, changed = hadoop_listing(spark, paths, stamps)
    whole, failures, _ = read_listed_blocks(listing, read=hadoop.read_footers)
    assert failures == changed == {}
    monkeypatch.setattr(hadoop_files, "_ANSWER_BYTES", 1)
    monkeypatch.setattr(hadoop_files, "_FIRST_ANSWER_FILES", 2)
    assert read_listed_blocks(listing, read=hadoop.read_footers).metadata.equals(whole)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_found_out(
    name: str,
    spark: Any,
    lake: tuple[Path, str],
    kept: Path,
    read_files: list[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each makes one of these tests fail."""
    checks = {
        "no file has changed": partial(
            test_a_file_that_changed_since_the_frame_was_made_is_read, spark, lake, 5
        ),
        "a young time in whole seconds is an identity": partial(
            test_a_time_in_whole_seconds_that_is_young_is_no_identity,
            spark, lake, kept, read_files, monkeypatch,
        ),
    }  # fmt: skip
    check = checks.get(name, partial(test_a_lake_is_pruned_as_its_local_twin, spark, lake))
    monkeypatch.setattr(*MUTANTS[name])
    with pytest.raises(AssertionError):
        check()


@pytest.mark.parametrize(
    ("paths", "directory"),
    [
        (["viewfs://h/t/a.parquet"], "viewfs://h/t"),
        (["viewfs://h/t/p=1/a.parquet", "viewfs://h/t/p=1/q=2/b.parquet"], "viewfs://h/t"),
        (["viewfs://h/t/a/x.parquet", "viewfs://h/t/b/x.parquet"], "viewfs://h/t"),
        (["s3a://b/x.parquet"], "s3a://b"),
        (["dbfs:/t/x.parquet"], "dbfs:/t"),
        (["s3a://b/x.parquet", "s3a://c/x.parquet"], None),
        (["s3a://b/x.parquet", "abfss://b/x.parquet"], None),
        ([], None),
    ],
)
def test_the_directory_of_a_table_is_above_its_partitions(paths: list[str], directory: str | None) -> None:
    assert table_directory(paths) == directory
