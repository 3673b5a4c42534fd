"""Lakes in an object store that counts the requests: here S3, served by moto."""

import time
import warnings
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

import pruning
from mutants.metadata.remote_lakes import MUTANTS
from pruning.errors import InputError, SkippedFileWarning
from pruning.metadata.files import listing, locations, places
from pruning.metadata.files.listing import Contents, ListedFile, list_files
from pruning.metadata.store.past import complete_looks
from pruning.metadata.store.store import open_store
from tools.counting_stores import Request, Store, operations, s3_store

FILES = 30


@pytest.fixture(scope="module")
def bucket() -> Iterator[Store]:
    with s3_store("lakes") as store:
        yield store


@pytest.fixture
def lake(bucket: Store) -> Store:
    """An empty bucket."""
    system, name = fs.FileSystem.from_uri(bucket.root + bucket.query)
    system.delete_dir_contents(name, accept_root_dir=True)
    bucket.take()
    return bucket


@pytest.fixture
def metadata_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory that the user names for metadata. Files count as written ten seconds ago."""
    monkeypatch.setenv(places.ENVIRONMENT, str(tmp_path / "kept"))
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + 10 * 10**9)
    return tmp_path / "kept"


def write(lake: Store, path: str, numbers: range) -> None:
    with _output(lake, path) as file:
        pq.write_table(pa.table({"x": numbers}), file)


def write_text(lake: Store, path: str) -> None:
    with _output(lake, path) as file:
        file.write(b"{}")


def _output(lake: Store, path: str) -> Any:
    system, name = fs.FileSystem.from_uri(lake.uri(path))
    return system.open_output_stream(name)


def delete(lake: Store, path: str) -> None:
    system, name = fs.FileSystem.from_uri(lake.uri(path))
    system.delete_file(name)


def write_table(lake: Store, *, files: int = FILES) -> str:
    """Write a table of files, and return its URI."""
    for number in range(files):
        write(lake, f"t/{number:02}.parquet", range(10 * number, 10 * number + 10))
    lake.take()
    return lake.uri("t")


def minima(table: pa.Table) -> list[int]:
    return [block["x"]["min"] for block in table["columns"].to_pylist()]


def names_read(requests: list[Request]) -> list[str]:
    return sorted(request.path.rpartition("/")[2] for request in requests if request.operation == "GET")


def test_a_second_call_reads_no_footer_and_needs_the_listing_alone(
    lake: Store, metadata_folder: Path
) -> None:
    """A file that was changed and one that was added are noticed in the same run, and alone are read."""
    uri = write_table(lake)
    first = pruning.collect(uri)
    assert minima(first) == list(range(0, 10 * FILES, 10))
    # Arrow asks for the size of a file before it reads its end.
    assert operations(lake.take()) == {"LIST": 1, "HEAD": FILES, "GET": FILES}
    assert pruning.collect(uri).equals(first)
    assert operations(lake.take()) == {"LIST": 1}
    write(lake, "t/03.parquet", range(1_000, 1_020))
    write(lake, "t/added.parquet", range(2_000, 2_010))
    lake.take()
    changed = minima(pruning.collect(uri))
    assert (changed[3], changed[-1]) == (1_000, 2_000)
    requests = lake.take()
    assert names_read(requests) == ["03.parquet", "added.parquet"]
    assert operations(requests) == {"LIST": 1, "HEAD": 2, "GET": 2}


def test_a_complete_listing_removes_what_is_gone(lake: Store, metadata_folder: Path) -> None:
    uri = write_table(lake, files=3)
    pruning.collect(uri)
    delete(lake, "t/01.parquet")
    # A listing of some files tells nothing of others.
    pruning.collect(lake.uri("t/00.parquet"))
    assert _kept_names(uri) == ["00.parquet", "01.parquet", "02.parquet"]
    assert minima(pruning.collect(uri)) == [0, 20]
    assert _kept_names(uri) == ["00.parquet", "02.parquet"]
    assert [(look.files, look.removed) for look in complete_looks(uri)] == [(3, 0), (2, 1)]
    with pytest.raises(InputError, match="was in the table at"):
        pruning.collect(uri, as_of=complete_looks(uri)[0].time)


def _kept_names(uri: str) -> list[str]:
    return sorted(open_store(list_files(uri)).version.history.files)


def test_a_file_of_this_second_is_not_kept(
    lake: Store, metadata_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store's times are in whole seconds, so it may be written again without another time."""
    uri = write_table(lake, files=1)
    modified_ns = list_files(uri).files[0].modified_ns or 0
    assert modified_ns % 10**9 == 0
    lake.take()
    for age_ns, times_read in ((10**9, 2), (4 * 10**9, 1)):
        monkeypatch.setattr(time, "time_ns", lambda age_ns=age_ns: modified_ns + age_ns)
        for _ in range(2):
            pruning.collect(uri)
        assert names_read(lake.take()) == ["00.parquet"] * times_read


def test_many_named_files_are_listed_by_their_directory(lake: Store, metadata_folder: Path) -> None:
    """Three more requests look for the marks of table formats beside them."""
    write_table(lake, files=12)
    uris = [lake.uri(f"t/{number:02}.parquet") for number in range(12)]
    pruning.collect(uris)
    lake.take()
    assert minima(pruning.collect(uris)) == list(range(0, 120, 10))
    assert operations(lake.take()) == {"LIST": 4}
    with pytest.raises(InputError, match="does not exist"):
        pruning.collect([*uris, lake.uri("t/none.parquet")])


