"""A store says of each time what was there then, whatever happens to it."""

from multiprocessing import get_context
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import examples, unshrunk
from hypothesis import settings
from lake_world import World, run_world
from object_world import ObjectWorld

import pruning
from mutants.metadata.block_stores import MUTANTS
from pruning.metadata.files.listing import list_files
from pruning.metadata.store.store import open_store

WRITERS, FILES_OF_WRITER = 2, 12


def test_a_store_never_loses_or_doubles_a_block_and_tells_every_look_as_it_was() -> None:
    """STORE-1: under appends, deletes, rewrites, compactions, damage, other writers, crashes at any write."""
    run_world(World, steps=30, limits=examples(0.25))


def test_a_store_of_objects_never_loses_or_doubles_a_block() -> None:
    """STORE-1, where the store is in an object store."""
    run_world(ObjectWorld, steps=30, limits=examples(0.1))


@pytest.mark.deep
def test_ten_thousand_steps_lose_and_double_no_block() -> None:
    """STORE-1, at length: 300 worlds of 40 steps."""
    run_world(World, steps=40, limits=examples(300 / settings.default.max_examples))


@pytest.mark.deep
def test_thousands_of_steps_lose_no_block_among_objects() -> None:
    """STORE-1 at length, where the store is in an object store: 200 worlds of 40 steps."""
    run_world(ObjectWorld, steps=40, limits=examples(200 / settings.default.max_examples))


def test_a_version_that_was_deleted_is_not_written_again() -> None:
    """A writer that slept while others wrote whole histories finds its number free."""
    world = World()
    world.begin()
    sleeper = world.start(world.files, whole=False)
    for _ in range(8):
        world.write_some_and_look({"a": 0}, whole=False)
    world.wait_an_hour()
    newest = world.history()
    world.finish(sleeper)
    assert world.history() == newest
    world.whatever_is_kept_is_true()
    names = {path.name for path in Path(world.folder).glob(".skipproof/_store/*")}
    assert {file.pack + ".footers" for file in newest.files.values()} <= names
    world.teardown()


@pytest.mark.parametrize("mutant", MUTANTS)
def test_worlds_kill(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(*MUTANTS[mutant])
    with pytest.raises((AssertionError, KeyError)):
        run_world(World, steps=20, limits=unshrunk(300))


def _append_and_collect(folder: str, writer: int) -> None:
    for number in range(FILES_OF_WRITER):
        # A file under its name is complete, as Spark's are: the other writer lists the folder meanwhile.
        unfinished = Path(folder) / f"_{writer}-{number}"
        pq.write_table(pa.table({"x": [writer]}), unfinished)
        unfinished.rename(Path(folder) / f"{writer}-{number}.parquet")
        pruning.collect(folder)


def test_writers_in_several_processes_keep_all_files(tmp_path: Path) -> None:
    """Each adds files and looks at those of all."""
    context = get_context("spawn")
    writers = [
        context.Process(target=_append_and_collect, args=(str(tmp_path), number)) for number in range(WRITERS)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0] * WRITERS
    blocks = pruning.collect(tmp_path)
    assert blocks.num_rows == WRITERS * FILES_OF_WRITER
    assert blocks.equals(pruning.collect(tmp_path, cache=False))
    history = open_store(list_files(tmp_path)).version.history
    assert len(history.files) == WRITERS * FILES_OF_WRITER
    assert list(history.complete_us) == sorted(set(history.complete_us))
