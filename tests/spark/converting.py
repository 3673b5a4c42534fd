"""What Spark's optimizer makes of values, as trees."""

from pruning.spark.catalyst.expressions import convert
from pruning.spark.catalyst.scope import Scope
from pruning.spark.jvm.gateway import elements


def converted(spark, frame, texts):
    """The tree of each text, all optimized at once, without a filter that would change them further."""
    plan = frame.selectExpr(*texts)._jdf.queryExecution().optimizedPlan()
    names = {column.exprId().id(): column.name() for column in elements(plan.child().output())}
    scope = Scope(names=names, session=spark)
    return {
        text: convert(column, scope) for text, column in zip(texts, elements(plan.projectList()), strict=True)
    }
