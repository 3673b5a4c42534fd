"""Recording what a listing found in the store: new files, and files that are gone.

First the packs of the new files are written, then the version that names them. So a crash at any write
leaves the version before, and at most files that nothing needs. Those are deleted an hour later, because
another writer may be about to commit them, or a reader of an older version may still open them.

With each commit, packs are few: small ones are written anew, together with what is new, so that the work of
adding files depends on their number, and only its logarithm on that of the table.
"""

import contextlib
import os
import time
import uuid
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from pruning.errors import UnkeptMetadataWarning
from pruning.metadata.files.listing import Listing
from pruning.metadata.files.object_stores import DATED, TEMPORARY, Entries, files_at, reason
from pruning.metadata.files.places import (
    FileStamp,
    Place,
    common_mode,
    file_stamp,
    limit_access,
    list_place,
    make_folder,
    may_change_unseen,
    write_shared,
)
from pruning.metadata.store.contents import block_pieces, footer_pieces, footers_in
from pruning.metadata.store.group_summaries import EXTENSION as SUMMARIES
from pruning.metadata.store.group_summaries import summary_files
from pruning.metadata.store.history import (
    Change,
    History,
    KeptFile,
    absent_paths,
    is_late,
    lacks_complete_look,
)
from pruning.metadata.store.log import FOLDER, Version, commit, newest_version
from pruning.metadata.store.measured_writing import tidy_measured
from pruning.metadata.store.packs import Damaged, open_pack
from pruning.metadata.store.store import BLOCKS, FOOTERS, Store, block_path, code_version, footer_path
from pruning.metadata.table.blocks import Shard, merge_alike, rename
from pruning.metadata.table.reading import ReadResult, shards_of_footers

# With more packs than this, small ones are written anew as one.
PACKS_MAX = 8
# Recording is given up if so many other writers have been faster.
_TRIES = 8
# What no version needs is deleted after so many seconds; what other versions of this package believe, if none
# of them has made it again for a week.
_UNUSED_SECONDS, _FOREIGN_SECONDS = 3_600, 7 * 86_400
# A pack of more bytes is not written anew to join it with others.
_PACK_BYTES_MAX = 64 << 20
# What earlier releases kept.
_FORMER = ("blocks.arrow", "index.arrow", "_blocks.arrow")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """The findings of one listing, by paths relative to the place's directory.

    Attributes:
        looked_us: When it began, in microseconds since 1970.
        complete: True if it has listed the whole table, and all of its files may be kept.
        stamps: The sizes and times of the listed files.
        footers: The footers of those that were read and may be kept.
        shards: The block metadata of those that were read, under these paths.
    """

    looked_us: int
    complete: bool
    stamps: Mapping[str, FileStamp]
    footers: Mapping[str, bytes]
    shards: list[Shard]


def record_look(
    store: Store, listing: Listing, read: ReadResult, *, kept: Collection[str] = (), complete: bool
) -> None:
    """Keep what was read, and what the listing says about files that are gone; go on if that fails.

    Args:
        store: The store.
        listing: The files that were listed; those that are named in the failures of `read` count as absent.
        read: What was read of them.
        kept: Files that were read although their metadata is kept.
        complete: Whether the listing has all data files of its directory.
    Warns:
        UnkeptMetadataWarning: that fails in an object store, of which nothing else would tell.
    """
    place = store.place
    if place is None or store.version.foreign or not (complete or read.footers):
        return
    look = _look(place, listing, read, kept, complete=complete and place.directory == listing.parent)
    if not look.footers and not look.complete:
        return
    try:
        _record(place, store.version, look)
    except OSError as error:
        if place.is_of_objects:
            sentence = f"{place.folder}: metadata cannot be kept there ({reason(error)})"
            warnings.warn(sentence, UnkeptMetadataWarning, stacklevel=2)


def _record(place: Place, version: Version, look: _Look) -> None:
    """Commit a look, after what other writers commit meanwhile.

    Raises:
        OSError: something cannot be written.
    """
    # A damaged pack's files were read although the history has them.
    fresh = set(look.footers)
    for _ in range(_TRIES):
        if is_late(version.history, look.looked_us):
            look = _look_again(place, version.history, look, fresh)
            fresh &= set(look.footers)
        if version.foreign or not _tells_something(version.history, look, fresh):
            return
        committed = _commit_look(place, version, look, fresh)
        if committed is not None:
            _delete_unused(place, committed)
            tidy_measured(place)
            return
        version = newest_version(place)
        fresh = {path for path in look.footers if not _has(version.history, path, look.stamps[path])}


