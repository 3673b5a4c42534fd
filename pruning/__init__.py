"""Block pruning: skip the blocks of a scan that provably hold no needed row.

The public functions are here. Spark and Arrow are imported when a function is first used.

If a folder of the user hides another package of this installation, a warning names it: this package does
not need the others, but the command line and the stand do.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pruning.metadata.backfill.backfilling import backfill
    from pruning.metadata.index.indexing import index
    from pruning.paths import blocks, collect
    from pruning.spark.drive.predicates import classify
    from pruning.spark.drive.pruning import explain, prune
    from pruning.spark.versioned.opening import table
    from pruning.techniques.predicate_cache import PredicateCache

__all__ = [
    "PredicateCache",
    "backfill",
    "blocks",
    "classify",
    "collect",
    "explain",
    "index",
    "prune",
    "table",
]

_HOMES = {
    "PredicateCache": "pruning.techniques.predicate_cache",
    "backfill": "pruning.metadata.backfill.backfilling",
    "blocks": "pruning.paths",
    "classify": "pruning.spark.drive.predicates",
    "collect": "pruning.paths",
    "explain": "pruning.spark.drive.pruning",
    "index": "pruning.metadata.index.indexing",
    "prune": "pruning.spark.drive.pruning",
    "table": "pruning.spark.versioned.opening",
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
