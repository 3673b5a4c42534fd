"""Executions of MERGE that are wrong in one way each."""

from collections.abc import Mapping

from pyroaring import BitMap
from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import col

from mutants.replacements import Replacement
from pruning.dml import merged_rows, running
from pruning.dml.changed_rows import PLACE, column, positions_by_place
from pruning.dml.merge_sources import key_name
from pruning.dml.target_parts import SOURCE, TARGET
from pruning.dml.when_clauses import WhenClause
from pruning.expressions.names import quoted_name
from pruning.techniques.dml.rewriting import When


def _last_clause(clauses: Mapping[int, WhenClause]) -> Column:
    """A later clause applies, too, and overwrites what an earlier one has done."""
    return _FIRST(dict(reversed(list(clauses.items()))))


def _null_safe_equality(target: str, number: int) -> Column:
    right = col(f"{SOURCE}.{quoted_name(key_name(number))}")
    return col(f"{TARGET}.{quoted_name(target)}").eqNullSafe(right)


def _insert_all(self: merged_rows.MergedRows, when: When) -> DataFrame:
    return self.source.rows if when is When.NOT_MATCHED else _SCOPE(self, when)


def _positions_without_count(self: running.StatementRun) -> dict[int, BitMap]:
    assert self._changed_rows is not None
    return positions_by_place(self._changed_rows.where(column(PLACE).isNotNull()))


_FIRST, _SCOPE = merged_rows._first_clause, merged_rows.MergedRows._scope

MERGE_MUTANTS: Mapping[str, Replacement] = {
    "a later clause applies, too": Replacement(merged_rows, "_first_clause", _last_clause),
    "NULL keys match": Replacement(merged_rows, "key_equality", _null_safe_equality),
    "matched rows are inserted": Replacement(merged_rows.MergedRows, "_scope", _insert_all),
    "several matches are not refused": Replacement(
        running.StatementRun, "_leaving_positions", _positions_without_count
    ),
}
