"""The Java side of Iceberg's tables: the class `IcebergLeaves` beside this module, compiled in the session."""

from importlib.resources import files
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pruning.spark.jvm.gateway import Java, first_line, jvm, simple_name
from pruning.spark.lake.tables import Unprunable

_CLASS = "IcebergLeaves"
# The errors of calls into Java.
JAVA_ERRORS = (Py4JError, PySparkException)
# An instance, or why there is none, by the gateway of the Java process.
_INSTANCES: dict[Any, Java | str] = {}


def java_side(spark: SparkSession, table: Java) -> Java:
    """Return an instance of the Java class, compiled once in each Java process.

    Args:
        spark: The session.
        table: A table of Iceberg, whose class loader knows Iceberg's classes.
    Raises:
        Unprunable: the class does not compile against the session's Iceberg and Spark.
    """
    client = spark.sparkContext._gateway._gateway_client
    if client not in _INSTANCES:
        _INSTANCES[client] = _compile(spark, table)
    instance = _INSTANCES[client]
    if isinstance(instance, str):
        raise Unprunable(f"this release of Iceberg or of Spark is not known ({instance})")
    return instance


def _compile(spark: SparkSession, table: Java) -> Java | str:
    """Return an instance of the class, or why there is none."""
    compiler = jvm(spark).org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(table.getClass().getClassLoader())
    try:
        compiler.cook(files(__package__).joinpath(f"{_CLASS}.java").read_text(encoding="utf-8"))
    except JAVA_ERRORS as error:
        return reason_of(error)
    return compiler.getClassLoader().loadClass(_CLASS).newInstance()


def reason_of(error: Exception) -> str:
    """Return why Iceberg or the Java side has not done what it was asked, in one line.

    Args:
        error: One of `JAVA_ERRORS`. PySpark gives the texts of some of Java's exceptions without their classes.
    """
    if not isinstance(error, Py4JJavaError):
        return first_line(error)
    exception = error.java_exception
    lines = str(exception.getMessage() or "").splitlines()
    return f"{simple_name(exception)}: {lines[0]}" if lines else simple_name(exception)
