"""What is known of files between runs, in a hidden directory beside the data: `BLOCKS` and `INDEX`.

What was kept of a file is used while the file's size and modification time are what they were. So
a file that is rewritten in place with the same size within the resolution of the file system's
clock, or whose time is set back on purpose, is not noticed: `verify` compares with the footers.
Whoever may write beside the data may also write false metadata here, as they may write false data.

Only local directories have a cache, and none stands in a file system's root. It is written
beside its place and then renamed. One that cannot be read, or that another version of this package
wrote, counts as empty; one that cannot be written is not missed.

Files of one partition, below a directory named `name=value`, are looked up in the table's cache, too,
and kept there where there is one that can be written. Whoever may read the data profits: a cache has
the modes and the group of the directory it stands in, but nobody may read it who may not read all the
files that it tells of.
"""

import contextlib
import functools
import hashlib
import os
import stat
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from importlib.resources import files
from operator import and_
from pathlib import Path

import pyarrow as pa

from pruning.errors import InputError
from pruning.metadata.files.listing import Listed, Listing
from pruning.metadata.files.locations import CACHE_DIRECTORY
from pruning.metadata.table.blocks import Shard, rename, unite
from pruning.metadata.table.comparable import comparable_in_all, with_comparable
from pruning.metadata.table.reading import from_bytes, to_bytes

DIRECTORY = CACHE_DIRECTORY
# Spark's pattern `table/*` matches this directory, too, and passes over no file in it but hidden ones.
BLOCKS = "_blocks.arrow"  # what footers say
INDEX = "_index.arrow"  # what the data holds, where somebody had it indexed
_FORMER = ("blocks.arrow", "index.arrow")
# What a session asks again and again stays in memory: so many files of the cache, none larger than this.
_LOADED_MAX, _LOADED_BYTES_MAX = 16, 16_000_000
_STAMP = pa.struct([("path", pa.string()), ("size_bytes", pa.int64()), ("modified_ns", pa.int64())])
_SCHEMA = pa.schema([("stamps", pa.list_(_STAMP)), ("blocks", pa.large_binary())])
_ANYTHING, _NOT_EXECUTED = 0o7777, 0o666
_WRITTEN_BY = b"skipproof.written_by"
# The file starts with a digest of the rest: a flipped bit must not become a false bound.
_DIGEST_BYTES = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True, eq=False)
class Cache:
    """What was kept under one directory: `stamps` are (size, time) by path relative to it.

    `shards` name their files by those paths too. `directory` is None where nothing can be kept; `name`
    is that of the file inside it. What a small file holds is one object until another is written.
    `others` are the caches of directories below or above that may know the same files.
    """

    directory: str | None
    stamps: dict[str, tuple[int, int]]
    shards: list[Shard]
    name: str = BLOCKS
    others: tuple["Cache", ...] = ()


NO_CACHE = Cache(None, {}, [])


def open_cache(listing: Listing, name: str = BLOCKS) -> Cache:
    """What was kept for the listed files; empty where there is nothing that can be used."""
    directory = listing.parent
    if directory is None or os.path.dirname(directory) == directory:
        return NO_CACHE
    places = _places(directory)
    first, *others = sorted(places, key=_is_writable, reverse=True) if len(places) > 1 else places
    opened = _directory_cache(first, name)
    return (
        _with_others(opened, tuple(_directory_cache(other, name) for other in others)) if others else opened
    )


def _places(directory: str) -> list[str]:
    """The directories whose caches may tell of files in one: the table's first, then those below it."""
    places = [directory]
    while "=" in os.path.basename(directory):
        directory = os.path.dirname(directory)
        if os.path.isdir(os.path.join(directory, DIRECTORY)):
            places.append(directory)
    return places[::-1]


def _is_writable(directory: str) -> bool:
    hidden = os.path.join(directory, DIRECTORY)
    return os.access(hidden if os.path.isdir(hidden) else directory, os.W_OK | os.X_OK)


