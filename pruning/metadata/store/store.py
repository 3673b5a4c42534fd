"""The store of the block metadata of a lake: what was read of each file, kept while the file is unchanged.

A place (`pruning.metadata.files.places`) has one store, in the folder `_store`: a log of versions
(`log`) that says which files are kept in which pack, packs of footers (`NAME.footers`), and packs of the
block metadata made of them (`NAME-FINGERPRINT.blocks`), one for each version of this package that asked.
Beside them may be packs of measured statistics (`NAME.measured`, see `measured_packs`).

A file's metadata is used while the file's size and modification time are unchanged. So a file that is
rewritten in place with the same size within the resolution of the file system's clock, or whose time is set
back on purpose, is not noticed; `verify` compares the store with the footers. A file whose time is in whole
seconds, and less than two of them ago, may be written again without another time, and is not kept.

Whatever is damaged or missing is read anew from the files, and a warning says so. Failing to write is no
error.
"""

import contextlib
import functools
import os
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import numpy as np

from pruning.errors import DamagedMetadataWarning, InputError
from pruning.metadata.files.listing import Listing
from pruning.metadata.files.places import Place, access_of, file_stamp, list_place, places_of, write_shared
from pruning.metadata.store.contents import block_pieces, blocks_in, count_blocks, footers_in
from pruning.metadata.store.group_summaries import united_summaries
from pruning.metadata.store.log import FOLDER, NO_VERSION, Version, newest_version
from pruning.metadata.store.packs import Damaged, Missing, open_pack
from pruning.metadata.store.searching import PacksToSearch, PackToSearch
from pruning.metadata.table.blocks import Shard, rename, unite
from pruning.metadata.table.fingerprint import fingerprint
from pruning.metadata.table.reading import shards_of_footers

FOOTERS, BLOCKS = ".footers", ".blocks"
_FINGERPRINT_DIGITS = 16
# The metadata of tables with more blocks is not loaded whole, but searched.
BLOCKS_LOADED_VARIABLE, BLOCKS_LOADED_MAX = "SKIPPROOF_BLOCKS_LOADED", 200_000
_LOADED_MAX = 16


@dataclass(frozen=True, slots=True, eq=False)
class Store:
    """The opened store of a place, as of its newest version.

    Attributes:
        place: Where it is; None if nothing is kept.
        version: Its newest version.
        others: Stores elsewhere that may have the same files.
    """

    place: Place | None
    version: Version
    others: tuple["Store", ...] = ()


NO_STORE = Store(None, NO_VERSION)


def open_store(listing: Listing) -> Store:
    """Open the store for listed files; the same object as before while nothing is added to it."""
    places = places_of(listing)
    if not places:
        return NO_STORE
    first, *others = [_open_place(place, newest_version(place)) for place in places]
    return _with_others(first, tuple(others)) if others else first


@functools.lru_cache(maxsize=_LOADED_MAX)
def _open_place(place: Place, version: Version) -> Store:
    if version.trouble is not None:
        _warn(f"{version.trouble}; footers are read again")
    return Store(place, version)


@functools.lru_cache(maxsize=_LOADED_MAX)
def _with_others(first: Store, others: tuple[Store, ...]) -> Store:
    """Return a store with `others`, the same object for the same stores."""
    return replace(first, others=others)


def kept_shards(store: Store, listing: Listing, columns: Collection[str] | None = None) -> list[Shard]:
    """Return the block metadata that is kept of the listed files, under the names in the listing.

    Files that have changed, or whose metadata is damaged, are missing.

    Args:
        store: The store.
        listing: The files.
        columns: The top-level columns to read; None for all.
    """
    shards: list[Shard] = []
    done: set[str] = set()
    for part in (store, *store.others):
        if part.place is not None and part.version.history.files:
            shards += list(_shards_in(part.place, part.version, listing, done, columns))
            done = {file for shard in shards for file in shard.files}
    return shards


def large_packs(store: Store, listing: Listing) -> PacksToSearch | None:
    """Return the packs with the block metadata of listed files that have not changed, if they are large.

    They are made of the footers where this code has not yet done so.

    Returns:
        None if they have no more blocks together than are loaded whole, or one of them cannot be opened.
    """
    table = PacksToSearch([])
    blocks = 0
    done: set[str] = set()
    for part in (store, *store.others):
        if part.place is None:
            continue
        by_pack: dict[str, PackFiles] = {}
        for pack, files in _unchanged_files(part.place, part.version, listing).items():
            names = {row: file for row, file in files.items() if file not in done}
            by_pack[pack] = PackFiles(np.fromiter(names, np.int64, len(names)), partial(_names_of, names))
            done.update(names.values())
        try:
            blocks += add_packs(table, part.place, by_pack)
        except Damaged:
            return None
    return table if blocks > blocks_loaded_max() else None


class PackFiles(NamedTuple):
    """The files of a pack that are asked for; the fields are those of `PackToSearch`."""

    rows: np.ndarray
    names_of: Callable[[Sequence[int]], Sequence[str]]


def _names_of(names: Mapping[int, str], rows: Iterable[int]) -> list[str]:
    return [names.get(row, "") for row in rows]


