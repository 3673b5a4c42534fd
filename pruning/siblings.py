"""Checks that the packages of one installation lie side by side, hidden by no folder of the user's.

It imports the standard library alone: `skipproof.starting` runs this file from its place, because `pruning`
may itself be the hidden one.
"""

import importlib.util
import os
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path

PACKAGES = ("pruning", "dynamic_tables", "oracles", "sim", "strategies", "skipproof")


def hidden_package() -> str | None:
    """Return a sentence that names what hides a package of this installation; None where nothing does.

    A package that this installation lacks, as an archive for Spark's executors may, is hidden by nothing.
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
    """Return what `import name` gives, or has given."""
    try:
        return importlib.util.find_spec(name)
    except ValueError:
        # A module that was put into `sys.modules` by hand.
        return None


def _place(spec: ModuleSpec) -> tuple[str, Path]:
    """Return "folder" or "file", and where a package or a module lies."""
    for folder in spec.submodule_search_locations or ():
        return "folder", Path(folder)
    return "file", Path(str(spec.origin))
