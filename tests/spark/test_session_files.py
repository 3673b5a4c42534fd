"""Paths that Arrow cannot read, listed and read by a session: here WebHDFS, whose requests are counted."""

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from mutants.metadata.session_files import MUTANTS
from pruning.errors import InputError, SkippedFileWarning
from pruning.metadata.files import places
from pruning.metadata.files.listing import list_files
from pruning.metadata.store.store import open_store
from pruning.spark.lake.hadoop_files import HadoopFiles
from tools.counting_stores import Request, Store, operations, webhdfs_store

LONG_AGO_NS = 1_600_000_000_123_000_000
# So many that their directory is listed.
FILES = 9
# A space, signs that URIs escape or give a meaning, and letters beyond ASCII; directories; hidden names.
NAMES = (
    *("a b.parquet", "50%25.parquet", "c+d#e.parquet", "é\u0301ß.parquet", "d.parquet"),
    *("p=1/deep/0.parquet", "p=2/0.parquet", "_p=3/0.parquet"),
)
HIDDEN = ("_hidden/0.parquet", ".hidden.parquet", "p=1/_SUCCESS", "a.parquet._COPYING_")


@pytest.fixture
def store_and_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Path, Store]]:
    """A local directory and the store that serves it; a directory is named for metadata."""
    monkeypatch.setenv(places.ENVIRONMENT, str(tmp_path / "kept"))
    with webhdfs_store(tmp_path / "served") as store:
        yield tmp_path / "served", store


def write(folder: Path, name: str, numbers: range) -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"x": numbers}), folder / name, row_group_size=5)
    os.utime(folder / name, ns=(LONG_AGO_NS, LONG_AGO_NS))


def write_table(folder: Path, files: int = FILES) -> None:
    for number in range(files):
        write(folder, f"t/{number:02}.parquet", range(10 * number, 10 * number + 10))


def relative_names(table: pa.Table, root: str) -> list[str]:
    return [file.removeprefix(root) for file in dict.fromkeys(table["file"].to_pylist())]


def footers_read(requests: list[Request]) -> list[str]:
    return sorted(request.path.rpartition("/")[2] for request in requests if request.operation == "OPEN")


def test_a_second_query_asks_for_the_marks_of_formats_alone(
    spark: Any, store_and_folder: tuple[Path, Store]
) -> None:
    """Spark's own requests, of before `prune` and of the query, are taken apart."""
    folder, store = store_and_folder
    write_table(folder)

    def pruned_names(condition: str) -> list[str]:
        df = spark.read.parquet(store.uri("t")).where(condition)
        store.take()
        return sorted(Path(file).name for file in pruning.prune(df).inputFiles())

    assert pruned_names("x = 35") == ["03.parquet"]
    first = store.take()
    # A name node redirects whoever opens a file. All files are shorter than the end that is read.
    opened = {"REDIRECT": FILES, "OPEN": FILES}
    assert operations(first) == {"LISTSTATUS": 4} | opened
    sizes = {f"/t/{path.name}": path.stat().st_size for path in (folder / "t").iterdir()}
    assert {request.path: request.size_bytes for request in first if request.start == 0} == sizes
    assert pruned_names("x = 45") == ["04.parquet"]
    assert operations(store.take()) == {"LISTSTATUS": 3}
    write(folder, "t/05.parquet", range(30, 60))
    write(folder, "t/added.parquet", range(30, 40))
    assert pruned_names("x = 35") == ["03.parquet", "05.parquet", "added.parquet"]
    assert footers_read(store.take()) == ["05.parquet", "added.parquet"]


def test_a_pruned_query_opens_the_files_that_are_left(
    spark: Any, store_and_folder: tuple[Path, Store]
) -> None:
    """Pruning asks for nothing while the query runs."""
    folder, store = store_and_folder
    write_table(folder)
    df = spark.read.parquet(store.uri("t")).where("x = 35")
    pruned = pruning.prune(df)
    requests = {}
    for name, frame in (("alone", df), ("pruned", pruned)):
        store.take()
        assert [row.x for row in frame.collect()] == [35]
        requests[name] = store.take()
    assert len({request.path for request in requests["alone"]}) == FILES
    assert {request.path for request in requests["pruned"]} == {"/t/03.parquet"}


