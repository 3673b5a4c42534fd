"""The top-level columns that a predicate in SQL may name, before anything of a table is known."""

from collections.abc import Collection

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pruning.expressions.names import NamesInAnyCase
from pruning.spark.jvm.gateway import singleton
from pruning.spark.jvm.nodes import PACKAGE, expression_nodes, is_printable

_SUBQUERIES = f"{PACKAGE}SubqueryExpression"
# The package of what Spark looks up after parsing.
_ANALYSIS = "org.apache.spark.sql.catalyst.analysis."
# In the body of a lambda function, Spark's parser makes variables of all names.
_NAMES = frozenset({f"{_ANALYSIS}UnresolvedAttribute", "UnresolvedNamedLambdaVariable"})
# Parts of that package that name no column. Any other, such as a star, may stand for columns.
_WITHOUT_NAMES = frozenset({f"{_ANALYSIS}UnresolvedFunction", f"{_ANALYSIS}UnresolvedExtractValue"})


def named_columns(spark: SparkSession, predicate: str) -> Collection[str] | None:
    """Return the top-level columns that a predicate may name; None if these may be any.

    Args:
        spark: The session that parses the predicate, and whose configuration says whether the letter case
            of a name matters.
        predicate: A condition in Spark SQL.
    """
    try:
        parsed = spark._jsparkSession.sessionState().sqlParser().parseExpression(predicate)
        if singleton(spark, _SUBQUERIES).hasSubquery(parsed) or not is_printable(parsed):
            return None
        nodes = expression_nodes(parsed)
    except (PySparkException, Py4JJavaError):
        return None
    looked_up = {node.name for node in nodes if node.name.startswith(_ANALYSIS)}
    if looked_up - _NAMES - _WITHOUT_NAMES:
        return None
    names = {str(node.java().nameParts().head()) for node in nodes if node.name in _NAMES}
    return names if spark.conf.get("spark.sql.caseSensitive") == "true" else NamesInAnyCase(names)
