"""The reading of sources over one interval: whole, or the rows of certain keys."""

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from dynamic_tables.bags.backends import Source
from dynamic_tables.bags.operators import Pairs
from dynamic_tables.maintenance.algebra import Scan
from dynamic_tables.maintenance.plans import Moment
from dynamic_tables.values.changes import Contents, Delta, Row, RowId
from dynamic_tables.values.expressions import Expression


@dataclass(frozen=True, slots=True)
class WantedKeys:
    """A test that rows of a source will be put to: others need not be read.

    Attributes:
        expressions: The key of a row, over the columns of the source.
        keys: The keys that pass; in those of numbers, cells are equal as numbers are.
        row_ids: The ids of rows that may pass although a part of their key is NULL.
    """

    expressions: tuple[Expression, ...]
    keys: frozenset[tuple[Hashable, ...]]
    row_ids: frozenset[RowId]


class Interval:
    """The sources of one refresh, and the results of the plan's nodes computed so far."""

    __slots__ = ("held_rows", "memo", "sources")

    def __init__(self, sources: Mapping[str, Source], held: Contents | None = None) -> None:
        """Prepare the evaluation over an interval; `held` is the result before it, if that is at hand."""
        self.sources = sources
        self.held_rows = held
        self.memo: dict[int, Any] = {}

    @property
    def has_result(self) -> bool:
        """True if the result before the interval is at hand."""
        return self.held_rows is not None

    def result_rows(self, row_ids: Collection[RowId]) -> Mapping[RowId, Row]:
        """Return at least the rows of the result before the interval that have these ids."""
        assert self.held_rows is not None, "plans with held rows are run where there are some"
        return self.held_rows

    def rows(self, scan: Scan, moment: Moment, wanted: WantedKeys | None = None) -> Pairs:
        """Return the rows of a source at a moment, as it stores them.

        Rows that fail the test of `wanted` may be left out, and cells that `scan` does not read be NULL.
        """
        table = self.sources[scan.source]
        return (table.before if moment is Moment.BEFORE else table.after).items()

    def changes(self, scan: Scan) -> Delta:
        """Return the net changes of a source, as it stores them."""
        return self.sources[scan.source].changes
