"""Java classes of this package, compiled in the Java process of a session.

They are in packages beside the modules that use them, as sources. The compiler is the one that Spark itself
uses for queries, so that neither a file of classes nor a compiler of Java must be installed.
"""

import functools
from importlib.resources import files
from typing import Any

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pruning.spark.jvm.gateway import Java, jvm

_LAKE = "pruning.spark.lake"


def java_instance(spark: SparkSession, name: str, *, package: str = _LAKE) -> Java:
    """Return an instance of a Java class, compiled once in each Java process.

    Args:
        spark: The session.
        name: The class.
        package: The Python package that has its source.
    """
    return compile_class(spark, name, source_of(name, package))


def optional_instance(spark: SparkSession, name: str, *, package: str = _LAKE) -> Java | None:
    """Return an instance of a Java class as `java_instance`; None if this Java process cannot have one."""
    return _compile_if_possible(spark.sparkContext._gateway._gateway_client, jvm(spark), name, package)


@functools.cache
def _compile_if_possible(client: Any, java: Java, name: str, package: str) -> Java | None:
    try:
        return _compile(client, java, name, source_of(name, package))
    except (Py4JError, PySparkException, OSError):
        # There is no compiler or no source, or this release of Spark has other classes.
        return None


def compile_class(spark: SparkSession, name: str, source: str) -> Java:
    """Return an instance of a Java class, by its full name and its source."""
    return _compile(spark.sparkContext._gateway._gateway_client, jvm(spark), name, source)


@functools.cache
def source_of(name: str, package: str) -> str:
    """Return the source of a Java class in a Python package."""
    return files(package).joinpath(f"{name}.java").read_text(encoding="utf-8")


@functools.cache
def _compile(client: Any, java: Java, name: str, source: str) -> Java:
    compiler = java.org.codehaus.janino.SimpleCompiler()
    compiler.cook(_for_scala(source, java))
    return compiler.getClassLoader().loadClass(name).newInstance()


def _for_scala(source: str, java: Java) -> str:
    """Return a source in which SEQ is the class that this release of Scala calls Seq."""
    is_2_12 = java.scala.util.Properties.versionNumberString().startswith("2.12")
    return source.replace("import SEQ;", f"import scala.collection.{'' if is_2_12 else 'immutable.'}Seq;")
