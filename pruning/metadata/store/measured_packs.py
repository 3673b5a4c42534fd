"""Packs of measured statistics (`NAME.measured`, of pages `NAME.pages`): computed from the data of files.

They lie beside the other packs of a store, and each lists its files with their sizes and times. A file's
statistics are used while these are unchanged, as its footer is. They are facts: a changed line of this
package does not empty them, unless `VERSION` says that values were read otherwise.

A pack is written once. The log knows nothing of them: a reader lists the folder.
"""

import functools
import os
import warnings
from collections.abc import Collection, Iterator
from typing import NamedTuple, TypeAlias

from pruning.errors import DamagedMetadataWarning
from pruning.metadata.files.listing import ListedFile, Listing
from pruning.metadata.files.places import FileStamp, Place, file_stamp, list_place, places_of
from pruning.metadata.store.contents import blocks_in
from pruning.metadata.store.log import FOLDER
from pruning.metadata.store.packs import Damaged, Forbidden, Missing, Pack, open_pack
from pruning.metadata.table.blocks import Shard, rename

# How the names of packs end: of statistics of row groups, and of pages.
MEASURED, MEASURED_PAGES = ".measured", ".pages"
# The version of the code that measures. A test compares its digest; where the values or the conditions under
# which they are certain change, the number is raised, and packs of another number count as absent.
VERSION = 1
# The most packs of which the files are remembered.
_REMEMBERED_MAX = 64


class MeasuredFile(NamedTuple):
    """A file of a pack.

    Attributes:
        path: Its path relative to the directory of the place.
        stamp: Its size in bytes and its modification time in ns.
        columns: The columns that were to be measured; None for all.
    """

    path: str
    stamp: FileStamp
    columns: tuple[str, ...] | None


# The places that may have measured statistics of listed files, with the names of their packs.
MeasuredPacks: TypeAlias = tuple[tuple[Place, tuple[str, ...]], ...]


def measured_packs(listing: Listing, suffix: str = MEASURED) -> MeasuredPacks:
    """Return the packs of one suffix that may have something about listed files."""
    return tuple((place, names) for place in places_of(listing) if (names := pack_names(place, suffix)))


def pack_names(place: Place, suffix: str) -> tuple[str, ...]:
    """Return the names of the measured packs of a place that end so."""
    try:
        return tuple(sorted(name for name in list_place(place, FOLDER) if name.endswith(suffix)))
    except OSError:
        return ()


def pack_path(place: Place, name: str) -> str:
    """Return the path of a measured pack."""
    return os.path.join(place.folder, FOLDER, name)


def files_of(pack: Pack) -> tuple[MeasuredFile, ...]:
    """Return the files of a pack, in the order of their rows; none if another version has measured them."""
    return _files_of(pack) if pack.notes["version"] == VERSION else ()


@functools.lru_cache(maxsize=_REMEMBERED_MAX)
def _files_of(pack: Pack) -> tuple[MeasuredFile, ...]:
    columns = [None if names is None else tuple(names) for names in pack.notes["columns"]]
    return tuple(
        MeasuredFile(path, (size_bytes, modified_ns), columns[place])
        for path, size_bytes, modified_ns, place in pack.notes["files"]
    )


def measured_shards(
    packs: MeasuredPacks, listing: Listing, columns: Collection[str] | None = None
) -> list[Shard]:
    """Return the measured statistics of the listed files, under the names in the listing.

    Files that have changed since, or whose pack is damaged, are missing.

    Args:
        packs: What `measured_packs` gives.
        listing: The files.
        columns: The top-level columns to read; None for all.
    Warns:
        DamagedMetadataWarning: a pack is damaged.
    """
    shards: list[Shard] = []
    for pack, rows in _unchanged_rows(packs, listing):
        names = {str(row): listed.file for row, (listed, _) in rows.items()}
        try:
            parts = blocks_in(pack, columns)
        except Damaged as damage:
            _warn_of(damage)
            continue
        shards += [rename(part, names) for part in parts if any(row in names for row in part.files)]
    return shards


def measured_columns(listing: Listing, suffix: str) -> dict[str, list[tuple[str, ...] | None]]:
    """Return the columns that were to be measured of the listed files, once for each time; None for all."""
    columns: dict[str, list[tuple[str, ...] | None]] = {}
    for _, rows in _unchanged_rows(measured_packs(listing, suffix), listing):
        for listed, file in rows.values():
            columns.setdefault(listed.file, []).append(file.columns)
    return columns


def _unchanged_rows(
    packs: MeasuredPacks, listing: Listing
) -> Iterator[tuple[Pack, dict[int, tuple[ListedFile, MeasuredFile]]]]:
    """Yield each pack with its rows of listed files that have not changed."""
    for place, names in packs:
        listed_files = dict(place.listed_by_path(listing))
        for name in names:
            try:
                pack = open_pack(pack_path(place, name))
            except Damaged as damage:
                _warn_of(damage)
                continue
            rows = {
                row: (listed_files[file.path], file)
                for row, file in enumerate(files_of(pack))
                if file.path in listed_files and file_stamp(listed_files[file.path]) == file.stamp
            }
            if rows:
                yield pack, rows


def _warn_of(damage: Damaged) -> None:
    """Warn of a damaged pack; another writer may have merged a missing one since the folder was listed."""
    if not isinstance(damage, Missing | Forbidden):
        sentence = f"{damage}; what was measured of its files is unknown until `pruning.backfill` runs again"
        warnings.warn(sentence, DamagedMetadataWarning, stacklevel=2)