@functools.lru_cache(maxsize=_LOADED_MAX)
def _with_others(first: Cache, others: tuple[Cache, ...]) -> Cache:
    """The same object for the same caches."""
    return replace(first, others=others)


def _directory_cache(directory: str, name: str) -> Cache:
    """The cache of one directory; empty where there is nothing that can be used."""
    try:
        found = os.stat(os.path.join(directory, DIRECTORY, name))
        if found.st_size > _LOADED_BYTES_MAX:
            return _load(directory, name)
        return _loaded(directory, name, (found.st_ino, found.st_size, found.st_mtime_ns))
    # A cache may be damaged in any way, and none of them is a reason to fail.
    except (OSError, ValueError, KeyError, TypeError, pa.ArrowException):
        return _empty(directory, name)


def reusable(cache: Cache, listing: Listing) -> list[Shard]:
    """What was kept of the files that have not changed since, under the names they are listed by."""
    found: list[Shard] = []
    done: set[str] = set()
    for place in (cache, *cache.others):
        if place.stamps:
            names = {
                path: listed.file for path, listed in _unchanged(place, listing) if listed.file not in done
            }
            found += [
                rename(part, names) for part in place.shards if any(file in names for file in part.files)
            ]
            done = {file for part in found for file in part.files}
    return found


def check(cache: Cache, listing: Listing, read: list[Shard]) -> None:
    """Compare what was kept of unchanged files with what was read from them now.

    Raises:
        InputError: they differ; the first such file in the listing is named.
    """
    kept = reusable(cache, listing)
    known = {file for part in kept for file in part.files}
    files = [listed.file for listed in listing.files if listed.file in known]
    if unite(kept, files).equals(unite(read, files)):
        return
    for file in files:
        if not unite(kept, [file]).equals(unite(read, [file])):
            raise InputError(
                f"{file}: its cached metadata is not what its footer says, though size and time match; "
                f"delete {os.path.join(cache.directory or '', DIRECTORY)}"
            )


def update(cache: Cache, listing: Listing, read: list[Shard]) -> None:
    """Keep what was read, beside what is still true of the rest; does nothing where that is impossible."""
    directory = cache.directory
    fresh = {part_file for part in read for part_file in part.files}
    if directory is None or not fresh:
        return
    first = {path: listed for path, listed in reversed(_by_path(cache, listing)) if listed.file in fresh}
    if not first:
        return
    modes = {path: _mode(os.path.join(directory, path)) for path in {**cache.stamps, **first}}
    stamps = {
        path: stamp for path, stamp in cache.stamps.items() if path not in first and modes[path] is not None
    }
    kept = [rename(part, {path: path for path in part.files if path in stamps}) for part in cache.shards]
    names = {listed.file: path for path, listed in first.items()}
    stamps |= {path: _stamp(listed) for path, listed in first.items()}
    mode = functools.reduce(and_, (modes[path] or 0 for path in stamps))
    with contextlib.suppress(OSError):
        merged = _merged([*kept, *(rename(part, names) for part in read)])
        _save(directory, cache.name, stamps, merged, mode)


def _mode(path: str) -> int | None:
    """The mode of a file; None where there is none."""
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return None


def _by_path(cache: Cache, listing: Listing) -> list[tuple[str, Listed]]:
    if cache.directory is None:
        return []
    inside = cache.directory.rstrip("/") + "/"
    return [
        # Most files are below; asking the operating system's rules of each takes longer than the rest.
        (listed.path[len(inside) :], listed)
        if listed.path.startswith(inside)
        else (os.path.relpath(listed.path, cache.directory), listed)
        for listed in listing.files
    ]


def _stamp(listed: Listed) -> tuple[int, int]:
    # Local file systems always tell the time; -1 matches no file.
    return listed.size_bytes, -1 if listed.modified_ns is None else listed.modified_ns


def _unchanged(cache: Cache, listing: Listing) -> Iterator[tuple[str, Listed]]:
    for path, listed in _by_path(cache, listing):
        if listed.modified_ns is not None and cache.stamps.get(path) == _stamp(listed):
            yield path, listed