def test_collect_and_prune_share_what_is_kept(spark: Any, store_and_folder: tuple[Path, Store]) -> None:
    folder, store = store_and_folder
    write_table(folder)
    pruning.prune(spark.read.parquet(store.uri("t")).where("x = 35"))
    store.take()
    table = pruning.collect(store.uri("t"), spark=spark)
    assert operations(store.take()) == {"LISTSTATUS": 1}
    local = pruning.collect(folder / "t", cache=False)
    assert table.drop(["file"]).equals(local.drop(["file"]))
    assert relative_names(table, store.uri("t")) == relative_names(local, str(folder / "t"))


@pytest.mark.parametrize(
    ("remote", "local"),
    [
        (["t"], ["t"]),
        (["t/"], ["t"]),
        (["t/p=1"], ["t/p=1"]),
        (["t/a%20b.parquet"], ["t/a b.parquet"]),
        (["t/*.parquet"], ["t/*.parquet"]),
        (["t/{p,_p}=[13]"], ["t/{p,_p}=[13]"]),
        (["t/p=2", "t/p=1", "t/d.parquet"], ["t/p=2", "t/p=1", "t/d.parquet"]),
    ],
)
def test_a_path_is_read_as_its_local_twin(
    spark: Any, store_and_folder: tuple[Path, Store], remote: list[str], local: list[str]
) -> None:
    """Of a directory at any depth, hidden names left out; of a file, a pattern, and a sequence."""
    folder, store = store_and_folder
    for number, name in enumerate(NAMES):
        write(folder, f"t/{name}", range(number, number + 10))
    for hidden in HIDDEN:
        write(folder, f"t/{hidden}", range(10))
    table = pruning.collect([store.uri(path) for path in remote], spark=spark)
    twin = pruning.collect([str(folder / path) for path in local], cache=False)
    assert table.drop(["file"]).equals(twin.drop(["file"]))
    names = [os.path.relpath(file, folder) for file in twin["file"].to_pylist()]
    assert [unquote(file).removeprefix(f"{store.root}/") for file in table["file"].to_pylist()] == names


def test_classify_and_blocks_read_by_the_session(spark: Any, store_and_folder: tuple[Path, Store]) -> None:
    """A partition column is known, too; nothing is read again that is kept."""
    folder, store = store_and_folder
    for number in range(4):
        write(folder, f"t/p={number}/0.parquet", range(10 * number, 10 * number + 10))
    uri = store.uri("t")
    assert pruning.classify("x = 12 OR p = 3", uri).to_pylist() == [0, 0, 1, 0, 0, 0, 2, 2]
    store.take()
    table = pruning.blocks(uri, spark=spark)
    assert table["min"].to_pylist() == [str(number) for number in range(0, 40, 5)]
    assert None not in table["first_seen"].to_pylist()
    assert footers_read(store.take()) == []
    assert "1 of 4 kept" in str(pruning.explain(spark.read.parquet(uri).where("x = 12")))


def test_a_complete_listing_removes_what_is_gone(spark: Any, store_and_folder: tuple[Path, Store]) -> None:
    folder, store = store_and_folder
    write_table(folder, files=3)
    pruning.collect(store.uri("t"), spark=spark)
    (folder / "t/01.parquet").unlink()
    pruning.collect(store.uri("t/00.parquet"), spark=spark)
    assert kept_names(spark, store) == ["00.parquet", "01.parquet", "02.parquet"]
    pruning.collect(store.uri("t"), spark=spark)
    assert kept_names(spark, store) == ["00.parquet", "02.parquet"]


def kept_names(spark: Any, store: Store) -> list[str]:
    listing = list_files(store.uri("t"), session=HadoopFiles(spark))
    return sorted(open_store(listing).version.history.files)