def test_a_pattern_asks_about_no_file_alone(lake: Store, metadata_folder: Path) -> None:
    write_table(lake, files=12)
    pattern = lake.uri("t/0*.parquet")
    first = pruning.collect(pattern)
    assert minima(first) == list(range(0, 100, 10))
    lake.take()
    assert pruning.collect(pattern).equals(first)
    # Two ask for a file of that name, and two for the directory.
    assert operations(lake.take()) == {"HEAD": 2, "LIST": 6}


@pytest.mark.parametrize(
    ("marker", "file", "read", "format_"),
    [
        ("_delta_log/0.json", "0.parquet", "t", "Delta Lake"),
        ("_delta_log/0.json", "p=1/0.parquet", "t/p=1", "Delta Lake"),
        ("_delta_log/inner/0.json", "0.parquet", "t", "Delta Lake"),
        ("metadata/v1.metadata.json", "data/0.parquet", "t", "Iceberg"),
        ("metadata/v1.metadata.json", "data/0.parquet", "t/data", "Iceberg"),
        ("metadata/readme.txt", "data/0.parquet", "t", None),
        (".hoodie/inner/0", "0.parquet", "t", "Hudi"),
        ("x/_delta_log/0.json", "0.parquet", "t", None),
    ],
)
def test_a_table_of_another_format_is_named(
    lake: Store, marker: str, file: str, read: str, format_: str | None
) -> None:
    write_text(lake, f"t/{marker}")
    write(lake, f"t/{file}", range(10))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pruning.collect(lake.uri(read))
    texts = [str(entry.message) for entry in caught if entry.category is not SkippedFileWarning]
    assert [format_] * len(texts) == [text.partition(": is a ")[2].partition(" table")[0] for text in texts]
    assert bool(texts) == (format_ is not None)


def test_a_directory_without_data_and_a_path_of_nothing_are_errors(lake: Store) -> None:
    write_text(lake, "empty/_hidden")
    for path, sentence in (("empty", "holds no data files"), ("none", "does not exist")):
        with pytest.raises(InputError, match=sentence):
            pruning.collect(lake.uri(path))


def test_an_index_is_refused(lake: Store, metadata_folder: Path) -> None:
    with pytest.raises(InputError, match="name a local path"):
        pruning.index(write_table(lake, files=1))


def test_blocks_tells_when_a_file_was_first_found(lake: Store, metadata_folder: Path) -> None:
    uri = write_table(lake, files=2)
    pruning.collect(uri)
    lake.take()
    table = pruning.blocks(uri)
    assert table["max"].to_pylist() == ["9", "19"]
    assert None not in table["first_seen"].to_pylist()
    assert operations(lake.take()) == {"LIST": 2}


def test_a_session_lists_what_arrow_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address that Arrow knows, where it has no credentials, and one that it does not know."""

    class Refusing:
        def get_file_info(self, _: Any) -> Any:
            raise OSError("no credentials")

    class Session:
        def contents(self, path: str, *, patterns: bool) -> list[Contents]:
            listed = ListedFile(
                file=path, path=path, local=False, size_bytes=1, modified_ns=1, by_session=True
            )
            return [Contents(files=[listed], parent=path.rpartition("/")[0])]

    locate = locations.locate
    monkeypatch.setattr(
        listing, "locate", lambda path: (Refusing(), "t") if path.startswith("s3:") else locate(path)
    )
    for path, sentence in (("s3://b/t", "cannot be listed"), ("nosuch://b/t", "no file system")):
        with pytest.raises(InputError, match=sentence):
            list_files(path)
        assert list_files(path, session=Session()).files[0].by_session


def test_an_address_is_of_one_endpoint_and_of_arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Elsewhere, the same path may be of other data."""
    for name in ("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"):
        monkeypatch.delenv(name, raising=False)
    plain = locations.address("s3a://b/t%20t/")
    assert plain == "arrow+s3://b/t t"
    others = [
        locations.address("s3://b/t%20t?endpoint_override=h"),
        locations.address("gs://b/t%20t"),
        locations.address("s3://c/t%20t"),
    ]
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://h")
    others.append(locations.address("s3://b/t%20t"))
    assert len({plain, *others}) == 5
    assert all(other.endswith("/t t") for other in others)


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_of_remote_lakes_is_found_out(
    name: str, lake: Store, metadata_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each makes one of these tests fail."""
    checks = {
        "a listing of a whole lake tells nothing of other files": partial(
            test_a_complete_listing_removes_what_is_gone, lake, metadata_folder
        ),
        "a listing of some files is of all": partial(
            test_a_complete_listing_removes_what_is_gone, lake, metadata_folder
        ),
        "an address is of any endpoint": partial(
            test_an_address_is_of_one_endpoint_and_of_arrow, monkeypatch
        ),
        "a directory is asked about before it is listed": partial(
            test_blocks_tells_when_a_file_was_first_found, lake, metadata_folder
        ),
        "marks of formats are looked for at the store": partial(
            test_blocks_tells_when_a_file_was_first_found, lake, metadata_folder
        ),
    }
    monkeypatch.setattr(*MUTANTS[name])
    with pytest.raises(AssertionError):
        checks[name]()
