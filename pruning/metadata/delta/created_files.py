"""Files that are created whole, last through a crash, and never replace another.

A local file is written under a name beside its own that readers of Delta Lake pass over, and then linked to
its own, which fails if there is one. An object store is asked to refuse a second object of the name
(`pruning.metadata.files.object_stores`).
"""

import contextlib
import errno
import os
import uuid

from pruning.errors import InputError
from pruning.metadata.files.locations import is_uri, locate
from pruning.metadata.files.object_stores import files_at, objects_at, reason

# The errors of file systems that have no links, such as some that are mounted over a network.
_NO_LINKS = frozenset({errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV})


class UncertainWrite(OSError):
    """An error after which a file may or may not have been created."""


def root_of(location: str) -> str:
    """Return the local path or the URL, without a slash at the end, of a table's directory.

    Raises:
        InputError: no file system is known for it, or its store cannot refuse to replace a file.
    """
    if not is_uri(location) or location[:5].lower() == "file:":
        return locate(location)[1].rstrip("/") or "/"
    if not objects_at(location).refuses:
        raise InputError(
            f"{location}: its file system cannot refuse to replace a file, so that one writer would undo "
            "another's changes; write to the table with another engine"
        )
    return location.rstrip("/")


def read_whole(path: str) -> bytes:
    """Return what is in a file.

    Raises:
        OSError: it cannot be read.
    """
    return files_at(path).read(path, 0, None)


def create_file(path: str, content: bytes) -> None:
    """Create a file with this content, which a reader sees whole or not at all.

    Args:
        path: A path or URL below what `root_of` has returned.
        content: The bytes. Of two writers with the same content, each may be told that it created the file.
    Raises:
        FileExistsError: there is a file of this name; it was not changed.
        UncertainWrite: the file may have been created.
        OSError: the file was not created.
        InputError: the local file system has no links.
    """
    if is_uri(path):
        try:
            objects_at(path).write(path, [content], replaces=False)
        except FileExistsError:
            raise
        except OSError as error:
            raise UncertainWrite(error.errno, reason(error), path) from error
        return
    folder, name = os.path.split(path)
    if not os.path.isdir(folder):
        os.makedirs(folder, exist_ok=True)
        _sync_folder(os.path.dirname(folder))
    beside = os.path.join(folder, f".{name}.{uuid.uuid4()}.tmp")
    try:
        _write_through(beside, content)
        _link(beside, path)
    finally:
        # A crash or a failure here leaves a file that no reader looks at.
        with contextlib.suppress(OSError):
            os.unlink(beside)


def _write_through(path: str, content: bytes) -> None:
    """Write a new file and wait until its content is on the disk."""
    with open(path, "xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _link(source: str, target: str) -> None:
    """Give a file another name, and wait until the name is on the disk."""
    try:
        os.link(source, target)
    except FileExistsError:
        # A network file system that has lost its answer asks again, and is refused because of itself.
        if not os.path.samefile(source, target):
            raise
    except OSError as error:
        if error.errno in _NO_LINKS:
            raise InputError(
                f"{target}: its file system has no links, so that a file may be seen half-written; write to "
                "the table with another engine"
            ) from error
        raise
    try:
        _sync_folder(os.path.dirname(target))
    except OSError as error:
        raise UncertainWrite(error.errno, reason(error), target) from error


def _sync_folder(folder: str) -> None:
    """Wait until the names in a folder are on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
