"""NAME-1: columns have any names, and each is judged by its own bounds."""

from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from budget import examples
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import pruning
from oracles.answers.frames import settings
from pruning.dml import plan_delete
from pruning.expressions.names import quoted_name
from pruning.rules.sets.truths import Match
from strategies.base.names import hostile_names

COLUMNS, FILES, GROUPS, ROWS = 6, 3, 2, 5
PLANNED = 1  # of the predicates; each costs Spark some plans
BLOCKS = FILES * GROUPS
ID = "skipproof row ordinal"


@dataclass(frozen=True, slots=True)
class Comparison:
    """`column >= bound`, or `column < bound`."""

    column: str
    least: bool
    bound: int

    @property
    def sql(self) -> str:
        """The comparison as Spark SQL."""
        return f"{quoted_name(self.column)} {'>=' if self.least else '<'} {self.bound}"

    def holds(self, value: int) -> bool:
        """Return whether a value of the column satisfies it."""
        return value >= self.bound if self.least else value < self.bound


def values(place: int) -> list[int]:
    """The values of the column at a place: no two columns share any, and every second one falls."""
    rows = list(range(BLOCKS * ROWS))
    return [1_000 * place + row for row in (reversed(rows) if place % 2 else rows)]


def write(directory: Path, names: tuple[str, ...]) -> None:
    """Write files of a few row groups, and a column beside that has no name at all."""
    rows = len(values(0))
    columns = {name: values(place) for place, name in enumerate(names)} | {"": [7] * rows, ID: range(rows)}
    table = pa.table({name: pa.array(cells, pa.int32()) for name, cells in columns.items()})
    for file in range(FILES):
        part = table.slice(file * GROUPS * ROWS, GROUPS * ROWS)
        pq.write_table(part, directory / f"{file}.parquet", row_group_size=ROWS)


@st.composite
def comparisons(draw: st.DrawFn, names: tuple[str, ...]) -> list[Comparison]:
    """A comparison for each column, mostly with a value that it has."""
    bounds = [draw(st.integers(min(values(at)) - 1, max(values(at)) + 1)) for at in range(len(names))]
    return [Comparison(name, draw(st.booleans()), bound) for name, bound in zip(names, bounds, strict=True)]


def union(table: DataFrame, asked: list[Comparison]) -> DataFrame:
    """One query of the rows that each comparison keeps: a job costs more than a comparison."""
    kept = [
        table.where(one.sql).select(F.lit(place), F.col(quoted_name(ID))) for place, one in enumerate(asked)
    ]
    return reduce(DataFrame.unionAll, kept)


@examples(0.06)
@given(st.data())
def test_a_column_of_any_name_is_judged_by_its_own_bounds(spark: SparkSession, data: st.DataObject) -> None:
    """NAME-1. `prune`, `classify` and `plan_delete` say of each column what its own rows say."""
    names = data.draw(hostile_names(COLUMNS, case_sensitive=True, like_fields=True))
    asked = data.draw(comparisons(names))
    with TemporaryDirectory() as directory, settings(spark, {"spark.sql.caseSensitive": "true"}):
        write(Path(directory), names)
        query = union(spark.read.parquet(directory), asked)
        rows = sorted(map(tuple, query.collect()))
        assert sorted(map(tuple, pruning.prune(query).collect())) == rows
        truths = [[one.holds(value) for value in values(at)] for at, one in enumerate(asked)]
        assert rows == [(at, row) for at, held in enumerate(truths) for row in range(len(held)) if held[row]]
        metadata = pruning.collect(directory)
        for one, held in list(zip(asked, truths, strict=True))[:PLANNED]:
            blocks = [held[start : start + ROWS] for start in range(0, len(held), ROWS)]
            # Nothing is known of a column that is named like a field of a struct.
            known = not one.column.startswith("`")
            wanted = [_match(block) if known else Match.SOME for block in blocks]
            assert pruning.classify(one.sql, metadata).to_pylist() == wanted, one.sql
            fates = list(plan_delete(one.sql, metadata).files.values())
            per_file = [wanted[file * GROUPS : (file + 1) * GROUPS] for file in range(FILES)]
            assert fates == list(map(_fate, per_file)), one.sql


def _match(held: list[bool]) -> Match:
    if not any(held):
        return Match.NONE
    return Match.ALL if all(held) else Match.SOME


def _fate(verdicts: list[Match]) -> str:
    if all(verdict is Match.NONE for verdict in verdicts):
        return "untouched"
    return "deleted" if all(verdict is Match.ALL for verdict in verdicts) else "rewritten"


@pytest.mark.parametrize("name", [".a", "[0]", ".pred", "a.b", "\\", "a`b"])
def test_a_query_skips_files_by_a_column_of_an_odd_name(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    """Without this, NAME-1 could hold because nothing is ever pruned."""
    write(tmp_path, ("a", name))
    query = spark.read.parquet(str(tmp_path)).where(f"{quoted_name(name)} >= 1025")
    (scan,) = pruning.explain(query).scans
    assert (scan.files_kept, scan.blocks_kept) == (1, 1)
    assert pruning.prune(query).count() == query.count() == 5
