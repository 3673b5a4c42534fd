"""Checks that an optional package is installed before it is used."""

import importlib.util
import re

from pruning.errors import MissingPackage

# The extra `spark` of pyproject.toml allows the releases of PySpark from the first on and before the second.
PYSPARK_FIRST, PYSPARK_END = (3, 5), (5, 0)
_WAYS = (
    "run `pip install 'skipproof[spark]'`, or on a cluster use the Python that has the cluster's own PySpark."
)


def require_pyspark() -> None:
    """Check that PySpark is installed, in a supported release.

    A cluster has a PySpark of its own, whose release no installer has compared with the extra's limits.

    Raises:
        MissingPackage: it is not installed, or its release is not supported.
    """
    version = _version()
    if version is None:
        raise MissingPackage(f"This needs PySpark, which is not installed for this Python: {_WAYS}")
    release = _release(version)
    if release is not None and not PYSPARK_FIRST <= release < PYSPARK_END:
        first, end = (".".join(map(str, numbers)) for numbers in (PYSPARK_FIRST, PYSPARK_END))
        raise MissingPackage(f"This needs PySpark from {first} on and before {end}, not {version}: {_WAYS}")
    if importlib.util.find_spec("py4j") is None:
        raise MissingPackage(f"This needs PySpark with Java, not its client of Spark Connect alone: {_WAYS}")


def _version() -> str | None:
    """Return the version of PySpark; None if it is not installed, or only its folder is left."""
    try:
        import pyspark
    except ModuleNotFoundError as error:
        if error.name != "pyspark":
            raise
        return None
    return getattr(pyspark, "__version__", None)


def _release(version: str) -> tuple[int, int] | None:
    """Return the major and minor numbers; None for a vendor's version that does not begin with them."""
    numbers = re.match(r"(\d+)\.(\d+)", version)
    return None if numbers is None else (int(numbers[1]), int(numbers[2]))
