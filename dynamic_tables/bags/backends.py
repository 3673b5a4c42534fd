"""The protocol of the engines that compute contents and changes; `bag_backend` is one in Python."""

from collections.abc import Mapping
from typing import Any, Protocol

from dynamic_tables.maintenance.queries import Query
from dynamic_tables.values.changes import Contents, Delta


class FullIsCheaper(Exception):
    """The changes of a result are estimated to cost more than the whole result (R-DVS-27)."""


class Source(Protocol):
    """One table over one interval; rows have the columns that the table had when the query was bound."""

    @property
    def before(self) -> Contents:
        """The contents at the start of the interval; read only where the changes alone do not suffice."""

    @property
    def after(self) -> Contents:
        """The contents at the end of the interval."""

    @property
    def changes(self) -> Delta:
        """The net changes by id and content: a row that was added and removed again is not among them."""


class Backend(Protocol):
    """An engine; `sources` holds at least the sources that the query reads, by identity.

    Rows and changes are in the form that the stores of its tables read and write: in Python, the rows of a
    source are `Contents`, a source over an interval is a `Source`, and changes are a `Delta`.
    """

    def full(self, query: Query, sources: Mapping[str, Any]) -> Any:
        """Return the query's result, with row ids that later changes refer to (R-DVS-98).

        Raises:
            UserError: The query failed on these rows.
        """

    def changes(self, query: Query, sources: Mapping[str, Any], held: Any = None) -> Any:
        """Return the changes that turn the query's result before the interval into that after it.

        Args:
            query: The query.
            sources: By identity.
            held: The result before the interval, if it is at hand.

        Raises:
            UserError: The query failed on these rows.
            Refused: The query cannot be maintained incrementally.
            FullIsCheaper: The backend advises to compute the whole result instead.
        """
