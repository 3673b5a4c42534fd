"""The cache of the indexes of files: which values their blocks hold, as `pruning.index` found.

It is in the place of the data (`pruning.metadata.files.places`). The entry of a file is used while the
file's size and modification time are unchanged, as in the store (`pruning.metadata.store.store`).

A cache is written to a temporary file and then renamed. A cache that cannot be read, or that another version
of this package wrote, counts as empty; failing to write one is no error.
"""

import contextlib
import functools
import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace

import pyarrow as pa

from pruning.metadata.files.listing import ListedFile, Listing
from pruning.metadata.files.object_stores import files_at
from pruning.metadata.files.places import (
    FileStamp,
    Place,
    common_mode,
    file_stamp,
    list_place,
    make_folder,
    may_change_unseen,
    places_of,
    write_shared,
)
from pruning.metadata.table.blocks import Shard, merge_alike, rename
from pruning.metadata.table.fingerprint import fingerprint
from pruning.metadata.table.reading import from_bytes, to_bytes

# The name is a hidden one, because Spark's pattern `table/*` matches the directory of the cache too, and then
# Spark reads all files in it that are not hidden.
INDEX = "_index.arrow"
# The most cache files to keep in memory for repeated use, and the most bytes of each.
_LOADED_MAX, _LOADED_BYTES_MAX = 16, 16_000_000
_STAMP = pa.struct([("path", pa.string()), ("size_bytes", pa.int64()), ("modified_ns", pa.int64())])
_SCHEMA = pa.schema([("stamps", pa.list_(_STAMP)), ("blocks", pa.large_binary())])
_WRITTEN_BY = b"skipproof.written_by"
# The file starts with a digest of the rest, so that a flipped bit does not become a false bound.
_DIGEST_BYTES = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True, eq=False)
class Cache:
    """The cache of one directory: `stamps` maps paths relative to it to (size, time).

    `shards` name their files by those paths too. `place` is None if there is no cache. A small file is
    loaded once, and gives the same object until it is rewritten. `others` are caches elsewhere that may have
    the same files.
    """

    place: Place | None
    stamps: dict[str, FileStamp]
    shards: list[Shard]
    others: tuple["Cache", ...] = ()


NO_CACHE = Cache(None, {}, [])


def open_cache(listing: Listing) -> Cache:
    """Open the cache for the listed files; empty if there is none that can be used."""
    places = places_of(listing)
    if not places:
        return NO_CACHE
    first, *others = [_open_place(place) for place in places]
    return _with_others(first, tuple(others)) if others else first


@functools.lru_cache(maxsize=_LOADED_MAX)
def _with_others(first: Cache, others: tuple[Cache, ...]) -> Cache:
    """Return a cache with `others`, the same object for the same caches."""
    return replace(first, others=others)


def _open_place(place: Place) -> Cache:
    """Return the cache at a place; empty if there is none that can be used."""
    try:
        status = list_place(place)[INDEX]()
        if status.size_bytes > _LOADED_BYTES_MAX:
            return _load(place)
        return _load_once(place, status.identity)
    except OSError as error:
        # What an object store does not give now must not be replaced.
        is_kept = place.is_of_objects and not isinstance(error, FileNotFoundError)
        return NO_CACHE if is_kept else _empty_cache(place)
    # A damaged cache may raise any of these; it counts as empty.
    except (ValueError, KeyError, TypeError, pa.ArrowException):
        return _empty_cache(place)


def reusable_shards(cache: Cache, listing: Listing) -> list[Shard]:
    """Return the cached shards of the files that have not changed, under the names in the listing."""
    shards: list[Shard] = []
    done: set[str] = set()
    for store in (cache, *cache.others):
        if store.stamps:
            names = {
                path: listed.file
                for path, listed in _unchanged_files(store, listing)
                if listed.file not in done
            }
            shards += [
                rename(part, names) for part in store.shards if any(file in names for file in part.files)
            ]
            done = {file for part in shards for file in part.files}
    return shards


