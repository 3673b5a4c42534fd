"""A lake that changes while stores look at it, as a state machine: with crashes, damage and other writers.

The world knows what each look saw, so that it knows what the store may say of any time.
"""

import contextlib
import functools
import itertools
import os
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
from crashing import Crash, crash_at
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from snapshot_checks import check_snapshot

from pruning.errors import DamagedMetadataWarning
from pruning.metadata.files.listing import ListedFile, Listing
from pruning.metadata.files.places import places_of
from pruning.metadata.footers.footer import read_footer_bytes
from pruning.metadata.store import history, log, packs, recording, store
from pruning.metadata.table.blocks import unite
from pruning.metadata.table.reading import ReadResult, shards_of_footers

VALUES = 4
NAMES = ("a", "b", "c", "d", "e")
VALUES_BY_NAME = st.dictionaries(st.sampled_from(NAMES), st.integers(0, VALUES - 1), min_size=1, max_size=3)
# Small, so that a few steps reach them.
LIMITS = (
    (recording, "PACKS_MAX", 3),
    (log, "CHANGES_MAX", 3),
    (history, "FORMER_MAX", 5),
    (history, "COMPLETE_LOOKS_MAX", 6),
)
HOUR_SECONDS = 3_700
# The calls by which a store changes files; a crash comes before or after one of them.
WRITES = tuple((os, name) for name in ("link", "replace", "unlink", "mkdir", "utime", "chmod", "fdopen"))


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as a look saw it: its size and time, and the value in it."""

    stamp: tuple[int, int]
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A look that has begun: the store as it was opened, what was listed, and the footers that were read.

    `damage_count` tells how often the store had been damaged then.
    """

    store: store.Store
    listing: Listing
    files: Mapping[str, Seen]
    read: ReadResult
    damage_count: int


@functools.cache
def footers() -> tuple[bytes, ...]:
    """Return the footers of files of one to four row groups, which hold the number of the file."""
    with tempfile.TemporaryDirectory() as folder:
        for value in range(VALUES):
            table = pa.table({"x": [value] * (value + 1)})
            pq.write_table(table, Path(folder, f"{value}"), row_group_size=1)
        return tuple(read_footer_bytes(f"{folder}/{value}") for value in range(VALUES))


