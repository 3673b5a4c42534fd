"""MERGE of both formats and in both modes, against a model of rows in plain Python."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest
from budget import examples
from hypothesis import event, given
from hypothesis import strategies as st
from merge_model import (
    FORMATS,
    MODES,
    ON,
    Expression,
    ModelClause,
    ModelTable,
    Row,
    SeveralMatches,
    arrow_rows,
    in_order,
    merged_rows,
    model_clauses,
    rows,
    target_files,
)
from pyspark.sql import DataFrame, SparkSession

from mutants.merges import MERGE_MUTANTS
from pruning.dml import Then, When, WriteMode, merge
from pruning.errors import InputError

UPSERT = [
    ModelClause(When.MATCHED, Then.UPDATE),
    ModelClause(When.NOT_MATCHED, Then.INSERT),
]
KEYS = st.sampled_from((0, 1, 2, 3, 4, 5, 7, 60, None))


def source_frame(spark: SparkSession, values: Sequence[Row]) -> DataFrame:
    """Return rows as a DataFrame."""
    return spark.createDataFrame(list(values), "k long, v long, p long")


def run(
    spark: SparkSession,
    table: ModelTable,
    source: Sequence[Row],
    clauses: Sequence[ModelClause],
    mode: WriteMode = WriteMode.COPY_ON_WRITE,
    on: Expression | None = None,
) -> Any:
    """Execute a MERGE by the keys."""
    return merge(
        spark,
        table.handle,
        source_frame(spark, source),
        {"k": "k"},
        [clause.clause for clause in clauses],
        on=on.sql if on else None,
        mode=mode,
    )


def duckdb_rows(
    target: Sequence[Row], source: Sequence[Row], clauses: Sequence[ModelClause], on: Expression | None
) -> list[Row]:
    """Return the rows after the same statement in DuckDB."""
    with duckdb.connect() as connection:
        for name, values in (("target", target), ("source", source)):
            connection.register("rows_of_arrow", arrow_rows(values))
            connection.execute(f"CREATE TABLE {name} AS FROM rows_of_arrow")
        condition = "target.k = source.k" + (f" AND {on.sql}" if on else "")
        text = f"MERGE INTO target USING source ON {condition} {' '.join(map(_clause_sql, clauses))}"
        connection.execute(text)
        return in_order(Row(*row) for row in connection.execute("FROM target").fetchall())


def _clause_sql(clause: ModelClause) -> str:
    condition = f" AND {clause.condition.sql}" if clause.condition else ""
    values = clause.values or tuple((name, Expression(f"source.{name}", max)) for name in Row._fields)
    if clause.then is Then.INSERT:
        names = ", ".join(name for name, _ in values)
        action = f"INSERT ({names}) VALUES ({', '.join(value.sql for _, value in values)})"
    elif clause.then is Then.UPDATE:
        action = "UPDATE SET " + ", ".join(f"{name} = {value.sql}" for name, value in values)
    else:
        action = "DELETE"
    return f"{clause.when.value}{condition} THEN {action}"


def check_case(spark: SparkSession, data: Any, folder: Path) -> None:
    """MERGE-1 for one table, source and statement."""
    files = data.draw(target_files(), label="files")
    source = data.draw(rows(5, KEYS), label="source")
    clauses = data.draw(model_clauses(), label="clauses")
    on = data.draw(st.sampled_from(ON), label="on")
    mode = data.draw(st.sampled_from(MODES), label="mode")
    table = ModelTable(
        folder,
        data.draw(st.sampled_from(FORMATS), label="format"),
        files,
        is_partitioned=data.draw(st.booleans(), label="partitioned"),
    )
    before, version = [row for part in files for row in part], table.version
    try:
        expected = in_order(merged_rows(before, source, clauses, on))
    except SeveralMatches:
        event("several rows of the source would change one")
        with pytest.raises(InputError, match="several rows of the source"):
            run(spark, table, source, clauses, mode, on)
        assert (table.version, table.rows) == (version, in_order(before))
        return
    if len({row.k for row in source}) == len(source):
        assert duckdb_rows(before, source, clauses, on) == expected
    result = run(spark, table, source, clauses, mode, on)
    event("nothing changes" if result.version is None else "rows change")
    assert table.rows == expected
    assert table.version == (version if result.version is None else result.version)


@examples(0.1)
@given(data=st.data())
def test_merge_makes_the_rows_of_the_model(spark: SparkSession, data: Any) -> None:
    """MERGE-1. For each table, source and statement: the model's rows, or an error that leaves the table."""
    with tempfile.TemporaryDirectory() as folder:
        check_case(spark, data, Path(folder))


