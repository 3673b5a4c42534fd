"""Names of columns: of fields of structs, of what arrays and maps hold, and names in any letter case."""

import enum
from collections.abc import Collection, Iterator


class Inside(enum.Enum):
    """The values that a row's array or map holds any number of; the value marks them in names of leaves."""

    ELEMENTS = "[]"
    KEYS = "{key}"
    VALUES = "{value}"


class NamesInAnyCase(Collection[str]):
    """Names of columns, each in any letter case: what Spark takes for the same, as long as it is told to."""

    def __init__(self, names: Collection[str]) -> None:
        """Take the names in some letter case."""
        self._names = frozenset(map(str.lower, names))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._names

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)


def field_name(path: tuple[str, ...]) -> str:
    """Return the name of the `Column` that is a field of a struct, at any depth: its path from the top.

    A path of one part is returned as it is; the parts of a longer path are quoted as in Spark SQL. Block
    metadata leaves out top-level columns whose names begin with a backtick, so the names stay distinct.
    """
    return path[0] if len(path) == 1 else ".".join(map(quoted_name, path))


def leaf_name(column: str, fields: tuple[str, ...], inside: Inside = Inside.ELEMENTS) -> str:
    """Return the name that block metadata gives to what an array or a map holds, or to a field of that."""
    return ".".join([f"{quoted_path(column)}{inside.value}", *map(quoted_name, fields)])


def top_column(name: str) -> str:
    """Return the top-level column that a name of block metadata stands for or lies in."""
    if not name.startswith("`"):
        return name
    end = 1
    while name.startswith("``", end) or not name.startswith("`", end):
        end += 2 if name.startswith("``", end) else 1
    return name[1:end].replace("``", "`")


def quoted_path(name: str) -> str:
    """Quote the name of a `Column` or of an array; the name of a nested field is quoted already."""
    return name if name.startswith("`") else quoted_name(name)


def quoted_name(name: str) -> str:
    """Put a top-level column's name, or one part of a path, in backticks."""
    return "`" + name.replace("`", "``") + "`"
