"""Iceberg's runtime for Spark, which one environment of tox has, and why the others skip its tests."""

import importlib.util
import os
from pathlib import Path

PACKAGE = "snowpark_connect_deps_iceberg"
# The only Spark that the package's runtime was built for.
SPARK = "3.5."
# Names the jar of a runtime that was built for the installed PySpark, whichever that is.
JAR_VARIABLE = "SKIPPROOF_ICEBERG_JAR"


def runtime_jar() -> Path | None:
    """Return the jar that fits the installed PySpark; None if there is none."""
    if JAR_VARIABLE in os.environ:
        return Path(os.environ[JAR_VARIABLE])
    package = importlib.util.find_spec(PACKAGE)
    if package is None or not package.submodule_search_locations or reason_without_runtime():
        return None
    folder = Path(package.submodule_search_locations[0]) / "jars"
    return next(iter(sorted(folder.glob("iceberg-spark-runtime-3.5_2.12-*.jar"))), None)


def reason_without_runtime() -> str:
    """Return why tests of Iceberg's tables are skipped; empty if they are not."""
    import pyspark

    if JAR_VARIABLE in os.environ:
        return ""
    if not pyspark.__version__.startswith(SPARK):
        return (
            f"Iceberg's runtime of the tests is for Spark {SPARK.rstrip('.')}, and this is "
            f"{pyspark.__version__}; {JAR_VARIABLE} may name another one"
        )
    if importlib.util.find_spec(PACKAGE) is None:
        return "needs the package snowpark-connect-deps-iceberg, which tox -e py311-spark35 installs"
    return ""
