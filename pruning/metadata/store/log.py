"""The log of a store: a file for each version, with one change or, every now and then, the whole history.

A version is written under a temporary name and then linked to its own, which fails if another writer has
been faster. So of two writers one sees the other's change before it commits its own, and a crash at any
write leaves the version before. Versions before the last whole history but one are deleted. An object store
is asked to refuse the version instead (`pruning.metadata.files.object_stores`).
"""

import contextlib
import functools
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import pyarrow as pa

from pruning.metadata.files.object_stores import Status, files_at, reason
from pruning.metadata.files.places import Place, list_place, write_shared
from pruning.metadata.store.history import EMPTY, Change, FormerFile, History, KeptFile, apply
from pruning.metadata.store.packs import (
    Damaged,
    Forbidden,
    Missing,
    Pack,
    Unreachable,
    from_bytes,
    open_pack,
    pack_pieces,
    to_bytes,
)

FOLDER = "_store"
# A reader of another format can neither use the log nor add to it.
FORMAT = 2
# After so many changes, the whole history is written.
CHANGES_MAX = 16
_VERSION = re.compile(r"v(\d{12})")
_RECORD = "record"
# The files that a version names, in a table for each pack that has their metadata.
FILES = pa.schema(
    [
        pa.field("path", pa.large_binary(), nullable=False),
        pa.field("size_bytes", pa.int64(), nullable=False),
        pa.field("modified_ns", pa.int64(), nullable=False),
        pa.field("created_us", pa.int64(), nullable=False),
        pa.field("row", pa.int32(), nullable=False),
    ]
)
# Between listing the versions and reading them, another writer may delete them.
_TRIES = 3
_LOADED_MAX = 16


@dataclass(frozen=True, slots=True, eq=False)
class Version:
    """The newest version of a log; 0 if there is none.

    Attributes:
        number: Its number.
        base: The number of the last version with the whole history.
        history: What the log says. If it cannot be read, it is empty.
        trouble: Why the log cannot be read, or None.
        foreign: True if a later release of this package writes the log, this user may not read it, or an
            object store cannot be asked for it; then nothing may be added.
    """

    number: int
    base: int
    history: History
    trouble: str | None = None
    foreign: bool = False


NO_VERSION = Version(0, 0, EMPTY)


def newest_version(place: Place) -> Version:
    """Return the newest version of a place's log; the same object while there is no newer one."""
    for _ in range(_TRIES):
        try:
            versions = versions_of(place)
        except OSError as error:
            sentence = f"{place.folder}: cannot be listed ({reason(error)})"
            return Version(0, 0, EMPTY, trouble=sentence, foreign=True)
        newest = max(versions, default=0)
        if newest == 0:
            return NO_VERSION
        try:
            identity = versions[newest]().identity
        except OSError:
            continue
        try:
            return _load(place, newest, identity)
        except Unreachable as error:
            return Version(newest, 0, EMPTY, trouble=str(error), foreign=True)
    return Version(newest, 0, EMPTY, trouble=f"{place.folder}: cannot be read")


def versions_of(place: Place) -> dict[int, Callable[[], Status]]:
    """Return the numbers of the versions of a log, each with a function that returns its file's status.

    Raises:
        OSError: an object store cannot be asked.
    """
    entries = list_place(place, FOLDER)
    return {int(name[1:]): status for name, status in entries.items() if _VERSION.fullmatch(name)}


def version_path(place: Place, number: int) -> str:
    """Return the path of a version."""
    return os.path.join(place.folder, FOLDER, f"v{number:012}")


@functools.lru_cache(maxsize=_LOADED_MAX)
def _load(place: Place, newest: int, identity: tuple[object, ...]) -> Version:
    """Load a version once for each state of its file.

    Raises:
        Unreachable: an object store does not give it now.
    """
    try:
        pack = open_pack(version_path(place, newest), identity)
        if pack.notes["format"] > FORMAT:
            sentence = f"{place.folder}: a later release of this package writes it, so it is not used here"
            return Version(newest, 0, EMPTY, trouble=sentence, foreign=True)
        if pack.notes["format"] < FORMAT:
            # An earlier release wrote it. It is begun anew: footers are read again.
            return Version(newest, 0, EMPTY)
        base = int(pack.notes["base"])
        if base == newest:
            return Version(newest, base, _history(pack))
        before = _load_number(place, newest - 1, base)
        return Version(newest, base, apply(before, _change(pack)))
    except Forbidden:
        # It describes files that this user may not read, either.
        return Version(newest, 0, EMPTY, foreign=True)
    except Unreachable:
        raise
    except Damaged as damage:
        return Version(newest, 0, EMPTY, trouble=str(damage))


def _load_number(place: Place, number: int, base: int) -> History:
    """Return the history after a version, from the whole one at `base` and the changes since.

    Raises:
        Damaged: one of the files is missing, or is not as it was written.
    """
    try:
        versions = versions_of(place)
        identities = {later: versions[later]().identity for later in range(base, number + 1)}
    except OSError as error:
        raise Unreachable(f"{place.folder}: cannot be listed ({reason(error)})") from error
    except KeyError as error:
        raise Missing(f"{place.folder}: version {error} is missing") from error
    history = _history(open_pack(version_path(place, base), identities[base]))
    for later in range(base + 1, number + 1):
        history = apply(history, _change(open_pack(version_path(place, later), identities[later])))
    return history


