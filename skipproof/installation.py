"""Checks that no folder of the user's hides a package of this installation."""

from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from pathlib import Path


def hidden_package() -> str | None:
    """Return a sentence that names the folder that hides a package of skipproof, or None.

    `pruning` itself may be hidden, so its module that checks this is loaded from its path, not imported.
    """
    folder = Path(__file__).parents[1] / "pruning"
    spec = PathFinder.find_spec("siblings", [str(folder)])
    assert spec is not None
    assert spec.loader is not None
    siblings = module_from_spec(spec)
    spec.loader.exec_module(siblings)
    sentence: str | None = siblings.hidden_package()
    return sentence
