"""Files of stores by their paths: local ones, and objects for whose URLs fsspec has a file system.

A file is read in parts, listed with its folder, deleted, or dated anew. `pruning.metadata.files.places`
writes files: all of one or nothing, and on request only where no file has the name.

In S3, Google Cloud Storage and Azure, the store itself refuses a second object of one name, so that of two
writers one notices the other. Elsewhere this package looks first and then writes: only one writer may keep
metadata there. An object has no mode: whoever may read the store's folder may read it.
"""

import contextlib
import errno
import functools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from datetime import datetime
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit

from pruning.errors import InputError
from pruning.metadata.files.locations import is_uri, locate

# The names of files that are being written begin so.
TEMPORARY = "_writing-"
# An object's time cannot be changed. An empty object of its name and this ending has the newer time.
DATED = ".dated"
# The URLs of stores that refuse to replace an object if asked to. It is tried for S3 and memory, and read in
# the sources of gcsfs 2026.10 and adlfs 2026.8 for the others. They need no folders, and write whole objects.
_REFUSING_SCHEMES = frozenset({"s3", "s3a", "gs", "gcs", "abfs", "abfss", "az", "memory"})
# The names under which file systems tell an object's version, and when it was written.
_VERSIONS, _TIMES = (
    ("ETag", "etag"),
    ("LastModified", "last_modified", "mtime", "updated", "modified", "created"),
)


class Status(NamedTuple):
    """The state of a file.

    Attributes:
        identity: Values that change when the file is written again.
        size_bytes: Its size.
        age_seconds: The time since it was written or dated; of an object, until the newest in its folder was.
    """

    identity: tuple[object, ...]
    size_bytes: int
    age_seconds: float


# The names in a folder, each with a function that returns the file's status, or raises OSError if it is gone.
Entries = Mapping[str, Callable[[], Status]]


class Files(Protocol):
    """The files of one kind; each function raises OSError if it fails."""

    def read(self, path: str, offset: int, size: int | None) -> bytes:
        """Return a part of a file; None for all from `offset` on."""

    def read_end(self, path: str, size: int) -> bytes:
        """Return the last bytes of a file, or all if it has no more."""

    def entries(self, folder: str, below: str) -> Entries:
        """Return what is in the folder `below` inside `folder`, which is empty for that itself."""

    def delete(self, path: str) -> None:
        """Delete a file."""

    def date(self, path: str) -> None:
        """Give a file the present time."""


class _LocalFiles:
    """Files on the local file system."""

    def read(self, path: str, offset: int, size: int | None) -> bytes:
        with open(path, "rb", buffering=0) as file:
            file.seek(offset)
            return file.read() if size is None else os.pread(file.fileno(), size, offset)

    def read_end(self, path: str, size: int) -> bytes:
        with open(path, "rb", buffering=0) as file:
            start = max(0, os.fstat(file.fileno()).st_size - size)
            return os.pread(file.fileno(), size, start)

    def entries(self, folder: str, below: str) -> Entries:
        folder = os.path.join(folder, below)
        try:
            names = os.listdir(folder)
        except OSError:
            return {}
        return {name: functools.partial(_local_status, os.path.join(folder, name)) for name in sorted(names)}

    def delete(self, path: str) -> None:
        os.unlink(path)

    def date(self, path: str) -> None:
        os.utime(path)


def _local_status(path: str) -> Status:
    status = os.stat(path)
    identity = status.st_ino, status.st_size, status.st_mtime_ns
    return Status(identity, status.st_size, time.time() - status.st_mtime)


class _Objects:
    """Objects of a store, by their URLs.

    Attributes:
        refuses: True if the store itself refuses to replace an object.
    """

    def __init__(self, system: Any, *, refuses: bool) -> None:
        self._system = system
        self.refuses = refuses

    def read(self, path: str, offset: int, size: int | None) -> bytes:
        end = None if size is None else offset + size
        with _as_os_errors(path):
            data: bytes = self._system.cat_file(path, start=offset, end=end)
        return data

    def read_end(self, path: str, size: int) -> bytes:
        with _as_os_errors(path):
            data: bytes = self._system.cat_file(path, start=-size)
        return data

    def entries(self, folder: str, below: str) -> Entries:
        # All levels are listed in one request, so that other listings of the folder need none.
        listings = _listings.get()
        infos = None if listings is None else listings.get(folder)
        if infos is None:
            infos = self._list(folder)
            if listings is not None:
                listings[folder] = infos
        start = f"{below}/" if below else ""
        by_name = {name[len(start) :]: info for name, info in infos.items() if name.startswith(start)}
        statuses = _object_statuses({name: info for name, info in by_name.items() if "/" not in name})
        return {name: functools.partial(_same, status) for name, status in statuses.items()}

    def _list(self, folder: str) -> dict[str, Any]:
        """Return what the store tells of each object below a folder, by its path there."""
        with _as_os_errors(folder):
            try:
                infos = self._system.find(folder, detail=True)
            except FileNotFoundError:
                return {}
        # The file system's names have no scheme, and some begin with a slash.
        root = self._root(folder)
        return {
            name.removeprefix(root): info for name, info in sorted(infos.items()) if name.startswith(root)
        }

    def _root(self, folder: str) -> str:
        """Return how the file system names a folder, with a slash at the end."""
        import fsspec

        _, name = fsspec.url_to_fs(folder, use_listings_cache=False)
        return f"{name.rstrip('/')}/"

    def delete(self, path: str) -> None:
        _forget_listings()
        with _as_os_errors(path):
            self._system.rm_file(path)

    def date(self, path: str) -> None:
        self.write(path + DATED, [b""], replaces=True)

    def write(self, path: str, content: Iterable[bytes | memoryview], *, replaces: bool) -> None:
        """Write an object, all of it or nothing.

        Args:
            path: Its URL.
            content: What to write, in pieces.
            replaces: Whether an object that exists is replaced; if not, it is an error.
        Raises:
            FileExistsError: it exists, and is not to be replaced.
            OSError: it cannot be written, or perhaps it was and the answer was lost.
        """
        data = b"".join(content)
        _forget_listings()
        with _as_os_errors(path):
            if not self.refuses:
                self._rename_to(path, data, replaces=replaces)
            elif replaces:
                self._system.pipe_file(path, data)
            else:
                self._create(path, data)

    def _create(self, path: str, data: bytes) -> None:
        """Write an object that must not exist; no error is certain to mean that it was not written.

        Where an answer is lost, the client may ask again, and be refused because of its first request. To
        two writers at once, a store may say that they are in conflict. So what is there decides.
        """
        try:
            self._system.pipe_file(path, data, mode="create")
        # File systems of fsspec raise errors of many packages; the object that is there decides.
        except Exception as error:
            try:
                written = self._system.cat_file(path, start=0)
            except FileNotFoundError:
                raise error from None
            if written != data:
                raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path) from error

    def _rename_to(self, path: str, data: bytes, *, replaces: bool) -> None:
        """Write an object under another name and then rename it; meanwhile, another writer may write it."""
        folder, _, name = path.rpartition("/")
        self._system.makedirs(folder, exist_ok=True)
        if not replaces and self._system.exists(path):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
        beside = f"{folder}/{TEMPORARY}{name}"
        self._system.pipe_file(beside, data)
        self._system.mv(beside, path)


