"""Where a path or URI leads: the file system that serves it, and the path inside that."""

import functools
import os
import re
from urllib.parse import quote, unquote, urlsplit

from pyarrow import fs

from pruning.errors import InputError

# One letter before the colon would be a Windows drive.
_URI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
# As Hadoop writes local files, thousands of them.
_PLAIN_FILE = re.compile(r"file:(?://)?(/[^/%?#][^%?#]*)$")
# Where this package keeps what it knows, beside the data.
CACHE_DIRECTORY = ".skipproof"
_LOCAL = fs.LocalFileSystem()
# Hadoop's names of S3 clients; Arrow has one client, under the plain name.
_SCHEMES = {"s3a": "s3", "s3n": "s3"}
# What Hadoop leaves as it is when it prints a path as a URI.
_UNESCAPED = "/:@&=+$,;!*'()~"


def locate(path: str) -> tuple[fs.FileSystem, str]:
    """The file system that holds `path`, and the path there, URI escapes undone.

    Raises:
        InputError: no file system is known for the URI.
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
        raise InputError(f"{path}: no file system for this address ({error}); check its scheme") from error
    return system, root + unquote(parts.path)


def is_local(system: fs.FileSystem) -> bool:
    """Whether a file system is this machine's own."""
    return isinstance(system, fs.LocalFileSystem)


def is_uri(path: str) -> bool:
    """Return whether a path is written as a URI."""
    return _URI.match(path) is not None


def below(directory: str, relative: str) -> str:
    """The spelling of a file under a directory, in the directory's own spelling."""
    if not _URI.match(directory):
        return f"{directory.rstrip('/')}/{relative}"
    base, mark, query = directory.partition("?")
    return f"{base.rstrip('/')}/{quote(relative, safe=_UNESCAPED)}{mark}{query}"


def uri(path: str) -> str:
    """The URI of a path that Hadoop prints, which has a scheme and no escapes."""
    return quote(path, safe=_UNESCAPED)


def above(path: str) -> tuple[str | None, str]:
    """The spelling of the directory that holds a path, None where there is none; and the path's own name."""
    base, mark, query = path.partition("?") if _URI.match(path) else (path, "", "")
    directory, slash, name = base.rstrip("/").rpartition("/")
    if not slash:
        return ("." if name not in ("", ".", "..") else None), name
    if directory.endswith("/") or _SCHEME.fullmatch(directory):
        return None, name
    return f"{directory or '/'}{mark}{query}", name


def relative_to(directory: str, file: str) -> str | None:
    """Return the path of a file below a directory, URI escapes undone; None where it is not below.

    The file is spelled as `below` spells it.
    """
    uri = bool(_URI.match(directory))
    base, mark, query = directory.partition("?") if uri else (directory, "", "")
    start, end = base.rstrip("/") + "/", mark + query
    if not (file.startswith(start) and file.endswith(end)):
        return None
    relative = file[len(start) : len(file) - len(end)]
    return unquote(relative) if uri else relative


@functools.lru_cache(maxsize=64)
def _remote(scheme: str, host: str, query: str) -> tuple[fs.FileSystem, str]:
    """A remote file system and the path of its root; making one costs connections, so each is kept."""
    address = f"{_SCHEMES.get(scheme, scheme)}://{host}" + (f"?{query}" if query else "")
    system, root = fs.FileSystem.from_uri(address)
    return system, root
