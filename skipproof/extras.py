"""What only some users need, and have installed; who has not is told in one sentence what to install."""

import importlib
from typing import Any

from pruning.errors import InputError
from pruning.requirements import require_pyspark


def demo() -> Any:
    """Return the module that runs the demo.

    Raises:
        MissingPackage: there is no PySpark.
    """
    require_pyspark()
    return importlib.import_module("skipproof.commands.demo")


def stand() -> Any:
    """The module that runs hunts."""
    return _module("skipproof.commands.checking", {"hypothesis"}, "The stand needs Hypothesis", "testbed")


def histories() -> Any:
    """The module that judges histories."""
    return _module("skipproof.histories.judging", {"scipy"}, "Histories need SciPy", "histories")


def simulator() -> Any:
    """The module that runs scenarios."""
    return _module(
        "skipproof.simulations.simulating",
        {"msgspec", "scipy", "simpy", "sqlglot"},
        "The simulator needs SimPy",
        "simulator",
    )


def simulation_report() -> Any:
    """The module that writes reports of simulations."""
    return _module(
        "skipproof.simulations.report",
        {"matplotlib"},
        "Reports of simulations need Matplotlib",
        "simulator",
    )


def _module(name: str, packages: set[str], sentence: str, extra: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] not in packages:
            raise
        raise InputError(f"{sentence}: run `pip install 'skipproof[{extra}]'`.") from error
