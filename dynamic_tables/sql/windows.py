"""Window functions of a SELECT, bound as columns of nodes that are built later, and their frames."""

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any, TypeAlias

from sqlglot import exp

from dynamic_tables.maintenance.algebra import Frame, Order, RangeFrame, Relation, Window, WindowFunction
from dynamic_tables.maintenance.narrowing import remap_function
from dynamic_tables.sql.aggregates import AGGREGATES, bind_aggregate, bind_term
from dynamic_tables.sql.expressions import Binder
from dynamic_tables.sql.names import fold_name, function_name, refuse_unknown, sql_text
from dynamic_tables.sql.times import interval_us
from dynamic_tables.values.errors import Refused
from dynamic_tables.values.expressions import Column, Expression, remap_columns
from dynamic_tables.values.functions import as_type
from dynamic_tables.values.types import EXACT_NUMBERS, FLOAT, INTEGER, Kind
from pruning.errors import InputError

# Placeholder positions for columns whose node is not built yet; no row is as wide.
WINDOWS_FROM = 2_000_000
RANKS = {
    exp.RowNumber: ("row_number", INTEGER),
    exp.Rank: ("rank", INTEGER),
    exp.DenseRank: ("dense_rank", INTEGER),
    exp.PercentRank: ("percent_rank", FLOAT),
    exp.CumeDist: ("cume_dist", FLOAT),
}
NEIGHBOURS = {exp.Lag: "lag", exp.Lead: "lead"}
WINDOW_CLAUSES = frozenset({"this", "partition_by", "order", "spec", "over", "alias"})
EDGES = {exp.FirstValue: "first_value", exp.LastValue: "last_value"}
TIMES = frozenset({Kind.DATE, Kind.TIMESTAMP})

# The nodes of PARTITION BY, of ORDER BY, and of the frame.
Specification: TypeAlias = tuple[Sequence[Any], Sequence[Any], Any]


class Windowing:
    """The window functions of a SELECT, by their PARTITION BY.

    Attributes:
        named: The windows of the clause WINDOW, by name; one may refer to an earlier one.
    """

    def __init__(self, below: Binder, named: Iterable[Any] = ()) -> None:
        self.below = below
        self.functions: list[tuple[tuple[Expression, ...], WindowFunction]] = []
        self.named: dict[str, Specification] = {}
        for node in named:
            name = fold_name(node.this)
            if name in self.named:
                raise InputError(f"two windows are called {name}")
            refuse_unknown(node, WINDOW_CLAUSES, "a window")
            self.named[name] = self.specification(node)

    def intercept(self, node: Any) -> Expression | None:
        """Bind a window function as a column; None for other expressions."""
        if not isinstance(node, exp.Window):
            return self.below.intercept(node)
        refuse_unknown(node, WINDOW_CLAUSES, "a window function")
        partition_nodes, order_nodes, frame_node = self.specification(node)
        partition = tuple(map(self.below.bind, partition_nodes))
        terms = tuple(bind_term(self.below, term) for term in order_nodes)
        function = self.function(node.this, terms, frame_node)
        if (partition, function) not in self.functions:
            self.functions.append((partition, function))
        return Column(WINDOWS_FROM + self.functions.index((partition, function)), function.type)

    def specification(self, node: Any) -> Specification:
        """Return the parts of a window, of which those that it lacks are those of the window that it names.

        Raises:
            InputError: There is no window of this name, or a part is in both.
        """
        order = node.args.get("order")
        own = (node.args.get("partition_by") or (), () if order is None else order.expressions)
        frame, alias = node.args.get("spec"), node.args.get("alias")
        if alias is None:
            return (*own, frame)
        name = fold_name(alias)
        base = self.named.get(name)
        if base is None:
            raise InputError(f"there is no window {name} before it: write WINDOW {name} AS (...)")
        for clause, part, base_part in zip(("PARTITION BY", "ORDER BY"), own, base, strict=False):
            if part and (base_part or clause == "PARTITION BY"):
                raise InputError(f"{clause} is that of the window {name}: leave it out")
        # The parser gives FIRST_VALUE and LAST_VALUE a frame where none is written.
        if frame is not None and base[2] is not None and type(node.this) not in EDGES:
            raise InputError(f"the frame is that of the window {name}: leave it out")
        return base[0], own[1] or base[1], frame if base[2] is None else base[2]

    def function(self, node: Any, order: tuple[Order, ...], spec: Any) -> WindowFunction:
        """Bind the function of a window expression."""
        if type(node) in RANKS:
            name, type_ = RANKS[type(node)]
            return WindowFunction(name, None, order, type_)
        if isinstance(node, exp.Ntile):
            return WindowFunction("ntile", None, order, INTEGER, offset=group_count(node))
        if type(node) in NEIGHBOURS:
            return self.neighbour(node, order)
        frame = bind_frame(spec, order)
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
        for number, (partition, _) in enumerate(self.functions):
            by_partition.setdefault(partition, []).append(number)
        added: dict[int, int] = {}
        for partition, numbers in by_partition.items():
            width = len(relation.fields)
            relation = Window(
                relation,
                tuple(remap_columns(key, places) for key in partition),
                tuple(remap_function(self.functions[number][1], places) for number in numbers),
                tuple(f"w{number}" for number in numbers),
            )
            added |= {WINDOWS_FROM + number: width + place for place, number in enumerate(numbers)}
        return relation, added


