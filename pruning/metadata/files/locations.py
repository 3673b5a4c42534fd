"""Locations: resolving paths and URIs to file systems, and taking them apart."""

import functools
import os
import re
from collections.abc import Sequence
from itertools import takewhile
from urllib.parse import quote, unquote, urlsplit

from pyarrow import fs

from pruning.errors import InputError

# At least two letters before the colon, as one letter would be a Windows drive.
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
# Hadoop's form of local files; matching it directly is faster than parsing thousands of URIs.
_PLAIN_FILE = re.compile(r"file:(?://)?(/[^/%?#][^%?#]*)$")
# The directory beside the data in which this package keeps its caches.
CACHE_DIRECTORY = ".skipproof"
_LOCAL = fs.LocalFileSystem()
# Hadoop's names of S3 clients; Arrow has one client, under the plain name.
_SCHEMES = {"s3a": "s3", "s3n": "s3"}
# Environment variables that name the endpoint of Arrow's S3 client.
S3_ENDPOINTS = ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
# The characters that Hadoop does not escape when it prints a path as a URI.
_UNESCAPED = "/:@&=+$,;!*'()~"


class NoFileSystem(InputError):
    """Raised for an address that Arrow has no file system for."""


def locate(path: str) -> tuple[fs.FileSystem, str]:
    """Return the file system that holds `path`, and the path on it with URI escapes decoded.

    Raises:
        NoFileSystem: Arrow has none for the URI.
        InputError: the URI names another host's local file.
    """
    plain = _PLAIN_FILE.match(path)
    if plain is not None:
        return _LOCAL, plain[1]
    if not _URI.match(path):
        return _LOCAL, os.path.abspath(path)
    parts = urlsplit(path, allow_fragments=False)
    if parts.scheme.lower() == "file":
        if parts.netloc not in ("", "localhost"):
            raise InputError(f"{path}: names the host {parts.netloc!r}; write file:///... for a local file")
        # A local path has no query: `?` is a sign of a pattern, or of a name.
        mark = "?" if "?" in path else ""
        return _LOCAL, unquote(parts.path) + mark + unquote(parts.query)
    try:
        system, root = _remote(parts.scheme.lower(), parts.netloc, parts.query)
    except (ValueError, OSError, NotImplementedError) as error:
        raise NoFileSystem(
            f"{path}: no file system for this address ({error}); check its scheme, or let a Spark session "
            "read it: pruning.collect(path, spark=spark)"
        ) from error
    return system, root + unquote(parts.path)


def is_local(system: fs.FileSystem) -> bool:
    """Tell whether a file system is the local one."""
    return isinstance(system, fs.LocalFileSystem)


def is_uri(path: str) -> bool:
    """Tell whether a path is written as a URI."""
    return _URI.match(path) is not None


def is_on_local_disk(path: str) -> bool:
    """Tell whether a path or URI is of a local file."""
    return not _URI.match(path) or path[:5].lower() == "file:"


def table_directory(files: Sequence[str]) -> str | None:
    """Return the directory of the table that files belong to: the deepest one that is of no partition.

    Args:
        files: URIs without escapes.
    """
    directory = common_directory([file.rpartition("/")[0] for file in files])
    while directory is not None and "=" in directory.rpartition("/")[2]:
        directory = common_directory([directory.rpartition("/")[0]])
    return directory


def common_directory(directories: Sequence[str]) -> str | None:
    """Return the deepest directory that contains all of the directories; None if there is none.

    Args:
        directories: URIs without escapes.
    """
    names = zip(*(directory.split("/") for directory in directories), strict=False)
    common = [first for first, *_ in takewhile(lambda names: len(set(names)) == 1, names)]
    # A scheme alone, or one whose host differs, is no directory.
    return "/".join(common) if common[1:] not in ([], [""]) else None


def path_below(directory: str, relative: str) -> str:
    """Return the path or URI of a file below a directory, in the directory's own spelling."""
    if not _URI.match(directory):
        return f"{directory.rstrip('/')}/{relative}"
    base, mark, query = directory.partition("?")
    return f"{base.rstrip('/')}/{quote(relative, safe=_UNESCAPED)}{mark}{query}"


def to_uri(path: str) -> str:
    """Return the URI of a path that Hadoop prints, which has a scheme and no escapes."""
    return quote(path, safe=_UNESCAPED)


def parent_and_name(path: str) -> tuple[str | None, str]:
    """Return the directory that holds a path, None if there is none, and the last name of the path."""
    base, mark, query = path.partition("?") if _URI.match(path) else (path, "", "")
    directory, slash, name = base.rstrip("/").rpartition("/")
    if not slash:
        return ("." if name not in ("", ".", "..") else None), name
    if directory.endswith("/") or _SCHEME.fullmatch(directory):
        return None, name
    return f"{directory or '/'}{mark}{query}", name


def relative_to(directory: str, file: str) -> str | None:
    """Return the path of a file relative to a directory, URI escapes decoded; None if it is not below it.

    The file is spelled as `path_below` spells it.
    """
    uri = bool(_URI.match(directory))
    base, mark, query = directory.partition("?") if uri else (directory, "", "")
    start, end = base.rstrip("/") + "/", mark + query
    if not (file.startswith(start) and file.endswith(end)):
        return None
    relative = file[len(start) : len(file) - len(end)]
    return unquote(relative) if uri else relative


def address(path: str) -> str:
    """Return the unescaped URI of a path that Arrow reads remotely; those of files below it begin with it.

    It names Arrow and the endpoint: elsewhere, the same path may be of other data, or have another time.
    """
    parts = urlsplit(path, allow_fragments=False)
    scheme = _SCHEMES.get(parts.scheme.lower(), parts.scheme.lower())
    options = [parts.query, *(os.environ.get(name, "") for name in S3_ENDPOINTS if scheme == "s3")]
    host = "?".join([parts.netloc, *filter(None, options)])
    return f"arrow+{scheme}://{host}{unquote(parts.path)}".rstrip("/")


@functools.lru_cache(maxsize=64)
def _remote(scheme: str, host: str, query: str) -> tuple[fs.FileSystem, str]:
    """Return a remote file system and the path of its root; cached, as creating one opens connections."""
    address = f"{_SCHEMES.get(scheme, scheme)}://{host}" + (f"?{query}" if query else "")
    system, root = fs.FileSystem.from_uri(address)
    return system, root
