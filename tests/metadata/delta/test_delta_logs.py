"""Versions and times of tables of Delta Lake, logs that are damaged, and what is not read."""

import json
import struct
from collections.abc import Callable
from pathlib import Path

import pytest
from delta_logs import WrittenLog, add, column, inline, metadata, protocol, remove, stored_vectors, text_of

from pruning.errors import InputError
from pruning.metadata.delta.opening import open_delta_version

START = (protocol(), metadata(column("v")))


def three_versions(root: Path) -> WrittenLog:
    """A table whose files are "a", then "a" and "b", then "b"."""
    log = WrittenLog(root / "t")
    log.commit(*START, add("a"), time_ms=1_000)
    log.commit(add("b"), time_ms=5_000)
    return log.commit(remove("a"), time_ms=3_000)


def names(path: str, **options: int) -> list[str]:
    return [Path(file).name for file in open_delta_version(path, **options).files.paths]


def refusal(path: str, **options: int) -> str:
    with pytest.raises(InputError) as error:
        open_delta_version(path, **options)
    assert "\n" not in str(error.value)
    return str(error.value)


def test_each_version_is_read_under_a_path_or_a_uri(tmp_path: Path) -> None:
    path = str(three_versions(tmp_path).root)
    assert [names(path, version=version) for version in range(3)] == [["a"], ["a", "b"], ["b"]]
    table = open_delta_version(f"file://{path}/")
    assert (table.format, table.location, table.version) == ("Delta Lake", path, 2)
    assert table.files.paths == (f"{path}/b",)
    assert (table.files.byte_counts.tolist(), table.files.modified_ms.tolist()) == ([10], [5])
    assert "has no version 3; its versions are 0 to 2" in refusal(path, version=3)
    assert "has no version -1" in refusal(path, version=-1)
    assert "give version or timestamp_us, not both" in refusal(path, version=1, timestamp_us=1)


def test_a_time_chooses_the_newest_commit_until_then(tmp_path: Path) -> None:
    """The last commit has an earlier time than the one before it, and so counts as a millisecond later."""
    path = str(three_versions(tmp_path).root)
    times_ms = (1_000, 4_999, 5_000, 5_001, 9_000_000)
    versions = [open_delta_version(path, timestamp_us=time * 1000).version for time in times_ms]
    assert versions == [0, 0, 1, 2, 2]
    assert "no version that was committed at 999999 us" in refusal(path, timestamp_us=999_999)


def own_times(root: Path, enabled_at: int) -> WrittenLog:
    """A table whose commits say their times from a version on: 10 s, 20 s, ...; their files are later."""
    log = WrittenLog(root / "t")
    properties = {"delta.enableInCommitTimestamps": "true"}
    if enabled_at:
        properties["delta.inCommitTimestampEnablementVersion"] = str(enabled_at)
        properties["delta.inCommitTimestampEnablementTimestamp"] = str(10_000 * (enabled_at + 1))
    for version in range(6):
        own = {"inCommitTimestamp": 10_000 * (version + 1)} if version >= enabled_at else {}
        first = (
            (protocol(), metadata(column("v"), configuration=properties))
            if version in (0, enabled_at)
            else ()
        )
        log.commit({"commitInfo": own}, *first, add(str(version)), time_ms=1_000 * (version + 1))
    return log


@pytest.mark.parametrize("enabled_at", [0, 2])
def test_commits_that_say_their_time_are_believed(enabled_at: int, tmp_path: Path) -> None:
    path = str(own_times(tmp_path, enabled_at).root)
    for version in range(enabled_at, 6):
        for offset_ms in (0, 9_999):
            time_us = (10_000 * (version + 1) + offset_ms) * 1000
            assert open_delta_version(path, timestamp_us=time_us).version == version
    if enabled_at:
        assert open_delta_version(path, timestamp_us=1_500_000).version == 0
        assert open_delta_version(path, timestamp_us=29_000_000).version == 1
    else:
        assert "has no version that was committed" in refusal(path, timestamp_us=9_000_000)


