"""Changes of a table between runs of a query: INSERT, UPDATE, DELETE and compaction of its files."""

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from pruning.expressions.trees import Column
from pruning.expressions.types import Value
from strategies.base.tables import Block, Row, Table
from strategies.choices import choose
from strategies.queries.queries import ChangeKind, TableChange

CHANGES_MAX = 3
# UPDATE is drawn twice as often as others: it can make any file one with rows of the answer.
_KINDS = (ChangeKind.INSERT, ChangeKind.UPDATE, ChangeKind.UPDATE, ChangeKind.DELETE, ChangeKind.COMPACTION)


def table_changes(draw: DrawFn, ordinal: int, table: Table, column: Column) -> tuple[TableChange, ...]:
    """Draw one to three changes of a table, one after the other.

    Args:
        draw: Draws.
        ordinal: The place of the table in its query.
        table: The table before the changes.
        column: The column that UPDATE sets, such as one of ORDER BY.
    """
    changes: list[TableChange] = []
    next_number = len(table.rows)
    for _ in range(draw(st.integers(1, CHANGES_MAX))):
        # Nothing but INSERT changes a table without rows.
        kind = choose(draw, _KINDS) if table.rows else ChangeKind.INSERT
        change = _change(draw, kind, ordinal, table, column, next_number)
        next_number += sum(map(len, change.blocks)) if kind is ChangeKind.INSERT else 0
        changes.append(change)
        table = change.apply(table)
    return tuple(changes)


def _change(
    draw: DrawFn, kind: ChangeKind, ordinal: int, table: Table, column: Column, next_number: int
) -> TableChange:
    filled = [place for place, block in enumerate(table.blocks) if block]
    in_place = draw(st.booleans())
    match kind:
        case ChangeKind.INSERT:
            numbers = range(next_number, next_number + draw(st.integers(1, 3)))
            block = tuple(
                (*(_any_value(draw, table, name) for name in table.columns[:-1]), n) for n in numbers
            )
            return TableChange(kind=kind, table=ordinal, blocks=(block,))
        case ChangeKind.COMPACTION:
            count = draw(st.integers(min(2, len(filled)), min(4, len(filled))))
            gone = tuple(sorted(draw(st.permutations(filled))[:count]))
            blocks: tuple[Block, ...] = (tuple(row for place in gone for row in table.blocks[place]),)
        case ChangeKind.DELETE:
            gone = (choose(draw, filled),)
            rows = [row for row in table.blocks[gone[0]] if draw(st.booleans())]
            blocks = (tuple(rows),) if rows else ()
        case ChangeKind.UPDATE:
            gone = (choose(draw, filled),)
            blocks = (tuple(_updated_row(draw, table, column, row) for row in table.blocks[gone[0]]),)
    return TableChange(kind=kind, table=ordinal, gone=gone, blocks=blocks, in_place=in_place)


def _updated_row(draw: DrawFn, table: Table, column: Column, row: Row) -> Row:
    """Return a row with another value in a column, or as it is."""
    if draw(st.booleans()):
        return row
    place = table.columns.index(column)
    return (*row[:place], _any_value(draw, table, column), *row[place + 1 :])


def _any_value(draw: DrawFn, table: Table, column: Column) -> Value | None:
    """Draw one of the values that a column has now."""
    return choose(draw, table.values(column.name) or (None,))