TABLE = [[Row(1, 10, 0), Row(2, 20, 0)], [Row(3, 30, 1), Row(None, 40, None)], [Row(60, 1, 1)]]
SOURCE = [Row(2, 5, 1), Row(None, 6, 0), Row(7, 7, 0), Row(60, 2, 1)]


def check_every_kind(spark: SparkSession, table: ModelTable, mode: WriteMode) -> None:
    """A statement with clauses of each kind, of which several would apply, NULL keys and a new key."""
    total = Expression("target.v + source.v", lambda t, s: t.v + s.v)
    clauses = [
        ModelClause(When.MATCHED, Then.DELETE, Expression("target.v < source.v", lambda t, s: t.v < s.v)),
        ModelClause(When.MATCHED, Then.UPDATE, None, (("v", total),)),
        ModelClause(When.NOT_MATCHED, Then.INSERT, Expression("v > 6", lambda t, s: s.v > 6)),
        ModelClause(When.NOT_MATCHED, Then.INSERT, None, (("k", Expression("-1", lambda t, s: -1)),)),
        ModelClause(
            When.NOT_MATCHED_BY_SOURCE, Then.DELETE, Expression("target.v = 30", lambda t, s: t.v == 30)
        ),
    ]
    result = run(spark, table, SOURCE, clauses, mode)
    assert result.version is not None
    assert table.rows == in_order(
        [Row(1, 10, 0), Row(2, 25, 0), Row(None, 40, None), Row(-1, None, None), Row(7, 7, 0)]
    )


def check_several_are_refused(spark: SparkSession, table: ModelTable, mode: WriteMode) -> None:
    """Two rows of the source would change a row; one alone would not, because of its clause's condition."""
    before = table.rows
    clauses = [ModelClause(When.MATCHED, Then.UPDATE, Expression("source.v > 5", lambda t, s: s.v > 5))]
    with pytest.raises(InputError, match="several rows of the source"):
        run(spark, table, [Row(2, 6, 1), Row(2, 7, 1)], clauses, mode)
    assert table.rows == before
    assert run(spark, table, [Row(2, 5, 1), Row(2, 7, 1)], clauses, mode).version is not None
    assert Row(2, 7, 1) in table.rows


CHECKS = [check_every_kind, check_several_are_refused]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize("check", CHECKS)
def test_clauses_in_order_decide_and_null_keys_do_not_match(
    spark: SparkSession, tmp_path: Path, check: Any, format_: str, mode: WriteMode
) -> None:
    check(spark, ModelTable(tmp_path, format_, TABLE), mode)


@pytest.mark.parametrize("mutant", MERGE_MUTANTS)
def test_a_mutant_of_merge_is_found_out(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mutant: str
) -> None:
    """Otherwise the tests above would prove nothing."""
    monkeypatch.setattr(*MERGE_MUTANTS[mutant])
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        _run_checks(spark, tmp_path)


def _run_checks(spark: SparkSession, folder: Path) -> None:
    for check in CHECKS:
        place = folder / check.__name__
        place.mkdir()
        check(spark, ModelTable(place, "delta", TABLE), WriteMode.MERGE_ON_READ)
