"""How columns below the top are named: fields of structs, elements of arrays."""


def field_name(path: tuple[str, ...]) -> str:
    """The name of the `Column` that is a field of a struct, at any depth: its path from the top column.

    A path of one part is that name itself; other parts are quoted, as Spark SQL quotes them. A
    top-level name that begins with a backtick is known to no metadata, so that names stay distinct.
    """
    return path[0] if len(path) == 1 else ".".join(map(quoted_name, path))


def leaf_name(array: str, fields: tuple[str, ...]) -> str:
    """What block metadata calls the elements of an array column, or a field of its elements."""
    return ".".join([f"{quoted_path(array)}[]", *map(quoted_name, fields)])


def top_column(name: str) -> str:
    """The top-level column that a name of block metadata is, or lies in."""
    if not name.startswith("`"):
        return name
    end = 1
    while name.startswith("``", end) or not name.startswith("`", end):
        end += 2 if name.startswith("``", end) else 1
    return name[1:end].replace("``", "`")


def quoted_path(name: str) -> str:
    """The name of a `Column` or of an array, which is quoted already where it is a field's."""
    return name if name.startswith("`") else quoted_name(name)


def quoted_name(name: str) -> str:
    """A top-level column's name, or one part of a path, in backticks."""
    return "`" + name.replace("`", "``") + "`"
