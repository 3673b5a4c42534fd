"""What names mean inside one SELECT: columns of the tables in its FROM, and its own aliases."""

from dataclasses import dataclass

from dynamic_tables.maintenance.algebra import Relation
from dynamic_tables.values.expressions import Column
from pruning.errors import InputError


@dataclass(frozen=True, slots=True)
class Visible:
    """One column that a name can mean.

    Attributes:
        table: The alias of its table in FROM.
        starred: Whether * gives it; the second column of a USING is not given twice.
    """

    table: str
    name: str
    column: Column
    starred: bool = True


@dataclass(frozen=True, slots=True)
class Scope:
    """A relation, and what its columns are called."""

    relation: Relation
    visible: tuple[Visible, ...]

    def find(self, name: str, table: str | None) -> Column | None:
        """The column that a name means; None if there is none.

        Raises:
            InputError: The name means several.
        """
        found = [one for one in self.visible if one.name == name and table in (None, one.table)]
        if table is None and len(found) > 1:
            found = [one for one in found if one.starred]
        if len(found) > 1:
            raise InputError(f"the column {name} is in several tables: write TABLE.{name}")
        return found[0].column if found else None

    def starred(self, table: str | None) -> list[Visible]:
        """What * gives, or TABLE.*.

        Raises:
            InputError: No such table is in FROM.
        """
        found = [one for one in self.visible if table == one.table or (table is None and one.starred)]
        if not found:
            raise InputError(f"no table {table} is in FROM")
        return found


def scope_of(relation: Relation, alias: str) -> Scope:
    """The scope of one relation under one name."""
    columns = (Column(place, field.type) for place, field in enumerate(relation.fields))
    visible = zip(relation.fields, columns, strict=True)
    return Scope(relation, tuple(Visible(alias, field.name, column) for field, column in visible))


def beside(left: Scope, right: Scope, relation: Relation, hidden: frozenset[str] = frozenset()) -> Scope:
    """The scope of a relation whose columns are the left's, then the right's."""
    width = len(left.relation.fields)
    moved = (
        Visible(
            one.table, one.name, Column(one.column.index + width, one.column.type), one.name not in hidden
        )
        for one in right.visible
    )
    return Scope(relation, (*left.visible, *moved))