@pytest.mark.parametrize("content", [b"", b"no Parquet at all", b"PAR1 but cut off"])
def test_a_stray_file_is_left_out(spark: Any, store_and_folder: tuple[Path, Store], content: bytes) -> None:
    """Unless it begins as Parquet does: then it is damaged, and an error."""
    folder, store = store_and_folder
    write(folder, "t/0.parquet", range(10))
    (folder / "t/notes").write_bytes(content)
    for root, session in ((store.uri("t"), spark), (str(folder / "t"), None)):
        if content.startswith(b"PAR1"):
            with pytest.raises(InputError, match="notes: is not a complete Parquet file"):
                pruning.collect(root, spark=session)
        else:
            with pytest.warns(SkippedFileWarning, match="notes: skipped"):
                assert pruning.collect(root, spark=session).num_rows == 2


@pytest.mark.parametrize(
    ("marker", "read", "format_"),
    [
        ("t/_delta_log/0.json", "t", "Delta Lake"),
        ("t/_delta_log/0.json", "t/p=1", "Delta Lake"),
        ("metadata/v1.metadata.json", "data", "Iceberg"),
    ],
)
def test_a_table_of_another_format_is_named(
    spark: Any, store_and_folder: tuple[Path, Store], marker: str, read: str, format_: str
) -> None:
    """By `collect`, and by the report of a query, which looks at the store again."""
    folder, store = store_and_folder
    (folder / marker).parent.mkdir(parents=True)
    (folder / marker).write_text("{}")
    write(folder, f"{read}/0.parquet", range(10))
    with pytest.warns(UserWarning, match=f"is a {format_} table"):
        pruning.collect(store.uri(read), spark=spark)
    if read == "t":
        (scan,) = pruning.explain(spark.read.parquet(store.uri(read)).where("x > 5")).scans
        assert [note for note in scan.notes if f"is a {format_} table" in note]


@pytest.mark.parametrize(
    ("path", "sentence"),
    [
        ("none", "does not exist; check the path"),
        ("none*", "matches no file or directory; check the pattern"),
        ("empty", "holds no data files"),
        ("empty*", "matches no data files; check the pattern"),
    ],
)
def test_a_path_of_nothing_is_one_error(
    spark: Any, store_and_folder: tuple[Path, Store], path: str, sentence: str
) -> None:
    folder, store = store_and_folder
    (folder / "empty").mkdir(parents=True)
    with pytest.raises(InputError, match=sentence):
        pruning.collect(store.uri(path), spark=spark)


def test_without_a_session_that_knows_the_scheme_an_error_says_what_to_do(
    spark: Any, store_and_folder: tuple[Path, Store]
) -> None:
    _, store = store_and_folder
    for read in (pruning.collect, pruning.blocks):
        with pytest.raises(
            InputError, match=r"let a Spark session read it: pruning.collect\(path, spark=spark\)"
        ):
            read(store.uri("t"))
    with pytest.raises(InputError, match=r"nosuch:/t: cannot be listed .*nosuch"):
        pruning.collect("nosuch:/t", spark=spark)


def test_a_directory_that_cannot_be_listed_is_no_empty_one(
    spark: Any, store_and_folder: tuple[Path, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the files in it would count as gone."""
    folder, store = store_and_folder
    write(folder, "t/p=1/0.parquet", range(10))
    write(folder, "t/p=2/0.parquet", range(10))
    pruning.collect(store.uri("t"), spark=spark)
    store.refused = "/t/p=2"
    with pytest.raises(InputError, match="p=2: cannot be listed"):
        pruning.collect(store.uri("t"), spark=spark)
    store.refused = ""
    assert kept_names(spark, store) == ["p=1/0.parquet", "p=2/0.parquet"]


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_session_files_is_found_out(
    name: str, spark: Any, store_and_folder: tuple[Path, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each makes one of these tests fail."""
    checks = {
        "hidden names are data": partial(
            test_a_path_is_read_as_its_local_twin, spark, store_and_folder, ["t"], ["t"]
        ),
        "every file is Parquet": partial(test_a_stray_file_is_left_out, spark, store_and_folder, b"no"),
        "what cannot be listed is empty": partial(
            test_a_directory_that_cannot_be_listed_is_no_empty_one, spark, store_and_folder, monkeypatch
        ),
        "nothing is kept": partial(test_classify_and_blocks_read_by_the_session, spark, store_and_folder),
    }
    monkeypatch.setattr(*MUTANTS[name])
    with pytest.raises((AssertionError, InputError, pytest.fail.Exception)):
        checks[name]()
