"""Several users of one table: nobody's store stands in another's way, and all may profit from it."""

import os
import stat
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pruning
from pruning.metadata.files import listing
from pruning.metadata.files.locations import CACHE_DIRECTORY
from pruning.metadata.store import log
from pruning.metadata.store.collecting import collect, read_blocks
from pruning.metadata.store.store import open_store
from pruning.metadata.table import reading

NOBODY = 65_534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to be another user")


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Path]:
    """Two partitions, which everybody may read; what is made in the test has no umask."""
    before = os.umask(0)
    root = tmp_path / "t"
    for part in (1, 2):
        (root / f"part={part}").mkdir(parents=True)
        pq.write_table(pa.table({"x": [part]}), root / f"part={part}" / f"{part}.parquet")
    for place, directories, files in os.walk(root):
        for name in (*directories, "."):
            os.chmod(Path(place, name), 0o755)
        for name in files:
            os.chmod(Path(place, name), 0o644)
    yield root
    os.umask(before)


def modes(table: Path) -> tuple[set[int], set[int]]:
    """Those of the directories of the store, and of its files, the versions before the newest apart."""
    hidden = table / CACHE_DIRECTORY
    *_, newest = sorted((hidden / log.FOLDER).glob("v*"))
    used = {file.pack for file in open_store(listing.list_files(table)).version.history.files.values()}
    packs = [file for file in (hidden / log.FOLDER).iterdir() if file.name.partition(".")[0][:32] in used]
    return tuple(
        {stat.S_IMODE(path.stat().st_mode) for path in paths}
        for paths in ((hidden, hidden / log.FOLDER), (newest, *packs))
    )


@pytest.mark.parametrize("umask", [0o077, 0o022, 0o002])
@pytest.mark.parametrize(
    ("mode", "expected"), [(0o755, 0o644), (0o775, 0o664), (0o750, 0o640), (0o700, 0o600)]
)
def test_a_cache_has_the_modes_of_its_directory(table: Path, umask: int, mode: int, expected: int) -> None:
    """Whatever the umask of who wrote it; and of what others may read, no more."""
    for file in table.glob("*/*.parquet"):
        file.chmod(0o664)
    table.chmod(mode)
    os.umask(umask)
    collect(table)
    assert modes(table) == ({mode}, {expected})
    # What is there already gets them with each version, too.
    for file in (table / CACHE_DIRECTORY / log.FOLDER).iterdir():
        file.chmod(0o600)
    pq.write_table(pa.table({"x": [7, 8]}), table / "part=1" / "1.parquet")
    collect(table)
    assert modes(table)[1] == {expected}


def test_nobody_reads_in_a_cache_what_he_may_not_read_in_the_data(table: Path) -> None:
    """Bounds are values: one private file makes the cache private."""
    (table / "part=1" / "1.parquet").chmod(0o600)
    collect(table)
    assert modes(table) == ({0o755}, {0o600})
    (table / "part=1" / "1.parquet").chmod(0o640)
    os.utime(table / "part=2" / "2.parquet", ns=(10**18, 10**18))
    collect(table)
    assert modes(table)[1] == {0o640, 0o644}


def test_hidden_directories_are_never_listed(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of Spark's jobs and of others; but `_a=1` is a partition, as it is to Spark."""
    for name in (".skipproof", "_temporary", ".private", "part=1/_spark_metadata", "_a=1"):
        (table / name).mkdir()
        pq.write_table(pa.table({"x": [9]}), table / name / "9.parquet")
    opened: list[str] = []
    select = listing.fs.FileSelector

    def recorded(path: str, **options: Any) -> Any:
        opened.append(os.path.relpath(path, table))
        return select(path, **options)

    monkeypatch.setattr(listing.fs, "FileSelector", recorded)
    files = [os.path.relpath(file.path, table) for file in listing.list_files(table).files]
    assert files == ["_a=1/9.parquet", "part=1/1.parquet", "part=2/2.parquet"]
    assert sorted(opened) == [".", "_a=1", "part=1", "part=2"]


def as_nobody(work: Callable[[], Any]) -> str:
    """Run a function in a child process of another user; return what it prints, or how it failed."""
    readable, writable = os.pipe()
    child = os.fork()
    if not child:
        try:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
            answer = repr(work())
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writable, answer.encode())
        os._exit(0)
    os.close(writable)
    with os.fdopen(readable) as answers:
        text = answers.read()
    os.waitpid(child, 0)
    return text


@pytest.fixture
def reachable(table: Path) -> Path:
    """The table, with every directory above it open to everybody."""
    for place in table.parents:
        if place.stat().st_uid == os.geteuid() and len(place.parts) > 2:
            place.chmod(place.stat().st_mode | 0o055)
    return table


@needs_root
def test_what_another_user_hides_is_passed_over(reachable: Path) -> None:
    """With a umask of 077, a hidden directory has the mode 0700."""
    for name in (CACHE_DIRECTORY, "_temporary", ".hidden"):
        (reachable / name).mkdir(mode=0o700)
        (reachable / name).chmod(0o700)
    assert as_nobody(lambda: collect(reachable).num_rows) == "2"
    assert as_nobody(lambda: collect(reachable / "part=1").num_rows) == "1"
    assert as_nobody(lambda: read_blocks([f"{reachable}/part=1/1.parquet"])[0].num_rows) == "1"


