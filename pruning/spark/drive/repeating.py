"""Repeatability: the parts of a query that give the same rows when they are run twice.

A part that is run while the query is pruned is run again by the query itself. Conclusions from its rows hold
only if the query then gets the very same rows.
"""

from collections.abc import Container

from pruning.expressions.plans import (
    Aggregate,
    Exchange,
    Filter,
    Join,
    Other,
    Plan,
    Project,
    Scan,
    Sort,
    Union,
    inputs,
)
from pruning.spark.drive.queries import Query
from pruning.spark.jvm.datatypes import type_of_java
from pruning.spark.jvm.gateway import Java, elements, simple_name, subtrees

# Leaves whose rows the plan itself holds.
_CONSTANT_LEAVES = frozenset({"LocalRelation", "OneRowRelation", "Range"})
# Functions that do not depend on the order of their input; sums of floating-point numbers do.
_ORDERLESS = frozenset({"Count", "Max", "Min", "BitAndAgg", "BitOrAgg", "BitXorAgg"})
_ORDERLESS_OF_EXACT_NUMBERS = frozenset({"Sum", "Average"})


def is_repeatable(query: Query, plan: Plan, *, fixed: Container[Plan] = ()) -> bool:
    """Tell whether a part of the optimized plan gives the same bag of rows each time it is run.

    Args:
        query: The query.
        plan: The part.
        fixed: Leaves whose rows are taken for ones that never change.

    Claim     Two runs over the same files give equal bags of rows.
    Proof     By induction over the nodes: Parquet files do not change and their list is fixed; each node
              that is admitted here is a function of the bags below it.
    Unsound   for LIMIT, windows and functions such as `first` or `collect_list`, which depend on the order
              in which tasks end; for sums of floating-point numbers, whose last bits do: none is admitted.
    """
    java = query.trees.javas[plan]
    return bool(java.subqueriesAll().isEmpty()) and _is_repeatable(query, plan, fixed)


def has_repeatable_keys(query: Query, plan: Plan) -> bool:
    """Tell whether the values that a part of the plan groups by or reads are the same in each run.

    The topmost aggregated values may differ, because nothing above depends on them.
    """
    java = query.trees.javas[plan]
    if not java.subqueriesAll().isEmpty():
        return False
    while isinstance(plan, Project | Exchange | Sort):
        plan = plan.child
    return _is_repeatable(query, plan.child if isinstance(plan, Aggregate) else plan)


def _is_repeatable(query: Query, plan: Plan, fixed: Container[Plan] = ()) -> bool:
    java = query.trees.javas[plan]
    match plan:
        case Scan():
            return plan in query.scans or plan in fixed
        case Other(()):
            return simple_name(java) in _CONSTANT_LEAVES
        case Aggregate():
            if not all(map(_is_orderless, _aggregate_functions(query, java))):
                return False
        case Filter() | Project() | Join() | Sort() | Exchange() | Union():
            pass
        case _:
            return False
    return all(_is_repeatable(query, child, fixed) for child in inputs(plan))


def _aggregate_functions(query: Query, aggregate: Java) -> list[Java]:
    return [
        part.aggregateFunction()
        for expression in elements(aggregate.aggregateExpressions())
        for part in elements(subtrees(query.spark, expression))
        if simple_name(part) == "AggregateExpression"
    ]


def _is_orderless(function: Java) -> bool:
    name = simple_name(function)
    if name in _ORDERLESS_OF_EXACT_NUMBERS:
        type_ = type_of_java(function.child())
        return type_.has_bounds and not type_.floating
    return name in _ORDERLESS