def update(cache: Cache, listing: Listing, read: list[Shard]) -> None:
    """Add the shards that were read to the cache and drop stale entries; do nothing if that fails."""
    place = cache.place
    fresh = {part_file for part in read for part_file in part.files}
    if place is None or not fresh:
        return
    # Values are read after files are listed: a write in between, in the same second, would not be noticed.
    listed_ns = listing.looked_us * 1_000
    first = {
        path: listed
        for path, listed in reversed(place.listed_by_path(listing))
        if listed.file in fresh and not may_change_unseen(listed, listed_ns)
    }
    if not first:
        return
    modes = {path: place.mode(path) for path in {**cache.stamps, **first}}
    stamps = {
        path: stamp for path, stamp in cache.stamps.items() if path not in first and modes[path] is not None
    }
    kept = [rename(part, {path: path for path in part.files if path in stamps}) for part in cache.shards]
    names = {listed.file: path for path, listed in first.items()}
    stamps |= {path: file_stamp(listed) for path, listed in first.items()}
    with contextlib.suppress(OSError):
        merged = merge_alike([*kept, *(rename(part, names) for part in read)])
        _save(place, stamps, merged, common_mode(modes[path] or 0 for path in stamps))


def _unchanged_files(cache: Cache, listing: Listing) -> Iterator[tuple[str, ListedFile]]:
    for path, listed in _listed_by_path(cache, listing):
        if listed.modified_ns is not None and cache.stamps.get(path) == file_stamp(listed):
            yield path, listed


def _listed_by_path(cache: Cache, listing: Listing) -> list[tuple[str, ListedFile]]:
    return [] if cache.place is None else cache.place.listed_by_path(listing)


@functools.lru_cache(maxsize=_LOADED_MAX)
def _empty_cache(place: Place) -> Cache:
    return Cache(place, {}, [])


@functools.lru_cache(maxsize=_LOADED_MAX)
def _load_once(place: Place, version: tuple[object, ...]) -> Cache:
    """Load a cache once for each version of its file."""
    return _load(place)


def _load(place: Place) -> Cache:
    path = os.path.join(place.folder, INDEX)
    data = files_at(path).read(path, 0, None)
    digest, content = data[:_DIGEST_BYTES], memoryview(data)[_DIGEST_BYTES:]
    if digest != hashlib.sha256(content).digest():
        raise ValueError("damaged")
    with pa.ipc.open_file(pa.py_buffer(content)) as file:
        if file.schema.metadata.get(_WRITTEN_BY) != fingerprint().encode():
            return Cache(place, {}, [])
        table = file.read_all()
    shards: list[Shard] = []
    stamps: dict[str, FileStamp] = {}
    for row_stamps, blocks in zip(table["stamps"].to_pylist(), table["blocks"], strict=True):
        stamps |= {stamp["path"]: (stamp["size_bytes"], stamp["modified_ns"]) for stamp in row_stamps}
        shards.append(from_bytes([stamp["path"] for stamp in row_stamps], blocks.as_buffer()))
    return Cache(place, stamps, shards)


def _save(place: Place, stamps: dict[str, FileStamp], shards: list[Shard], mode: int) -> None:
    """Write a cache that those may read whom both `mode` and the modes of the directory above permit."""
    columns = ("path", "size_bytes", "modified_ns")
    rows = [
        {
            "stamps": [dict(zip(columns, (path, *stamps[path]), strict=True)) for path in part.files],
            "blocks": to_bytes(part),
        }
        for part in shards
    ]
    schema = _SCHEMA.with_metadata({_WRITTEN_BY: fingerprint().encode()})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    content = sink.getvalue()
    folder = make_folder(place)
    write_shared(place, os.path.join(folder, INDEX), [hashlib.sha256(content).digest(), content], mode)
