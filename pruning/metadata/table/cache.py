"""The caches of block metadata (`BLOCKS`) and of indexes (`INDEX`).

They are in a hidden directory beside the data. If the environment variable `SKIPPROOF_METADATA` names a local
directory, the caches of data that is not local, or beside which nothing may be written, are below it.

The entry of a file is used while the file's size and modification time are unchanged. So a file that is
rewritten in place with the same size within the resolution of the file system's clock, or whose time is
set back on purpose, is not noticed; `verify` compares the cache with the footers. Anyone who may write
beside the data may write false metadata here, just as they may write false data.

The root of a local file system has no cache. A file whose time is in whole seconds, and less than two of
them ago, may be written again without another time, and is not kept. A cache is written to a temporary file
and then renamed. A cache that cannot be read, or that another version of this package wrote, counts as
empty; failing to write one is no error.

Files of one partition, below a directory named `name=value`, are also looked up in the table's cache, and
stored there if it exists and can be written. A cache has the modes and the group of its directory, so that
other readers of the data can use it, but only those who may read all the files that it describes.
"""

import contextlib
import functools
import hashlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from operator import and_
from pathlib import Path

import pyarrow as pa

from pruning.errors import InputError
from pruning.metadata.files.listing import ListedFile, Listing
from pruning.metadata.files.locations import CACHE_DIRECTORY, is_uri
from pruning.metadata.table.blocks import Shard, rename, unite
from pruning.metadata.table.comparable import comparable_in_all, with_comparable
from pruning.metadata.table.reading import from_bytes, to_bytes

