"""The tables of a shop, which the definitions of `definitions` read, and the values of their columns."""

from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from random import Random

from dynamic_tables.values.changes import Cell
from dynamic_tables.values.types import (
    ARRAY,
    BOOLEAN,
    DATE,
    FLOAT,
    INTEGER,
    TEXT,
    TIMESTAMP,
    VARIANT,
    Field,
    decimal,
)
from strategies.dynamic.base_tables import INTERVALS, WriteHistory, drawn_history
from strategies.dynamic.contents import SourceTable

SHOP: tuple[SourceTable, ...] = (
    SourceTable(
        "sales",
        (
            Field("id", INTEGER),
            Field("customer", INTEGER),
            Field("product", INTEGER),
            Field("quantity", INTEGER),
            Field("amount", decimal(2)),
            Field("day", DATE),
            Field("note", TEXT),
        ),
    ),
    SourceTable(
        "customers",
        (
            Field("customer", INTEGER),
            Field("region", TEXT),
            Field("manager", INTEGER),
            Field("active", BOOLEAN),
            Field("since", DATE),
        ),
    ),
    SourceTable(
        "visits",
        (
            Field("customer", INTEGER),
            Field("began", TIMESTAMP),
            Field("seconds", INTEGER),
            Field("page", VARIANT),
            Field("tags", ARRAY),
        ),
    ),
    SourceTable(
        "products",
        (
            Field("product", INTEGER),
            Field("category", TEXT),
            Field("price", decimal(2)),
            Field("weight", FLOAT),
        ),
    ),
)
# Keys are skewed, and some have rows in one table only.
SHOP_CELLS: Mapping[str, tuple[Cell, ...]] = {
    "customer": (None, 1, 1, 1, 1, 2, 2, 3, 4),
    "product": (None, 1, 1, 1, 2, 2, 3, 5),
    "quantity": (None, 0, 1, 1, 2, 3),
    "amount": (None, Decimal("0.00"), Decimal("1.50"), Decimal("1.50"), Decimal("2.25"), Decimal("9.99")),
    "day": (None, date(2024, 12, 31), date(2025, 1, 1), date(2025, 1, 1), date(2025, 2, 28)),
    "note": (None, "", "a", "ab", "12", "b|"),
    "region": (None, "north", "north", "south", ""),
    "manager": (None, 1, 1, 2, 3),
    "active": (None, True, True, False),
    "since": (None, date(2024, 2, 1), date(2024, 2, 29), date(2024, 2, 29)),
    "category": (None, "tea", "tea", "pot"),
    "price": (None, Decimal("1.50"), Decimal("2.25"), Decimal("5.00")),
    "weight": (None, 0.5, 0.1, 0.1, 1.25),
    "began": (
        None,
        datetime(2025, 1, 1, 9, 30),
        datetime(2025, 1, 1, 9, 30),
        datetime(2025, 2, 28, 23, 59, 59, 500_000),
    ),
    "seconds": (None, 0, 1, 2, 2, 30),
    "page": (
        None,
        {},
        {"path": "a", "size": 1, "marks": (1, 0)},
        {"path": "a", "size": 2, "marks": ()},
        {"path": "b", "marks": (2,)},
    ),
    "tags": (None, (), ("x",), ("x", "y"), ("y", "x", "x")),
}


def shop_history(seed: int, intervals: int = INTERVALS) -> WriteHistory:
    """Draw writes to the tables of a shop."""
    return drawn_history(Random(seed), SHOP, SHOP_CELLS, intervals)
