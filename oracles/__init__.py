"""Ground truth by which the pruning is judged; no oracle uses a pruning rule.

The public surface is here, and that of the isolation checker in `oracles.isolation`. A module, and what it
needs of Spark, Z3 or SciPy, is imported when one of its names is first used.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oracles.files.canaries import write_canary, write_none_match
    from oracles.files.counterfactual_files import (
        write_forgetful,
        write_grafted,
        write_stripped,
        write_trapped,
    )
    from oracles.meaning.brute_force import evaluate
    from oracles.meaning.numbers import NoSecondOpinion, Overflow
    from oracles.optimum.domains import CellFacts
    from oracles.optimum.optimum import Judge, Optimum

__all__ = [
    "CellFacts",
    "Judge",
    "NoSecondOpinion",
    "Optimum",
    "Overflow",
    "evaluate",
    "write_canary",
    "write_forgetful",
    "write_grafted",
    "write_none_match",
    "write_stripped",
    "write_trapped",
]

_HOMES = {
    "CellFacts": "oracles.optimum.domains",
    "Judge": "oracles.optimum.optimum",
    "NoSecondOpinion": "oracles.meaning.numbers",
    "Optimum": "oracles.optimum.optimum",
    "Overflow": "oracles.meaning.numbers",
    "evaluate": "oracles.meaning.brute_force",
    "write_canary": "oracles.files.canaries",
    "write_forgetful": "oracles.files.counterfactual_files",
    "write_grafted": "oracles.files.counterfactual_files",
    "write_none_match": "oracles.files.canaries",
    "write_stripped": "oracles.files.counterfactual_files",
    "write_trapped": "oracles.files.counterfactual_files",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
