"""Whole queries: SQL over generated tables, and the parts of the answer that SQL leaves open.

This module draws nothing, so that an oracle can use it without Hypothesis; `drawing` draws.

"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from strategies.base.tables import Table


class Openness(enum.Enum):
    """The answers of a query that are right."""

    EXACT = "one bag of rows, in any order"
    SUB_BAG = "any rows of the query without LIMIT and OFFSET, of the right number"
    TIES = "in the order of the keys; where LIMIT or OFFSET cut rows with equal keys, any of these"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query over the tables t0, t1, ..., and the data to tell whether an answer is right.

    Attributes:
        tables: One to three; their columns have different names, the last of each numbers its rows.
        sql: The query.
        openness: The answers that are right.
        unlimited: The query without its outermost LIMIT and OFFSET. For TIES it has its ORDER BY, and the
            keys as the first `key_count` columns, before those of the query.
        key_count: The number of ORDER BY keys in front of the columns of the query; 0 unless TIES.
        limit: The most rows; None without LIMIT.
        offset: The number of rows left out before the first.
        features: The parts of the query, for tallies.
    """

    tables: tuple[Table, ...]
    sql: str
    openness: Openness
    unlimited: str
    key_count: int = 0
    limit: int | None = None
    offset: int = 0
    features: frozenset[str] = frozenset()

    @property
    def tables_by_name(self) -> Mapping[str, Table]:
        """The tables by their names in the query."""
        return {table_name(ordinal): table for ordinal, table in enumerate(self.tables)}

    def size(self, rows: int) -> int:
        """Return the number of rows of a right answer if the query without LIMIT and OFFSET has `rows`."""
        left = max(0, rows - self.offset)
        return left if self.limit is None else min(left, self.limit)


def table_name(ordinal: int) -> str:
    """Return the name of a table in queries."""
    return f"t{ordinal}"
