"""The small local Spark session of the command line."""

import contextlib
import logging
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from pruning.errors import InputError
from pruning.requirements import require_pyspark
from skipproof.java import use_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Spark's error condition for bugs of Spark itself.
_INTERNAL = "INTERNAL_ERROR"
_CAUSES_MAX = 50
# Java begins the text of an exception with its class.
_JAVA_CLASS = re.compile(r"^(?:[\w$]+\.)+[\w$]+: ")

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    # A local session needs only the loopback interface, not the machine's name or network.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    # Bound the parser's cache, which grows with each text and would fill the heap after thousands of queries.
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushThreshold": "10000",
}


@contextlib.contextmanager
def spark_session(settings: Mapping[str, str] | None = None) -> Iterator["SparkSession"]:
    """Start a local session with `SETTINGS`, then `settings`; at the end, stop it and remove its files.

    The standard error of the Java process goes to a file that is shown only if Spark cannot start.

    Raises:
        InputError: there is no PySpark, no Java 17 or 21, or Spark cannot start with it.
    """
    require_pyspark()
    from py4j.protocol import Py4JError

    home = use_java()
    with tempfile.TemporaryDirectory(prefix="skipproof-spark-", ignore_cleanup_errors=True) as directory:
        places = {
            "spark.local.dir": directory,
            "spark.sql.warehouse.dir": f"{directory}/warehouse",
            "spark.driver.extraJavaOptions": f"-Dderby.system.home={directory}",
        }
        spark = _start_session(
            {**SETTINGS, **places, **(settings or {})}, home=home, log=Path(directory) / "java.log"
        )
        try:
            yield spark
        finally:
            # A signal to the process group, or a lack of memory, may have ended the Java process.
            with contextlib.suppress(Py4JError, OSError):
                spark.stop()


def spark_sentence(error: Exception) -> str | None:
    """Return the first line of Spark's error message; None for an error that is not Spark's."""
    if "py4j" not in sys.modules:
        return None
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors import PySparkException

    if isinstance(error, Py4JJavaError):
        try:
            text = str(error.java_exception.toString())
        except (Py4JError, OSError):
            # The Java process has ended, so the text cannot be read.
            return None
    elif isinstance(error, PySparkException):
        text = str(error)
    else:
        return None
    line = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    return _JAVA_CLASS.sub("", line)


def is_query_error(error: Exception) -> bool:
    """Tell whether Spark blames an error on the query or its data; else Spark or its machine failed.

    Errors that a user can correct have a condition of Spark; Spark's own bugs have `INTERNAL_ERROR`. Of
    errors without a condition, a plain `RuntimeException` is about values and files: `raise_error` and the
    reader of Parquet raise it.
    """
    from py4j.protocol import Py4JJavaError

    if not isinstance(error, Py4JJavaError):
        return not str(_error_condition(error)).startswith(_INTERNAL)
    causes: list[tuple[str, str | None]] = []
    cause = error.java_exception
    while cause is not None and len(causes) < _CAUSES_MAX:
        causes.append((str(cause.getClass().getName()), _error_condition(cause)))
        cause = cause.getCause()
    if any(name.endswith("Error") or str(condition).startswith(_INTERNAL) for name, condition in causes):
        return False
    return any(condition or name == "java.lang.RuntimeException" for name, condition in causes)


def _error_condition(error: Any) -> str | None:
    """Return the name of Spark's error condition, from an exception of Python or of Java."""
    for name in ("getCondition", "getErrorClass"):
        # py4j's Java objects appear to have every method; a missing one raises when it is called.
        with contextlib.suppress(Exception):
            return cast(str | None, getattr(error, name)())
    return None


def _start_session(settings: Mapping[str, str], *, home: Path, log: Path) -> "SparkSession":
    """Start Spark with settings; its log goes to a file."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Spark's Python workers must be this interpreter, not the first `python3` on PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # PySpark logs each refused query as JSON on standard error, although it also raises the error.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[*]").appName("skipproof")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with log.open("wb") as file, _redirect_standard_error(file):
        try:
            return builder.getOrCreate()
        except PySparkException as error:
            failure = error
    log_lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise InputError(
        f"Spark could not start with the Java in {home} ({log_lines[-1] if log_lines else failure}): "
        "set JAVA_HOME to another Java 17 or 21."
    )


@contextlib.contextmanager
def _redirect_standard_error(file: BinaryIO) -> Iterator[None]:
    """Let the processes that the block starts write their standard error to `file`, as long as they run."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