class World(RuleBasedStateMachine):
    """A directory of files, and what looks at it have seen."""

    writes: tuple[tuple[Any, str], ...] = WRITES

    @initialize()
    def begin(self) -> None:
        self.folder = tempfile.mkdtemp()
        self.undo = contextlib.ExitStack()
        for owner, name, limit in LIMITS:
            self.undo.enter_context(patch.object(owner, name, limit))
        # Names by chance would let two runs of one example differ.
        names = (uuid.UUID(int=number) for number in itertools.count())
        self.undo.enter_context(patch.object(uuid, "uuid4", lambda: next(names)))
        self.undo.enter_context(patch.object(recording, "_now_us", self.slow_clock))
        self.files: dict[str, Seen] = {}
        self.now = 0
        self.saw: dict[int, dict[str, Seen]] = {}
        self.pending: list[Look] = []
        self.complete_us: tuple[int, ...] = ()
        self.damage_count = 0
        self.write("a", 0)

    def teardown(self) -> None:
        self.undo.close()
        shutil.rmtree(self.folder)
        forget()

    def slow_clock(self) -> int:
        """Return the time by a clock that is behind that of other machines."""
        return self.now - 3

    def write(self, name: str, value: int) -> None:
        """Write a file at a new time; its size says nothing about what is in it."""
        self.now += 1
        path = Path(self.folder, name)
        path.write_bytes(b"x")
        modified_ns = 10**18 + self.now
        os.utime(path, ns=(modified_ns, modified_ns))
        self.files[name] = Seen((1, modified_ns), value)

    @rule(name=st.sampled_from(NAMES), value=st.integers(0, VALUES - 1))
    def write_file(self, name: str, value: int) -> None:
        self.write(name, value)

    @rule(data=st.data())
    @precondition(lambda self: len(self.files) > 1)
    def delete_file(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.files)))
        Path(self.folder, name).unlink()
        del self.files[name]

    def start(self, names: Mapping[str, Seen], *, whole: bool) -> Look:
        """Open the store and read what it does not keep, as collecting does."""
        self.now += 1
        listing = self.listing(names, whole=whole)
        opened = store.open_store(listing)
        kept = {file for shard in store.kept_shards(opened, listing) for file in shard.files}
        unread = [(f"lake/{name}", footers()[seen.value]) for name, seen in names.items()]
        read = shards_of_footers(pair for pair in unread if pair[0] not in kept)
        if whole:
            self.saw[listing.looked_us] = dict(names)
        return Look(
            store=opened, listing=listing, files=dict(names), read=read, damage_count=self.damage_count
        )

    def listing(self, names: Mapping[str, Seen], *, whole: bool = False) -> Listing:
        listed = [
            ListedFile(
                file=f"lake/{name}",
                path=f"{self.folder}/{name}",
                local=True,
                size_bytes=seen.stamp[0],
                modified_ns=seen.stamp[1],
                named=False,
            )
            for name, seen in sorted(names.items())
        ]
        return Listing(tuple(listed), self.folder, whole, self.now)

    def finish(self, look: Look) -> None:
        """Record a look; then the store has what it saw, unless a later look was recorded before."""
        is_late = self.history().looked_us >= look.listing.looked_us
        before = set(self.kept_values(self.files))
        recording.record_look(look.store, look.listing, look.read, complete=look.listing.whole)
        forget()
        present = {name: seen for name, seen in look.files.items() if self.files.get(name) == seen}
        names = {f"lake/{name}" for name in present}
        if look.damage_count < self.damage_count:
            # A version that follows a damaged one cannot be read; the next look writes another.
            return
        assert before <= set(self.kept_values(self.files))
        if is_late:
            # What it listed is out of date, and what it read is not.
            assert set(self.kept_values(present)) >= names & set(look.read.footers)
            return
        assert set(self.kept_values(present)) == names
        if look.listing.whole and present == look.files:
            looks = [time for time in self.history().complete_us if time <= look.listing.looked_us]
            self.check_look(looks[-1], look.files)

    @rule()
    def look(self) -> None:
        self.finish(self.start(self.files, whole=True))

    @rule(data=st.data())
    def look_at_some(self, data: st.DataObject) -> None:
        names = data.draw(st.sets(st.sampled_from(sorted(self.files)), min_size=1))
        self.finish(self.start({name: self.files[name] for name in names}, whole=False))

    @rule(values=VALUES_BY_NAME, whole=st.booleans())
    def write_some_and_look(self, values: dict[str, int], whole: bool) -> None:
        for name, value in values.items():
            self.write(name, value)
        self.finish(
            self.start(self.files if whole else {name: self.files[name] for name in values}, whole=whole)
        )

    @rule(values=VALUES_BY_NAME, whole=st.booleans(), in_turn=st.booleans())
    def look_twice_at_once(self, values: dict[str, int], whole: bool, in_turn: bool) -> None:
        """Two writers look, the second after some files were written; either may be faster."""
        looks = [self.start(self.files, whole=whole)]
        for name, value in values.items():
            self.write(name, value)
        looks.append(self.start(self.files, whole=True))
        for look in looks if in_turn else reversed(looks):
            self.finish(look)

    @rule(values=VALUES_BY_NAME)
    def two_writers_add_files(self, values: dict[str, int]) -> None:
        """Each looks at one file, at once."""
        for name, value in values.items():
            self.write(name, value)
        for look in [self.start({name: self.files[name]}, whole=False) for name in values]:
            self.finish(look)

    @rule(data=st.data(), whole=st.booleans())
    @precondition(lambda self: len(self.files) > 1)
    def look_while_a_file_is_away(self, data: st.DataObject, whole: bool) -> None:
        """It is moved away and back, with its time, while a slow look has listed it."""
        look = self.start(self.files, whole=whole)
        name = data.draw(st.sampled_from(sorted(self.files)))
        path, seen = Path(self.folder, name), self.files.pop(name)
        path.rename(path.with_name(f".{name}"))
        self.look()
        path.with_name(f".{name}").rename(path)
        self.files[name] = seen
        self.finish(look)

    @rule(data=st.data())
    @precondition(lambda self: len(self.files) > 1)
    def delete_file_and_look(self, data: st.DataObject) -> None:
        self.look()
        self.delete_file(data)
        self.look()

    @rule(values=VALUES_BY_NAME)
    def read_while_files_are_written(self, values: dict[str, int]) -> None:
        """A reader that opened the store before it changed still reads what it had."""
        kept = self.kept_values(self.files)
        names = {name: seen for name, seen in self.files.items() if f"lake/{name}" in kept}
        opened = store.open_store(self.listing(self.files))
        for _ in range(2):
            self.write_some_and_look(values, whole=True)
        shards = store.kept_shards(opened, self.listing(names))
        assert {file for shard in shards for file in shard.files} == {f"lake/{name}" for name in names}

    @rule(whole=st.booleans())
    def begin_look(self, whole: bool) -> None:
        self.pending.append(self.start(self.files, whole=whole))

    @rule(data=st.data())
    @precondition(lambda self: self.pending)
    def end_look(self, data: st.DataObject) -> None:
        self.finish(self.pending.pop(data.draw(st.integers(0, len(self.pending) - 1))))

    @rule(write=st.integers(0, 24), after=st.booleans())
    def look_and_crash(self, write: int, after: bool) -> None:
        look = self.start(self.files, whole=True)
        with contextlib.suppress(Crash), crash_at(self.writes, write, after=after):
            recording.record_look(look.store, look.listing, look.read, complete=True)
        forget()

    @rule(data=st.data(), size=st.integers(0, 200))
    def damage_pack(self, data: st.DataObject, size: int) -> None:
        """Cut a file of blocks or footers short."""
        paths = [path for path in self.kept_paths() if path.endswith((".footers", ".blocks"))]
        if paths:
            self.cut(data.draw(st.sampled_from(paths)), size)
            self.damage_count += 1
            forget()

    @rule(size=st.integers(0, 60))
    def damage_log(self, size: int) -> None:
        """The history may begin anew, but what it says afterwards must be so."""
        versions = [path for path in self.kept_paths() if path.rpartition("/")[2].startswith("v")]
        if versions:
            self.cut(versions[-1], size)
            self.complete_us = ()
            self.damage_count += 1
            forget()

    @rule()
    def wait_an_hour(self) -> None:
        """Unneeded files may be deleted."""
        for path in self.kept_paths():
            self.make_older(path)

    def kept_paths(self) -> list[str]:
        """Return the paths of the files of the store."""
        return sorted(map(str, Path(self.folder).glob(".skipproof/_store/*")))

    def cut(self, path: str, size: int) -> None:
        """Cut a file of the store short."""
        os.truncate(path, size)

    def make_older(self, path: str) -> None:
        """Make a file of the store an hour older."""
        seconds = os.stat(path).st_mtime - HOUR_SECONDS
        os.utime(path, (seconds, seconds))

    def history(self) -> history.History:
        return store.open_store(self.listing(self.files)).version.history

    def kept_values(self, files: Mapping[str, Seen]) -> dict[str, list[int]]:
        """Return the values that the store has of files, and check that they are theirs."""
        listing = self.listing(files)
        shards = store.kept_shards(store.open_store(listing), listing)
        names = [file for shard in shards for file in shard.files]
        assert len(names) == len(set(names))
        table = unite(shards, names)
        values: dict[str, list[int]] = {file: [] for file in names}
        for file, columns in zip(table["file"].to_pylist(), table["columns"].to_pylist(), strict=True):
            values[file].append(columns["x"]["min"])
        for file, found in values.items():
            value = files[file.removeprefix("lake/")].value
            assert found == [value] * (value + 1)
        return values

    @invariant()
    def whatever_is_kept_is_true(self) -> None:
        """The property: never a stale, lost or doubled block, and "as of" a look is what the look saw."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DamagedMetadataWarning)
            self.kept_values(self.files)
            now = self.history()
        listing = self.listing(self.files)
        check_snapshot(places_of(listing)[0], store.open_store(listing).version)
        for time in now.complete_us:
            if time >= now.begin_us:
                self.check_look(time, self.saw[time])
        remembered = [time for time in self.complete_us if time >= now.begin_us]
        assert set(remembered[-3:]) <= set(now.complete_us)
        self.complete_us = now.complete_us

    def check_look(self, time: int, files: Mapping[str, Seen]) -> None:
        said = self.history().files_at(time)
        assert said == {name: seen.stamp for name, seen in files.items()}
        first = history.first_look_at(self.history(), {name: seen.stamp for name, seen in self.files.items()})
        if set(said.items()) <= {(name, seen.stamp) for name, seen in self.files.items()}:
            assert first is not None
            assert first <= time


def forget() -> None:
    """Forget what is in memory, as another process does not have it."""
    for remembered in (log._load, store._open_place, store._with_others, packs._open_once):
        remembered.cache_clear()


def run_world(world: type[World], *, steps: int, limits: settings) -> None:
    """Run the machine with a number of steps in each example."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedMetadataWarning)
        limits = settings(limits, stateful_step_count=steps, report_multiple_bugs=False)
        run_state_machine_as_test(world, settings=limits)
