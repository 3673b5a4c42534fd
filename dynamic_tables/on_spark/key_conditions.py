"""Conditions in Spark SQL that rows with certain keys meet, from which files and row groups are chosen."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from dynamic_tables.bags.intervals import WantedKeys
from dynamic_tables.on_spark.native_expressions import LONG
from dynamic_tables.values.expressions import Column
from dynamic_tables.values.types import Kind

# The most keys of a condition.
KEYS_MAX = 10_000


def key_condition(
    wanted: WantedKeys, names: Sequence[str], longs: Collection[int], row_id: str
) -> str | None:
    """Return a condition that every wanted row meets; None if there is none.

    Others may meet it too: each part of a key is tested for itself.

    Args:
        wanted: The keys.
        names: The names of the columns.
        longs: The positions of columns of integers of at most 64 bits.
        row_id: The name of the column with the ids.

    >>> from dynamic_tables.values.types import INTEGER
    >>> wanted = WantedKeys((Column(1, INTEGER),), frozenset({(7,), (2**80,)}), frozenset())
    >>> key_condition(wanted, ["id", "customer"], {0, 1}, "row_id")
    '(`customer` IN (7))'
    """
    conditions = [
        membership(
            f"`{names[part.index]}`",
            {key[place] for key in wanted.keys},
            long_literal if part.index in longs else LITERALS[part.type.kind],
        )
        for place, part in enumerate(wanted.expressions)
        if isinstance(part, Column) and part.type.kind in LITERALS
    ]
    ids = ", ".join(sorted(map(text_literal, wanted.row_ids)))
    if not wanted.keys:
        return f"`{row_id}` IN ({ids})"
    if not conditions:
        return None
    both = " AND ".join(conditions)
    return f"({both}) OR `{row_id}` IN ({ids})" if ids else both


def membership(name: str, values: Iterable[Any], literal: Callable[[Any], str | None]) -> str:
    """Return the condition that a column has one of some values, of which one may be NULL."""
    texts = {value: None if value is None else literal(value) for value in values}
    literals = sorted(text for text in texts.values() if text is not None)
    choices = [f"{name} IN ({', '.join(literals)})"] if literals else []
    if None in texts:
        choices.append(f"{name} IS NULL")
    return f"({' OR '.join(choices)})" if choices else "(FALSE)"


def integer_literal(value: int | Decimal) -> str | None:
    """Return an integer; None for a number that no integer equals."""
    return str(int(value)) if value == int(value) else None


def long_literal(value: int | Decimal) -> str | None:
    """Return an integer; None for a number that no integer of 64 bits equals."""
    text = integer_literal(value)
    return text if text is not None and int(text) in LONG else None


def decimal_literal(value: int | Decimal) -> str:
    """Return a decimal."""
    return format(Decimal(value), "f")


def text_literal(value: str) -> str:
    """Return a text in quotes."""
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def time_literal(value: datetime) -> str:
    """Return a time without zone."""
    return f"TIMESTAMP_NTZ '{value.isoformat(sep=' ')}'"


def date_literal(value: date) -> str:
    """Return a day."""
    return f"DATE '{value.isoformat()}'"


# The literals of values, for kinds whose values Spark compares with a list as this project does.
LITERALS: Mapping[Kind, Callable[[Any], str | None]] = {
    Kind.BOOLEAN: lambda value: "TRUE" if value else "FALSE",
    Kind.INTEGER: integer_literal,
    Kind.DECIMAL: decimal_literal,
    Kind.TEXT: text_literal,
    Kind.DATE: date_literal,
    Kind.TIMESTAMP: time_literal,
}
