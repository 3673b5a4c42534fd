"""Aggregates and window functions of a SELECT, bound as columns of nodes that are built later."""

from collections.abc import Iterator
from typing import Any

from sqlglot import exp

from dynamic_tables.maintenance.algebra import (
    Aggregate,
    Frame,
    Group,
    Order,
    Relation,
    Window,
    WindowFunction,
)
from dynamic_tables.maintenance.narrowing import remap_function
from dynamic_tables.sql.aggregates import AGGREGATES, bind_aggregate, bind_term
from dynamic_tables.sql.expressions import Binder
from dynamic_tables.sql.names import refuse_unknown, sql_text
from dynamic_tables.sql.rules import function_name
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.expressions import Column, Expression, parts, remap_columns, with_parts
from dynamic_tables.values.functions import as_type
from dynamic_tables.values.types import INTEGER
from pruning.errors import InputError

# Placeholder positions for columns whose node is not built yet; no row is as wide.
AGGREGATES_FROM = 1_000_000
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
    """

    def __init__(self, below: Binder, keys: tuple[Expression, ...]) -> None:
        self.below = below
        self.keys = keys
        self.aggregates: list[Aggregate] = []

    def intercept(self, node: Any) -> Expression | None:
        """Bind an aggregate or an expression of keys; None for an expression that contains these."""
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

    def over_keys(self, expression: Expression, node: Any) -> Expression:
        """Rewrite an expression over the columns of the group."""
        if expression in self.keys:
            return Column(self.keys.index(expression), expression.type)
        if isinstance(expression, Column):
            raise InputError(f"{sql_text(node)} is neither in GROUP BY nor in an aggregate")
        return with_parts(expression, tuple(self.over_keys(part, node) for part in parts(expression)))

    def group(self, relation: Relation) -> tuple[Relation, dict[int, int]]:
        """Return the grouped relation, and the positions of its columns."""
        names = tuple(f"g{place}" for place in range(len(self.keys) + len(self.aggregates)))
        grouped = Group(relation, self.keys, tuple(self.aggregates), names)
        count = len(self.keys)
        later = {AGGREGATES_FROM + place: count + place for place in range(len(self.aggregates))}
        return grouped, {place: place for place in range(count)} | later


def has_alias(binder: Binder, node: Any) -> bool:
    """Tell whether an expression uses an alias of the select list."""
    return any(binder.scope.find(*binder.names(column)) is None for column in node.find_all(exp.Column))


class Windowing:
    """The window functions of a SELECT, by their PARTITION BY."""

    def __init__(self, below: Binder) -> None:
        self.below = below
        self.found: list[tuple[tuple[Expression, ...], WindowFunction]] = []

    def intercept(self, node: Any) -> Expression | None:
        """Bind a window function as a column; None for other expressions."""
        if not isinstance(node, exp.Window):
            return self.below.intercept(node)
        refuse_unknown(node, WINDOW_CLAUSES, "a window function")
        partition = tuple(map(self.below.bind, node.args.get("partition_by") or ()))
        order = node.args.get("order")
        terms = () if order is None else tuple(bind_term(self.below, term) for term in order.expressions)
        function = self.function(node.this, terms, node.args.get("spec"))
        if (partition, function) not in self.found:
            self.found.append((partition, function))
        return Column(WINDOWS_FROM + self.found.index((partition, function)), function.type)

    def function(self, node: Any, order: tuple[Order, ...], spec: Any) -> WindowFunction:
        """Bind the function of a window expression."""
        if type(node) in RANKS:
            return WindowFunction(RANKS[type(node)], None, order, INTEGER)
        if type(node) in NEIGHBOURS:
            return self.neighbour(node, order)
        frame = bind_frame(spec, ordered=bool(order))
        if type(node) in EDGES:
            argument = self.below.bind(node.this)
            return WindowFunction(EDGES[type(node)], argument, order, argument.type, frame)
        if type(node) not in AGGREGATES:
            raise Refused(f"the window function {function_name(node)}", "is not supported")
        aggregate = bind_aggregate(self.below, node)
        if aggregate.distinct:
            raise Refused("DISTINCT in a window function", "is not supported")
        return WindowFunction(aggregate.function, aggregate.argument, order, aggregate.type, frame)

    def neighbour(self, node: Any, order: tuple[Order, ...]) -> WindowFunction:
        """Bind LAG or LEAD."""
        argument = self.below.bind(node.this)
        offset, default = node.args.get("offset"), node.args.get("default")
        if offset is not None and not offset.name.isdigit():
            raise Refused(f"{sql_text(node)}", "needs a whole number as offset")
        value = None if default is None else as_type(self.below.bind(default), argument.type)
        count = 1 if offset is None else int(offset.name)
        name = NEIGHBOURS[type(node)]
        return WindowFunction(name, argument, order, argument.type, offset=count, default=value)

    def add(self, relation: Relation, places: dict[int, int]) -> tuple[Relation, dict[int, int]]:
        """Return the relation with all functions, and its column positions; `places` has those below."""
        by_partition: dict[tuple[Expression, ...], list[int]] = {}
        for number, (partition, _) in enumerate(self.found):
            by_partition.setdefault(partition, []).append(number)
        added: dict[int, int] = {}
        for partition, numbers in by_partition.items():
            width = len(relation.fields)
            relation = Window(
                relation,
                tuple(remap_columns(key, places) for key in partition),
                tuple(remap_function(self.found[number][1], places) for number in numbers),
                tuple(f"w{number}" for number in numbers),
            )
            added |= {WINDOWS_FROM + number: width + place for place, number in enumerate(numbers)}
        return relation, added


def bind_frame(spec: Any, *, ordered: bool) -> Frame:
    """Bind a frame; by default the partition, or with an order the rows up to the last peer."""
    if spec is None:
        return Frame(last=0, peers=True) if ordered else Frame()
    refuse_unknown(spec, frozenset({"kind", "start", "start_side", "end", "end_side"}), "a frame")
    kind = str(spec.args["kind"]).upper()
    first = frame_offset(spec.args.get("start"), spec.args.get("start_side"))
    last = frame_offset(spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side"))
    if kind == "ROWS":
        return Frame(first, last)
    if kind != "RANGE" or first is not None or last not in (None, 0):
        raise Refused(f"the frame {sql_text(spec)}", "is not supported: write ROWS")
    return Frame(last=last, peers=last is not None)


def frame_offset(edge: Any, side: str | None) -> int | None:
    """Return the offset of one end of a frame from the row; None is unbounded."""
    text = edge if isinstance(edge, str) else edge.name
    if text.upper() == "CURRENT ROW":
        return 0
    if text.upper() == "UNBOUNDED":
        return None
    if not text.isdigit():
        raise Refused(f"a frame with the edge {text}", "is not supported: write a whole number")
    return -int(text) if (side or "").upper() == "PRECEDING" else int(text)
