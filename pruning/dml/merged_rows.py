"""The rows that the clauses of a MERGE make of pairs of the target's and the source's rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import and_

from pyspark.sql import Column, DataFrame
from pyspark.sql.functions import col, expr, lit, when
from pyspark.sql.types import IntegerType, LongType, StructField, StructType

from pruning.dml.changed_rows import PLACE, POSITION, column
from pruning.dml.merge_sources import MergeSource, key_equality
from pruning.dml.running import CLAUSE
from pruning.dml.target_parts import SOURCE, TARGET
from pruning.dml.when_clauses import WhenClause
from pruning.errors import InputError
from pruning.expressions.names import quoted_name
from pruning.techniques.dml.rewriting import Then, When


@dataclass(frozen=True, kw_only=True, eq=False)
class MergedRows:
    """The clauses of a MERGE over the rows of its target that may change or match.

    Attributes:
        rows: The target's rows, as `rows_at` gives them.
        source: The source.
        on: The part of ON beyond the keys; None if there is none.
        clauses: The clauses in order, with expressions for all columns where their values are "*".
    """

    rows: DataFrame
    source: MergeSource
    on: str | None
    clauses: Sequence[WhenClause]

    @cached_property
    def fields(self) -> list[StructField]:
        """The table's columns."""
        return [field for field in self.rows.schema.fields if field.name not in (PLACE, POSITION)]

    def check(self) -> None:
        """Check that the conditions and values can be resolved, before anything is computed.

        Raises:
            PySparkException: Spark cannot resolve one of them.
            InputError: a condition is not deterministic, so that two runs may disagree on a row.
        """
        if self.on is not None:
            _check_condition(self._pairs("cross"), self.on)
        for clause in self.clauses:
            if clause.condition is not None:
                _check_condition(self._scope(clause.when), clause.condition)
        for when_ in When:
            self._changes(when_)

    def changes(self) -> DataFrame:
        """Return the changed and inserted rows with their new values.

        They have the table's columns; `PLACE` and `POSITION`, of the changed rows; and `CLAUSE`. A row
        that several rows of the source change is there several times.
        """
        branches = [frame for frame in map(self._changes, When) if frame is not None]
        return reduce(DataFrame.union, branches)

    def _pairs(self, how: str) -> DataFrame:
        target, source = self.rows.alias(TARGET), self.source.rows
        if how == "cross":
            return target.crossJoin(source)
        equalities = [key_equality(name, number) for number, name in enumerate(self.source.keys)]
        condition = reduce(and_, equalities)
        if self.on is not None:
            condition = condition & expr(self.on)
        if how == "not matched":
            return source.join(target, condition, "left_anti")
        return target.join(source, condition, how)

    def _scope(self, when_: When) -> DataFrame:
        """Return the rows that a kind of clauses applies to."""
        joins = {
            When.MATCHED: "inner",
            When.NOT_MATCHED: "not matched",
            When.NOT_MATCHED_BY_SOURCE: "left_anti",
        }
        return self._pairs(joins[when_])

    def _changes(self, when_: When) -> DataFrame | None:
        """Return the rows that a kind of clauses makes; None if there is no such clause."""
        clauses = {number: clause for number, clause in enumerate(self.clauses) if clause.when is when_}
        if not clauses:
            return None
        numbered = self._scope(when_).select("*", _first_clause(clauses).alias(CLAUSE))
        places = [
            lit(None).cast(type_).alias(name) if when_ is When.NOT_MATCHED else column(name)
            for name, type_ in ((PLACE, IntegerType()), (POSITION, LongType()))
        ]
        values, schema = [], StructType()
        for number, field, value in self._values(clauses):
            name = f"`{number} {field.name}"
            # A clause's values are not computed on rows of others, on which they may raise.
            values.append(when(column(CLAUSE) == number, value).alias(name))
            schema.add(name, field.dataType)
        chosen = numbered.where(column(CLAUSE).isNotNull())
        # The casts are those of an INSERT.
        wide = chosen.select(*values, *places, column(CLAUSE)).to(
            schema.add(PLACE, IntegerType()).add(POSITION, LongType()).add(CLAUSE, IntegerType())
        )
        return wide.select(
            *(_chosen_value(clauses, field) for field in self.fields),
            *map(column, (PLACE, POSITION, CLAUSE)),
        )

    def _values(self, clauses: Mapping[int, WhenClause]) -> Iterator[tuple[int, StructField, Column]]:
        """Yield the clauses that give values: their numbers, the columns, and the columns' values."""
        for number, clause in clauses.items():
            if clause.then is Then.DELETE:
                continue
            assert isinstance(clause.values, Mapping)
            for field in self.fields:
                if field.name in clause.values:
                    value = expr(clause.values[field.name])
                elif clause.then is Then.UPDATE:
                    value = col(f"{TARGET}.{quoted_name(field.name)}")
                else:
                    value = lit(None)
                yield number, field, value


def all_values(names: Sequence[str]) -> dict[str, str]:
    """Return the values that "*" stands for: the source's columns of the same names."""
    return {name: f"{SOURCE}.{quoted_name(name)}" for name in names}


def _first_clause(clauses: Mapping[int, WhenClause]) -> Column:
    """Return the number of the first clause that applies to a row; NULL if none does."""
    first = lit(None).cast(IntegerType())
    for number, clause in reversed(list(clauses.items())):
        applies = lit(True) if clause.condition is None else expr(clause.condition)
        first = when(applies, lit(number)).otherwise(first)
    return first


def _chosen_value(clauses: Mapping[int, WhenClause], field: StructField) -> Column:
    """Return a column's value by the clause that applies; NULL where that is a DELETE."""
    value = lit(None).cast(field.dataType)
    for number, clause in clauses.items():
        if clause.then is not Then.DELETE:
            value = when(column(CLAUSE) == number, column(f"`{number} {field.name}")).otherwise(value)
    return value.alias(field.name)


def _check_condition(rows: DataFrame, condition: str) -> None:
    """Check a condition over rows."""
    analyzed = rows.where(expr(condition))._jdf.queryExecution().analyzed()
    if not analyzed.condition().deterministic():
        raise InputError(
            f"The condition {condition} is not deterministic: it may be TRUE on a row once and not again; "
            "compute it as a column of the source"
        )
