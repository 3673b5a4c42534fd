"""Block pruning: which blocks a scan may skip, and the proof that it may.

The public surface is here. Spark and Arrow are imported when a function is first used.

Where a folder of the user's hides another package of this installation, a warning names it: nothing here
needs those packages, but the command line and the stand do.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pruning.metadata.index.indexing import index
    from pruning.metadata.table.collecting import collect
    from pruning.spark.drive.predicates import classify
    from pruning.spark.drive.pruning import explain, prune

__all__ = ["classify", "collect", "explain", "index", "prune"]

_HOMES = {
    "classify": "pruning.spark.drive.predicates",
    "collect": "pruning.metadata.table.collecting",
    "explain": "pruning.spark.drive.pruning",
    "index": "pruning.metadata.index.indexing",
    "prune": "pruning.spark.drive.pruning",
}


def _warn_of_hidden_package() -> None:
    import warnings

    from pruning.siblings import hidden_package

    sentence = hidden_package()
    if sentence is not None:
        warnings.warn(f"{sentence} `pruning` works without it.", stacklevel=3)


_warn_of_hidden_package()


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
