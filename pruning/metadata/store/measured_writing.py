"""Writing packs of measured statistics, so that they stay few and describe files that exist.

Each batch of files is a pack of its own, written at once. Small packs are written anew with it, as those of
footers are. Of two writers, each may merge the same packs: then statistics are there twice, which are equal.
"""

import contextlib
import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pruning.metadata.files.listing import Listing
from pruning.metadata.files.object_stores import Entries, files_at
from pruning.metadata.files.places import (
    Place,
    common_mode,
    file_stamp,
    limit_access,
    list_place,
    make_folder,
    may_change_unseen,
    write_shared,
)
from pruning.metadata.store.contents import block_pieces, blocks_in
from pruning.metadata.store.log import FOLDER
from pruning.metadata.store.measured_packs import (
    MEASURED,
    MEASURED_PAGES,
    VERSION,
    MeasuredFile,
    files_of,
    pack_names,
    pack_path,
)
from pruning.metadata.store.packs import Damaged, Forbidden, Missing, Unreachable, open_pack
from pruning.metadata.table.blocks import Shard, merge_alike, rename

# With more packs than this, small ones are written anew as one.
PACKS_MAX = 8
# A pack of more bytes is not written anew to join it with others.
_PACK_BYTES_MAX = 64 << 20
# A pack of no file that exists is deleted after so many seconds.
_UNUSED_SECONDS = 3_600


class _Part(NamedTuple):
    """A part of a pack to be written: files by the names that they have in shards."""

    files: Mapping[str, MeasuredFile]
    shards: Sequence[Shard]


def keep_measured(
    place: Place, listing: Listing, shards: Sequence[Shard], columns: Sequence[str] | None, suffix: str
) -> set[str]:
    """Keep the measured statistics of listed files; return those files of which they are kept.

    A file that has been written since it was listed, or may be without notice, is left out.

    Args:
        place: Where to keep them.
        listing: The files.
        shards: Their statistics, under the names in the listing.
        columns: The columns that were to be measured; None for all.
        suffix: How the names of such packs end.
    Raises:
        OSError: they cannot be written.
    """
    fresh = {file for shard in shards for file in shard.files}
    # The files were read after they were listed: a later write within the same second would not be noticed.
    listed_ns = listing.looked_us * 1_000
    wanted = None if columns is None else tuple(columns)
    files = {
        listed.file: MeasuredFile(path, file_stamp(listed), wanted)
        for path, listed in place.listed_by_path(listing)
        if listed.file in fresh
        and not may_change_unseen(listed, listed_ns)
        and place.stamp(path) == file_stamp(listed)
    }
    if not files:
        return set()
    make_folder(place, FOLDER)
    merged = _parts_to_merge(place, len(files), suffix)
    _write_pack(place, [_Part(files, shards), *merged.values()], suffix)
    for name in merged:
        with contextlib.suppress(OSError):
            files_at(place.folder).delete(pack_path(place, name))
    return set(files)


def _parts_to_merge(place: Place, file_count: int, suffix: str) -> dict[str, _Part]:
    """Return the small packs by their names, if there are too many packs.

    From the smallest on, a pack is written anew if it has at most twice as many files as all that are
    written with it. Files that are gone are left out.
    """
    packs = {}
    for name in pack_names(place, suffix):
        with contextlib.suppress(Damaged):
            packs[name] = open_pack(pack_path(place, name))
    parts: dict[str, _Part] = {}
    if len(packs) < PACKS_MAX:
        return parts
    for name, pack in sorted(packs.items(), key=lambda entry: len(files_of(entry[1]))):
        files = files_of(pack)
        if len(files) > 2 * file_count:
            break
        with contextlib.suppress(Damaged):
            if files and pack.size_bytes <= _PACK_BYTES_MAX:
                alive = {
                    str(row): file for row, file in enumerate(files) if place.stamp(file.path) == file.stamp
                }
                parts[name] = _Part(alive, blocks_in(pack, None))
                file_count += len(alive)
    return parts


def _write_pack(place: Place, parts: Iterable[_Part], suffix: str) -> None:
    """Write a pack of the parts; what an earlier part has of a file and columns, a later one does not add."""
    rows: dict[MeasuredFile, int] = {}
    shards: list[Shard] = []
    for part in parts:
        new = {name: file for name, file in part.files.items() if file not in rows}
        names = {name: str(rows.setdefault(file, len(rows))) for name, file in new.items()}
        shards += [
            rename(shard, names) for shard in part.shards if any(file in names for file in shard.files)
        ]
    mode = common_mode(place.mode(file.path) or 0 for file in rows)
    path = pack_path(place, f"{uuid.uuid4().hex}{suffix}")
    write_shared(place, path, block_pieces(merge_alike(shards), _notes(list(rows)), summarizes=False), mode)


def _notes(files: Sequence[MeasuredFile]) -> dict[str, Any]:
    columns = list(dict.fromkeys(file.columns for file in files))
    place_of = {names: place for place, names in enumerate(columns)}
    return {
        "version": VERSION,
        "columns": columns,
        "files": [(file.path, *file.stamp, place_of[file.columns]) for file in files],
    }


def tidy_measured(place: Place, *, damaged: bool = False) -> None:
    """Delete the packs that describe no file any more; limit the access to the others to that to their files.

    Args:
        place: Where the packs are.
        damaged: Whether to look for damaged packs, and to delete them too.
    """
    if not place.is_local:
        return
    with contextlib.suppress(OSError):
        _tidy(place, list_place(place, FOLDER), damaged=damaged)


def _tidy(place: Place, entries: Entries, *, damaged: bool) -> None:
    for name, read_status in entries.items():
        if not name.endswith((MEASURED, MEASURED_PAGES)):
            continue
        path = pack_path(place, name)
        with contextlib.suppress(OSError):
            try:
                pack = open_pack(path)
                if damaged:
                    blocks_in(pack, None)
            except (Missing, Forbidden, Unreachable):
                continue
            except Damaged:
                if damaged:
                    files_at(path).delete(path)
                continue
            if pack.notes["version"] > VERSION:
                continue
            alive = [file for file in files_of(pack) if place.stamp(file.path) == file.stamp]
            if alive:
                limit_access(place, path, common_mode(place.mode(file.path) or 0 for file in alive))
            elif read_status().age_seconds > _UNUSED_SECONDS:
                files_at(path).delete(path)