def test_a_commit_that_lacks_its_time_is_refused(tmp_path: Path) -> None:
    log = own_times(tmp_path, 0)
    log.commit_path(2).write_text(text_of([add("2")]))
    assert "2.json: lacks the time of its commit" in refusal(str(log.root), timestamp_us=35_000_000)


def test_a_log_that_was_cleaned_begins_with_its_checkpoint(tmp_path: Path) -> None:
    log = three_versions(tmp_path)
    log.checkpoint(1, [*START, add("a"), add("b")], "classic")
    (log.log / "_last_checkpoint").write_text('{"version": 70}')
    for version in (0, 1):
        log.commit_path(version).unlink()
    path = str(log.root)
    assert (names(path, version=1), names(path)) == (["a", "b"], ["b"])
    assert "version 0 can no longer be read" in refusal(path, version=0)
    assert "because its log begins with version 1" in refusal(path, timestamp_us=1_000_000)


def lose_checkpoint(log: WrittenLog) -> None:
    """Clean the log up to a checkpoint, and lose that."""
    log.commit_path(0).unlink()


def lose_part(log: WrittenLog) -> None:
    log.checkpoint(1, [*START, add("a"), add("b")], "parts")[1].unlink()
    lose_checkpoint(log)


def lose_sidecar(log: WrittenLog) -> None:
    log.checkpoint(1, [*START, add("a"), add("b")], "json")
    next((log.log / "_sidecars").iterdir()).unlink()


def cut_checkpoint(log: WrittenLog) -> None:
    (path,) = log.checkpoint(1, [*START, add("a"), add("b")], "classic")
    path.write_bytes(path.read_bytes()[:-9])


def write_into(version: int, text: str) -> Callable[[WrittenLog], None]:
    def damage(log: WrittenLog) -> None:
        log.commit_path(version).write_text(text)

    return damage


DAMAGES = [
    (lambda log: log.commit_path(1).unlink(), "1.json: is missing, and version 2 of the table"),
    (lose_checkpoint, "version 2 can no longer be read, because commits before version 1"),
    (lose_part, "version 2 can no longer be read"),
    (lose_sidecar, "_sidecars/00000000-0000-0000-0000-00000000000"),
    (cut_checkpoint, "1.checkpoint.parquet: is damaged"),
    (write_into(1, '{"add":{"path":"b"'), "1.json: line 1 is no action in JSON"),
    (write_into(1, "\n[]"), "1.json: line 2 is no action"),
    (write_into(1, '{"add":["b"]}'), "1.json: line 1 is no action"),
    (write_into(1, '{"add":{"size":3}}'), "1.json: line 1 names no file"),
    (
        write_into(1, '{"add":{"path":"b","size":"large"}}'),
        "1.json: a file's action has a field of another type",
    ),
    (write_into(1, '{"add":{"path":"b","size":' + "9" * 30 + "}}"), "has a field of another type"),
    (write_into(1, '{"add":{"path":"b"}}'), "/t/b: the log of "),
    (write_into(1, ""), "1.json: is empty"),
    (lambda log: log.commit_path(1).write_bytes(b"\xff"), "1.json: is no text"),
    (write_into(0, text_of([protocol(), add("a")])), "its log has no metadata"),
    (write_into(0, text_of([START[1], add("a")])), "its log has no protocol"),
    (
        write_into(0, text_of([START[0], {"metaData": {"schemaString": "{"}}])),
        "its schema in the log is damaged",
    ),
    (write_into(0, text_of([START[0], {"metaData": {}}])), "its schema in the log is damaged"),
]


@pytest.mark.parametrize(("damage", "sentence"), DAMAGES, ids=[sentence[:40] for _, sentence in DAMAGES])
def test_a_damaged_log_is_one_sentence(
    damage: Callable[[WrittenLog], None], sentence: str, tmp_path: Path
) -> None:
    log = three_versions(tmp_path)
    damage(log)
    assert sentence in refusal(str(log.root))


