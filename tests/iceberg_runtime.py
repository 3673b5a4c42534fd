"""Iceberg's runtime for Spark, which one environment of tox has, and why the others skip its tests."""

import importlib.util
from pathlib import Path

PACKAGE = "snowpark_connect_deps_iceberg"
# The only Spark that the runtime was built for.
SPARK = "3.5."


def runtime_jar() -> Path | None:
    """Return the jar that fits the installed PySpark; None if there is none."""
    package = importlib.util.find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations or reason_without_runtime():
        return None
    folder = Path(package.submodule_search_locations[0]) / "jars"
    return next(iter(sorted(folder.glob("iceberg-spark-runtime-3.5_2.12-*.jar"))), None)


def reason_without_runtime() -> str:
    """Return why tests of Iceberg's tables are skipped; empty if they are not."""
    import pyspark

    if not pyspark.__version__.startswith(SPARK):
        return f"Iceberg's runtime of the tests is for Spark 3.5, and this is {pyspark.__version__}"
    if importlib.util.find_spec(PACKAGE) is None:
        return "needs the package snowpark-connect-deps-iceberg, which tox -e py311-spark35 installs"
    return ""