def _look(
    place: Place, listing: Listing, read: ReadResult, kept: Collection[str], *, complete: bool
) -> _Look:
    # The files were read after they were listed: a later write within the same second would not be noticed.
    listed_ns = listing.looked_us * 1_000
    stamps: dict[str, FileStamp] = {}
    footers: dict[str, bytes] = {}
    names: dict[str, str] = {}
    for path, listed in place.listed_by_path(listing):
        if listed.file in read.failures or path in stamps:
            continue
        is_read = listed.file in read.footers and listed.file not in kept
        if is_read and may_change_unseen(listed, listed_ns):
            complete = False
            continue
        stamps[path] = file_stamp(listed)
        if is_read:
            footers[path] = read.footers[listed.file]
            names[listed.file] = path
    shards = [rename(shard, names) for shard in read.shards]
    return _Look(
        looked_us=listing.looked_us, complete=complete, stamps=stamps, footers=footers, shards=shards
    )


def _look_again(place: Place, history: History, look: _Look, fresh: Collection[str]) -> _Look:
    """Return a look at some files of a late one that are still as they were: what was read of them is true.

    What a late look listed is not: another look may have seen it change since. The new look is later than all
    that are recorded, even if the clock of this machine is behind that of another one.
    """
    looked_us = max(_now_us(), history.looked_us + 1)
    stamps = {path: look.stamps[path] for path in fresh if place.stamp(path) == look.stamps[path]}
    footers = {path: footer for path, footer in look.footers.items() if path in stamps}
    return replace(look, looked_us=looked_us, complete=False, stamps=stamps, footers=footers)


def _now_us() -> int:
    return time.time_ns() // 1_000


def _has(history: History, path: str, stamp: FileStamp) -> bool:
    return path in history.files and history.files[path].stamp == stamp


def _tells_something(history: History, look: _Look, fresh: Collection[str]) -> bool:
    """Tell whether a look says anything that the history does not."""
    if fresh or absent_paths(history, look.stamps, (), complete=look.complete):
        return True
    return look.complete and lacks_complete_look(history)


class _Item(NamedTuple):
    """A file that is written to a new pack, with its footer."""

    path: str
    stamp: FileStamp
    created_us: int
    footer: bytes


def _commit_look(place: Place, version: Version, look: _Look, fresh: Collection[str]) -> Version | None:
    """Commit what a look changes in a version; return None if another writer has been faster.

    Raises:
        OSError: something cannot be written.
    """
    history = version.history
    modes = {path: place.mode(path) for path in {**history.files, **look.stamps}}
    vanished = {path for path, mode in modes.items() if mode is None}
    removed = absent_paths(history, look.stamps, vanished, complete=look.complete)
    remaining = dict(history.files)
    for path in removed:
        del remaining[path]
    items = [_item(history, look, path) for path in look.footers if path in fresh and path not in vanished]
    make_folder(place, FOLDER)
    if items:
        items += _items_to_merge(
            place, [file for path, file in remaining.items() if path not in fresh], items
        )
    added: list[KeptFile] = []
    committed: Version | None = None
    is_decided = False
    try:
        for chunk in _chunks(items):
            added += _write_pack(place, chunk, look.shards, modes)
        files = remaining | {file.path: file for file in added}
        by_pack = _share_packs(place, files.values(), modes)
        change = Change(
            looked_us=look.looked_us,
            # A listed file is missing if it has vanished since, or if another writer has begun the log anew.
            complete=look.complete and look.stamps == {path: file.stamp for path, file in files.items()},
            added=tuple(added),
            removed=removed,
        )
        committed = commit(place, version, change, common_mode(by_pack.values()))
        is_decided = True
    finally:
        if committed is None and _no_version_has(place, is_decided=is_decided):
            _delete_packs(place, {file.pack for file in added})
    if committed is not None:
        _mark_unused(place, sorted({file.pack for file in history.files.values()} - set(by_pack)))
    return committed


def _no_version_has(place: Place, *, is_decided: bool) -> bool:
    """Tell whether it is certain that no version names packs of which none was committed.

    Args:
        place: Where the packs are.
        is_decided: Whether another writer was faster; if not, something failed. It may be the answer of an
            object store that was lost, and then there is a version that names them.
    """
    return is_decided or not place.is_of_objects


def _delete_packs(place: Place, packs: Iterable[str]) -> None:
    """Delete packs that no version names."""
    for pack in packs:
        for path in (footer_path(place, pack), block_path(place, pack)):
            with contextlib.suppress(OSError):
                files_at(path).delete(path)


def _item(history: History, look: _Look, path: str) -> _Item:
    """Return a file that was read; the time when it was first found is kept if it is kept already."""
    stamp = look.stamps[path]
    created_us = history.files[path].created_us if _has(history, path, stamp) else look.looked_us
    return _Item(path, stamp, created_us, look.footers[path])


