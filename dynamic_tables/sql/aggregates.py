"""Binding of aggregate functions and their arguments."""

from typing import Any

from sqlglot import exp

from dynamic_tables.bags.aggregates import aggregate
from dynamic_tables.bags.listed_aggregates import extreme_by_aggregate, listagg_aggregate
from dynamic_tables.maintenance.algebra import Aggregate, Order
from dynamic_tables.sql.names import function_name, refuse_unknown
from dynamic_tables.sql.rules import ExpressionBinder, node_name
from dynamic_tables.values.errors import Refused

# Aggregates of one expression.
NAMES = {
    exp.Sum: "sum",
    exp.Avg: "avg",
    exp.Min: "min",
    exp.Max: "max",
    exp.Count: "count",
    exp.CountIf: "count_if",
    exp.Median: "median",
    exp.Stddev: "stddev_samp",
    exp.StddevSamp: "stddev_samp",
    exp.StddevPop: "stddev_pop",
    exp.Variance: "var_samp",
    exp.VariancePop: "var_pop",
    exp.LogicalOr: "bool_or",
    exp.LogicalAnd: "bool_and",
    exp.BoolxorAgg: "bool_xor",
}
EXTREMES = {exp.ArgMax: "max_by", exp.ArgMin: "min_by"}
AGGREGATES = frozenset({*NAMES, *EXTREMES, exp.GroupConcat})


def bind_aggregate(binder: ExpressionBinder, node: Any) -> Aggregate:
    """Bind an aggregate and its arguments.

    Raises:
        Refused: There is no such aggregate, or not with these arguments.
    """
    written = node_name(node)
    if type(node) in EXTREMES:
        refuse_unknown(node, frozenset({"this", "expression"}), written)
        if isinstance(node.this, exp.Distinct):
            raise Refused("DISTINCT", f"is not supported in {written}")
        return extreme_by_aggregate(EXTREMES[type(node)], *map(binder.bind, (node.this, node.expression)))
    if isinstance(node, exp.GroupConcat):
        return bind_listagg(binder, node)
    name = NAMES.get(type(node))
    if name is None:
        raise Refused(f"the aggregate {function_name(node)}", "is not supported")
    refuse_unknown(node, frozenset({"this", "big_int", "zero_on_all_null"}), written)
    argument = node.this
    if isinstance(argument, exp.Star):
        return aggregate("count", None)
    if not isinstance(argument, exp.Distinct):
        return aggregate(name, binder.bind(argument))
    return aggregate(name, binder.bind(distinct_argument(argument, written)), distinct=True)


def distinct_argument(node: exp.Distinct, written: str) -> Any:
    """Return the only expression of a DISTINCT.

    Raises:
        Refused: There are several.
    """
    if len(node.expressions) != 1:
        raise Refused("DISTINCT of several columns", f"is not supported in {written}")
    return node.expressions[0]


def bind_listagg(binder: ExpressionBinder, node: exp.GroupConcat) -> Aggregate:
    """Bind LISTAGG, with or without an order.

    Raises:
        Refused: The separator is no text, or the order of distinct texts is not that of the texts.
    """
    refuse_unknown(node, frozenset({"this", "separator"}), "LISTAGG(...)")
    separator = node.args.get("separator")
    if separator is not None and not (isinstance(separator, exp.Literal) and separator.is_string):
        raise Refused("a separator of LISTAGG that is no text in quotes", "is not supported")
    argument: Any = node.this
    terms: list[Any] = []
    if isinstance(argument, exp.Order):
        argument, terms = argument.this, argument.expressions
    distinct = isinstance(argument, exp.Distinct)
    text = binder.bind(distinct_argument(argument, "LISTAGG(...)") if distinct else argument)
    order = [bind_term(binder, term) for term in terms]
    if distinct and any(term.expression != text for term in order):
        raise Refused("LISTAGG of distinct texts in the order of something else", "is not supported")
    return listagg_aggregate(text, "" if separator is None else separator.this, order, distinct=distinct)


def bind_term(binder: ExpressionBinder, node: Any) -> Order:
    """Bind one term of ORDER BY; NULL is the greatest value by default, as in Snowflake."""
    return Order(binder.bind(node.this), bool(node.args.get("desc")), bool(node.args.get("nulls_first")))
