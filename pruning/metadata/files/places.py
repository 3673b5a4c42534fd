"""The places where metadata about data files is kept, and who may read what is kept there.

A place is the hidden directory beside the data. If the environment variable `SKIPPROOF_METADATA` names a
local directory, or a folder of an object store by a URL (`pruning.metadata.files.object_stores`), the places
of data that is not local, or beside which nothing may be written, are below it.

Files of one partition, below a directory named `name=value`, are also looked up in the table's place, and
kept there if it exists and can be written. The root of a local file system has no place.

What is kept has the modes and the group of its directory, so that other readers of the data can use it, but
only those who may read all the files that it describes. Anyone who may write beside the data may write
false metadata there, just as they may write false data. Objects have no modes: whoever may read the folder
of an object store may read what is kept there of any data.
"""

import contextlib
import functools
import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from operator import and_

from pruning.metadata.files.listing import ListedFile, Listing
from pruning.metadata.files.locations import CACHE_DIRECTORY, is_uri
from pruning.metadata.files.object_stores import TEMPORARY, Entries, checked_root, files_at, objects_at

ENVIRONMENT = "SKIPPROOF_METADATA"
# So much of the digest of a directory's path names its folder below the directory that the user names.
_DIGEST_CHARACTERS = 32
_SECOND_NS = 1_000_000_000
_ANYTHING, _NOT_EXECUTED = 0o7777, 0o666

# The size in bytes and the modification time in ns of a file; with its path, its identity.
FileStamp = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Place:
    """A directory of data, local or a URI without escapes, and the path or URL of what is kept of it."""

    directory: str
    folder: str

    @property
    def is_local(self) -> bool:
        """True if the data is on the local file system."""
        return not is_uri(self.directory)

    @property
    def is_beside_data(self) -> bool:
        """True if the folder is in the directory."""
        return self.folder == os.path.join(self.directory, CACHE_DIRECTORY)

    @property
    def is_of_objects(self) -> bool:
        """True if the folder is in an object store."""
        return is_uri(self.folder)

    def is_writable(self) -> bool:
        """Tell whether something may be written here; an object store tells only when it is written to."""
        if self.is_of_objects:
            return True
        if os.path.isdir(self.folder):
            return os.access(self.folder, os.W_OK | os.X_OK)
        return not self.is_beside_data or os.access(self.directory, os.W_OK | os.X_OK)

    def mode(self, path: str) -> int | None:
        """Return the mode of a data file; None if it does not exist.

        Of data that is not local, everything is permitted.

        Args:
            path: The file's path relative to the directory.
        """
        if not self.is_local:
            return _ANYTHING
        try:
            return stat.S_IMODE(os.stat(os.path.join(self.directory, path)).st_mode)
        except OSError:
            return None

    def stamp(self, path: str) -> FileStamp | None:
        """Return the size and time of a data file now; None if it does not exist or is not local.

        Args:
            path: The file's path relative to the directory.
        """
        if not self.is_local:
            return None
        try:
            status = os.stat(os.path.join(self.directory, path))
        except OSError:
            return None
        return status.st_size, status.st_mtime_ns

    def listed_by_path(self, listing: Listing) -> list[tuple[str, ListedFile]]:
        """Return the listed files with their paths relative to the directory."""
        inside = self.directory.rstrip("/") + "/"
        return [
            # Most files are below the directory, and slicing their paths is much faster than `relpath`.
            (listed.path[len(inside) :], listed)
            if listed.path.startswith(inside)
            else (os.path.relpath(listed.path, self.directory), listed)
            for listed in listing.files
        ]


def places_of(listing: Listing) -> list[Place]:
    """Return the places that may have something about listed files, the one to write to first."""
    directory = listing.parent
    if directory is None or os.path.dirname(directory) == directory:
        return []
    places = places_of_directory(directory)
    if len(places) > 1:
        places.sort(key=Place.is_writable, reverse=True)
        if not places[0].is_of_objects:
            # What may be kept beside the data needs no requests.
            places = [place for place in places if not place.is_of_objects]
    return places


def places_of_directory(directory: str) -> list[Place]:
    """Return the places that may have something about the files of a directory, the best first."""
    named = _named_places(directory)
    if is_uri(directory):
        return named
    directories = [directory]
    while "=" in os.path.basename(directory):
        directory = os.path.dirname(directory)
        if os.path.isdir(os.path.join(directory, CACHE_DIRECTORY)):
            directories.append(directory)
    return [Place(data, os.path.join(data, CACHE_DIRECTORY)) for data in reversed(directories)] + named


def _named_places(directory: str) -> list[Place]:
    """Return the place below the directory that the user names, if any, for a directory of data."""
    root = os.environ.get(ENVIRONMENT)
    if not root:
        return []
    digest = hashlib.sha256(directory.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST_CHARACTERS]
    return [Place(directory, os.path.join(checked_root(ENVIRONMENT, root), digest))]