def group_count(node: exp.Ntile) -> int:
    """Return the number of groups of NTILE.

    Raises:
        Refused: It is no positive number.
    """
    if not isinstance(node.this, exp.Literal) or not node.name.isdigit() or int(node.name) < 1:
        raise Refused(sql_text(node), "is not supported: write a positive whole number of groups")
    return int(node.name)


def bind_frame(spec: Any, order: Sequence[Order]) -> Frame | RangeFrame:
    """Bind a frame; by default the partition, or with an order the rows up to the last peer.

    Raises:
        Refused: The frame is of groups, or of a range of values that cannot be added to.
        InputError: It begins at the end of the partition, or ends at its beginning.
    """
    if spec is None:
        return Frame(last=0, peers=True) if order else Frame()
    refuse_unknown(spec, frozenset({"kind", "start", "start_side", "end", "end_side"}), "a frame")
    kind = str(spec.args["kind"]).upper()
    edges = [(spec.args.get("start"), spec.args.get("start_side"))]
    edges.append((spec.args.get("end") or "CURRENT ROW", spec.args.get("end_side")))
    for (edge, side), wrong in zip(edges, ("FOLLOWING", "PRECEDING"), strict=True):
        if is_word(edge, "UNBOUNDED") and (side or "").upper() == wrong:
            raise InputError(f"a frame cannot have the edge UNBOUNDED {wrong} there: {sql_text(spec)}")
    if kind == "ROWS":
        first, last = (row_offset(*edge) for edge in edges)
        return Frame(first, last)
    if kind != "RANGE":
        raise Refused(f"the frame {sql_text(spec)}", "is not supported: write ROWS or RANGE")
    if all(is_word(edge, "UNBOUNDED") or is_word(edge, "CURRENT ROW") for edge, _ in edges):
        first, last = (row_offset(*edge) for edge in edges)
        return Frame(first, last, peers=(first, last) != (None, None))
    first_value, last_value = (value_offset(edge, side, spec, order) for edge, side in edges)
    return RangeFrame(first_value, last_value)


def is_word(edge: Any, word: str) -> bool:
    """Tell whether an edge of a frame is UNBOUNDED or CURRENT ROW."""
    return isinstance(edge, str) and edge.upper() == word


def row_offset(edge: Any, side: str | None) -> int | None:
    """Return the offset of one end of a frame of rows from the row; None is unbounded."""
    if is_word(edge, "CURRENT ROW"):
        return 0
    if is_word(edge, "UNBOUNDED"):
        return None
    if not isinstance(edge, exp.Literal) or not edge.name.isdigit():
        raise Refused(f"a frame with the edge {sql_text(edge)}", "is not supported: write a whole number")
    return -int(edge.name) if precedes(side) else int(edge.name)


def precedes(side: str | None) -> bool:
    """Tell whether an edge of a frame is written as PRECEDING."""
    return (side or "").upper() == "PRECEDING"


def is_number(edge: Any) -> bool:
    """Tell whether an edge of a frame is a number without a sign."""
    return isinstance(edge, exp.Literal) and not edge.is_string and edge.name.replace(".", "", 1).isdigit()


def value_offset(edge: Any, side: str | None, spec: Any, order: Sequence[Order]) -> int | Decimal | None:
    """Return the offset of one end of a frame of values from the value of the row; None is unbounded.

    Raises:
        Refused: The values are neither exact numbers nor times, or the offset does not fit them.
    """
    if isinstance(edge, str):
        return row_offset(edge, side)
    if len(order) != 1:
        raise Refused(f"the frame {sql_text(spec)}", "is not supported without exactly one term of ORDER BY")
    kind = order[0].expression.type.kind
    if kind in TIMES and isinstance(edge, exp.Interval):
        length_us = interval_us(edge)
        if length_us >= 0:
            return -length_us if precedes(side) else length_us
    elif kind in EXACT_NUMBERS and is_number(edge):
        return -Decimal(edge.name) if precedes(side) else Decimal(edge.name)
    raise Refused(
        f"the frame {sql_text(spec)}",
        f"is not supported over values of the type {order[0].expression.type}: "
        "exact numbers take a number, times an INTERVAL",
    )
