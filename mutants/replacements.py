"""A mutant of a module or a class: an attribute of it, and a wrong value for that attribute."""

from typing import Any, NamedTuple


class Replacement(NamedTuple):
    """The attribute `name` of `owner`, and the wrong value that takes its place: arguments of `setattr`."""

    owner: Any
    name: str
    wrong: Any
