"""Access to the Java virtual machine behind a session, in few calls.

Every call through py4j takes about a tenth of a millisecond, so that lists are passed as one text.
"""

import base64
import contextlib
import functools
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from py4j.java_gateway import JavaClass
from pyspark.sql import DataFrame, SparkSession

# A live Java object; py4j's objects have no useful static type.
Java = Any

# A longer answer of the gateway is delayed by about 40 ms, until it is acknowledged.
_ANSWER_CHARACTERS = 6_000
# So many paths fit into one answer.
_FEW = 40
# No path and no URI contains this character.
_SEPARATOR = "\0"
# The end of a printed attribute: its id, and an L for a bigint.
_ID = re.compile(r"#(\d+)L?\Z")


def decode_answer(text: str) -> bytes:
    """Return the bytes of an answer in Base64: py4j itself decodes bytes one by one, a second for 8 MB."""
    return base64.b64decode(text)


@dataclass(frozen=True, slots=True)
class _Packages:
    """The Java packages below a path. A name with a capital is a class, so that Java need not be asked."""

    _client: Any
    _path: str = ""

    def __getattr__(self, name: str) -> Java:
        path = f"{self._path}.{name}" if self._path else name
        return JavaClass(path, self._client) if name[:1].isupper() else _Packages(self._client, path)


def jvm(spark: SparkSession) -> Java:
    """Return the packages of the session's Java virtual machine."""
    return _Packages(spark.sparkContext._gateway._gateway_client)


def first_line(error: Exception) -> str:
    """Return the first line of an error's text that is not empty."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def simple_name(java: Java) -> str:
    """Return the class name of an object without its package."""
    return str(java.getClass().getSimpleName())


def class_name(java: Java) -> str:
    """Return the full class name of an object."""
    return str(java.getClass().getName())


def elements(sequence: Java) -> Iterator[Java]:
    """Yield the elements of a Scala Seq, which should be indexed if it is long."""
    return (sequence.apply(place) for place in range(sequence.length()))


def subtrees(spark: SparkSession, tree: Java) -> Java:
    """Return every node of a Catalyst tree, parents first, as a Seq."""
    return tree.map(getattr(singleton(spark, "scala.Predef"), "$conforms")())


def sequence(spark: SparkSession, items: Sequence[Java]) -> Java:
    """Return Scala's List of Java objects, in a call for each."""
    items_list = singleton(spark, "scala.collection.immutable.Nil")
    for item in reversed(items):
        items_list = getattr(items_list, "$colon$colon")(item)
    return items_list


def some(spark: SparkSession, value: Java) -> Java:
    """Return Scala's Option of a value, which is empty for None."""
    return jvm(spark).scala.Option.apply(value)


def string_array(spark: SparkSession, array: Java) -> list[str]:
    """Return the strings, which hold no NUL, of a Java array, in few calls."""
    return printed_elements(spark, jvm(spark).scala.Predef.genericWrapArray(array))


def printed_elements(spark: SparkSession, collection: Java) -> list[str]:
    """Return each element of a Scala collection as it prints, in few calls; no text may hold a NUL."""
    count = collection.size()
    if count <= _FEW:
        return collection.mkString(_SEPARATOR).split(_SEPARATOR) if count else []
    whole = jvm(spark).scala.collection.mutable.StringBuilder()
    collection.addString(whole, _SEPARATOR)
    length = whole.length()
    starts = range(0, length, _ANSWER_CHARACTERS)
    parts = (whole.substring(start, min(start + _ANSWER_CHARACTERS, length)) for start in starts)
    return "".join(parts).split(_SEPARATOR)


def hadoop_paths(spark: SparkSession, paths: Sequence[str]) -> Java:
    """Return Scala's List of Hadoop paths from paths without URI escapes, in four calls."""
    java = jvm(spark)
    if paths:
        split = java.java.util.regex.Pattern.compile(_SEPARATOR).split(_SEPARATOR.join(paths))
        array = java.org.apache.hadoop.util.StringUtils.stringToPath(split)
    else:
        array = spark.sparkContext._gateway.new_array(java.org.apache.hadoop.fs.Path, 0)
    return java.scala.Predef.genericWrapArray(array).toList()


