"""What a refresh asks of the engine that computes contents and changes; `bag_backend` is one in Python."""

from collections.abc import Mapping
from typing import Protocol

from dynamic_tables.maintenance.queries import Query
from dynamic_tables.values.changes import Contents, Delta


class Source(Protocol):
    """One table over one interval. Rows have the columns that the table had when the query was bound."""

    @property
    def before(self) -> Contents:
        """What it held at the start of the interval; asked for only where the changes alone do not do."""

    @property
    def after(self) -> Contents:
        """What it holds at the end of the interval."""

    @property
    def changes(self) -> Delta:
        """What lies between, netted by id and content: a row that came and went is in no change."""


class Backend(Protocol):
    """An engine. Sources are given by identity: at least those that the query reads."""

    def full(self, query: Query, sources: Mapping[str, Contents]) -> Contents:
        """What the query gives, with row ids that later changes agree with (R-DVS-98).

        Raises:
            UserError: The query failed over these rows.
        """

    def changes(self, query: Query, sources: Mapping[str, Source]) -> Delta:
        """What turns the query's result before the interval into that after it.

        Raises:
            UserError: The query failed over these rows.
            Refused: The query cannot be maintained incrementally.
        """
