"""Whole queries: SQL over generated tables, and what SQL leaves open about the answer.

This module draws nothing, so that an oracle can use it without Hypothesis; `queries_drawing` draws.
"""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from strategies.base.tables import Table


class Openness(enum.Enum):
    """Which answers of a query are right."""

    EXACT = "one bag of rows, in any order"
    SUB_BAG = "any rows of the query without LIMIT and OFFSET, of the right number"
    TIES = "in the order of the keys; where LIMIT or OFFSET cut rows with equal keys, any of these"


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A query over the tables t0, t1, ..., and how to tell whether an answer is right.

    Attributes:
        tables: One to three; their columns have different names, the last of each numbers its rows.
        sql: The query.
        openness: Which answers are right.
        unlimited: The query without its outermost LIMIT and OFFSET. For TIES it has its ORDER BY, and the
            keys as the first `key_count` columns, before those of the query.
        key_count: Columns that are ORDER BY keys in front of those of the query; 0 unless TIES.
        limit: Rows at most; None without LIMIT.
        offset: Rows left out before the first.
        features: What the query is made of, for tallies.
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
    def named(self) -> Mapping[str, Table]:
        """The tables by the names that the query calls them."""
        return {table_name(ordinal): table for ordinal, table in enumerate(self.tables)}

    def size(self, rows: int) -> int:
        """How many rows a right answer has where the query without LIMIT and OFFSET has `rows`."""
        left = max(0, rows - self.offset)
        return left if self.limit is None else min(left, self.limit)


def table_name(ordinal: int) -> str:
    """What queries call a table."""
    return f"t{ordinal}"
