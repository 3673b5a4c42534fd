"""Aggregates and window functions of a SELECT, bound as columns of nodes that are built later."""

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from dynamic_tables.maintenance.algebra import (
    Aggregate,
    Group,
    Relation,
)
from dynamic_tables.sql.aggregates import bind_aggregate
from dynamic_tables.sql.expressions import Binder
from dynamic_tables.sql.grouping_sets import union_of_groups
from dynamic_tables.sql.names import sql_text
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.expressions import Column, Expression, parts, with_parts
from dynamic_tables.values.types import INTEGER
from pruning.errors import InputError

# Placeholder positions for columns whose node is not built yet; no row is as wide.
AGGREGATES_FROM = 1_000_000
MARKS_FROM = 3_000_000
WINDOWS_FROM = 2_000_000

RANKS = {exp.RowNumber: "row_number", exp.Rank: "rank", exp.DenseRank: "dense_rank"}
NEIGHBOURS = {exp.Lag: "lag", exp.Lead: "lead"}
WINDOW_CLAUSES = frozenset({"this", "partition_by", "order", "spec", "over"})
EDGES = {exp.FirstValue: "first_value", exp.LastValue: "last_value"}


def aggregates_in(node: Any) -> Iterator[Any]:
    """Yield the aggregates of an expression, also those in the arguments of a window function."""
    if isinstance(node, exp.Query):
        return
    if isinstance(node, exp.Window):
        if isinstance(node.this, (exp.IgnoreNulls, exp.RespectNulls)):
            raise Refused("IGNORE NULLS or RESPECT NULLS", "is not supported")
        inside = [*node.this.iter_expressions(), *node.args.get("partition_by", ()), node.args.get("order")]
        for part in inside:
            if part is not None:
                yield from aggregates_in(part)
        return
    if isinstance(node, exp.AggFunc):
        yield node
        return
    for part in node.iter_expressions():
        yield from aggregates_in(part)


class Grouping:
    """The keys and aggregates of a SELECT that groups.

    Attributes:
        below: The binder over the rows before grouping.
        sets: The positions of the keys of each grouping set: one set of all without ROLLUP and the like.
        marks: For each column of GROUPING, the positions of the keys that it is about.
    """

    def __init__(
        self,
        below: Binder,
        keys: tuple[Expression, ...],
        sets: tuple[tuple[int, ...], ...] | None = None,
    ) -> None:
        self.below = below
        self.keys = keys
        self.sets = (tuple(range(len(keys))),) if sets is None else sets
        self.aggregates: list[Aggregate] = []
        self.marks: list[tuple[int, ...]] = []

    def intercept(self, node: Any) -> Expression | None:
        """Bind an aggregate or an expression of keys; None for an expression that contains these."""
        if isinstance(node, (exp.Grouping, exp.GroupingId)):
            return self.mark(node)
        if isinstance(node, exp.AggFunc):
            return self.place(bind_aggregate(self.below, node))
        if isinstance(node, exp.Query) or next(aggregates_in(node), None) is not None:
            return None
        if isinstance(node, exp.Column) and self.below.scope.find(*self.below.names(node)) is None:
            return None
        if node.find(exp.Window) is not None or has_alias(self.below, node):
            return None
        return self.over_keys(self.below.bind(node), node)

    def place(self, aggregate: Aggregate) -> Column:
        """Return the column of an aggregate; equal aggregates share a column."""
        if aggregate not in self.aggregates:
            self.aggregates.append(aggregate)
        return Column(AGGREGATES_FROM + self.aggregates.index(aggregate), aggregate.type)

    def mark(self, node: Any) -> Column:
        """Return the column of GROUPING or GROUPING_ID: a bit for each key, 1 in rows that it does not group.

        Raises:
            InputError: An argument is not in GROUP BY.
        """
        places = []
        for part in node.expressions:
            key = self.below.bind(part)
            if key not in self.keys:
                raise InputError(f"{sql_text(part)} in {sql_text(node)} is not in GROUP BY")
            places.append(self.keys.index(key))
        if tuple(places) not in self.marks:
            self.marks.append(tuple(places))
        return Column(MARKS_FROM + self.marks.index(tuple(places)), INTEGER)

    def over_keys(self, expression: Expression, node: Any) -> Expression:
        """Rewrite an expression over the columns of the group."""
        if expression in self.keys:
            return Column(self.keys.index(expression), expression.type)
        if isinstance(expression, Column):
            raise InputError(f"{sql_text(node)} is neither in GROUP BY nor in an aggregate")
        return with_parts(expression, tuple(self.over_keys(part, node) for part in parts(expression)))

    def group(self, relation: Relation) -> tuple[Relation, dict[int, int]]:
        """Return the grouped relation, and the positions of its columns."""
        count = len(self.keys)
        marks_from = count + len(self.aggregates)
        later = {AGGREGATES_FROM + place: count + place for place in range(len(self.aggregates))}
        later |= {MARKS_FROM + place: marks_from + place for place in range(len(self.marks))}
        places = {place: place for place in range(count)} | later
        aggregates = tuple(self.aggregates)
        if self.sets != (tuple(range(count)),) or self.marks:
            return union_of_groups(relation, self.keys, self.sets, aggregates, tuple(self.marks)), places
        names = tuple(f"g{place}" for place in range(count + len(aggregates)))
        return Group(relation, self.keys, aggregates, names), places


def has_alias(binder: Binder, node: Any) -> bool:
    """Tell whether an expression uses an alias of the select list."""
    return any(binder.scope.find(*binder.names(column)) is None for column in node.find_all(exp.Column))