DIRECTORY = CACHE_DIRECTORY
ENVIRONMENT = "SKIPPROOF_METADATA"
# So much of the digest of a directory's path names its folder below the directory that the user names.
_DIGEST_CHARACTERS = 32
# The names are hidden ones, because Spark's pattern `table/*` matches this directory too, and then Spark
# reads all files in it that are not hidden.
BLOCKS = "_blocks.arrow"  # the metadata from footers
INDEX = "_index.arrow"  # the index of values, if the files were indexed
_FORMER = ("blocks.arrow", "index.arrow")
# The most cache files to keep in memory for repeated use, and the most bytes of each.
_LOADED_MAX, _LOADED_BYTES_MAX = 16, 16_000_000
_STAMP = pa.struct([("path", pa.string()), ("size_bytes", pa.int64()), ("modified_ns", pa.int64())])
_SCHEMA = pa.schema([("stamps", pa.list_(_STAMP)), ("blocks", pa.large_binary())])
_SECOND_NS = 1_000_000_000
_ANYTHING, _NOT_EXECUTED = 0o7777, 0o666
_WRITTEN_BY = b"skipproof.written_by"
# The file starts with a digest of the rest, so that a flipped bit does not become a false bound.
_DIGEST_BYTES = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True, eq=False)
class Cache:
    """The cache of one directory: `stamps` maps paths relative to it to (size, time).

    `shards` name their files by those paths too. `place` is None if there is no cache; `name` is the
    name of the cache's file. A small file is loaded once, and gives the same object until it is rewritten.
    `others` are caches elsewhere that may have the same files.
    """

    place: "Place | None"
    stamps: dict[str, tuple[int, int]]
    shards: list[Shard]
    name: str = BLOCKS
    others: tuple["Cache", ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """A directory of data, local or a URI without escapes, and the local folder that has its caches."""

    directory: str
    folder: str

    @property
    def is_local(self) -> bool:
        """True if the data is on the local file system."""
        return not is_uri(self.directory)

    @property
    def is_beside_data(self) -> bool:
        """True if the folder is in the directory."""
        return self.folder == os.path.join(self.directory, DIRECTORY)

    def is_writable(self) -> bool:
        """Tell whether a cache may be written here."""
        if os.path.isdir(self.folder):
            return os.access(self.folder, os.W_OK | os.X_OK)
        return not self.is_beside_data or os.access(self.directory, os.W_OK | os.X_OK)


NO_CACHE = Cache(None, {}, [])


def open_cache(listing: Listing, name: str = BLOCKS) -> Cache:
    """Open the cache for the listed files; empty if there is none that can be used."""
    directory = listing.parent
    if directory is None or os.path.dirname(directory) == directory:
        return NO_CACHE
    places = _places(directory)
    if not places:
        return NO_CACHE
    first, *others = sorted(places, key=Place.is_writable, reverse=True) if len(places) > 1 else places
    opened = _open_place(first, name)
    return _with_others(opened, tuple(_open_place(other, name) for other in others)) if others else opened


def _places(directory: str) -> list[Place]:
    """Return the places of the caches that may have files of a directory, the best first."""
    named = _named_places(directory)
    if is_uri(directory):
        return named
    directories = [directory]
    while "=" in os.path.basename(directory):
        directory = os.path.dirname(directory)
        if os.path.isdir(os.path.join(directory, DIRECTORY)):
            directories.append(directory)
    return [Place(data, os.path.join(data, DIRECTORY)) for data in reversed(directories)] + named


def _named_places(directory: str) -> list[Place]:
    """Return the place below the directory that the user names, if any, for a directory of data."""
    root = os.environ.get(ENVIRONMENT)
    if not root:
        return []
    digest = hashlib.sha256(directory.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST_CHARACTERS]
    return [Place(directory, os.path.join(os.path.abspath(root), digest))]


@functools.lru_cache(maxsize=_LOADED_MAX)
def _with_others(first: Cache, others: tuple[Cache, ...]) -> Cache:
    """Return a cache with `others`, the same object for the same caches."""
    return replace(first, others=others)


def _open_place(place: Place, name: str) -> Cache:
    """Return the cache at a place; empty if there is none that can be used."""
    try:
        status = os.stat(os.path.join(place.folder, name))
        if status.st_size > _LOADED_BYTES_MAX:
            return _load(place, name)
        return _load_once(place, name, (status.st_ino, status.st_size, status.st_mtime_ns))
    # A damaged cache may raise any of these; it counts as empty.
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        return _empty_cache(place, name)


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


def check(cache: Cache, listing: Listing, read: list[Shard]) -> None:
    """Compare the cached metadata of unchanged files with that which was read now.

    Raises:
        InputError: they differ; the first such file in the listing is named.
    """
    cached = reusable_shards(cache, listing)
    cached_files = {file for part in cached for file in part.files}
    files = [listed.file for listed in listing.files if listed.file in cached_files]
    if unite(cached, files).equals(unite(read, files)):
        return
    for file in files:
        if not unite(cached, [file]).equals(unite(read, [file])):
            raise InputError(
                f"{file}: its cached metadata is not what its footer says, though size and time match; "
                f"delete {cache.place.folder if cache.place else DIRECTORY}"
            )


def update(cache: Cache, listing: Listing, read: list[Shard]) -> None:
    """Add the shards that were read to the cache and drop stale entries; do nothing if that fails."""
    place = cache.place
    fresh = {part_file for part in read for part_file in part.files}
    if place is None or not fresh:
        return
    now_ns = time.time_ns()
    first = {
        path: listed
        for path, listed in reversed(_listed_by_path(cache, listing))
        if listed.file in fresh and not _may_change_unseen(listed, now_ns)
    }
    if not first:
        return
    modes = {path: _mode(place, path) for path in {**cache.stamps, **first}}
    stamps = {
        path: stamp for path, stamp in cache.stamps.items() if path not in first and modes[path] is not None
    }
    kept = [rename(part, {path: path for path in part.files if path in stamps}) for part in cache.shards]
    names = {listed.file: path for path, listed in first.items()}
    stamps |= {path: _stamp(listed) for path, listed in first.items()}
    mode = functools.reduce(and_, (modes[path] or 0 for path in stamps))
    with contextlib.suppress(OSError):
        merged = _merge_shards([*kept, *(rename(part, names) for part in read)])
        _save(place, cache.name, stamps, merged, mode)


def _may_change_unseen(listed: ListedFile, now_ns: int) -> bool:
    """Tell whether a file may be written again without another size or time."""
    modified_ns = listed.modified_ns or 0
    return modified_ns % _SECOND_NS == 0 and now_ns - modified_ns < 2 * _SECOND_NS


def _mode(place: Place, path: str) -> int | None:
    """Return the mode of a file; None if it does not exist. Of data that is not local, all is permitted."""
    if not place.is_local:
        return _ANYTHING
    try:
        return stat.S_IMODE(os.stat(os.path.join(place.directory, path)).st_mode)
    except OSError:
        return None


def _listed_by_path(cache: Cache, listing: Listing) -> list[tuple[str, ListedFile]]:
    if cache.place is None:
        return []
    directory = cache.place.directory
    inside = directory.rstrip("/") + "/"
    return [
        # Most files are below the directory, and slicing their paths is much faster than `relpath`.
        (listed.path[len(inside) :], listed)
        if listed.path.startswith(inside)
        else (os.path.relpath(listed.path, directory), listed)
        for listed in listing.files
    ]


def _stamp(listed: ListedFile) -> tuple[int, int]:
    # Local file systems always give the time; -1 matches no file.
    return listed.size_bytes, -1 if listed.modified_ns is None else listed.modified_ns


def _unchanged_files(cache: Cache, listing: Listing) -> Iterator[tuple[str, ListedFile]]:
    for path, listed in _listed_by_path(cache, listing):
        if listed.modified_ns is not None and cache.stamps.get(path) == _stamp(listed):
            yield path, listed


def _merge_shards(parts: list[Shard]) -> list[Shard]:
    """Merge the shards of the same schema, so that their number does not grow with every run."""
    alike: dict[tuple[object, ...], list[Shard]] = {}
    for part in parts:
        if part.files:
            schema = part.table.schema
            key = (
                tuple((schema.metadata or {}).items()),
                *(
                    (inner.name, str(inner.type))
                    for field in schema
                    for inner in (field.type if pa.types.is_struct(field.type) else [field])
                ),
            )
            alike.setdefault(key, []).append(part)
    return [
        Shard(
            tuple(file for part in same for file in part.files),
            _concatenation([part.table for part in same]),
        )
        for same in alike.values()
    ]


def _concatenation(tables: list[pa.Table]) -> pa.Table:
    table = pa.concat_tables(tables)
    return (
        with_comparable(table, comparable_in_all(tables, table)) if "columns" in table.schema.names else table
    )


@functools.lru_cache(maxsize=_LOADED_MAX)
def _empty_cache(place: Place, name: str) -> Cache:
    return Cache(place, {}, [], name)


@functools.lru_cache(maxsize=_LOADED_MAX)
def _load_once(place: Place, name: str, version: tuple[int, int, int]) -> Cache:
    """Load a cache once for each version of its file: its inode, size and time."""
    return _load(place, name)


def _load(place: Place, name: str) -> Cache:
    data = Path(place.folder, name).read_bytes()
    digest, content = data[:_DIGEST_BYTES], memoryview(data)[_DIGEST_BYTES:]
    if digest != hashlib.sha256(content).digest():
        raise ValueError("damaged")
    with pa.ipc.open_file(pa.py_buffer(content)) as file:
        if file.schema.metadata.get(_WRITTEN_BY) != _fingerprint():
            return Cache(place, {}, [], name)
        table = file.read_all()
    shards: list[Shard] = []
    stamps: dict[str, tuple[int, int]] = {}
    for row_stamps, blocks in zip(table["stamps"].to_pylist(), table["blocks"], strict=True):
        stamps |= {stamp["path"]: (stamp["size_bytes"], stamp["modified_ns"]) for stamp in row_stamps}
        shards.append(from_bytes([stamp["path"] for stamp in row_stamps], blocks.as_buffer()))
    return Cache(place, stamps, shards, name)


def _save(
    place: Place, name: str, stamps: dict[str, tuple[int, int]], shards: list[Shard], mode: int
) -> None:
    """Write a cache that those may read whom both `mode` and the modes of the directory above permit."""
    columns = ("path", "size_bytes", "modified_ns")
    rows = [
        {
            "stamps": [dict(zip(columns, (path, *stamps[path]), strict=True)) for path in part.files],
            "blocks": to_bytes(part),
        }
        for part in shards
    ]
    schema = _SCHEMA.with_metadata({_WRITTEN_BY: _fingerprint()})
    hidden = place.folder
    if not place.is_beside_data:
        os.makedirs(os.path.dirname(hidden), exist_ok=True)
    above = os.stat(os.path.dirname(hidden))
    with contextlib.suppress(FileExistsError):
        os.mkdir(hidden)
        _share_access(hidden, above, _ANYTHING)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    content = sink.getvalue()
    handle, beside = tempfile.mkstemp(prefix=name, dir=hidden)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(content).digest())
            file.write(content)
        _share_access(beside, above, mode & _NOT_EXECUTED)
        os.replace(beside, os.path.join(hidden, name))
        for former in _FORMER:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(hidden, former))
    except BaseException:
        os.unlink(beside)
        raise


