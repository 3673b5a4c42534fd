"""The optional packages of some commands, and the sentence for a user who has not installed them."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from pruning.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Extra:
    """An extra of the distribution, and the packages that one part of skipproof needs from it.

    Attributes:
        name: As in `pip install 'skipproof[NAME]'`.
        packages: The top-level packages whose absence the sentence explains.
        need: The start of the sentence: the part and the package it needs most.
    """

    name: str
    packages: frozenset[str]
    need: str


STAND = Extra(name="testbed", packages=frozenset({"hypothesis"}), need="The stand needs Hypothesis")
CAMPAIGNS = Extra(
    name="testbed",
    packages=frozenset({"hypothesis", "msgspec"}),
    need="Campaigns need Hypothesis and msgspec",
)
HISTORIES = Extra(name="histories", packages=frozenset({"scipy"}), need="Histories need SciPy")
SIMULATOR = Extra(
    name="simulator",
    packages=frozenset({"msgspec", "scipy", "simpy", "sqlglot"}),
    need="The simulator needs SimPy",
)
TABLES = Extra(
    name="tables",
    packages=frozenset({"msgspec", "pyspark", "sqlglot"}),
    need="Dynamic tables need PySpark, sqlglot and msgspec",
)
PROOFS = Extra(name="proofs", packages=frozenset({"z3"}), need="Proofs need Z3")
SIMULATION_REPORTS = Extra(
    name="simulator", packages=frozenset({"matplotlib"}), need="Reports of simulations need Matplotlib"
)


@contextlib.contextmanager
def importing(extra: Extra) -> Iterator[None]:
    """Turn the import error of a missing package, raised within the block, into a sentence for the user.

    Raises:
        InputError: a package of the extra is not installed.
    """
    try:
        yield
    except ImportError as error:
        if error.name is None or error.name.partition(".")[0] not in extra.packages:
            raise
        raise InputError(f"{extra.need}: run `pip install 'skipproof[{extra.name}]'`.") from error
