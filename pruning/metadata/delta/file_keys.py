"""Names of data files that are the same for every spelling of a file in the log of one table."""

import posixpath
import re
from urllib.parse import unquote

_ABSOLUTE = re.compile(r"/|[A-Za-z][A-Za-z0-9+.-]*:")


def file_key(path: str) -> str:
    """Return the name of a data file without escapes, relative or absolute as the log has it.

    Args:
        path: A URI from the log.
    """
    return posixpath.normpath(unquote(path))


def may_share(paths: frozenset[str], others: frozenset[str]) -> str | None:
    """Return a file that may be among both; None if certainly none is.

    A file below the table's directory may be spelled with it, and the directory in several ways; so an
    absolute path is taken for every file of its last name.

    Args:
        paths: Names from `file_key`.
        others: Names from `file_key`.
    """
    for path in sorted(paths & others):
        return path
    for absolute, rest in ((_absolute(paths), others), (_absolute(others), paths)):
        last_names = {posixpath.basename(path) for path in absolute}
        for path in sorted(rest) if last_names else ():
            if posixpath.basename(path) in last_names:
                return path
    return None


def is_absolute(key: str) -> bool:
    """Tell whether a name from `file_key` is no path below the table's directory."""
    return _ABSOLUTE.match(key) is not None


def _absolute(paths: frozenset[str]) -> list[str]:
    return [path for path in paths if is_absolute(path)]
