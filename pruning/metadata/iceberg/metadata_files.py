"""The files of a table's metadata: finding the newest one, and reading the bytes of any."""

import gzip
import re
from collections.abc import Callable
from typing import TypeVar

import pyarrow as pa
from pyarrow import fs

from pruning.errors import InputError
from pruning.metadata.files.locations import is_uri, locate, parent_and_name, path_below, to_uri

_FOLDER = "metadata"
_HINT = "version-hint.text"
# Hadoop's catalogs number the files themselves (v3.metadata.json), the others begin with a number.
_NAME = re.compile(r"(?:v(?P<version>\d+)|(?P<number>\d+)-[^/]*?)(?:\.gz)?\.metadata\.json(?:\.gz)?")
_METADATA_JSON = re.compile(r".*\.metadata\.json(?:\.gz)?")
_GZIP = b"\x1f\x8b"
_Answer = TypeVar("_Answer")


def newest_metadata(path: str) -> str:
    """Return the path of the newest metadata file of a table.

    Args:
        path: The table's directory, or a metadata file, which is returned itself.

    Raises:
        InputError: there is none, or two have the greatest number.
    """
    if _METADATA_JSON.fullmatch(parent_and_name(path)[1]):
        return path
    folder = path_below(path, _FOLDER)
    system, place = locate(folder)
    infos = _attempt(
        folder, "list", lambda: system.get_file_info(fs.FileSelector(place, allow_not_found=True))
    )
    names = {info.base_name for info in infos if info.type == fs.FileType.File}
    numbers = {name: _number(name) for name in names}
    files = {name: number for name, number in numbers.items() if number is not None}
    if not files:
        raise InputError(
            f"{path}: holds no metadata of an Apache Iceberg table, a file {_FOLDER}/*.metadata.json; give "
            "the table's directory, or such a file"
        )
    greatest = max(files.values())
    if _HINT in names:
        greatest = _version_by_hint(path_below(folder, _HINT), set(files.values()), greatest)
    newest = sorted(name for name, number in files.items() if number == greatest)
    if len(newest) > 1:
        raise InputError(
            f"{path}: {newest[0]} and {newest[1]} have the same greatest number, so the newest is not known; "
            "give the path of the metadata file that the catalog names"
        )
    return path_below(folder, newest[0])


def note_of_choice(path: str, file: str) -> tuple[str, ...]:
    """Return what a reader should know of the choice of a metadata file: a catalog may name another one.

    A commit that failed may leave a file behind. Tables of Hadoop's catalogs have no other catalog than their
    directory.

    Args:
        path: The path that was opened.
        file: The metadata file that was chosen.
    """
    name = parent_and_name(file)[1]
    if path == file or not name[0].isdigit():
        return ()
    return (
        f"{name} was taken for the newest metadata of the table, because its number is the greatest; give "
        "the path of a metadata file if the table's catalog names another one",
    )


def _number(name: str) -> int | None:
    match = _NAME.fullmatch(name)
    return None if match is None else int(match["version"] or match["number"])


def _version_by_hint(hint: str, numbers: set[int], greatest: int) -> int:
    """Return the newest version by the hint: the hint may be older than the newest file, and never newer.

    Hadoop's catalog takes the hint and then goes on while a file of the next number is there.
    """
    system, place = locate(hint)
    text = _attempt(hint, "read", lambda: _content(system, place)).strip()
    if not text.isdigit():
        return greatest
    version = int(text)
    if version not in numbers:
        return greatest
    while version + 1 in numbers:
        version += 1
    return version


def read_metadata(path: str) -> bytes:
    """Return the JSON of a metadata file, which may be compressed."""
    system, place = locate(path)
    content = _attempt(path, "read", lambda: _content(system, place))
    return _attempt(path, "decompress", lambda: gzip.decompress(content)) if content[:2] == _GZIP else content


def open_location(location: str) -> pa.NativeFile:
    """Open a file that a table's metadata names, whose location has no escapes.

    Raises:
        InputError: it is missing, or cannot be read.
    """
    system, place = locate(to_uri(location) if is_uri(location) else location)
    return _attempt(location, "open", lambda: system.open_input_file(place))


def read_location(location: str, offset: int = 0, length: int | None = None) -> bytes:
    """Return the bytes of a file that a table's metadata names.

    Args:
        location: The file's location.
        offset: The first byte.
        length: The number of bytes; None for all.
    """
    with open_location(location) as handle:
        if length is None:
            return _attempt(location, "read", lambda: bytes(handle.read()))
        return _attempt(location, "read", lambda: bytes(handle.read_at(length, offset)))


def first_line(error: Exception) -> str:
    """Return the beginning of an error's message, which may go on with more lines; or the error's class."""
    return next(iter(str(error).splitlines()), "") or type(error).__name__


def _content(system: fs.FileSystem, place: str) -> bytes:
    with system.open_input_file(place) as handle:
        return bytes(handle.read())


def _attempt(path: str, verb: str, action: Callable[[], _Answer]) -> _Answer:
    try:
        return action()
    except (OSError, UnicodeError, pa.ArrowException, EOFError) as error:
        raise InputError(
            f"{path}: cannot {verb} this file of an Apache Iceberg table ({first_line(error)}); restore it, "
            "or open another version"
        ) from error
