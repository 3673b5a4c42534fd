"""Patterns of paths as Hadoop, and so Spark, reads them.

====================  ============================================================================
``*``                 any characters of one name
``?``                 one character
``[ab]``, ``[a-c]``   one of these characters; ``[^ab]`` and ``[!ab]`` none of these
``{ab,cd}``           one of these, which may be patterns, and may hold slashes
``\\``                 the next character as it is
====================  ============================================================================

Patterns match hidden names too, as in Spark, except the directory that this package keeps beside data.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import unquote

from pyarrow import fs

from pruning.errors import InputError
from pruning.metadata.files.locations import CACHE_DIRECTORY, is_uri, locate, path_below

_SIGNS = frozenset("*?[]{}\\")
# The most paths that groups with slashes may be expanded to.
_WRITTEN_OUT_MAX = 10_000


@dataclass(frozen=True, slots=True)
class GlobMatch:
    """A file or directory that a pattern matches: `spelled` in the pattern's form, `path` on its system."""

    spelled: str
    path: str
    info: fs.FileInfo


def is_pattern(path: str) -> bool:
    """Tell whether a path may be a pattern; the name of a file may have the same characters."""
    return not _SIGNS.isdisjoint(path)


def matches(pattern: str, system: fs.FileSystem) -> list[GlobMatch]:
    """Return the files and directories that a pattern matches, each once, sorted by path.

    Args:
        pattern: A path or URI on the file system.
        system: The file system to search.
    Raises:
        InputError: the pattern has an unclosed bracket or group, or ends in a backslash.
        OSError, pa.ArrowException: a directory cannot be listed.
    """
    matches_by_path: dict[str, GlobMatch] = {}
    # In the URI of a remote store, `?` begins the query.
    remote = is_uri(pattern) and not pattern.lower().startswith("file:")
    pattern, mark, query = pattern.partition("?") if remote else (pattern, "", "")
    for path in _expand_groups_with_slashes(pattern):
        base, remaining = _split_at_first_pattern(path)
        root = locate((_directory(base) or ".") + mark + query)[1]
        for relative, info in _matching_paths(system, root, remaining):
            spelled = path_below(base + mark + query, relative) if base else relative
            match_path = f"{root.rstrip('/')}/{relative}"
            matches_by_path.setdefault(
                match_path, GlobMatch(spelled, match_path, info or system.get_file_info(match_path))
            )
    return [
        matches_by_path[match_path]
        for match_path in sorted(matches_by_path)
        if matches_by_path[match_path].info.type is not fs.FileType.NotFound
    ]


def _split_at_first_pattern(pattern: str) -> tuple[str, list[str]]:
    """Split a pattern into the directory before the first name with a wildcard, and the names from there."""
    names = pattern.split("/")
    first = next((place for place, name in enumerate(names) if is_pattern(name)), len(names) - 1)
    base = "/".join(names[:first]) + ("/" if first else "")
    plain = unquote if is_uri(pattern) else str
    return base, [name if is_pattern(name) else plain(name) for name in names[first:] if name]


def _directory(base: str) -> str:
    """Return a directory without its trailing slash, unless it is a root."""
    short = base.rstrip("/")
    return base if not short or short.endswith(":") else short


def _matching_paths(
    system: fs.FileSystem, root: str, names: list[str]
) -> Iterator[tuple[str, fs.FileInfo | None]]:
    """Yield the paths below a directory that match the names, level by level, and what is there if listed."""
    level: list[tuple[str, fs.FileInfo | None]] = [("", None)]
    for name in names:
        if is_pattern(name):
            regex = as_regex(name)
            level = [
                (f"{path}{entry.base_name}/", entry)
                for path, info in level
                for entry in _entries(system, f"{root.rstrip('/')}/{path}".rstrip("/") or "/", info)
                if regex.fullmatch(entry.base_name) and entry.base_name != CACHE_DIRECTORY
            ]
        else:
            level = [(f"{path}{name}/", None) for path, _ in level]
    yield from ((path.rstrip("/"), info) for path, info in level)


def _entries(system: fs.FileSystem, path: str, info: fs.FileInfo | None) -> list[fs.FileInfo]:
    """Return the entries of a directory; none if the path is a file or does not exist."""
    if (info or system.get_file_info(path)).type is not fs.FileType.Directory:
        return []
    entries: list[fs.FileInfo] = system.get_file_info(fs.FileSelector(path))
    return entries


def as_regex(name: str) -> re.Pattern[str]:
    """Return the regular expression for a pattern of one name.

    Raises:
        InputError: as `matches`.
    """
    parts: list[str] = []
    groups, in_set, place = 0, False, 0
    while place < len(name):
        sign = name[place]
        if sign == "\\":
            place += 1
            if place == len(name):
                raise InputError(f"The pattern {name!r} ends in a backslash; put a character behind it")
            parts.append(re.escape(name[place]))
        elif in_set:
            in_set = sign != "]"
            negated = sign in "^!" and name[place - 1] == "["
            parts.append("^" if negated else sign if sign in "]-" else re.escape(sign))
        elif sign == "[":
            in_set = True
            parts.append(sign)
        elif sign in "{,}" and (groups or sign == "{"):
            groups += {"{": 1, ",": 0, "}": -1}[sign]
            parts.append({"{": "(?:", ",": "|", "}": ")"}[sign])
        else:
            parts.append({"*": ".*", "?": "."}.get(sign, re.escape(sign)))
        place += 1
    if in_set or groups:
        raise InputError(
            f"The pattern {name!r} has an unclosed {'[' if in_set else '{'}; close it, or put \\ before it"
        )
    try:
        return re.compile("".join(parts), re.DOTALL)
    except re.error as error:
        raise InputError(
            f"The pattern {name!r} cannot be read ({error}); put \\ before its brackets"
        ) from error


def _expand_groups_with_slashes(pattern: str) -> list[str]:
    """Expand the groups that contain a slash into separate patterns, as names are matched one by one.

    Raises:
        InputError: there are too many patterns.
    """
    pending, done = [pattern], []
    while pending:
        path = pending.pop()
        group = next((span for span in _groups(path) if "/" in path[span[0] : span[1]]), None)
        if group is None:
            done.append(path)
        else:
            start, end = group
            pending += [path[:start] + part + path[end:] for part in _alternatives(path[start + 1 : end - 1])]
        if len(pending) + len(done) > _WRITTEN_OUT_MAX:
            raise InputError(f"The pattern {pattern[:60]!r}... stands for too many paths; give fewer groups")
    return done


def _groups(path: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each outermost group of a pattern."""
    depth, start = 0, 0
    for place, sign in _signs(path):
        if sign == "{":
            start = start if depth else place
            depth += 1
        elif sign == "}" and depth:
            depth -= 1
            if not depth:
                yield start, place + 1


def _alternatives(inside: str) -> list[str]:
    """Split the inside of a group at its own commas."""
    depth, cuts = 0, [-1]
    for place, sign in _signs(inside):
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "," and not depth:
            cuts.append(place)
    ends = [*cuts[1:], len(inside)]
    return [inside[start + 1 : end] for start, end in zip(cuts, ends, strict=True)]


def _signs(path: str) -> Iterator[tuple[int, str]]:
    """Yield the characters that no backslash escapes, with their positions."""
    escaped = False
    for place, sign in enumerate(path):
        if not escaped and sign != "\\":
            yield place, sign
        escaped = sign == "\\" and not escaped
