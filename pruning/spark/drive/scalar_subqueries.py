"""Scalar subqueries in conditions, as `x > (SELECT max(y) FROM small)`: their values are read once, now.

The value takes the place of the subquery in the plan, so that conditions on it prune, and the query uses the
value that it was pruned by.
"""

from collections.abc import Iterator, Sequence

import pyarrow as pa
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from pruning.expressions.plans import scans
from pruning.expressions.sql import literal_sql
from pruning.rules.interpreters.arrow.interpreter import lane_type
from pruning.rules.interpreters.arrow.kernels import reinterpret
from pruning.spark.drive.analyzed_plans import AnalyzedPlan
from pruning.spark.drive.join.held_parts import HeldParts
from pruning.spark.drive.join.run_costs import reads_of, reads_of_source
from pruning.spark.drive.materials import expression_values
from pruning.spark.drive.queries import Query, complete_scan_sets
from pruning.spark.jvm.datatypes import type_of_java
from pruning.spark.jvm.gateway import Java, elements, first_line, simple_name, subtrees
from pruning.spark.lake.row_groups import open_cost
from pruning.techniques.join.costs import Reads, pays

_SCALAR = "ScalarSubquery"


def read_scalars(analyzed: AnalyzedPlan, queries: Sequence[Query]) -> HeldParts:
    """Run scalar subqueries in conditions on tables, where that costs little beside the query itself.

    Args:
        analyzed: The analyzed plan.
        queries: The query and its subqueries, from the optimized plan, with the filters of scans applied.
    """
    held = HeldParts()
    for expression in analyzed.condition_subqueries():
        if simple_name(expression) != _SCALAR or expression.isCorrelated():
            continue
        subquery = _subquery(expression, queries)
        if subquery is None or not type_of_java(expression).has_bounds or not _is_cheap(subquery, queries):
            continue
        try:
            sql = _value_sql(subquery, expression)
        except (Py4JError, PySparkException, pa.ArrowException) as error:
            # The query itself may never ask for the value, or fail in the same way.
            held.notes.append(f"a scalar subquery could not be run first: {first_line(error)}")
            continue
        literal = None if sql is None else _literal(subquery.spark, sql, expression)
        if literal is not None:
            held.parts.append((expression, literal))
            held.notes.append(f"a scalar subquery was run now, and its value {sql} is part of the query")
        held.jobs += subquery.jobs
        subquery.jobs.clear()
    return held


def _subquery(expression: Java, queries: Sequence[Query]) -> Query | None:
    """Return a subquery as it was optimized, if it stands in a condition right above a scan."""
    number = expression.exprId().id()
    for query in queries:
        for scan in query.scans.values():
            for condition in scan.leaf.chain.conditions:
                for plan in _plans_of(query.spark, condition, number):
                    same = (other for other in queries if other.trees.javas[other.tree].equals(plan))
                    return next(same, None)
    return None


def _plans_of(spark: SparkSession, condition: Java, number: int) -> Iterator[Java]:
    """Yield the plans of the scalar subqueries with an expression id in a condition."""
    # A look at the text spares most conditions a walk.
    if f"scalar-subquery#{number}" in str(condition.toString()):
        for part in elements(subtrees(spark, condition)):
            if simple_name(part) == _SCALAR and part.exprId().id() == number:
                yield part.plan()


def _is_cheap(subquery: Query, queries: Sequence[Query]) -> bool:
    """Tell whether a subquery reads little beside the other parts of the query."""
    sources = [scan for scan in scans(subquery.tree) if scan not in subquery.scans]
    sizes = [reads_of_source(subquery.trees.leaves[source].node) for source in sources]
    first = complete_scan_sets(subquery.scans.values())
    others = complete_scan_sets(
        scan for query in queries if query is not subquery for scan in query.scans.values()
    )
    if first is None or others is None or None in sizes:
        return False
    read = [*map(reads_of, first), *(size for size in sizes if size is not None)]
    spared = sum((reads_of(scan_set) for scan_set in others), Reads())
    return pays(sum(read, Reads()), spared, 1.0, open_cost(subquery.spark))


def _value_sql(subquery: Query, expression: Java) -> str | None:
    """Run a subquery and return its value in SQL; None where it has more than one row."""
    spark, type_ = subquery.spark, type_of_java(expression)
    reads = {scan: scan.files() for scan in subquery.live_scans(subquery.tree) if scan is not None}
    rows = subquery.run("scalar subquery", subquery.java(subquery.tree), reads)
    if rows.row_count > 1:
        return None
    (values,) = expression_values(spark, rows.leaf, [rows.leaf.output().apply(0)])
    lanes = reinterpret(values, lane_type(type_)).to_pylist()
    return literal_sql(lanes[0], type_) if lanes else f"CAST(NULL AS {type_})"


def _literal(spark: SparkSession, sql: str, expression: Java) -> Java | None:
    """Return a constant as an expression of Catalyst; None where its type is not the subquery's."""
    projection = spark.range(1).selectExpr(f"{sql} AS value")._jdf.queryExecution().analyzed()
    literal = projection.projectList().apply(0).child()
    return literal if literal.dataType().equals(expression.dataType()) else None
