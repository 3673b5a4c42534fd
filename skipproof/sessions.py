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

# Spark's condition for what no query should meet.
_INTERNAL = "INTERNAL_ERROR"
_CAUSES_MAX = 50
# How Java begins the text of an exception.
_JAVA_CLASS = re.compile(r"^(?:[\w$]+\.)+[\w$]+: ")

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.driver.memory": "2g",
    # Loopback: neither the machine's name nor its network matters to a local session.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.shuffle.partitions": "2",
    # What a parser has learnt from each text that it read would fill the heap, as thousands are asked.
    "spark.sql.parser.manageParserCaches": "true",
    "spark.sql.parser.parserDfaCacheFlushThreshold": "10000",
}


@contextlib.contextmanager
def spark_session(settings: Mapping[str, str] | None = None) -> Iterator["SparkSession"]:
    """A local session with `SETTINGS`, then `settings`; stopped at the end, its files removed.

    What the Java process writes to its standard error goes to a file that is shown only if
    Spark cannot start.

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
        spark = _start(
            {**SETTINGS, **places, **(settings or {})}, home=home, log=Path(directory) / "java.log"
        )
        try:
            yield spark
        finally:
            # A signal to the process group, or want of memory, may have ended the Java process.
            with contextlib.suppress(Py4JError, OSError):
                spark.stop()


def spark_sentence(error: Exception) -> str | None:
    """Return the first line of what Spark objects to; None for an error that is not Spark's."""
    if "py4j" not in sys.modules:
        return None
    from py4j.protocol import Py4JError, Py4JJavaError
    from pyspark.errors import PySparkException

    if isinstance(error, Py4JJavaError):
        try:
            text = str(error.java_exception.toString())
        except (Py4JError, OSError):
            # The Java process has ended since, and took the text with it.
            return None
    elif isinstance(error, PySparkException):
        text = str(error)
    else:
        return None
    line = next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)
    return _JAVA_CLASS.sub("", line)


def is_of_the_query(error: Exception) -> bool:
    """Return whether Spark lays an error to the query or its data; else Spark or its machine failed.

    Spark gives a condition to what a user can mend, and `INTERNAL_ERROR` to what none should meet. Of errors
    without a condition, `RuntimeException` itself is raised for values and files: by `raise_error` and by
    the reader of Parquet.
    """
    from py4j.protocol import Py4JJavaError

    if not isinstance(error, Py4JJavaError):
        return not str(_condition(error)).startswith(_INTERNAL)
    causes: list[tuple[str, str | None]] = []
    cause = error.java_exception
    while cause is not None and len(causes) < _CAUSES_MAX:
        causes.append((str(cause.getClass().getName()), _condition(cause)))
        cause = cause.getCause()
    if any(name.endswith("Error") or str(condition).startswith(_INTERNAL) for name, condition in causes):
        return False
    return any(condition or name == "java.lang.RuntimeException" for name, condition in causes)


def _condition(error: Any) -> str | None:
    """Return the name of Spark's error condition, of an exception in Python or in Java."""
    for name in ("getCondition", "getErrorClass"):
        # Java's objects seem to have every method until it is called.
        with contextlib.suppress(Exception):
            return cast(str | None, getattr(error, name)())
    return None


def _start(settings: Mapping[str, str], *, home: Path, log: Path) -> "SparkSession":
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    # Spark's Python workers must be this interpreter, not the first `python3` on PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    # PySpark reports each refused query as JSON on standard error; who catches the error has the sentence.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[*]").appName("skipproof")
    for name, value in settings.items():
        builder = builder.config(name, value)
    with log.open("wb") as file, _standard_error_to(file):
        try:
            return builder.getOrCreate()
        except PySparkException as error:
            failure = error
    said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise InputError(
        f"Spark could not start with the Java in {home} ({said[-1] if said else failure}): "
        "set JAVA_HOME to another Java 17 or 21."
    )


@contextlib.contextmanager
def _standard_error_to(file: BinaryIO) -> Iterator[None]:
    """Processes started meanwhile write their standard error to `file`, as long as they live."""
    sys.stderr.flush()
    kept = os.dup(2)
    os.dup2(file.fileno(), 2)
    try:
        yield
    finally:
        sys.stderr.flush()
        os.dup2(kept, 2)
        os.close(kept)
