"""Checks that no folder of the user hides a package of this installation.

It imports the standard library alone, because `skipproof.starting` runs this file by its path: `pruning`
itself may be hidden.
"""

import importlib.util
import os
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

PACKAGES = ("pruning", "dynamic_tables", "oracles", "sim", "strategies", "skipproof")


def hidden_package() -> str | None:
    """Return a sentence that names what hides a package of this installation; None if nothing does.

    A package that this installation lacks, such as in an archive for Spark's executors, is not checked.
    Nothing is imported.
    """
    home = Path(__file__).parents[1]
    for name in PACKAGES:
        own = PathFinder.find_spec(name, [str(home)])
        first = _first_spec(name)
        if own is None or own.origin is None or first is None:
            continue
        kind, place = _place(first)
        if os.path.realpath(place) != os.path.realpath(home / name):
            return (
                f"The {kind} {place} hides skipproof's own package `{name}`, which lies in {home}: "
                f"rename that {kind}, or start Python so that {place.parent} is not before {home} on its "
                "path."
            )
    return None


def _first_spec(name: str) -> ModuleSpec | None:
    """Return the spec of the module that `import name` gives, or has given."""
    try:
        return importlib.util.find_spec(name)
    except ValueError:
        # The module was put into `sys.modules` by hand and has no spec.
        return None


def _place(spec: ModuleSpec) -> tuple[str, Path]:
    """Return "folder" or "file", and the path of a package or a module."""
    for folder in spec.submodule_search_locations or ():
        return "folder", Path(folder)
    return "file", Path(str(spec.origin))
