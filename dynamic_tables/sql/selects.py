"""Queries for an answer in order: a SELECT whose outermost ORDER BY, LIMIT and OFFSET count."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from dynamic_tables.maintenance.narrowing import narrow_relation
from dynamic_tables.maintenance.queries import Query
from dynamic_tables.sql.definitions import Lookup, parse_statement
from dynamic_tables.sql.relations import Names, bind_query
from dynamic_tables.values.errors import Refused
from pruning.errors import InputError


@dataclass(frozen=True, slots=True)
class OrderedQuery:
    """A query with the order and the number of its rows.

    Attributes:
        query: Its rows have the columns of the answer, and behind them those of ORDER BY.
        width: The number of columns of the answer.
        places: The position of the column of each key of ORDER BY.
        descending, nulls_first: For each key.
        limit, offset: The most rows, None for all, and the rows to skip.
    """

    query: Query
    width: int
    places: tuple[int, ...]
    descending: tuple[bool, ...]
    nulls_first: tuple[bool, ...]
    limit: int | None
    offset: int


def read_select(text: str, lookup: Lookup) -> OrderedQuery:
    """Read a SELECT.

    Raises:
        InputError: The text is no SELECT, or names something that does not exist.
        Refused: A construct is not supported.
    """
    tree = parse_statement(text)
    if not isinstance(tree, exp.Query):
        raise InputError("a query has to be a SELECT")
    tree = tree.copy()
    order, limit, offset = (tree.args.get(clause) for clause in ("order", "limit", "offset"))
    for clause in ("order", "limit", "offset"):
        tree.set(clause, None)
    width = len(bind_query(tree, Names(lookup, {})).fields)
    keys = [] if order is None else order.expressions
    wanted = [ordered.this for ordered in keys]
    computed = [item for item in wanted if ordinal_of(item) is None]
    if computed:
        tree = with_columns(tree, computed)
    added = iter(range(width, width + len(computed)))
    places = tuple(place_of(item, width, added) for item in wanted)
    return OrderedQuery(
        query=Query(narrow_relation(bind_query(tree, Names(lookup, {})))),
        width=width,
        places=places,
        descending=tuple(bool(ordered.args.get("desc")) for ordered in keys),
        # The parser says where NULL stands if the text does not: it is greater than all values.
        nulls_first=tuple(bool(ordered.args.get("nulls_first")) for ordered in keys),
        limit=number_of(limit, None),
        offset=number_of(offset, 0) or 0,
    )


def ordinal_of(item: Any) -> int | None:
    """Return the number of a column that ORDER BY has in place of an expression; None for an expression."""
    return int(item.name) if isinstance(item, exp.Literal) and item.name.isdigit() else None


def place_of(item: Any, width: int, added: Iterator[int]) -> int:
    """Return the position of the column of a key, of which expressions have the added ones.

    Raises:
        InputError: There is no such column.
    """
    ordinal = ordinal_of(item)
    if ordinal is None:
        return next(added)
    if not 1 <= ordinal <= width:
        raise InputError(f"ORDER BY {ordinal}: the answer has {width} columns")
    return ordinal - 1


def with_columns(tree: Any, items: Sequence[Any]) -> Any:
    """Return a SELECT with the expressions of its ORDER BY as further columns."""
    if not isinstance(tree, exp.Select) or tree.args.get("distinct"):
        if not all(isinstance(item, exp.Column) for item in items):
            raise Refused("ORDER BY an expression", "is not supported here: order by columns")
        tree = exp.select("*").from_(tree.subquery("answer"))
    for place, item in enumerate(items):
        tree = tree.select(exp.alias_(item.copy(), f"_order_{place}", quoted=True))
    return tree


def number_of(clause: Any, otherwise: int | None) -> int | None:
    """Return the number of a LIMIT or OFFSET."""
    if clause is None:
        return otherwise
    number = clause.expression
    if not isinstance(number, exp.Literal) or number.is_string or not number.name.isdigit():
        raise Refused(f"{clause.sql()}", "is not supported: give a number")
    return int(number.name)