def commit(place: Place, before: Version, change: Change, mode: int) -> Version | None:
    """Write the version after `before`; return it, or None if another writer has been faster.

    Args:
        place: Where the log is.
        before: The version that the change was made from.
        change: What it changes.
        mode: The version is readable only for those whom this mode permits to read.
    Raises:
        OSError: the version cannot be written.
    """
    number = before.number + 1
    after = apply(before.history, change)
    whole = before.base == 0 or number - before.base >= CHANGES_MAX
    base = number if whole else before.base
    notes = {"format": FORMAT, "base": base, "whole": _is_whole(after), "totals": _totals(after)}
    content = pack_pieces(notes, _history_sections(after) if whole else _change_sections(before, change))
    try:
        write_shared(place, version_path(place, number), content, mode, replaces=False)
    except FileExistsError:
        return None
    # Others may have written this version long ago, and deleted it after whole histories that followed. Then
    # readers pass it over, and the change must be made again from the newest version.
    if max(versions_of(place), default=0) > number and newest_version(place).base > number:
        return None
    if whole:
        _delete_versions(place, before.base)
    return Version(number, base, after)


def _delete_versions(place: Place, first: int) -> None:
    """Delete the versions before `first`, as far as that is possible."""
    for number in versions_of(place):
        if number < first:
            with contextlib.suppress(OSError):
                files_at(place.folder).delete(version_path(place, number))


def _is_whole(history: History) -> bool:
    """Tell whether the newest look has listed the whole table."""
    return bool(history.complete_us) and history.complete_us[-1] == history.looked_us


def _totals(history: History) -> list[int]:
    """Return the number of the files of the table, and their bytes."""
    return [len(history.files), sum(file.stamp[0] for file in history.files.values())]


def _change_sections(before: Version, change: Change) -> dict[str, bytes]:
    """Return the sections of a version with one change: the record, and a table of files for each pack."""
    replaced: dict[str, list[int]] = {}
    for path in dict.fromkeys((*change.removed, *(file.path for file in change.added))):
        if path in before.history.files:
            kept = before.history.files[path]
            replaced.setdefault(kept.pack, []).append(kept.row)
    record = {
        "looked_us": change.looked_us,
        "complete": change.complete,
        "removed": change.removed,
        "replaced": replaced,
    }
    return _sections(record, change.added)


def _change(pack: Pack) -> Change:
    record = record_in(pack)
    return Change(
        looked_us=record["looked_us"],
        complete=record["complete"],
        added=tuple(_kept_files(pack, record)),
        removed=tuple(record["removed"]),
    )


def _history_sections(history: History) -> dict[str, bytes]:
    """Return the sections of a version with the whole history: the record, and a table for each pack."""
    record = {
        "looked_us": history.looked_us,
        "former": history.former,
        "complete_us": history.complete_us,
        "begin_us": history.begin_us,
    }
    return _sections(record, history.files.values())


def _history(pack: Pack) -> History:
    record = record_in(pack)
    return History(
        looked_us=record["looked_us"],
        files={file.path: file for file in _kept_files(pack, record)},
        former=tuple(
            FormerFile(path, (size_bytes, modified_ns), created_us, removed_us)
            for path, (size_bytes, modified_ns), created_us, removed_us in record["former"]
        ),
        complete_us=tuple(record["complete_us"]),
        begin_us=record["begin_us"],
    )


def _sections(record: dict[str, Any], files: Iterable[KeptFile]) -> dict[str, bytes]:
    by_pack: dict[str, list[KeptFile]] = {}
    for file in files:
        by_pack.setdefault(file.pack, []).append(file)
    record["packs"] = list(by_pack)
    record["described"] = [_describe(of_pack) for of_pack in by_pack.values()]
    sections = {_RECORD: json.dumps(record).encode()}
    for number, of_pack in enumerate(by_pack.values()):
        sections[str(number)] = _file_table(of_pack)
    return sections


def _describe(files: Sequence[KeptFile]) -> dict[str, Any]:
    """Return what a reader of some packs knows of the files of each without reading its section."""
    rows = sorted(file.row for file in files)
    return {
        "first": min(file.path for file in files),
        "directories": sorted({file.path.rpartition("/")[0] for file in files}),
        # Most often these are all rows of the pack.
        "rows": len(rows) if rows == list(range(len(rows))) else rows,
    }


def _file_table(files: Sequence[KeptFile]) -> bytes:
    columns = [
        # A path need not be valid UTF-8.
        [file.path.encode("utf-8", "surrogateescape") for file in files],
        [file.stamp[0] for file in files],
        [file.stamp[1] for file in files],
        [file.created_us for file in files],
        [file.row for file in files],
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, FILES, strict=True)]
    return to_bytes(pa.Table.from_arrays(arrays, schema=FILES))


def record_in(pack: Pack) -> dict[str, Any]:
    """Return the record of a version, which has everything but the files."""
    (data,) = pack.sections([_RECORD])
    record: dict[str, Any] = json.loads(data)
    return record


def _kept_files(pack: Pack, record: Mapping[str, Any]) -> Iterator[KeptFile]:
    names: list[str] = record["packs"]
    for name, data in zip(names, pack.sections(list(map(str, range(len(names))))), strict=True):
        table = from_bytes(data)
        paths = [path.decode("utf-8", "surrogateescape") for path in table["path"].to_pylist()]
        stamps = zip(table["size_bytes"].to_pylist(), table["modified_ns"].to_pylist(), strict=True)
        created, rows = table["created_us"].to_pylist(), table["row"].to_pylist()
        yield from map(KeptFile, paths, stamps, created, repeat(name), rows)
