"""The scope of names inside one SELECT: the columns of the tables in its FROM."""

from dataclasses import dataclass

from dynamic_tables.maintenance.algebra import Relation
from dynamic_tables.values.expressions import Column
from pruning.errors import InputError


@dataclass(frozen=True, slots=True)
class VisibleColumn:
    """One column that a name can denote.

    Attributes:
        table: The alias of its table in FROM.
        starred: True if * includes it; the second column of a USING is included only once.
    """

    table: str
    name: str
    column: Column
    starred: bool = True


@dataclass(frozen=True, slots=True)
class Scope:
    """A relation with the names of its columns."""

    relation: Relation
    visible: tuple[VisibleColumn, ...]

    def find(self, name: str, table: str | None) -> Column | None:
        """Return the column that a name denotes; None if there is none.

        Raises:
            InputError: The name denotes several columns.
        """
        matches = [
            visible for visible in self.visible if visible.name == name and table in (None, visible.table)
        ]
        if table is None and len(matches) > 1:
            matches = [visible for visible in matches if visible.starred]
        if len(matches) > 1:
            raise InputError(f"the column {name} is in several tables: write TABLE.{name}")
        return matches[0].column if matches else None

    def star_columns(self, table: str | None) -> list[VisibleColumn]:
        """Return the columns of *, or of TABLE.*.

        Raises:
            InputError: No such table is in FROM.
        """
        columns = [
            visible
            for visible in self.visible
            if table == visible.table or (table is None and visible.starred)
        ]
        if not columns:
            raise InputError(f"no table {table} is in FROM")
        return columns


def scope_of(relation: Relation, alias: str) -> Scope:
    """Return the scope of one relation under one name."""
    columns = (Column(place, field.type) for place, field in enumerate(relation.fields))
    visible = zip(relation.fields, columns, strict=True)
    return Scope(relation, tuple(VisibleColumn(alias, field.name, column) for field, column in visible))


def joined_scope(
    left: Scope, right: Scope, relation: Relation, hidden: frozenset[str] = frozenset()
) -> Scope:
    """Return the scope of a relation with the columns of the left scope, then those of the right."""
    width = len(left.relation.fields)
    moved = (
        VisibleColumn(
            visible.table,
            visible.name,
            Column(visible.column.index + width, visible.column.type),
            visible.name not in hidden,
        )
        for visible in right.visible
    )
    return Scope(relation, (*left.visible, *moved))