def add_packs(table: PacksToSearch, place: Place, files_by_pack: Mapping[str, PackFiles]) -> int:
    """Add packs of a place to those that are searched; return the number of their blocks.

    Args:
        table: The packs so far.
        place: Where the others are kept.
        files_by_pack: The files that are asked for, by the names of their packs.
    Raises:
        Damaged: one of the packs cannot be opened.
    """
    paths = {pack: block_path(place, pack) for pack in files_by_pack}
    present = list_place(place, FOLDER)
    for pack, path in paths.items():
        if os.path.basename(path) not in present:
            _blocks_of(place, pack, ())
    numbers = {pack: number for number, pack in enumerate(paths, start=len(table.packs))}
    table.packs.extend(PackToSearch(paths[pack], *files) for pack, files in files_by_pack.items())
    united = united_summaries(place, paths, code_version())
    blocks_of = {} if united is None else united.blocks_of
    if united is not None:
        places = np.array([numbers.get(pack, -1) for pack in blocks_of], np.int64)
        table.summaries.append((united, places))
    others = (open_pack(path) for pack, path in paths.items() if pack not in blocks_of)
    return sum(blocks_of[pack] for pack in paths if pack in blocks_of) + sum(map(count_blocks, others))


def blocks_loaded_max() -> int:
    """Return the most blocks of a table whose metadata is loaded whole.

    Raises:
        InputError: the environment variable is not a number.
    """
    text = os.environ.get(BLOCKS_LOADED_VARIABLE)
    if not text:
        return BLOCKS_LOADED_MAX
    if not text.isascii() or not text.isdigit():
        raise InputError(
            f"{BLOCKS_LOADED_VARIABLE}={text!r} is no number of blocks; set it to digits, or not at all."
        )
    return int(text)


def kept_footers(store: Store, listing: Listing) -> dict[str, bytes]:
    """Return the footers that are kept of listed files that have not changed, by the names in the listing."""
    footers: dict[str, bytes] = {}
    for part in (store, *store.others):
        if part.place is not None:
            for pack, names in _unchanged_files(part.place, part.version, listing).items():
                try:
                    of_pack = footers_in(open_pack(footer_path(part.place, pack)))
                except Damaged as damage:
                    _warn(f"{damage}; the footers of its files are read again")
                    continue
                footers = {name: of_pack[row] for row, name in names.items()} | footers
    return footers


def creation_times(store: Store, listing: Listing) -> dict[str, int]:
    """Return when the store first found listed files that have not changed, in microseconds since 1970."""
    times: dict[str, int] = {}
    for part in (store, *store.others):
        if part.place is not None:
            files = part.version.history.files
            for path, listed in part.place.listed_by_path(listing):
                if path in files and files[path].stamp == file_stamp(listed):
                    times.setdefault(listed.file, files[path].created_us)
    return times


def _unchanged_files(place: Place, version: Version, listing: Listing) -> dict[str, dict[int, str]]:
    """Return the names of the listed files that are kept unchanged, by their packs and rows."""
    by_pack: dict[str, dict[int, str]] = {}
    for path, listed in place.listed_by_path(listing):
        kept = version.history.files.get(path)
        if kept is not None and listed.modified_ns is not None and kept.stamp == file_stamp(listed):
            by_pack.setdefault(kept.pack, {})[kept.row] = listed.file
    return by_pack


def _shards_in(
    place: Place, version: Version, listing: Listing, done: Collection[str], columns: Collection[str] | None
) -> Iterator[Shard]:
    """Yield the kept block metadata of listed files, except for those that are done."""
    for pack, files in _unchanged_files(place, version, listing).items():
        names = {str(row): file for row, file in files.items() if file not in done}
        if not names:
            continue
        try:
            shards = _blocks_of(place, pack, columns)
        except Damaged as damage:
            _warn(f"{damage}; the footers of its files are read again")
            continue
        yield from (rename(shard, names) for shard in shards if any(row in names for row in shard.files))


def _blocks_of(place: Place, pack: str, columns: Collection[str] | None) -> list[Shard]:
    """Return the block metadata of a pack's files, made of their footers if this code has not yet done so.

    Raises:
        Damaged: neither can be read.
    """
    path = block_path(place, pack)
    try:
        return blocks_in(open_pack(path), columns)
    except Damaged as damage:
        if not isinstance(damage, Missing):
            _warn(f"{damage}; it is made again from the footers that are kept")
        footers = footers_in(open_pack(footer_path(place, pack)))
    result = shards_of_footers((str(row), footer) for row, footer in enumerate(footers))
    with contextlib.suppress(OSError):
        mode = access_of(place, footer_path(place, pack))
        write_shared(place, path, block_pieces(result.shards), mode)
    return result.shards


def check_kept(store: Store, listing: Listing, kept: list[Shard], read: list[Shard]) -> None:
    """Compare the kept metadata of listed files with that which was read now.

    Raises:
        InputError: they differ; the first such file in the listing is named.
    """
    kept_files = {file for part in kept for file in part.files}
    files = [listed.file for listed in listing.files if listed.file in kept_files]
    if unite(kept, files).equals(unite(read, files)):
        return
    for file in files:
        if not unite(kept, [file]).equals(unite(read, [file])):
            raise InputError(
                f"{file}: its kept metadata is not what its footer says, though size and time match; "
                f"delete {store.place.folder if store.place else FOLDER}"
            )


def footer_path(place: Place, pack: str) -> str:
    """Return the path of a pack of footers."""
    return os.path.join(place.folder, FOLDER, f"{pack}{FOOTERS}")


def block_path(place: Place, pack: str) -> str:
    """Return the path of the pack of what this code believes of the files of a pack of footers."""
    return os.path.join(place.folder, FOLDER, f"{pack}-{code_version()}{BLOCKS}")


def code_version() -> str:
    """Return the part of file names that tells which code made the files."""
    return fingerprint()[:_FINGERPRINT_DIGITS]


def _warn(sentence: str) -> None:
    warnings.warn(sentence, DamagedMetadataWarning, stacklevel=2)
