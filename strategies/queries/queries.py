"""Whole queries: SQL over generated tables, and the parts of the answer that SQL leaves open.

This module draws nothing, so that an oracle can use it without Hypothesis; `drawing` draws.

"""

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest

from strategies.base.tables import Block, Table


class Openness(enum.Enum):
    """The answers of a query that are right."""

    EXACT = "one bag of rows, in any order"
    SUB_BAG = "any rows of the query without LIMIT and OFFSET, of the right number"
    TIES = "in the order of the keys; where LIMIT or OFFSET cut rows with equal keys, any of these"


class SourceKind(enum.Enum):
    """The kinds of data that a table of a query is read from; the value is its name in tallies."""

    PARQUET = "Parquet"
    ROWS = "rows of Python"
    CSV = "CSV"
    JSON = "JSON"
    CACHED = "a cached frame"
    CHECKPOINT = "a checkpointed frame"
    PYTHON = "a data source in Python"
    RANGE = "range"


@dataclass(frozen=True, slots=True)
class TableSource:
    """The data that a table is read from.

    Attributes:
        kind: Its kind. A table of RANGE has no column but the one that numbers its rows.
        blocks_per_file: The row groups of each file of Parquet.
        statistics: True if files of Parquet have statistics.
    """

    kind: SourceKind = SourceKind.PARQUET
    blocks_per_file: int = 2
    statistics: bool = True


PARQUET = TableSource()


class ChangeKind(enum.Enum):
    """The kinds of changes of a table; the value is its name in tallies."""

    INSERT = "INSERT"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    COMPACTION = "compaction"


@dataclass(frozen=True, slots=True, kw_only=True)
class TableChange:
    """A change of a table that has one block a file: some files go, others come.

    Attributes:
        kind: The statement that changes the table so.
        table: The ordinal of the table.
        gone: The ordinals of the blocks that go, in order.
        blocks: The blocks that come. The first takes the name of the first file that goes, if any does and
            `in_place`; others get new names.
        in_place: True if a file is written again under its name.
    """

    kind: ChangeKind
    table: int
    gone: tuple[int, ...] = ()
    blocks: tuple[Block, ...] = ()
    in_place: bool = False

    def apply(self, table: Table) -> Table:
        """Return the table after the change: the blocks that stay, in order, and those that come."""
        kept = (block for ordinal, block in enumerate(table.blocks) if ordinal not in self.gone)
        return Table(table.columns, (*kept, *self.blocks))


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query over the tables t0, t1, ..., and the data to tell whether an answer is right.

    Attributes:
        tables: One to four; their columns have different names, the last of each numbers its rows.
        sql: The query.
        openness: The answers that are right.
        unlimited: The query without its outermost LIMIT and OFFSET. For TIES it has its ORDER BY, and the
            keys as the first `key_count` columns, before those of the query.
        key_count: The number of ORDER BY keys in front of the columns of the query; 0 unless TIES.
        limit: The most rows; None without LIMIT.
        offset: The number of rows left out before the first.
        features: The parts of the query, for tallies.
        sources: The data that each table is read from; empty if all are files of Parquet.
        changes: The changes of tables after which the query is run again, in order. The rows that they add
            have numbers of their own.
    """

    tables: tuple[Table, ...]
    sql: str
    openness: Openness
    unlimited: str
    key_count: int = 0
    limit: int | None = None
    offset: int = 0
    features: frozenset[str] = frozenset()
    sources: tuple[TableSource, ...] = ()
    changes: tuple[TableChange, ...] = ()

    @property
    def tables_by_name(self) -> Mapping[str, Table]:
        """The tables by their names in the query."""
        return {table_name(ordinal): table for ordinal, table in enumerate(self.tables)}

    @property
    def sources_by_name(self) -> Mapping[str, TableSource]:
        """The sources of the tables by their names in the query."""
        pairs = zip_longest(self.tables_by_name, self.sources, fillvalue=PARQUET)
        return {str(name): source for name, source in pairs if isinstance(source, TableSource)}

    def versions(self) -> Iterator["Query"]:
        """Yield the query over its tables as they are at first, and after each change."""
        query = replace(self, changes=())
        yield query
        for change in self.changes:
            tables = list(query.tables)
            tables[change.table] = change.apply(tables[change.table])
            query = replace(query, tables=tuple(tables))
            yield query

    def size(self, rows: int) -> int:
        """Return the number of rows of a right answer if the query without LIMIT and OFFSET has `rows`."""
        left = max(0, rows - self.offset)
        return left if self.limit is None else min(left, self.limit)


def table_name(ordinal: int) -> str:
    """Return the name of a table in queries."""
    return f"t{ordinal}"