def _share_access(path: str, directory: os.stat_result, mode: int) -> None:
    """Give a file or directory the group of `directory`, and its modes limited by `mode`."""
    # Changing the group fails for users outside of it; then the file keeps its own group.
    with contextlib.suppress(OSError):
        os.chown(path, -1, directory.st_gid)
    os.chmod(path, stat.S_IMODE(directory.st_mode) & mode | stat.S_IRUSR | stat.S_IWUSR)


# The code that decides what is believed about a file; a test compares it with the imports of
# `pruning.metadata`.
_BELIEVING = ("arguments.py", "errors.py", "expressions", "metadata", "rules")


@functools.cache
def _fingerprint() -> bytes:
    """Return the digest of the code that decides what is believed; caches by other code are not used."""
    return fingerprint_of(Path(str(files("pruning"))))


def fingerprint_of(package: Path) -> bytes:
    """Return a digest of the code, in the folder of `pruning`, that decides what is believed."""
    digest = hashlib.sha256()
    for source in believing_sources(package):
        digest.update(source.relative_to(package).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest().encode()


def believing_sources(package: Path) -> list[Path]:
    """Return the files of the code that decides what is believed, sorted."""
    roots = [package / name for name in _BELIEVING]
    return sorted(file for root in roots for file in ([root] if root.is_file() else root.rglob("*.py")))
