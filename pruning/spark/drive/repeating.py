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
from pruning.spark.lake.parquet_leaves import is_parquet_leaf

# Leaves whose rows the plan itself holds.
_CONSTANT_LEAVES = frozenset({"LocalRelation", "OneRowRelation", "Range"})
# Functions that do not depend on the order of their input; sums of floating-point numbers do.
_ORDERLESS = frozenset({"Count", "Max", "Min", "BitAndAgg", "BitOrAgg", "BitXorAgg"})
_ORDERLESS_OF_EXACT_NUMBERS = frozenset({"Sum", "Average"})
# Nodes of Catalyst plans, analyzed or optimized, that are functions of the bags below them.
_FUNCTIONS_OF_BAGS = frozenset({"Filter", "Join", "Project", "SubqueryAlias", "Union", "View"})


def is_repeatable(query: Query, plan: Plan, *, fixed: Container[Plan] = ()) -> bool:
    """Tell whether a part of the optimized plan gives the same bag of rows each time it is run.

    Args:
        query: The query.
        plan: The part.
        fixed: Leaves whose rows are taken for ones that never change.

    Claim     Two runs over the same files give equal bags of rows.
    Proof     By induction over the nodes: Parquet files do not change and their list is fixed; each node
              that is admitted here is a function of the bags below it. So are the subqueries in its
              conditions, among them those by which Spark prunes partitions when a query runs.
    Unsound   for LIMIT, windows and functions such as `first` or `collect_list`, which depend on the order
              in which tasks end; for sums of floating-point numbers, whose last bits do: none is admitted.
    """
    return _has_fixed_subqueries(query.trees.javas[plan]) and _is_repeatable(query, plan, fixed)


def is_function_of_files(java: Java) -> bool:
    """Tell whether a Catalyst plan only filters, projects, joins and unites Parquet files and constants.

    It then gives the same bag of rows each time it is run; of other plans it is not known.
    """
    name, children = simple_name(java), list(elements(java.children()))
    if not children:
        return name in _CONSTANT_LEAVES or is_parquet_leaf(java)
    return (
        name in _FUNCTIONS_OF_BAGS
        and bool(java.deterministic())
        and _has_fixed_subqueries(java)
        and all(map(is_function_of_files, children))
    )


def _has_fixed_subqueries(java: Java) -> bool:
    """Tell whether all subqueries in a plan's expressions have the same results in each run."""
    subqueries = java.subqueriesAll()
    return bool(subqueries.isEmpty()) or all(map(is_function_of_files, elements(subqueries)))


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