def _merged(parts: list[Shard]) -> list[Shard]:
    """The shards with those of one schema put together, so that they do not pile up over the runs."""
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
def _empty(directory: str, name: str) -> Cache:
    return Cache(directory, {}, [], name)


@functools.lru_cache(maxsize=_LOADED_MAX)
def _loaded(directory: str, name: str, version: tuple[int, int, int]) -> Cache:
    """The same while nobody writes the file: its inode, size and time are the version."""
    return _load(directory, name)


def _load(directory: str, name: str) -> Cache:
    data = Path(directory, DIRECTORY, name).read_bytes()
    digest, content = data[:_DIGEST_BYTES], memoryview(data)[_DIGEST_BYTES:]
    if digest != hashlib.sha256(content).digest():
        raise ValueError("damaged")
    with pa.ipc.open_file(pa.py_buffer(content)) as file:
        if file.schema.metadata.get(_WRITTEN_BY) != _fingerprint():
            return Cache(directory, {}, [], name)
        table = file.read_all()
    shards: list[Shard] = []
    stamps: dict[str, tuple[int, int]] = {}
    for row_stamps, blocks in zip(table["stamps"].to_pylist(), table["blocks"], strict=True):
        stamps |= {stamp["path"]: (stamp["size_bytes"], stamp["modified_ns"]) for stamp in row_stamps}
        shards.append(from_bytes([stamp["path"] for stamp in row_stamps], blocks.as_buffer()))
    return Cache(directory, stamps, shards, name)


def _save(
    directory: str, name: str, stamps: dict[str, tuple[int, int]], shards: list[Shard], mode: int
) -> None:
    """Write a cache; nobody may read it but those whom `mode` and the directory's modes let."""
    columns = ("path", "size_bytes", "modified_ns")
    rows = [
        {
            "stamps": [dict(zip(columns, (path, *stamps[path]), strict=True)) for path in part.files],
            "blocks": to_bytes(part),
        }
        for part in shards
    ]
    schema = _SCHEMA.with_metadata({_WRITTEN_BY: _fingerprint()})
    hidden = os.path.join(directory, DIRECTORY)
    above = os.stat(directory)
    with contextlib.suppress(FileExistsError):
        os.mkdir(hidden)
        _share(hidden, above, _ANYTHING)
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, schema) as writer:
        writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    content = sink.getvalue()
    handle, beside = tempfile.mkstemp(prefix=name, dir=hidden)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(hashlib.sha256(content).digest())
            file.write(content)
        _share(beside, above, mode & _NOT_EXECUTED)
        os.replace(beside, os.path.join(hidden, name))
        for former in _FORMER:
            with contextlib.suppress(OSError):
                os.unlink(os.path.join(hidden, former))
    except BaseException:
        os.unlink(beside)
        raise


def _share(path: str, directory: os.stat_result, mode: int) -> None:
    """Give a file or directory the group and the modes of the directory that it is to be read with."""
    # Whoever is in no such group keeps the own one; its members still need the directory above.
    with contextlib.suppress(OSError):
        os.chown(path, -1, directory.st_gid)
    os.chmod(path, stat.S_IMODE(directory.st_mode) & mode | stat.S_IRUSR | stat.S_IWUSR)


# The code that decides what is believed of a file; a test compares it with what `pruning.metadata` imports.
_BELIEVING = ("arguments.py", "errors.py", "expressions", "metadata", "rules")


@functools.cache
def _fingerprint() -> bytes:
    """Names the code that decides what is believed: what an older one believed is not reused."""
    return fingerprint_of(Path(str(files("pruning"))))


def fingerprint_of(package: Path) -> bytes:
    """Return a digest of the code in the folder of `pruning` that decides what is believed."""
    digest = hashlib.sha256()
    for source in believing_sources(package):
        digest.update(source.relative_to(package).as_posix().encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest().encode()


def believing_sources(package: Path) -> list[Path]:
    """Return the files of that code, in order."""
    roots = [package / name for name in _BELIEVING]
    return sorted(file for root in roots for file in ([root] if root.is_file() else root.rglob("*.py")))