def _items_to_merge(place: Place, files: Iterable[KeptFile], items: Sequence[_Item]) -> list[_Item]:
    """Return the files of the small packs, if there are too many packs, to be written with the new files.

    From the smallest on, a pack is written anew if it has at most twice as many files as all that are
    written with it. So the packs that stay grow like powers of two.
    """
    by_pack: dict[str, list[KeptFile]] = {}
    for file in files:
        by_pack.setdefault(file.pack, []).append(file)
    merged: list[_Item] = []
    if len(by_pack) < PACKS_MAX:
        return merged
    for pack, members in sorted(by_pack.items(), key=lambda entry: len(entry[1])):
        if len(members) > 2 * (len(items) + len(merged)):
            break
        # A damaged pack is left as it is: its files are read again when they are asked for.
        with contextlib.suppress(Damaged):
            opened_pack = open_pack(footer_path(place, pack))
            if opened_pack.size_bytes <= _PACK_BYTES_MAX:
                footers = footers_in(opened_pack)
                merged += [
                    _Item(file.path, file.stamp, file.created_us, footers[file.row]) for file in members
                ]
    return merged


def _chunks(items: Iterable[_Item]) -> Iterator[list[_Item]]:
    """Yield the files in lists, the footers of which have a limited size together."""
    chunk: list[_Item] = []
    size = 0
    for item in items:
        chunk.append(item)
        size += len(item.footer)
        if size >= _PACK_BYTES_MAX:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk


def _write_pack(
    place: Place, items: Sequence[_Item], shards: Iterable[Shard], modes: Mapping[str, int | None]
) -> list[KeptFile]:
    """Write the packs of some files; return where each of them is kept.

    Args:
        place: Where the packs belong.
        items: The files.
        shards: The block metadata of some of them, by their paths.
        modes: The mode of each file.
    """
    pack = uuid.uuid4().hex
    rows = {item.path: str(row) for row, item in enumerate(items)}
    parts = [rename(shard, rows) for shard in shards if any(path in rows for path in shard.files)]
    have = {row for part in parts for row in part.files}
    others = shards_of_footers(
        (rows[item.path], item.footer) for item in items if rows[item.path] not in have
    )
    mode = common_mode(modes[item.path] or 0 for item in items)
    write_shared(place, footer_path(place, pack), footer_pieces([item.footer for item in items]), mode)
    write_shared(place, block_path(place, pack), block_pieces(merge_alike([*parts, *others.shards])), mode)
    return [KeptFile(item.path, item.stamp, item.created_us, pack, row) for row, item in enumerate(items)]


def _share_packs(place: Place, files: Iterable[KeptFile], modes: Mapping[str, int | None]) -> dict[str, int]:
    """Let those read each pack whom all of its files permit to; return what they permit."""
    by_pack: dict[str, list[int]] = {}
    for file in files:
        by_pack.setdefault(file.pack, []).append(modes[file.path] or 0)
    common = {pack: common_mode(of_pack) for pack, of_pack in by_pack.items()}
    for pack, mode in common.items():
        for path in (footer_path(place, pack), block_path(place, pack)):
            limit_access(place, path, mode)
    for path in [] if place.is_of_objects else summary_files(place, ""):
        limit_access(place, path, common_mode(common.values()))
    return common


def _mark_unused(place: Place, packs: Iterable[str]) -> None:
    """Give packs the present time: since then, no version has needed them."""
    for pack in packs:
        with contextlib.suppress(OSError):
            files_at(place.folder).date(footer_path(place, pack))


def _delete_unused(place: Place, version: Version) -> None:
    """Delete what no version needs, as far as that is possible."""
    used = {file.pack for file in version.history.files.values()}
    newest = summary_files(place, code_version())[-1:]
    files = files_at(place.folder)
    with contextlib.suppress(OSError):
        entries = list_place(place, FOLDER)
        for name, read_status in entries.items():
            path = os.path.join(place.folder, FOLDER, name)
            limit = None if path in newest else _seconds_to_keep(place, name, used, entries)
            with contextlib.suppress(OSError):
                if limit is not None and read_status().age_seconds > limit:
                    files.delete(path)
    if place.is_of_objects:
        return
    for former in _FORMER:
        with contextlib.suppress(OSError):
            files.delete(os.path.join(place.folder, former))


def _seconds_to_keep(place: Place, file: str, used: Collection[str], entries: Entries) -> float | None:
    """Return for how long a file of the store is kept since it was written or dated; None if it is needed."""
    name, extension = os.path.splitext(file)
    if file.startswith(TEMPORARY):
        return _UNUSED_SECONDS
    if extension == DATED:
        return None if name in entries else _UNUSED_SECONDS
    if extension == FOOTERS:
        return None if name in used else _UNUSED_SECONDS
    if extension == SUMMARIES:
        return _UNUSED_SECONDS if name.endswith(code_version()) else _FOREIGN_SECONDS
    if extension == BLOCKS:
        pack = name.partition("-")[0]
        if f"{pack}{FOOTERS}" not in entries:
            # Another writer may have written both while the folder was listed.
            return _UNUSED_SECONDS
        return None if file == os.path.basename(block_path(place, pack)) else _FOREIGN_SECONDS
    return None
