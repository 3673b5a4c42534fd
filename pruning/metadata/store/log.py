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
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pruning.metadata.files.object_stores import Status, files_at, reason
from pruning.metadata.files.places import Place, list_place, write_shared
from pruning.metadata.store.history import EMPTY, Change, FormerFile, History, KeptFile, apply
from pruning.metadata.store.packs import (
    Damaged,
    Forbidden,
    Missing,
    Pack,
    Unreachable,
    open_pack,
    pack_pieces,
)

FOLDER = "_store"
# A reader of another format can neither use the log nor add to it.
FORMAT = 1
# After so many changes, the whole history is written.
CHANGES_MAX = 16
_VERSION = re.compile(r"v(\d{12})")
_RECORD = "record"
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
            versions = _versions(place)
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


def _versions(place: Place) -> dict[int, Callable[[], Status]]:
    """Return the numbers of the versions of a log, each with a function that returns its file's status.

    Raises:
        OSError: an object store cannot be asked.
    """
    entries = list_place(place, FOLDER)
    return {int(name[1:]): status for name, status in entries.items() if _VERSION.fullmatch(name)}


def _path(place: Place, number: int) -> str:
    return os.path.join(place.folder, FOLDER, f"v{number:012}")


@functools.lru_cache(maxsize=_LOADED_MAX)
def _load(place: Place, newest: int, identity: tuple[object, ...]) -> Version:
    """Load a version once for each state of its file.

    Raises:
        Unreachable: an object store does not give it now.
    """
    try:
        pack = open_pack(_path(place, newest), identity)
        if pack.notes["format"] > FORMAT:
            sentence = f"{place.folder}: a later release of this package writes it, so it is not used here"
            return Version(newest, 0, EMPTY, trouble=sentence, foreign=True)
        base = int(pack.notes["base"])
        if base == newest:
            return Version(newest, base, _history(_record(pack)))
        before = _load_number(place, newest - 1, base)
        return Version(newest, base, apply(before, _change(_record(pack))))
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
        versions = _versions(place)
        identities = {later: versions[later]().identity for later in range(base, number + 1)}
    except OSError as error:
        raise Unreachable(f"{place.folder}: cannot be listed ({reason(error)})") from error
    except KeyError as error:
        raise Missing(f"{place.folder}: version {error} is missing") from error
    history = _history(_record(open_pack(_path(place, base), identities[base])))
    for later in range(base + 1, number + 1):
        history = apply(history, _change(_record(open_pack(_path(place, later), identities[later]))))
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
    record = _history_record(after) if whole else _change_record(change)
    base = number if whole else before.base
    content = pack_pieces({"format": FORMAT, "base": base}, {_RECORD: json.dumps(record).encode()})
    try:
        write_shared(place, _path(place, number), content, mode, replaces=False)
    except FileExistsError:
        return None
    # Others may have written this version long ago, and deleted it after whole histories that followed. Then
    # readers pass it over, and the change must be made again from the newest version.
    if max(_versions(place), default=0) > number and newest_version(place).base > number:
        return None
    if whole:
        _delete_versions(place, before.base)
    return Version(number, base, after)


def _delete_versions(place: Place, first: int) -> None:
    """Delete the versions before `first`, as far as that is possible."""
    for number in _versions(place):
        if number < first:
            with contextlib.suppress(OSError):
                files_at(place.folder).delete(_path(place, number))


def _record(pack: Pack) -> dict[str, Any]:
    (data,) = pack.sections([_RECORD])
    record: dict[str, Any] = json.loads(data)
    return record


def _change_record(change: Change) -> dict[str, Any]:
    return {
        "looked_us": change.looked_us,
        "complete": change.complete,
        "added": _columns(change.added),
        "removed": change.removed,
    }


def _change(record: dict[str, Any]) -> Change:
    return Change(
        looked_us=record["looked_us"],
        complete=record["complete"],
        added=tuple(_kept_files(record["added"])),
        removed=tuple(record["removed"]),
    )


def _history_record(history: History) -> dict[str, Any]:
    return {
        "looked_us": history.looked_us,
        "files": _columns(history.files.values()),
        "former": history.former,
        "complete_us": history.complete_us,
        "begin_us": history.begin_us,
    }


def _history(record: dict[str, Any]) -> History:
    return History(
        looked_us=record["looked_us"],
        files={file.path: file for file in _kept_files(record["files"])},
        former=tuple(
            FormerFile(path, (size_bytes, modified_ns), created_us, removed_us)
            for path, (size_bytes, modified_ns), created_us, removed_us in record["former"]
        ),
        complete_us=tuple(record["complete_us"]),
        begin_us=record["begin_us"],
    )


def _columns(files: Iterable[KeptFile]) -> list[list[Any]]:
    """Return kept files as a list for each field, which JSON reads faster than a list for each file."""
    flat = [(file.path, *file.stamp, file.created_us, file.pack, file.row) for file in files]
    return [list(column) for column in zip(*flat, strict=True)]


def _kept_files(columns: list[list[Any]]) -> Iterator[KeptFile]:
    if not columns:
        return iter(())
    paths, sizes, times, *others = columns
    return map(KeptFile._make, zip(paths, zip(sizes, times, strict=True), *others, strict=True))
