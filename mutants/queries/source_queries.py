"""Pruning of whole queries that is wrong in one way each: by sides of joins, subqueries, LIMIT or the cache.

Each loses rows of a query over tables of any source, or over a table that has changed.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from mutants.replacements import Replacement
from pruning.expressions.sql import literal_sql
from pruning.expressions.trees import Compare, Comparison, Expression
from pruning.expressions.types import Type
from pruning.spark.drive import pruning as driven
from pruning.spark.drive import scalar_subqueries
from pruning.spark.drive.cache import scan_blocks
from pruning.spark.drive.join import build_sides
from pruning.spark.drive.limits import prune_by_limit
from pruning.spark.drive.materials import expression_values
from pruning.spark.drive.queries import Query
from pruning.techniques.cache_entries import CacheKey, FileBlock
from pruning.techniques.join.key_ranges import RangeSummary
from pruning.techniques.plan.sites import LimitSite
from pruning.techniques.predicate_cache import PredicateCache

_condition, _lookup = RangeSummary.condition, PredicateCache.lookup


def _values_of_other_rows(*arguments: Any) -> list[pa.Array]:
    """Summarise the rows that a side had before its last one was added; the query joins all of them."""
    return [column[:-1] for column in expression_values(*arguments)]


def _condition_without_lower_end(self: RangeSummary, key: Expression, terms_max: int) -> Expression:
    """Leave out keys that are equal to the lower end of a range."""
    if self.lower is None:
        return _condition(self, key, terms_max)
    return Compare(Comparison.GREATER, key, self.lower)


def _condition_without_upper_end(self: RangeSummary, key: Expression, terms_max: int) -> Expression:
    """Leave out keys that are equal to the upper end of a range."""
    if self.upper is None:
        return _condition(self, key, terms_max)
    return Compare(Comparison.LESS, key, self.upper)


def _block_without_stamps(file: str, size_bytes: int, modified: int, *others: Any) -> FileBlock:
    """Take a file that is written again for the one that it was."""
    return FileBlock(file, 0, 0, *others)


def _lookup_without_new_blocks(self: PredicateCache, key: CacheKey, blocks: frozenset[Any]) -> Any:
    """Keep an entry as it is after rows were added."""
    scanned = _lookup(self, key, blocks)
    return scanned and scanned & self._entries[key].contributing


def _lookup_without_lost_blocks(self: PredicateCache, key: CacheKey, blocks: frozenset[Any]) -> Any:
    """Keep an entry of first rows after some of their blocks are gone."""
    entry = self._entries.get(key)
    return None if entry is None else _lookup(self, key, blocks | entry.contributing)


def _prune_by_fewer_rows(query: Query, site: LimitSite) -> None:
    """Forget a row of OFFSET."""
    prune_by_limit(query, replace(site, wanted=max(1, site.wanted - 1)))


def _sql_of_next_value(value: Any, type_: Type) -> str:
    """Write the number after the one that a subquery gave when it was run."""
    is_number = value is not None and (type_.integral or type_.floating)
    return literal_sql(value + 1 if is_number else value, type_)


MUTANTS: Mapping[str, Replacement] = {
    "a side is read again with another row": Replacement(
        build_sides, "expression_values", _values_of_other_rows
    ),
    "a range is without its lower end": Replacement(RangeSummary, "condition", _condition_without_lower_end),
    "a range is without its upper end": Replacement(RangeSummary, "condition", _condition_without_upper_end),
    "a subquery gives another value in the query": Replacement(
        scalar_subqueries, "literal_sql", _sql_of_next_value
    ),
    "LIMIT forgets a row of OFFSET": Replacement(driven, "prune_by_limit", _prune_by_fewer_rows),
    "the cache takes a file for the one before": Replacement(scan_blocks, "FileBlock", _block_without_stamps),
    "the cache forgets new files": Replacement(PredicateCache, "lookup", _lookup_without_new_blocks),
    "the cache forgets files that are gone": Replacement(
        PredicateCache, "lookup", _lookup_without_lost_blocks
    ),
}
