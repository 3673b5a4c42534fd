"""Changes that depend on few rows: computed in Python, from the rows that are read for them.

A job of Spark costs more than a thousand rows in Python. So the plan of changes is that of the backend in
Python; where it wants the rows of a source with certain keys, the source reads these, and block pruning
leaves out the files and row groups that have none.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyspark.sql.types import LongType

import pruning
from dynamic_tables.bags.intervals import Interval, WantedKeys
from dynamic_tables.bags.operators import Pairs
from dynamic_tables.maintenance.algebra import Scan
from dynamic_tables.maintenance.plans import Moment
from dynamic_tables.on_spark.frames import ROW_ID, RowFrame, cell_name, delta_of
from dynamic_tables.on_spark.key_conditions import KEYS_MAX, key_condition
from dynamic_tables.on_spark.physical_types import row_from_spark
from dynamic_tables.values.changes import Cell, Delta, Row, RowId
from dynamic_tables.values.expressions import columns_of
from pruning.expressions.sql import to_sql

# The most rows that are read in Python of the changes of a source, and of the source at a moment.
ROWS_MAX = 50_000


class TooManyRows(Exception):
    """There are more rows than are to be read in Python: Spark has to compute."""


class KeyedSource(Protocol):
    """One table over one interval, of which few rows can be read in Python."""

    @property
    def width(self) -> int:
        """The number of cells of a row."""

    def few_changes(self, rows_max: int) -> Delta:
        """Return the net changes.

        Raises:
            TooManyRows: There are more than `rows_max`.
        """

    def few_rows(
        self, moment: Moment, places: Sequence[int], wanted: WantedKeys | None, rows_max: int
    ) -> Pairs:
        """Return the cells at some positions, of all rows at a moment or at least of the wanted ones.

        Raises:
            TooManyRows: There are more than `rows_max`.
        """


@dataclass(frozen=True)
class FrameSource:
    """One table over one interval, as frames.

    Attributes:
        before, after: The rows at the ends of the interval.
        changes: The net changes, with the tag `DELETED`.
    """

    before: RowFrame
    after: RowFrame
    changes: RowFrame

    @property
    def width(self) -> int:
        """The number of cells of a row."""
        return len(self.before.types)

    def few_changes(self, rows_max: int) -> Delta:
        """Return the net changes."""
        delta = delta_of(self.changes.with_data(self.changes.data.limit(rows_max + 1)))
        check_count(len(delta), rows_max)
        return delta

    def few_rows(
        self, moment: Moment, places: Sequence[int], wanted: WantedKeys | None, rows_max: int
    ) -> Pairs:
        """Return the cells at some positions, by a job of Spark over what `prune` leaves."""
        frame = self.before if moment is Moment.BEFORE else self.after
        data = frame.data
        if wanted is not None:
            names = [cell_name(place) for place in range(self.width)]
            types = [data.schema[name].dataType for name in names]
            longs = [place for place, type_ in enumerate(types) if isinstance(type_, LongType)]
            condition = key_condition(wanted, names, longs, ROW_ID)
            data = data if condition is None else data.filter(to_sql(condition))
        selected = data.select(ROW_ID, *map(cell_name, places))
        rows = pruning.prune(selected).limit(rows_max + 1).collect()
        check_count(len(rows), rows_max)
        convert = row_from_spark([frame.types[place] for place in places])
        return [(row[0], convert(row[1:])) for row in rows]


def check_count(count: int, rows_max: int) -> None:
    """Raise TooManyRows if there are more rows than are to be read."""
    if count > rows_max:
        raise TooManyRows


class HeldRows(Protocol):
    """The result of a query before an interval."""

    def with_ids(self, row_ids: Collection[RowId], rows_max: int) -> Mapping[RowId, Row]:
        """Return at least the rows with these ids.

        Raises:
            TooManyRows: They are too many, or too many rows have to be searched.
        """


class FewRowsInterval(Interval):
    """An interval of which few rows are read.

    Args:
        sources: By identity.
        result: The result before the interval, if it is at hand.
        rows_max: The most rows that are read of a source at a moment, or of its changes.
    """

    __slots__ = ("deltas", "keyed_sources", "result", "rows_max")

    def __init__(
        self, sources: Mapping[str, KeyedSource], rows_max: int, result: HeldRows | None = None
    ) -> None:
        super().__init__({})
        self.keyed_sources = sources
        self.result = result
        self.deltas: dict[str, Delta] = {}
        self.rows_max = rows_max

    @property
    def has_result(self) -> bool:
        """True if the result before the interval is at hand."""
        return self.result is not None

    def result_rows(self, row_ids: Collection[RowId]) -> Mapping[RowId, Row]:
        """Return at least the rows of the result before the interval that have these ids."""
        assert self.result is not None, "plans with held rows are run where there are some"
        check_count(len(row_ids), KEYS_MAX)
        return self.result.with_ids(row_ids, self.rows_max) if row_ids else {}

    def changes(self, scan: Scan) -> Delta:
        """Return the net changes of a source, as it stores them."""
        if scan.source not in self.deltas:
            self.deltas[scan.source] = self.keyed_sources[scan.source].few_changes(self.rows_max)
        return self.deltas[scan.source]

    def rows(self, scan: Scan, moment: Moment, wanted: WantedKeys | None = None) -> Pairs:
        """Return the rows of a source at a moment, with NULL in the cells that are not read.

        Raises:
            TooManyRows: There are more than `rows_max`, or more keys than a condition should have.
        """
        source = self.keyed_sources[scan.source]
        places = list(range(source.width) if scan.positions is None else scan.positions)
        if wanted is not None:
            check_count(len(wanted.keys) + len(wanted.row_ids), KEYS_MAX)
            places = sorted({*places, *columns_of(*wanted.expressions)})
        rows = source.few_rows(moment, places, wanted, self.rows_max)
        return rows if places == list(range(source.width)) else with_nulls(rows, places, source.width)


def with_nulls(rows: Pairs, places: Sequence[int], width: int) -> Pairs:
    """Return rows of all columns from their cells at some positions."""
    nothing: list[Cell] = [None] * width
    pairs = []
    for row_id, cells in rows:
        row = nothing.copy()
        for place, cell in zip(places, cells, strict=True):
            row[place] = cell
        pairs.append((row_id, tuple(row)))
    return pairs
