"""A table in memory over one interval, as incremental refreshes read it."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from dynamic_tables.storage.netting import reshape, reshape_delta
from dynamic_tables.values.changes import Contents, Delta

if TYPE_CHECKING:
    from dynamic_tables.storage.versions import Table


@dataclass(frozen=True)
class TableInterval:
    """One table over one interval, in the form that the backend in Python reads.

    Attributes:
        positions: The positions of the present columns in stored rows; None: as stored.
    """

    table: "Table"
    old: int
    new: int
    positions: tuple[int, ...] | None

    @cached_property
    def before(self) -> Contents:
        """The contents at the old version."""
        return reshape(self.table.contents(self.old), self.positions)

    @cached_property
    def after(self) -> Contents:
        """The contents at the new version."""
        return reshape(self.table.contents(self.new), self.positions)

    @cached_property
    def changes(self) -> Delta:
        """The net changes between the versions."""
        return reshape_delta(self.table.changes(self.old, self.new), self.positions)