def list_place(place: Place, below: str = "") -> Entries:
    """Return what is in the folder of a place, or in that of this name inside it; nothing if there is none.

    Raises:
        OSError: an object store cannot be asked. A local folder that may not be read has nothing.
    """
    return files_at(place.folder).entries(place.folder, below)


def single_writer_notes(listing: Listing) -> tuple[str, ...]:
    """Return a sentence about each place that two writers must not use at once."""
    return tuple(
        f"{place.folder}: only one writer may keep metadata there, because its file system cannot refuse to "
        "replace a file"
        for place in places_of(listing)
        if place.is_of_objects and not objects_at(place.folder).refuses
    )


def file_stamp(listed: ListedFile) -> FileStamp:
    """Return the size and time of a file; a time of -1, if it is unknown, matches no file."""
    return listed.size_bytes, -1 if listed.modified_ns is None else listed.modified_ns


def may_change_unseen(listed: ListedFile, listed_ns: int) -> bool:
    """Tell whether a file may be written again, after it was listed, without another size or time.

    Some file systems give times in whole seconds; within such a second, a file may be written twice.
    """
    modified_ns = listed.modified_ns or 0
    return modified_ns % _SECOND_NS == 0 and listed_ns - modified_ns < 2 * _SECOND_NS


def common_mode(modes: Iterable[int]) -> int:
    """Return the mode that permits what all of the modes permit."""
    return functools.reduce(and_, modes, _ANYTHING)


def make_folder(place: Place, *names: str) -> str:
    """Make the folder of a place, or one below it, with the modes of the directory above; return its path.

    In an object store, what is written makes it.

    Raises:
        OSError: it cannot be made.
    """
    folder = place.folder
    if place.is_of_objects:
        return "/".join([folder, *names])
    if not place.is_beside_data:
        os.makedirs(os.path.dirname(folder), exist_ok=True)
    above = os.stat(os.path.dirname(folder))
    for path in (folder, *(os.path.join(folder, name) for name in names)):
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)
            share_access(path, above, _ANYTHING)
        folder = path
    return folder


def write_shared(
    place: Place, path: str, content: Iterable[bytes | memoryview], mode: int, *, replaces: bool = True
) -> None:
    """Write a file of a place, all of it or nothing.

    Args:
        place: Where it belongs; the file gets the group and the modes of the directory above.
        path: The file's path.
        content: What to write, in pieces.
        mode: The file is readable only for those whom this mode permits to read.
        replaces: Whether a file that exists is replaced; if not, it is an error.
    Raises:
        FileExistsError: the file exists, and is not to be replaced.
        OSError: it cannot be written.
    """
    if place.is_of_objects:
        objects_at(path).write(path, content, replaces=replaces)
        return
    above = os.stat(os.path.dirname(place.folder))
    handle, beside = tempfile.mkstemp(prefix=TEMPORARY, dir=os.path.dirname(path))
    try:
        with os.fdopen(handle, "wb") as file:
            file.writelines(content)
        share_access(beside, above, mode & _NOT_EXECUTED)
        if replaces:
            os.replace(beside, path)
        else:
            _link_or_copy(beside, path)
    except BaseException:
        os.unlink(beside)
        raise
    if not replaces:
        os.unlink(beside)


def _link_or_copy(source: str, target: str) -> None:
    """Give a file another name, or copy it where the file system has no links.

    A reader may see a copy that is not complete, and take it for damaged.

    Raises:
        FileExistsError: the name is taken.
        OSError: the file can neither be linked nor copied.
    """
    try:
        os.link(source, target)
    except FileExistsError:
        raise
    except OSError:
        with open(source, "rb") as content, open(target, "xb") as copy:
            try:
                shutil.copyfileobj(content, copy)
            except BaseException:
                os.unlink(target)
                raise
        shutil.copystat(source, target)


def limit_access(place: Place, path: str, mode: int) -> None:
    """Give a kept file the modes that it would get if it were written now; do nothing if that fails."""
    if place.is_of_objects:
        return
    with contextlib.suppress(OSError):
        share_access(path, os.stat(os.path.dirname(place.folder)), mode & _NOT_EXECUTED)


def access_of(place: Place, path: str) -> int:
    """Return the mode of a kept file; an object has none, and permits everything.

    Raises:
        OSError: there is none.
    """
    return _ANYTHING if place.is_of_objects else os.stat(path).st_mode


def share_access(path: str, directory: os.stat_result, mode: int) -> None:
    """Give a file or directory the group of `directory`, and its modes limited by `mode`."""
    # Changing the group fails for users outside of it; then the file keeps its own group.
    with contextlib.suppress(OSError):
        os.chown(path, -1, directory.st_gid)
    os.chmod(path, stat.S_IMODE(directory.st_mode) & mode | stat.S_IRUSR | stat.S_IWUSR)