def values_of_keys(spark: SparkSession, keys: Java, values: Java) -> Java:
    """Return the values of a Scala Map for a List of its keys, as a List, in one or two calls."""
    if int(jvm(spark).scala.util.Properties.versionNumberString().split(".")[1]) < 13:
        return keys.map(values, singleton(spark, "scala.collection.immutable.List").canBuildFrom())
    return keys.map(values)


def attribute_ids(attributes: Java) -> list[int]:
    """Return the expression ids of a Scala Seq of attributes, in three calls."""
    printed = attributes.mkString(_SEPARATOR).split(_SEPARATOR)
    matches = [_ID.search(text) for text in printed]
    ids = [int(id_[1]) for id_ in matches if id_ is not None]
    # A name may contain any character, the separator too.
    if len(printed) != attributes.length() or len(ids) != len(printed):
        return [attribute.exprId().id() for attribute in elements(attributes)]
    return ids


def singleton(spark: SparkSession, name: str) -> Java:
    """Return the instance of a Scala object, by its full name."""
    return _module(spark.sparkContext._gateway._gateway_client, name)


@functools.cache
def _module(client: Any, name: str) -> Java:
    return getattr(JavaClass(f"{name}$", client), "MODULE$")


def replace_subtrees(spark: SparkSession, plan: Java, changes: Sequence[tuple[Java, Java]]) -> Java:
    """Replace each subtree that equals the first of a pair by the second, in subqueries too.

    The nodes below the root of a replacement are searched as well.
    """
    return plan.transformDownWithSubqueries(mapping(spark, changes))


def with_leaf(spark: SparkSession, plan: Java, leaf: Java, subtree: Java) -> Java:
    """Return the plan with a leaf replaced by a subtree, which may contain the leaf."""
    return plan.transformUp(mapping(spark, [(leaf, subtree)]))


def mapping(spark: SparkSession, pairs: Sequence[tuple[Java, Java]]) -> Java:
    """Return pairs as a Scala Map, a PartialFunction as Catalyst's transformations take it."""
    function = singleton(spark, "scala.collection.immutable.Map").empty()
    for old, new in pairs:
        function = function.updated(old, new)
    return function


def with_element(spark: SparkSession, node: Java, index: int, value: Java) -> Java:
    """Return a copy of a tree node with one constructor argument replaced."""
    java = jvm(spark)
    arguments = spark.sparkContext._gateway.new_array(java.java.lang.Object, node.productArity())
    for i in range(node.productArity()):
        arguments[i] = value if i == index else node.productElement(i)
    return node.makeCopy(arguments)


def dataframe(spark: SparkSession, plan: Java) -> DataFrame:
    """Return a DataFrame of a logical plan."""
    sql = jvm(spark).org.apache.spark.sql
    # Spark 4 moved this class to the package `classic`, beside Spark Connect's.
    dataset = sql.Dataset if int(spark.version.split(".")[0]) < 4 else sql.classic.Dataset
    return DataFrame(dataset.ofRows(spark._jsparkSession, plan), spark)


def java_interface(name: str) -> type:
    """Return the class attribute `Java` of a Python class whose objects Java calls as those of an interface.

    Args:
        name: The interface's full name.
    """
    return type("Java", (), {"implements": (name,)})


@contextlib.contextmanager
def same_active_session(spark: SparkSession) -> Iterator[None]:
    """Run a `with` block, and make the session active again that was so before it.

    Some functions of PySpark make the session active that they are called on.

    Args:
        spark: Any session of the process.
    """
    sessions = singleton(spark, class_name(spark._jsparkSession))
    before, java_before = SparkSession._activeSession, sessions.getActiveSession()
    try:
        yield
    finally:
        SparkSession._activeSession = before
        if java_before.isDefined():
            sessions.setActiveSession(java_before.get())
        else:
            sessions.clearActiveSession()