@needs_root
def test_a_log_that_another_user_may_not_read_stays_as_it_is(reachable: Path) -> None:
    """One private file makes it private; who may write beside the data does not begin it anew."""
    (reachable / "part=1" / "1.parquet").chmod(0o600)
    reachable.chmod(0o777)
    collect(reachable)

    def contents() -> dict[str, bytes]:
        kept = (reachable / CACHE_DIRECTORY / log.FOLDER).iterdir()
        return {file.name: file.read_bytes() for file in kept}

    def query() -> int:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            return int(read_blocks([f"{reachable}/part=2/2.parquet"])[0].num_rows)

    before = contents()
    assert as_nobody(query) == "1"
    assert contents() == before


@needs_root
def test_another_user_profits(reachable: Path) -> None:
    """Of the cache that the first user wrote with a umask of 077; nothing is read again."""
    os.umask(0o077)
    collect(reachable)
    pruning.index(reachable)

    def footers() -> list[str]:
        seen: list[str] = []
        reading.read_footer_bytes = lambda file: seen.append(file)
        assert "memberships" in collect(reachable).schema.names
        collect(reachable / "part=2")
        return seen

    assert as_nobody(footers) == "[]"


def test_a_query_of_one_partition_uses_the_cache_of_the_table(table: Path, reads: list[str]) -> None:
    """It finds what is kept there, and keeps what is new there, not in a directory of its own."""
    collect(table)
    pruning.index(table)
    reads.clear()
    for paths in (table / "part=1", table / "part=1" / "1.parquet"):
        assert "memberships" in collect(paths).schema.names
    known, failures, _ = read_blocks([f"{table}/part=2/2.parquet"])
    assert (known.num_rows, failures, reads) == (1, {}, [])
    pq.write_table(pa.table({"x": [5, 6]}), table / "part=1" / "1.parquet")
    collect(table / "part=1")
    assert reads == ["1.parquet"]
    collect(table)
    assert reads == ["1.parquet"]
    assert not (table / "part=1" / CACHE_DIRECTORY).exists()


def test_partitions_of_partitions_find_the_table_too(tmp_path: Path, reads: list[str]) -> None:
    deep = tmp_path / "t" / "year=2020" / "month=1"
    deep.mkdir(parents=True)
    pq.write_table(pa.table({"x": [1]}), deep / "1.parquet")
    collect(deep)
    assert os.listdir(deep / CACHE_DIRECTORY) == [log.FOLDER]
    collect(tmp_path / "t")
    reads.clear()
    collect(tmp_path / "t" / "year=2020")
    collect(deep)
    assert reads == []
    assert not (tmp_path / "t" / "year=2020" / CACHE_DIRECTORY).exists()


def test_what_a_partition_kept_of_its_own_is_used_still(table: Path, reads: list[str]) -> None:
    """An index of one partition, made before the table had a cache."""
    pruning.index(table / "part=1")
    collect(table)
    assert "memberships" in collect(table / "part=1").schema.names
    # The directory above is no partition's, so its cache is not the table's.
    (table.parent / CACHE_DIRECTORY).mkdir()
    collect(table)
    assert os.listdir(table.parent / CACHE_DIRECTORY) == []


def test_a_stale_entry_in_the_cache_of_the_table_is_not_used(table: Path) -> None:
    """By size and time, as in a cache of its own."""
    collect(table)
    pq.write_table(pa.table({"x": [70, 80]}), table / "part=1" / "1.parquet")
    (row,) = collect(table / "part=1")["columns"].to_pylist()
    assert (row["x"]["min"], row["x"]["max"]) == (70, 80)


def test_what_an_older_version_left_is_removed(table: Path) -> None:
    """Spark reads `table/*` with the cache in it, and would take such a file for data."""
    (table / CACHE_DIRECTORY).mkdir()
    (table / CACHE_DIRECTORY / "_blocks.arrow").write_bytes(b"old")
    collect(table)
    assert os.listdir(table / CACHE_DIRECTORY) == [log.FOLDER]


def test_a_stray_file_is_skipped_and_said(table: Path) -> None:
    """A note among the data; a damaged Parquet file is none, nor is one that was named."""
    (table / "notes.txt").write_text("look at me")
    (table / "_notes.txt").write_text("hidden")
    (table / "part=1" / "0.parquet").touch()
    with pytest.warns(pruning.errors.SkippedFileWarning, match=r"notes\.txt and 1 more: skipped"):
        metadata = collect(table)
    assert metadata["file"].to_pylist() == [f"{table}/part={part}/{part}.parquet" for part in (1, 2)]
    with pytest.warns(pruning.errors.SkippedFileWarning):
        assert collect(table, verify=True).equals(metadata)
    report = pruning.index(table)
    assert any("notes.txt" in sentence for sentence in report.failures.values())
    for path, content in (("part=2/half", b"PAR1 and then nothing"), ("part=2/x.parquet", b"no data")):
        (table / path).write_bytes(content)
        with pytest.raises(pruning.errors.InputError, match=path):
            collect(table)
        (table / path).unlink()
    with pytest.raises(pruning.errors.InputError, match="notes"):
        collect(table / "notes.txt")
    (table / "only").mkdir()
    (table / "only" / "notes.txt").write_text("nothing else")
    with pytest.raises(pruning.errors.InputError, match="notes"):
        collect(table / "only")


def test_the_warning_names_the_line_that_called(table: Path) -> None:
    """In a fresh process, where nothing is filtered."""
    (table / "notes.txt").write_text("look at me")
    code = f"import pruning; print(pruning.collect({str(table)!r}).num_rows)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "2\n"
    assert "<string>:1: SkippedFileWarning" in done.stderr
