"""Conditions that rows with certain keys meet, from which files and row groups are chosen."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Context, Decimal
from typing import Any

from dynamic_tables.bags.intervals import WantedKeys
from dynamic_tables.values.expressions import Column
from dynamic_tables.values.types import DIGITS_MAX, Kind, Type
from pruning.expressions import trees, types

# The most keys of a condition.
KEYS_MAX = 10_000
EPOCH = datetime(1970, 1, 1)
# No number here has more digits.
EXACT = Context(prec=4 * DIGITS_MAX)
SIMPLE: Mapping[Kind, types.Type] = {
    Kind.BOOLEAN: types.BOOLEAN,
    Kind.TEXT: types.STRING,
    Kind.DATE: types.DATE,
    Kind.TIMESTAMP: types.TIMESTAMP_NTZ,
}


def key_condition(
    wanted: WantedKeys, names: Sequence[str], longs: Collection[int], row_id: str
) -> trees.Expression | None:
    """Return a condition that every wanted row meets; None if there is none.

    Others may meet it too: each part of a key is tested for itself.

    Args:
        wanted: The keys.
        names: The names of the columns.
        longs: The positions of columns of integers of at most 64 bits.
        row_id: The name of the column with the ids.

    >>> from dynamic_tables.values.types import INTEGER
    >>> from pruning.expressions.sql import to_sql
    >>> wanted = WantedKeys((Column(1, INTEGER),), frozenset({(7,), (2**80,)}), frozenset())
    >>> to_sql(key_condition(wanted, ["id", "customer"], {0, 1}, "row_id"))
    '(`customer` IN (7L))'
    """
    conditions = []
    for place, part in enumerate(wanted.expressions):
        if isinstance(part, Column):
            type_ = column_type(part.type, long=part.index in longs)
            if type_ is not None:
                column = trees.Column(names[part.index], type_)
                conditions.append(membership(column, {key[place] for key in wanted.keys}))
    with_id = membership(trees.Column(row_id, types.STRING), wanted.row_ids)
    if not wanted.keys:
        return with_id
    if not conditions:
        return None
    both: trees.Expression = trees.And(tuple(conditions))
    return trees.Or((both, with_id)) if wanted.row_ids else both


def column_type(type_: Type, *, long: bool) -> types.Type | None:
    """Return the type of a stored column whose values compare with a list as cells do; None for others."""
    if type_.kind is Kind.INTEGER and long:
        return types.LONG
    if type_.kind in (Kind.INTEGER, Kind.DECIMAL):
        return types.decimal(DIGITS_MAX, type_.scale)
    return SIMPLE.get(type_.kind)


def membership(column: trees.Column, cells: Iterable[Any]) -> trees.Expression:
    """Return the condition that a column has one of some cells, of which one may be NULL."""
    cells = set(cells)
    values = sorted(
        value for cell in cells - {None} if (value := stored_value(cell, column.type)) is not None
    )
    choices: list[trees.Expression] = []
    if values:
        choices.append(trees.In(column, tuple(trees.Literal(value, column.type) for value in values)))
    if None in cells:
        choices.append(trees.IsNull(column))
    return trees.Or(tuple(choices)) if choices else trees.Literal(False, types.BOOLEAN)


def stored_value(cell: Any, type_: types.Type) -> Any:
    """Return a cell as block metadata has it; None for a number that no value of the column equals."""
    convert = CONVERSIONS.get(type_.kind)
    return decimal_value(cell, type_.scale) if convert is None else convert(cell)


def long_value(cell: int | Decimal) -> int | None:
    """Return an integer of 64 bits."""
    whole = int(cell)
    return whole if whole == cell and -(2**63) <= whole < 2**63 else None


def decimal_value(cell: int | Decimal, scale: int) -> Decimal | None:
    """Return a decimal with so many digits behind the point."""
    scaled = EXACT.scaleb(Decimal(cell), scale)
    if int(scaled) != scaled or abs(scaled) >= 10**DIGITS_MAX:
        return None
    return EXACT.scaleb(Decimal(int(scaled)), -scale)


def days(cell: date) -> int:
    """Return a day as days since 1970."""
    return cell.toordinal() - EPOCH.toordinal()


def microseconds(cell: datetime) -> int:
    """Return a time as microseconds since 1970."""
    since = cell - EPOCH
    return (since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds


CONVERSIONS: Mapping[types.Kind, Callable[[Any], Any]] = {
    types.Kind.BOOLEAN: bool,
    types.Kind.LONG: long_value,
    types.Kind.STRING: str.encode,
    types.Kind.DATE: days,
    types.Kind.TIMESTAMP_NTZ: microseconds,
}