def test_a_directory_without_a_log_is_no_table(tmp_path: Path) -> None:
    assert "is no table of Delta Lake" in refusal(str(tmp_path))
    (tmp_path / "_delta_log").mkdir()
    assert "is no table of Delta Lake" in refusal(str(tmp_path))
    assert "is no table of Delta Lake" in refusal(str(tmp_path / "none"))


def test_what_readers_must_know_is_known_or_refused(tmp_path: Path) -> None:
    log = WrittenLog(tmp_path / "t").commit(protocol(3, "catalogManaged"), START[1])
    assert "uses the feature 'catalogManaged' of Delta's protocol" in refusal(str(log.root))
    log.commit_path(0).write_text(text_of([protocol(4), START[1]]))
    assert "needs readers of version 4" in refusal(str(log.root))
    writers_only = {
        "protocol": {"minReaderVersion": 1, "minWriterVersion": 7, "writerFeatures": ["rowTracking"]}
    }
    log.commit_path(0).write_text(text_of([writers_only, START[1]]))
    assert open_delta_version(str(log.root)).version == 0
    mapped = metadata(column("v"), configuration={"delta.columnMapping.mode": "both"})
    log.commit_path(0).write_text(text_of([protocol(2), mapped]))
    assert "delta.columnMapping.mode = 'both'" in refusal(str(log.root))


def test_absolute_paths_and_uris_are_files_elsewhere(tmp_path: Path) -> None:
    log = WrittenLog(tmp_path / "t")
    log.commit(*START, add("/else/a%20b"), add("file:///else/c%25"), add("s3://lake/d%20e"))
    paths = ("/else/a b", "/else/c%", "s3://lake/d e")
    assert open_delta_version(str(log.root)).files.paths == paths


def test_vectors_of_one_file_are_read_at_once(tmp_path: Path) -> None:
    log = WrittenLog(tmp_path / "t")
    first, second = stored_vectors(log.root, [[1, 70_000], [2]], prefix="ab")
    last = inline([3])
    log.commit(*START, add("a", deletionVector=first), add("b"), add("c", deletionVector=second))
    log.commit(add("d", deletionVector=last))
    rows = open_delta_version(str(log.root)).deleted_rows
    assert rows.mask.tolist() == [True, False, True, True]
    assert [list(bitmap) for bitmap in rows.positions([2, 0, 1, 3, 2])] == [[2], [1, 70_000], [], [3], [2]]
    assert rows.positions([]) == []


def cut(data: bytes) -> bytes:
    return data[:-3]


def flip(data: bytes) -> bytes:
    return data[:20] + bytes([data[20] ^ 1]) + data[21:]


def resize(data: bytes) -> bytes:
    return data[:1] + struct.pack(">I", 7) + data[5:]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (cut, "has no deletion vector of"),
        (flip, "at 1 is damaged (wrong checksum)"),
        (resize, "has no deletion vector of"),
        (lambda data: b"\x02" + data[1:], "is no file of deletion vectors of version 1"),
        (None, "cannot be read"),
    ],
)
def test_a_damaged_file_of_vectors_is_one_sentence(
    change: Callable[[bytes], bytes] | None, sentence: str, tmp_path: Path
) -> None:
    log = WrittenLog(tmp_path / "t")
    (vector,) = stored_vectors(log.root, [[1, 5]])
    log.commit(*START, add("a", deletionVector=vector))
    (path,) = log.root.glob("*.bin")
    content = path.read_bytes()
    path.unlink()
    if change is not None:
        path.write_bytes(change(content))
    rows = open_delta_version(str(log.root)).deleted_rows
    with pytest.raises(InputError, match="deletion_vector_12345678") as error:
        rows.positions([0])
    assert sentence in str(error.value)
    assert json.dumps(str(error.value)).count("\\n") == 0
