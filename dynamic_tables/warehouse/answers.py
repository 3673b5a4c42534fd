"""Answers to SELECT over the tables of a warehouse, in order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cmp_to_key
from typing import Any

from dynamic_tables.on_spark.frames import RowFrame, rows_of
from dynamic_tables.sql.selects import OrderedQuery
from dynamic_tables.stores.parquet_intervals import VersionRows
from dynamic_tables.values.changes import Cell, Row
from dynamic_tables.values.comparisons import comparisons_of
from dynamic_tables.values.types import Field, Kind
from dynamic_tables.warehouse.backend import WarehouseBackend
from pruning.errors import InputError


@dataclass(frozen=True, slots=True)
class Answer:
    """The rows of a SELECT, in order, or what another statement did.

    Attributes:
        columns: The names of the columns.
        rows: The rows.
        message: What a statement without rows did.
    """

    columns: tuple[str, ...] = ()
    rows: tuple[Row, ...] = ()
    message: str = ""


def answer(ordered: OrderedQuery, sources: Mapping[str, VersionRows], backend: WarehouseBackend) -> Answer:
    """Return the rows of a query.

    Raises:
        UserError: The query failed on these rows.
    """
    computed = backend.full(ordered.query, sources)
    if isinstance(computed.rows, RowFrame):
        rows = [row for _, row in rows_of(computed.rows)]
    else:
        rows = list(computed.rows.values())
    for number in reversed(range(len(ordered.places))):
        rows = in_order(rows, computed.fields, ordered, number)
    last = None if ordered.limit is None else ordered.offset + ordered.limit
    wanted = tuple(row[: ordered.width] for row in rows[ordered.offset : last])
    return Answer(tuple(field.name for field in computed.fields[: ordered.width]), wanted)


def in_order(rows: list[Row], fields: Sequence[Field], ordered: OrderedQuery, number: int) -> list[Row]:
    """Return rows in the order of one key; the sort is stable."""
    place = ordered.places[number]
    nulls = [row for row in rows if row[place] is None]
    others = [row for row in rows if row[place] is not None]
    order = order_of(fields[place].type.kind)
    others.sort(key=lambda row: order(row[place]), reverse=ordered.descending[number])
    return nulls + others if ordered.nulls_first[number] else others + nulls


def order_of(kind: Kind) -> Callable[[Cell], Any]:
    """Return the key by which cells of a kind are sorted.

    Raises:
        InputError: They have no order.
    """
    less = comparisons_of(kind).get("<")
    if less is None:
        raise InputError(f"{kind.value} has no order: cast it in ORDER BY")
    return cmp_to_key(lambda left, right: -1 if less(left, right) else int(less(right, left)))
