"""Binding of VALUES: rows that are written in a query."""

from functools import reduce
from typing import Any

from dynamic_tables.maintenance.algebra import ConstantRows, Scan
from dynamic_tables.sql.expressions import Binder
from dynamic_tables.sql.names import refuse_unknown
from dynamic_tables.sql.scopes import Scope
from dynamic_tables.values.errors import UserError
from dynamic_tables.values.evaluation import compile_row
from dynamic_tables.values.functions import as_type
from dynamic_tables.values.types import Field, common_type
from pruning.errors import InputError

NO_COLUMNS = Scope(Scan("", ()), ())


def bind_values(node: Any) -> ConstantRows:
    """Bind VALUES, whose columns are column1, column2 and so on, of the common type of their cells.

    Raises:
        InputError: The rows are not of one length, or an expression names a column or fails.
    """
    refuse_unknown(node, frozenset({"expressions", "alias", "order"}), "VALUES")
    binder = Binder(NO_COLUMNS, {})
    rows = [tuple(map(binder.bind, row.expressions)) for row in node.expressions]
    widths = {len(row) for row in rows}
    if len(widths) != 1:
        raise InputError(f"the rows of VALUES have {' and '.join(map(str, sorted(widths)))} columns")
    types = [reduce(common_type, (cell.type for cell in column)) for column in zip(*rows, strict=True)]
    compiled = [
        compile_row([as_type(cell, type_) for cell, type_ in zip(row, types, strict=True)]) for row in rows
    ]
    try:
        cells = tuple(compute(()) for compute in compiled)
    except UserError as error:
        raise InputError(f"VALUES: {error}") from None
    return ConstantRows(cells, tuple(Field(f"column{place}", type_) for place, type_ in enumerate(types, 1)))
