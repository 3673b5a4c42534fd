"""The Java side of Iceberg's tables: the classes beside this module, compiled when they are needed."""

from importlib.resources import files
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pruning.spark.jvm.gateway import Java, first_line, jvm, simple_name
from pruning.spark.lake.tables import Unprunable

# The class that pins tables and stages files, and the one that writes the facts about many files.
LEAVES, FACTS = "IcebergLeaves", "IcebergFacts"
# The classes that know how Iceberg's modules read tables, of which one fits the session's module.
REFRESHED_TABLES, FIXED_TABLES = "RefreshedTables", "FixedTables"
# The errors of calls into Java.
JAVA_ERRORS = (Py4JError, PySparkException)
# An instance, or why there is none, by the gateway of the Java process and the name of the class.
_INSTANCES: dict[tuple[Any, str], Java | str] = {}


def java_side(spark: SparkSession, name: str, beside: Java) -> Java:
    """Return an instance of a Java class, compiled once in each Java process.

    Args:
        spark: The session.
        name: The class.
        beside: An object whose class loader knows the classes that it needs, such as a table of Iceberg.
    Raises:
        Unprunable: the class does not compile against the session's Iceberg and Spark.
    """
    key = (spark.sparkContext._gateway._gateway_client, name)
    if key not in _INSTANCES:
        _INSTANCES[key] = compile_class(spark, name, source_of(name), beside)
    instance = _INSTANCES[key]
    if isinstance(instance, str):
        raise Unprunable(f"this release of Iceberg or of Spark is not known ({instance})")
    return instance


def source_of(name: str) -> str:
    """Return the source of a Java class."""
    return files(__package__).joinpath(f"{name}.java").read_text(encoding="utf-8")


def compile_class(spark: SparkSession, name: str, source: str, beside: Java) -> Java | str:
    """Return an instance of a class, or why there is none.

    Args:
        spark: The session.
        name: The class.
        source: Its source.
        beside: As for `java_side`.
    """
    compiler = jvm(spark).org.codehaus.janino.SimpleCompiler()
    compiler.setParentClassLoader(beside.getClass().getClassLoader())
    try:
        compiler.cook(source)
    except JAVA_ERRORS as error:
        return reason_of(error)
    return compiler.getClassLoader().loadClass(name).newInstance()


def reason_of(error: Exception) -> str:
    """Return why Iceberg or the Java side has not done what it was asked, in one line.

    Args:
        error: One of `JAVA_ERRORS`. Of some exceptions of Java, PySpark gives the texts alone.
    """
    if not isinstance(error, Py4JJavaError):
        return first_line(error)
    exception = error.java_exception
    lines = str(exception.getMessage() or "").splitlines()
    return f"{simple_name(exception)}: {lines[0]}" if lines else simple_name(exception)