_LOCAL = _LocalFiles()
# What each folder of objects holds, within a block that lists it once.
_listings: ContextVar[dict[str, dict[str, Any]] | None] = ContextVar("listings", default=None)


def files_at(path: str) -> Files:
    """Return the functions for the file at a path, or for files in that folder."""
    return objects_at(path) if is_uri(path) else _LOCAL


def objects_at(url: str) -> _Objects:
    """Return the functions for an object or folder of a store.

    Raises:
        InputError: a package is missing, or no package knows the URL.
    """
    import fsspec

    # fsspec keeps file systems, each for the process that made it. A listing that it keeps would be old.
    try:
        system, _ = fsspec.url_to_fs(url, use_listings_cache=False)
    except (ImportError, ValueError) as error:
        raise InputError(f"{url}: no file system for this address ({error})") from error
    return _Objects(system, refuses=urlsplit(url).scheme.lower() in _REFUSING_SCHEMES)


def checked_root(variable: str, root: str) -> str:
    """Return the local path, or the URL without a slash at the end, of a folder that the user names.

    Args:
        variable: The environment variable that names it.
        root: A path or URL.
    Raises:
        InputError: there is no file system for the URL.
    """
    if not is_uri(root):
        return os.path.abspath(root)
    if urlsplit(root).scheme.lower() == "file":
        return locate(root)[1]
    if "?" in root:
        raise InputError(
            f"{variable}={root!r} has a query; give the URL alone, and options by the environment variables "
            "of its file system, as AWS_ENDPOINT_URL."
        )
    try:
        objects_at(root)
    except ImportError as error:
        raise InputError(
            f"{variable}={root!r} needs fsspec: run `pip install 'skipproof[stores]'`."
        ) from error
    except InputError as error:
        raise InputError(
            f"{variable}={root!r} is of no file system ({error.__cause__}); install the package that fsspec "
            "needs for it, or name a local directory."
        ) from error
    return root.rstrip("/")


@contextlib.contextmanager
def listing_once() -> Iterator[None]:
    """Within this block, list a folder of objects once, and again after this thread has written to one."""
    if _listings.get() is not None:
        yield
        return
    token = _listings.set({})
    try:
        yield
    finally:
        _listings.reset(token)


def _forget_listings() -> None:
    listings = _listings.get()
    if listings is not None:
        listings.clear()


def reason(error: OSError) -> str:
    """Return why something failed, in words; file systems of fsspec give some errors no number."""
    return error.strerror or str(error) or type(error).__name__


@contextlib.contextmanager
def _as_os_errors(path: str) -> Iterator[None]:
    """Turn what a file system of fsspec raises, as for absent credentials, into errors of files."""
    try:
        yield
    except OSError:
        raise
    # File systems of fsspec raise errors of many packages, with no class in common.
    except Exception as error:
        raise OSError(errno.EIO, f"{type(error).__name__}: {error}", path) from error


def _object_statuses(infos: Mapping[str, Any]) -> dict[str, Status]:
    """Return the status of each object of a folder.

    Ages are by the store's clock, which may differ from this machine's: since the newest object was written.
    """
    times = {name: _time(info) for name, info in infos.items()}
    newest = max((time for time in times.values() if time is not None), default=0.0)
    statuses = {}
    for name, info in infos.items():
        written = [times[alike] for alike in (name, name + DATED) if alike in times]
        dates = [time for time in written if time is not None]
        version = next((info[key] for key in _VERSIONS if info.get(key)), times[name])
        age_seconds = newest - max(dates) if dates else 0.0
        statuses[name] = Status((version, info["size"]), info["size"], age_seconds)
    return statuses


def _time(info: Mapping[str, Any]) -> float | None:
    """Return when an object was written, in seconds since 1970; None if its file system does not tell."""
    time = next((info[key] for key in _TIMES if info.get(key)), None)
    if isinstance(time, str):
        time = datetime.fromisoformat(time)
    return time.timestamp() if isinstance(time, datetime) else time


def _same(status: Status) -> Status:
    return status
